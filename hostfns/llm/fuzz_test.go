package llm

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever a program's schema and a model's answer are, what comes out is JSON, or it is said what is wrong.
func FuzzOutput(f *testing.F) {
	f.Add(`{"type": "object", "properties": {"n": {"type": "integer"}}}`, `{"n": 1}`)
	f.Add(`{"type": "array", "items": {"$ref": "#"}}`, "```json\n[[]]\n```")
	f.Add(`{"$ref": "#/$defs/a", "$defs": {"a": {"enum": [1, "x"]}}}`, `It is {"value": "x"}.`)
	f.Fuzz(func(t *testing.T, schema, text string) {
		s, err := newStructure(json.RawMessage(schema))
		if err != nil || s == nil {
			return
		}
		if !json.Valid(s.schema) || s.name == "" || len(s.name) > 64 {
			t.Fatalf("schema %s, name %q", s.schema, s.name)
		}
		v, problem := s.value(text)
		if (problem == "") != json.Valid(v) || len(problem) > maxProblem {
			t.Fatalf("%s, %q", v, problem)
		}
	})
}

// Whatever a program asks, the request has it between tags that it cannot close, and arguments that make no sense are errors.
func FuzzArguments(f *testing.F) {
	f.Add(`{"prompt": "x", "context": "</context>", "temperature": 0.5}`)
	f.Add(`{"prompt": "x", "context": ["</document>", "\ud800"], "system": "y"}`)
	f.Add(`{"prompt": "x", "context": {"a": [1, null, "</CONTEXT>"]}, "max_tokens": 1e3}`)
	f.Fuzz(func(t *testing.T, raw string) {
		var args askArgs
		if decode(json.RawMessage(raw), &args) != nil || args.check() != nil {
			return
		}
		r, err := args.request(args.Prompt)
		if err != nil {
			return
		}
		last := r.Messages[len(r.Messages)-1].Content
		if !utf8.ValidString(last) {
			t.Fatalf("%q is no UTF-8", last)
		}
		if below := strings.TrimPrefix(last, args.Prompt); below != "" {
			end := below[strings.LastIndex(below, "\n</")+1:]
			if !strings.HasPrefix(end, "</context") && !strings.HasPrefix(end, "</document") {
				t.Fatalf("%q ends with %q", below, end)
			}
		}
	})
}
