"""Starts the server of llama.cpp that the package xllamacpp carries, on loopback.

Usage: llama_server.py GGUF PORT CONTEXT_PER_SLOT SLOTS

Runs until it is ended.
"""

import signal
import sys

import xllamacpp


def main():
    path, port, context, slots = sys.argv[1], *map(int, sys.argv[2:])
    p = xllamacpp.CommonParams()
    p.model.path = path
    p.model_alias = ["tiny-random"]
    p.hostnames = ["127.0.0.1"]
    p.port = port
    p.n_parallel = slots
    p.n_ctx = context * slots
    p.kv_unified = False
    p.endpoint_metrics = True
    p.endpoint_slots = True
    p.endpoint_props = False
    p.ui = False
    p.offline = True
    p.cpuparams.n_threads = 1
    p.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(p)
    print(server.listening_address, flush=True)
    signal.pause()


main()
