package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/llm/openai"
	"github.com/mayfly-run/mayfly/internal/llmtest"
)

func TestQuirks(t *testing.T) {
	refuse := func(param, message string) *llmtest.Answer {
		return &llmtest.Answer{Status: 400, Code: "unsupported_parameter", Param: param, Message: message}
	}
	// servers refuse what they do not know, as real ones do.
	servers := map[string]func(r *llmtest.Request) *llmtest.Answer{
		"no json_schema": func(r *llmtest.Request) *llmtest.Answer {
			if r.ResponseFormat != nil && r.ResponseFormat.Type == "json_schema" {
				return refuse("response_format", "response_format json_schema is not supported by this model")
			}
			return nil
		},
		"no response_format": func(r *llmtest.Request) *llmtest.Answer {
			if r.ResponseFormat != nil {
				return refuse("", "Unrecognized request argument supplied: response_format")
			}
			return nil
		},
		"no temperature": func(r *llmtest.Request) *llmtest.Answer {
			if r.Temperature != nil {
				return refuse("temperature", "Unsupported value: 'temperature' does not support 0")
			}
			return nil
		},
		"new name of max_tokens": func(r *llmtest.Request) *llmtest.Answer {
			if r.MaxTokens != 0 {
				return refuse("max_tokens", "Unsupported parameter: 'max_tokens', use 'max_completion_tokens'")
			}
			return nil
		},
		"no stream_options": func(r *llmtest.Request) *llmtest.Answer {
			if len(r.StreamOptions) > 0 {
				return refuse("", "extra fields not permitted: stream_options")
			}
			return nil
		},
		"no stream": func(r *llmtest.Request) *llmtest.Answer {
			if r.Stream {
				return refuse("stream", "streaming is not available")
			}
			return nil
		},
	}
	servers["nothing at all"] = func(r *llmtest.Request) *llmtest.Answer {
		for _, name := range []string{"no response_format", "no temperature", "new name of max_tokens", "no stream_options", "no stream"} {
			if a := servers[name](r); a != nil {
				return a
			}
		}
		return nil
	}
	for name, refuses := range servers {
		t.Run(name, func(t *testing.T) {
			m, server := start(t, &llmtest.Script{Func: func(_ int, r *llmtest.Request) llmtest.Answer {
				if a := refuses(r); a != nil {
					return *a
				}
				return llmtest.Answer{Text: `{"n":1}`}
			}}, openai.Options{})
			zero := 0.0
			r := prompt("x")
			r.Temperature, r.MaxTokens, r.Schema, r.SchemaName = &zero, 5, json.RawMessage(`{"type":"object"}`), "answer"
			for i := range 2 {
				before := len(server.Requests())
				resp, _, err := complete(m, r)
				if err != nil || resp.Text != `{"n":1}` {
					t.Fatalf("%+v, %v", resp, err)
				}
				if n := len(server.Requests()) - before; n == 1 != (i == 1) {
					t.Errorf("call %d made %d requests; what a server does not know is remembered", i, n)
				}
			}
			rs := server.Requests()
			last := rs[len(rs)-1]
			if f := last.ResponseFormat; (f == nil || f.Type != "json_schema") && !strings.Contains(last.Messages[0].Content, `{"type":"object"}`) {
				t.Errorf("the model is not told of the schema: %s", last.Body)
			}
			if last.MaxTokens+last.MaxCompletionTokens != 5 {
				t.Errorf("max_tokens is lost: %s", last.Body)
			}
		})
	}
}

// A schema that a server does not take says nothing about others.
func TestSchemaRefused(t *testing.T) {
	m, server := start(t, &llmtest.Script{Func: func(_ int, r *llmtest.Request) llmtest.Answer {
		if f := r.ResponseFormat; f != nil && f.Type == "json_schema" && strings.Contains(string(f.JSONSchema.Schema), "odd") {
			return llmtest.Answer{Status: 400, Code: "invalid_json_schema", Param: "response_format", Message: "Invalid schema for response_format"}
		}
		return llmtest.Answer{Text: `{}`}
	}}, openai.Options{})
	for _, schema := range []string{`{"type":"object","odd":1}`, `{"type":"object"}`} {
		r := prompt("x")
		r.Schema = json.RawMessage(schema)
		if _, _, err := complete(m, r); err != nil {
			t.Fatal(err)
		}
	}
	rs := server.Requests()
	if f := rs[len(rs)-1].ResponseFormat; len(rs) != 3 || f.Type != "json_schema" {
		t.Errorf("%d requests, %+v", len(rs), f)
	}
}

func TestWholeAnswerToStream(t *testing.T) {
	script := &llmtest.Script{Func: func(_ int, r *llmtest.Request) llmtest.Answer {
		if r.Stream {
			return llmtest.Answer{Raw: `{"choices": [{"message": {"content": "whole"}}]}`, ContentType: "application/json"}
		}
		return llmtest.Answer{Text: "whole"}
	}}
	m, server := start(t, script, openai.Options{})
	for range 2 {
		if resp, _, err := complete(m, prompt("x")); err != nil || resp.Text != "whole" {
			t.Fatalf("%+v, %v", resp, err)
		}
	}
	if n := len(server.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
}

func TestStrict(t *testing.T) {
	tests := map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`:                             true,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":[],"additionalProperties":false}`:                                false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"],"additionalProperties":false}`:                             false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                                          false,
		`{"type":"object","properties":{"a":{"type":"object"}},"required":["a"],"additionalProperties":false}`:                             false,
		`{"type":"object","properties":{"not":{"type":"string"}},"required":["not"],"additionalProperties":false}`:                         true,
		`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}},"required":["a"],"additionalProperties":false}`:                 false,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"],"additionalProperties":false}`: true,
		`{"type":"object"}`: false,
	}
	for schema, want := range tests {
		m, server := start(t, &llmtest.Script{Answers: []llmtest.Answer{{Text: "{}"}}}, openai.Options{})
		r := prompt("x")
		r.Schema, r.SchemaName = json.RawMessage(schema), "answer"
		if _, _, err := complete(m, r); err != nil {
			t.Fatal(err)
		}
		if got := server.Requests()[0].ResponseFormat.JSONSchema.Strict; got != want {
			t.Errorf("%s: strict %v", schema, got)
		}
	}
}

func TestReasoningModels(t *testing.T) {
	m, server := start(t, &llmtest.Script{Answers: []llmtest.Answer{{Text: "ok"}}}, openai.Options{})
	zero, half := 0.0, 0.5
	r := prompt("x")
	r.Model, r.Temperature, r.MaxTokens = "gpt-5-mini", &zero, 100
	if _, _, err := complete(m, r); err != nil {
		t.Fatal(err)
	}
	if q := server.Requests()[0]; q.Temperature != nil || q.MaxCompletionTokens != 100 {
		t.Errorf("%s", q.Body)
	}
	r.Temperature = &half
	_, _, err := complete(m, r)
	wantCode(t, err, hostfns.CodeRequest)
}
