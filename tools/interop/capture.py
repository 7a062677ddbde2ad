"""Captures what a real engine sends, as small test fixtures.

Usage: capture.py URL FOLDER CASES.txtar PID

URL is the root of an engine on loopback that serves tiny-random. FOLDER gets its
answers and metrics pages; HELP lines are left out, they are other people's text,
and so are the families of Python and of the HTTP framework. CASES.txtar gets the
streams, read by read, in the form of testdata/cases. Last of all the process PID
is killed in the middle of a stream.
"""

import json
import os
import pathlib
import re
import signal
import socket
import sys
import time
import urllib.error
import urllib.request

WORDS = "able about above act add age air all also and any area ask back bad base".split()


class Engine:
    def __init__(self, root):
        self.root = root
        host, port = root.removeprefix("http://").split(":")
        self.address = (host, int(port))

    def get(self, path):
        """Status and body of a GET."""
        try:
            with urllib.request.urlopen(self.root + path, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as e:
            return e.code, e.read()

    def page(self, short=False):
        """The engine's part of the metrics page; short leaves the histograms out."""
        left_out = ("# HELP", "python_", "# TYPE python_", "http_", "# TYPE http_")
        lines = [l for l in self.get("/metrics")[1].decode().splitlines(keepends=True) if not l.startswith(left_out)]
        if short:
            histograms = {l.split()[2] for l in lines if l.startswith("# TYPE ") and l.split()[3] == "histogram"}
            names = {h + ending for h in histograms for ending in ("", "_bucket", "_count", "_sum", "_created")}
            lines = [l for l in lines if re.split("[{ ]", l.removeprefix("# TYPE "))[0] not in names]
        return "".join(lines)

    def idle(self):
        """Waits, a minute at most, until the page shows no request."""
        for _ in range(600):
            busy = [
                l for l in self.page().splitlines()
                if any(w in l for w in ("num_requests_running", "num_requests_waiting{", "requests_processing", "requests_deferred"))
                and not l.startswith("#") and float(l.split()[-1]) != 0
            ]
            if not busy:
                return
            time.sleep(0.1)
        raise SystemExit("the engine does not become idle")

    def chat(self, words, tokens, during=None, model="tiny-random", **more):
        """Sends one chat request; gives the reads as (seconds, bytes) and how it ended.

        during(number of reads) is called after each read; True leaves.
        """
        body = json.dumps({
            "model": model, "messages": [{"role": "user", "content": " ".join((WORDS * (words // len(WORDS) + 1))[:words])}],
            "stream": True, "stream_options": {"include_usage": True}, "max_tokens": tokens, "temperature": 0.6, "top_p": 0.95,
        } | more).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {self.address[0]}\r\nContent-Type: application/json\r\n"
        head += f"Accept-Encoding: identity\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        reads, start = [], time.monotonic()
        with socket.create_connection(self.address, timeout=60) as s:
            s.sendall(head.encode() + body)
            while True:
                try:
                    data = s.recv(1 << 20)
                except ConnectionResetError:
                    return reads, "reset", time.monotonic() - start
                if not data:
                    return reads, "close", time.monotonic() - start
                reads.append((time.monotonic() - start, data))
                if during and during(len(reads)):
                    return reads, "hold", time.monotonic() - start


def go_string(data):
    """The bytes as a Go string literal."""
    out = []
    for ch in data.decode("utf-8", "surrogateescape"):
        if ch in '"\\':
            out.append("\\" + ch)
        elif ch == "\r":
            out.append("\\r")
        elif ch == "\n":
            out.append("\\n")
        elif "\udc80" <= ch <= "\udcff":
            out.append(f"\\x{ord(ch) - 0xDC00:02x}")
        elif not ch.isprintable():
            out.append("".join(f"\\x{b:02x}" for b in ch.encode()))
        else:
            out.append(ch)
    return '"' + "".join(out) + '"'


def section(name, capture):
    """One stream in the form of testdata/cases."""
    reads, end, at = capture
    lines = [f"-- stream {name} --", "framed"]
    for when, data in reads:
        lines.append(f"{round(when * 1e6)}us raw {go_string(data)}")
    lines.append(f"{round(at * 1e6)}us {end}")
    return "\n".join(lines) + "\n"


def main():
    root, folder, cases, pid = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), int(sys.argv[4])
    folder.mkdir(parents=True, exist_ok=True)
    e = Engine(root)
    for path, name in (("/v1/models", "models.json"), ("/version", "version.json"), ("/props", "props.json"), ("/health", "health.txt")):
        status, body = e.get(path)
        if status == 200:
            (folder / name).write_bytes(body)
    models = (folder / "models.json").read_text()
    e.chat(8, 4)  # warm
    e.idle()
    (folder / "idle.prom").write_text(e.page())
    sections = [section("answer", e.chat(24, 12))]
    e.idle()
    (folder / "after.prom").write_text(e.page())

    def look(reads):
        if reads == 6:
            (folder / "busy.prom").write_text(e.page(short=True))
        return reads == 12

    sections.append(section("the_client_leaves", e.chat(24, 3000, look)))
    e.idle()
    (folder / "left.prom").write_text(e.page(short=True))
    sections.append(section("too_long_a_prompt", e.chat(6000, 12)))
    sections.append(section("another_model", e.chat(8, 12, model="another")))
    # llama.cpp fails now and then when it holds noise to a grammar.
    question = [{"role": "user", "content": "Answer with a JSON object"}]
    for _ in range(600 if "llamacpp" in models else 0):
        capture = e.chat(0, 24, messages=question, response_format={"type": "json_object"})
        if b'"error"' in b"".join(data for _, data in capture[0]):
            sections.append(section("an_error_after_output", capture))
            break

    def kill(reads):
        if reads == 12:
            os.kill(pid, signal.SIGKILL)

    sections.append(section("the_engine_is_killed", e.chat(24, 3000, kill)))
    cases.write_text("".join(sections))


main()
