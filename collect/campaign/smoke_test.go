package campaign

import (
	"testing"

	"assay/collect/stream"
)

// An answer that failed says so: "has no end" would be about the connection.
func TestSmokeCheckSaysWhyAnAnswerIsNone(t *testing.T) {
	const output = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"{\"}}]}\n\n"
	const failure = "data: {\"error\":{\"code\":500,\"message\":\"the output does not match\",\"type\":\"server_error\"}}\n\n"
	for _, tt := range []struct{ name, body, want string }{
		{"an error and no end mark, as llama.cpp ends", output + failure, "the stream says that the request has failed"},
		{"an error before the end mark, as vLLM ends", output + failure + "data: [DONE]\n\n", "the stream says that the request has failed"},
		{"no end mark", output, "the stream has no end: eof"},
		{"visible text", output + "data: [DONE]\n\n", ""},
		{"nothing visible", "data: [DONE]\n\n", "there is no visible text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status := int64(200)
			body := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + tt.body)
			res := stream.Replay(stream.Request{}, func(yield func(stream.Read) bool) { yield(stream.Read{Data: body}) }, stream.EndEOF, 1)
			if res.HTTPStatus == nil || *res.HTTPStatus != status {
				t.Fatalf("replayed: %+v", res)
			}
			if got := smokeChecks[0].judge(read(&res), &res); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
