package openai_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/llm/openai"
)

// What a server sends must not make the process panic, hang or use memory without bounds.
func FuzzResponse(f *testing.F) {
	f.Add(200, "text/event-stream", "3", `data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	f.Add(200, "application/json", "", `{"choices":[{"message":{"content":"a"}}],"usage":{"prompt_tokens":1}}`)
	f.Add(200, "text/event-stream", "1e9", `data: {"error":{"message":["a"],"code":1}}`+"\n\n")
	f.Add(400, "application/json", "NaN", `{"error":{"message":"response_format json_schema temperature stream_options max_tokens stream unknown"}}`)
	f.Add(429, "", "Fri, 31 Dec 9999 23:59:59 GMT", `{"error":null}`)
	f.Fuzz(func(t *testing.T, status int, contentType, retryAfter, body string) {
		if status < 200 || status > 599 {
			return
		}
		requests := 0
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			requests++
			return &http.Response{
				StatusCode: status, Header: http.Header{"Content-Type": {contentType}, "Retry-After": {retryAfter}},
				Body: io.NopCloser(strings.NewReader(body)), Request: r,
			}, nil
		})}
		zero := 0.0
		r := prompt("x")
		r.Temperature, r.MaxTokens, r.Schema, r.SchemaName = &zero, 5, json.RawMessage(`{"type":"object"}`), "answer"
		resp, _, err := complete(newModel(t, openai.Options{HTTPClient: client, Model: "x", MaxResponse: 64 << 10}), r)
		var e *hostfns.Error
		if (resp == nil) == (err == nil) || err != nil && !errors.As(err, &e) || requests > 8 {
			t.Errorf("%+v, %v after %d requests", resp, err, requests)
		}
		if e != nil && (strings.Contains(e.Message, secretKey) || e.RetryAfter < 0 || e.RetryAfter > 24*time.Hour) {
			t.Errorf("%s", e.Message)
		}
	})
}
