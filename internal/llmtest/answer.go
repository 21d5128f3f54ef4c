package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

func (s *Server) write(w http.ResponseWriter, hr *http.Request, r *Request, a *Answer) {
	contentType := "application/json"
	if r.Stream && a.Status == 0 {
		contentType = "text/event-stream"
	}
	if a.ContentType != "" {
		contentType = a.ContentType
	}
	w.Header().Set("Content-Type", contentType)
	if a.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((a.RetryAfter.Seconds()))))
		w.Header().Set("Retry-After-Ms", strconv.FormatInt(a.RetryAfter.Milliseconds(), 10))
	}
	switch {
	case a.Redirect != "":
		http.Redirect(w, hr, a.Redirect, http.StatusTemporaryRedirect)
	case a.Raw != "":
		if a.Status != 0 {
			w.WriteHeader(a.Status)
		}
		_, _ = w.Write([]byte(a.Raw))
	case a.Status != 0:
		w.WriteHeader(a.Status)
		writeJSON(w, map[string]any{"error": map[string]any{"message": a.Message, "type": a.Type, "param": a.Param, "code": a.Code}})
	case r.Stream:
		s.stream(w, hr, r, a)
		return
	default:
		s.whole(w, r, a)
	}
	if a.Hang {
		flush(w)
		s.wait(hr, nil)
	}
	if a.Cut {
		cut(w)
	}
}

func writeJSON(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// cut closes the connection in the middle of the response.
func cut(w http.ResponseWriter) {
	flush(w)
	panic(http.ErrAbortHandler) // what net/http has for it
}

// pieces returns the deltas of an answer.
func (a *Answer) pieces() []string {
	if a.Deltas != nil {
		return a.Deltas
	}
	return strings.SplitAfter(a.Text, " ")
}

func (a *Answer) text() string {
	if a.Text == "" {
		return strings.Join(a.Deltas, "")
	}
	return a.Text
}

func (a *Answer) finish() any {
	switch a.FinishReason {
	case "":
		return "stop"
	case "none":
		return nil
	}
	return a.FinishReason
}

func (a *Answer) usage(r *Request) any {
	if a.NoUsage {
		return nil
	}
	prompt, completion := a.PromptTokens, a.CompletionTokens
	if prompt == 0 && completion == 0 {
		for _, m := range r.Messages {
			prompt += len(m.Content)/4 + 1
		}
		completion = len(a.text())/4 + 1
	}
	return map[string]any{
		"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
		"prompt_tokens_details": map[string]any{"cached_tokens": 0},
	}
}

func (s *Server) whole(w http.ResponseWriter, r *Request, a *Answer) {
	message := map[string]any{"role": "assistant", "content": a.text()}
	if a.Refusal != "" {
		message = map[string]any{"role": "assistant", "content": nil, "refusal": a.Refusal}
	}
	if a.Hang || a.Cut {
		return
	}
	writeJSON(w, map[string]any{
		"id": "chatcmpl-test", "object": "chat.completion", "created": 1, "model": r.Model, "usage": a.usage(r),
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": a.finish()}},
	})
}

func (s *Server) stream(w http.ResponseWriter, hr *http.Request, r *Request, a *Answer) {
	send := func(choices []any, usage any) {
		data, err := json.Marshal(map[string]any{
			"id": "chatcmpl-test", "object": "chat.completion.chunk", "created": 1, "model": r.Model, "choices": choices, "usage": usage,
		})
		if err == nil {
			fmt.Fprintf(w, "data: %s\n\n", data)
		}
	}
	choice := func(delta map[string]any, finish any) []any {
		return []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}
	}
	fmt.Fprint(w, ": a comment\n\n")
	for i, piece := range a.pieces() {
		if a.Hang && i == a.HangAfter {
			break
		}
		if a.Cut && i == a.CutAfter {
			cut(w)
		}
		send(choice(map[string]any{"role": "assistant", "content": piece}, nil), nil)
		flush(w)
	}
	if a.Hang {
		flush(w)
		s.wait(hr, nil)
		return
	}
	if a.Cut {
		cut(w)
	}
	if a.Refusal != "" {
		send(choice(map[string]any{"refusal": a.Refusal}, nil), nil)
	}
	send(choice(map[string]any{}, a.finish()), nil)
	if len(r.StreamOptions) > 0 && !a.NoUsage {
		send([]any{}, a.usage(r))
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}
