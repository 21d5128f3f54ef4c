package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/llm"
	"github.com/mayfly-run/mayfly/hostfns/llm/openai"
	"github.com/mayfly-run/mayfly/internal/llmtest"
)

func TestComplete(t *testing.T) {
	script := &llmtest.Script{Key: secretKey, Answers: []llmtest.Answer{
		{Deltas: []string{"Hello, ", "wörld"}, PromptTokens: 7, CompletionTokens: 3}, {Text: "Hello"},
	}}
	m, server := start(t, script, openai.Options{Organization: "org", Headers: http.Header{"X-Extra": {"extra value"}}})
	zero := 0.0
	r := prompt("Hi")
	r.Temperature, r.MaxTokens, r.Stop, r.Model = &zero, 9, []string{"END"}, "big-model"
	resp, streamed, err := complete(m, r)
	if err != nil || resp.Text != "Hello, wörld" || streamed != resp.Text || resp.Model != "big-model" || resp.FinishReason != llm.FinishStop ||
		resp.Usage != (llm.Usage{PromptTokens: 7, CompletionTokens: 3}) {
		t.Errorf("%+v, %q, %v", resp, streamed, err)
	}
	q := server.Requests()[0]
	if q.Path != "/v1/chat/completions" || q.Header.Get("Openai-Organization") != "org" || q.Header.Get("X-Extra") != "extra value" ||
		q.Temperature == nil || *q.Temperature != 0 || q.MaxTokens != 9 || !strings.Contains(string(q.Body), `"stop":["END"]`) {
		t.Errorf("%v %s", q.Header, q.Body)
	}
	resp, err = m.Complete(t.Context(), prompt("Hi"), nil)
	if err != nil || resp.Text != "Hello" || server.Requests()[1].Stream || server.Requests()[1].Temperature != nil {
		t.Errorf("%+v, %v, %s", resp, err, server.Requests()[1].Body)
	}
	if strings.Contains(m.Name(), secretKey) || !strings.Contains(m.Name(), server.URL) {
		t.Errorf("name %q", m.Name())
	}
}

func TestNew(t *testing.T) {
	for _, base := range []string{
		"127.0.0.1:80/v1", "ftp://host/v1", "http://", "http://user:secretpassword@host/v1", "https://host/v1?key=secretpassword",
		"https://host/v1#x", "http://%zz", "file:///etc", "https:///v1",
	} {
		if _, err := openai.New(&openai.Options{BaseURL: base}); err == nil || strings.Contains(err.Error(), "secretpassword") {
			t.Errorf("%s: %v", base, err)
		}
	}
	m, err := openai.New(nil)
	if err != nil || m.Name() != "openai https://api.openai.com/v1" {
		t.Fatalf("%v, %v", m, err)
	}
	_, _, err = complete(m, prompt("x"))
	wantCode(t, err, hostfns.CodeRequest) // no model
}

func TestErrors(t *testing.T) {
	type answer = llmtest.Answer
	tests := []struct {
		name      string
		answer    answer
		code      string
		retryable bool
		says      string // in the message or the hint
	}{
		{"rate limit", answer{Status: 429, Code: "rate_limit_exceeded", Message: "slow down"}, hostfns.CodeRateLimit, true, "slow down"},
		{"request over the limit", answer{Status: 429, Message: "Request too large for model"}, hostfns.CodeRateLimit, false, ""},
		{"quota", answer{Status: 429, Code: "insufficient_quota", Message: "billing"}, hostfns.CodeUnavailable, false, "quota"},
		{"key", answer{Status: 401, Message: "Incorrect key " + secretKey}, hostfns.CodeUnavailable, false, "API key"},
		{"forbidden", answer{Status: 403, Message: "no"}, hostfns.CodeUnavailable, false, "API key"},
		{"context", answer{Status: 400, Code: "context_length_exceeded", Message: "too long"}, hostfns.CodeContextTooLong, false, "too long"},
		{"context of vLLM", answer{Status: 400, Message: "'max_tokens' is too large. This model's maximum context length is 10"}, hostfns.CodeContextTooLong, false, ""},
		{"context of llama.cpp", answer{Status: 400, Type: "exceed_context_size_error", Message: "request (9) exceeds"}, hostfns.CodeContextTooLong, false, ""},
		{"body", answer{Status: 413, Raw: "<html>Payload Too Large"}, hostfns.CodeContextTooLong, false, ""},
		{"filter", answer{Status: 400, Code: "content_filter", Message: "filtered"}, hostfns.CodeRefused, false, ""},
		{"refusal", answer{Refusal: "I will not."}, hostfns.CodeRefused, false, "I will not."},
		{"filtered answer", answer{Text: "half", FinishReason: "content_filter"}, hostfns.CodeRefused, false, ""},
		{"bad request", answer{Status: 400, Message: "unknown role"}, hostfns.CodeRequest, false, "unknown role"},
		{"422", answer{Status: 422, Message: "nope"}, hostfns.CodeRequest, false, "nope"},
		{"model", answer{Status: 404, Code: "model_not_found", Message: "The model x does not exist"}, hostfns.CodeRequest, false, "does not exist"},
		{"path", answer{Status: 404, Raw: "404 page not found", ContentType: "text/plain"}, hostfns.CodeUnavailable, false, "/v1"},
		{"500", answer{Status: 500, Message: "oops"}, hostfns.CodeUnavailable, true, "oops"},
		{"503 in HTML", answer{Status: 503, Raw: "<html>"}, hostfns.CodeUnavailable, true, "503"},
		{"error without message", answer{Status: 500, Raw: `{"error": {}}`}, hostfns.CodeUnavailable, true, "500"},
		{"error is a string", answer{Status: 400, Raw: `{"error": "bad thing"}`}, hostfns.CodeRequest, false, "bad thing"},
		{"error is null", answer{Status: 400, Raw: `{"error": null}`}, hostfns.CodeRequest, false, ""},
		{"key repeated", answer{Status: 400, Message: "bad: Bearer " + secretKey}, hostfns.CodeRequest, false, "***"},
		{"header repeated", answer{Status: 400, Message: "bad: another-secret"}, hostfns.CodeRequest, false, "***"},
		{"key at the end of what is passed on", answer{Status: 400, Message: strings.Repeat("x", 2<<10-8) + secretKey}, hostfns.CodeRequest, false, "***"},
		{"key in a refusal", answer{Refusal: strings.Repeat("x", 4<<10-30) + secretKey}, hostfns.CodeRefused, false, "xxx"},
		{"redirect", answer{Redirect: "http://127.0.0.1:1/v1/chat/completions"}, hostfns.CodeUnavailable, false, "redirects"},
		{"cut at once", answer{Cut: true, Deltas: []string{}}, hostfns.CodeUnavailable, true, "closed"},
		{"cut in the middle", answer{Cut: true, CutAfter: 1, Deltas: []string{"a", "b"}}, hostfns.CodeUnavailable, true, "closed"},
		{"no end", answer{Text: "half", FinishReason: "none"}, hostfns.CodeUnavailable, true, "closed"},
		{"empty", answer{Raw: " "}, hostfns.CodeUnavailable, true, "closed"},
		{"not JSON", answer{Raw: "data: nonsense\n\n"}, hostfns.CodeServer, false, "no sense"},
		{"wrong types", answer{Raw: `data: {"choices": 1}` + "\n\n"}, hostfns.CodeServer, false, "no sense"},
		{"error in the stream", answer{Raw: `data: {"error": {"message": "overloaded", "type": "x"}}` + "\n\n"}, hostfns.CodeServer, true, "overloaded"},
		{"limit in the stream", answer{Raw: `data: {"error": {"message": "m", "code": "rate_limit_exceeded"}}` + "\n\n"}, hostfns.CodeRateLimit, true, ""},
		{"nothing but lines", answer{Raw: strings.Repeat("\n", 200_000)}, hostfns.CodeServer, false, "no sense"},
		{"HTML", answer{Raw: "<html><body>Sign in</body></html>", ContentType: "text/html"}, hostfns.CodeUnavailable, true, ""},
		{"long message", answer{Status: 400, Message: strings.Repeat("long ", 100_000)}, hostfns.CodeRequest, false, "long"},
		{"large", answer{Raw: "data: " + strings.Repeat("x", 2<<20)}, hostfns.CodeTooLarge, false, ""},
		{"large error", answer{Status: 400, Raw: `{"error": {"message": "` + strings.Repeat("x", 2<<20)}, hostfns.CodeTooLarge, false, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, server := start(t, &llmtest.Script{Answers: []answer{test.answer}}, openai.Options{
				Headers: http.Header{"X-Token": {"another-secret"}}, MaxResponse: 1 << 20,
			})
			_, _, err := complete(m, prompt("x"))
			e := wantCode(t, err, test.code)
			if e.Retryable != test.retryable {
				t.Errorf("retryable: %v", e.Retryable)
			}
			all := e.Message + e.Hint
			if !strings.Contains(all, test.says) || len(all) > 4<<10 {
				t.Errorf("%q (%s)", e.Message, e.Hint)
			}
			for _, secret := range []string{secretKey[:6], "another-secret"} {
				if strings.Contains(all+fmt.Sprint(e.Err), secret) {
					t.Errorf("a secret is told: %q, %v", all, e.Err)
				}
			}
			if strings.Contains(all, "127.0.0.1") {
				t.Errorf("an address is told: %q", all)
			}
			if n := len(server.Requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// The same errors come where nothing is streamed.
func TestErrorsOfWholeAnswers(t *testing.T) {
	tests := []struct {
		raw, code string
	}{
		{`{"choices": []}`, hostfns.CodeServer},
		{`{}`, hostfns.CodeServer},
		{`[]`, hostfns.CodeServer},
		{`{"choices": [{"message": {"content": 7}}]}`, hostfns.CodeServer},
		{`{"choices": [`, hostfns.CodeUnavailable},
		{`nonsense`, hostfns.CodeServer},
		{`{"choices": [{"message": {"content": null, "refusal": "no"}}]}`, hostfns.CodeRefused},
		{`{"x": "` + strings.Repeat("x", 2<<20) + `"}`, hostfns.CodeTooLarge},
	}
	for _, test := range tests {
		m, _ := start(t, &llmtest.Script{Answers: []llmtest.Answer{{Raw: test.raw}}}, openai.Options{MaxResponse: 1 << 20})
		_, err := m.Complete(t.Context(), prompt("x"), nil)
		wantCode(t, err, test.code)
	}
	m, _ := start(t, &llmtest.Script{Answers: []llmtest.Answer{
		{Raw: `{"choices": [{"message": {"content": [{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]}}]}`},
	}}, openai.Options{})
	if resp, err := m.Complete(t.Context(), prompt("x"), nil); err != nil || resp.Text != "in parts" {
		t.Errorf("%+v, %v", resp, err)
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, _, err = complete(newModel(t, openai.Options{BaseURL: "http://" + l.Addr().String() + "/v1", Model: "x"}), prompt("x"))
	if e := wantCode(t, err, hostfns.CodeUnavailable); !strings.Contains(e.Message, "refused") || !strings.Contains(e.Hint, "URL") || e.Retryable {
		t.Errorf("%+v", e)
	}
	for name, err := range map[string]error{
		"is not known": &net.DNSError{Err: "no such host", Name: "secret.internal"}, "failed": &net.OpError{Op: "dial", Err: errors.New("?")},
	} {
		client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, err })}
		_, _, err = complete(newModel(t, openai.Options{HTTPClient: client, Model: "x"}), prompt("x"))
		if e := wantCode(t, err, hostfns.CodeUnavailable); !strings.Contains(e.Message, name) || strings.Contains(e.Message, "internal") {
			t.Errorf("%q", e.Message)
		}
	}
}

func TestTimeout(t *testing.T) {
	m, _ := start(t, &llmtest.Script{Answers: []llmtest.Answer{{Hang: true, Deltas: []string{"a", "b"}, HangAfter: 1}, {Hang: true}}},
		openai.Options{Timeout: 50 * time.Millisecond})
	for range 2 {
		_, _, err := complete(m, prompt("x"))
		wantCode(t, err, hostfns.CodeTimeout)
	}
	m, server := start(t, &llmtest.Script{Answers: []llmtest.Answer{{Hang: true}, {Hang: true}}}, openai.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := m.Complete(ctx, prompt("x"), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if n := len(server.Requests()); n > 1 {
		t.Errorf("%d requests", n)
	}
}

func TestRetryAfter(t *testing.T) {
	tests := []struct {
		header, value string
		low, high     time.Duration
	}{
		{"Retry-After", "3", 3 * time.Second, 3 * time.Second},
		{"Retry-After", "0.5", time.Second / 2, time.Second / 2},
		{"Retry-After-Ms", "20", 20 * time.Millisecond, 20 * time.Millisecond},
		{"Retry-After", "-3", 0, 0},
		{"Retry-After", "NaN", 0, 0},
		{"Retry-After", "Inf", 24 * time.Hour, 24 * time.Hour},
		{"Retry-After", "1e300", 24 * time.Hour, 24 * time.Hour},
		{"Retry-After", "soon", 0, 0},
		{"Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), 59 * time.Minute, time.Hour},
		{"Retry-After", "Thu, 01 Jan 1970 00:00:00 GMT", 0, 0},
		{"Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT", 24 * time.Hour, 24 * time.Hour},
	}
	for _, test := range tests {
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: 429, Header: http.Header{test.header: {test.value}}, Body: io.NopCloser(strings.NewReader("{}")), Request: r,
			}, nil
		})}
		_, _, err := complete(newModel(t, openai.Options{HTTPClient: client, Model: "x"}), prompt("x"))
		if e := wantCode(t, err, hostfns.CodeRateLimit); e.RetryAfter < test.low || e.RetryAfter > test.high {
			t.Errorf("%s: %s gave %s", test.header, test.value, e.RetryAfter)
		}
	}
}
