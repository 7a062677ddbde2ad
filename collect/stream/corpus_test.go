package stream

import (
	"bytes"
	"strings"
)

// chunkJSON is a chunk with one delta, shaped as engines send it.
func chunkJSON(delta string) string {
	return `{"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":` +
		delta + `,"finish_reason":null}],"usage":null}`
}

const usageJSON = `{"id":"c1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`

// ordinary is a stream as an engine sends it, with LF line ends.
func ordinary() string {
	var b strings.Builder
	for _, delta := range []string{
		`{"role":"assistant","content":""}`, `{"reasoning":"Count"}`, `{"reasoning_content":"abc","content":null}`,
		`{"content":"\n\n"}`, `{"content":"汉😀"}`, `{"content":"[DONE]"}`,
	} {
		b.WriteString("data: " + chunkJSON(delta) + "\n\n")
	}
	b.WriteString("data: " + usageJSON + "\n\ndata: [DONE]\n\n")
	return b.String()
}

// corpus is the streams that are replayed over many splits.
func corpus() map[string][]byte {
	lf := ordinary()
	crlf := strings.ReplaceAll(lf, "\n", "\r\n")
	return map[string][]byte{
		"LF":            []byte(lf),
		"CRLF":          []byte(crlf),
		"CR":            []byte(strings.ReplaceAll(lf, "\n", "\r")),
		"BOM and CRLF":  []byte("\xEF\xBB\xBF" + crlf),
		"no space":      []byte(strings.ReplaceAll(lf, "data: ", "data:")),
		"comments":      []byte(":\n\n: ping\n\n: keepalive\ndata:\n\n" + strings.ReplaceAll(lf, "\n\n", "\n: c\n\n:\n\n")),
		"mixed ends":    []byte("data: a\r\ndata: b\rdata: c\n\r\n\r\rdata: d\n\n\r\n" + crlf),
		"multi-line":    []byte("data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"a\"}}]}\n\n" + lf),
		"named error":   []byte("event: error\ndata: {\"message\":\"x\"}\n\nevent: \ndata: y\n\ndata: [DONE]\n\n"),
		"in-band error": []byte("data: {\"error\":{\"message\":\"EngineCore died\",\"code\":500}}\n\ndata: [DONE]\n\n"),
		"cut":           []byte(lf[:len(lf)/2]),
		"trailing":      []byte(lf + "data: " + usageJSON + "\n\n"),
		"ids":           []byte("id: 1\nretry: 5\n" + strings.ReplaceAll(lf, "\n\n", "\nid: 2\n\n")),
		"large": []byte("data: " + strings.Repeat("x", 9000) + "\n\n" +
			"data: " + strings.Repeat("y", 5000) + "\ndata: " + strings.Repeat("z", 6000) + "\n\n" + lf),
		"bad bytes": []byte("data: \xff\xfe\x00\xc3\n\n\x00\ndata\x00: x\n\n"),
	}
}

// chunked encodes a body in chunks of the given size, with extensions and a
// trailer field.
func chunked(body []byte, size int) []byte {
	var b bytes.Buffer
	for len(body) > 0 {
		n := min(size, len(body))
		b.WriteString(hex(n) + ";ext=\"v\"\r\n")
		b.Write(body[:n])
		b.WriteString("\r\n")
		body = body[n:]
	}
	b.WriteString("0\r\nX-Trailer: t\r\n\r\n")
	return b.Bytes()
}

func hex(n int) string {
	const digits = "0123456789abcdef"
	s := ""
	for ; n > 0; n /= 16 {
		s = string(digits[n%16]) + s
	}
	return s
}
