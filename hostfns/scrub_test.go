package hostfns

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

func newSecrets(t testing.TB, specs ...secrets.Spec) *secrets.Set {
	t.Helper()
	s, err := secrets.New(context.Background(), specs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSecrets: a secret gets to the tool that it is for, and nowhere else, whatever comes back.
func TestSecrets(t *testing.T) {
	const value, digits = "hunter2-\"quoted\"-hunter2", "1234567890"
	var got []string
	p := NewTools("s")
	take := func(f func(secret string) (*ToolResult, error)) ToolFunc {
		return func(_ context.Context, c *ToolCall) (*ToolResult, error) {
			var a struct{ Key string }
			if err := json.Unmarshal(c.Args, &a); err != nil {
				return nil, err
			}
			got = append(got, a.Key)
			if c.Emit != nil {
				data, _ := json.Marshal(map[string]string{"data": a.Key})
				c.Emit(Event{EventLog, data})
			}
			return f(a.Key)
		}
	}
	raw(p, "text", take(func(s string) (*ToolResult, error) { return text("<" + s + ">"), nil }))
	raw(p, "fail", take(func(s string) (*ToolResult, error) {
		r := text("<" + s + ">")
		r.IsError, r.Structured = true, jsonOf(map[string]string{"in": s})
		return r, nil
	}))
	raw(p, "error", take(func(s string) (*ToolResult, error) {
		return nil, &Error{Code: CodeServer, Message: s, Hint: s, Data: jsonOf(s)}
	}))
	raw(p, "structured", take(func(s string) (*ToolResult, error) {
		return &ToolResult{Structured: jsonOf(map[string]string{s: s})}, nil
	}))
	raw(p, "blocks", take(func(s string) (*ToolResult, error) {
		return &ToolResult{Content: []Block{
			{Type: BlockText, Text: s},
			{Type: BlockImage, Data: []byte("\x00" + s + "\x00"), MIMEType: s},
			{Type: BlockResource, URI: "x:" + s, Name: s, Title: s, Data: []byte(base64.StdEncoding.EncodeToString([]byte(s)))},
		}}, nil
	}))
	raw(p, "large", take(func(s string) (*ToolResult, error) { return text(strings.Repeat("x", 5000) + s + "yyy"), nil }))
	raw(p, "number", take(func(string) (*ToolResult, error) {
		return &ToolResult{Structured: json.RawMessage(`{"n":` + digits + `1}`)}, nil
	}))
	raw(p, "numbererror", take(func(string) (*ToolResult, error) {
		return nil, &Error{Code: CodeServer, Data: json.RawMessage(digits + `1`)}
	}))
	raw(p, "other", take(func(s string) (*ToolResult, error) { return text(s), nil }))
	tools := []string{"text", "fail", "error", "structured", "blocks", "large", "number", "numbererror"}
	h := newHost(t, &Options{
		Providers: []Provider{p}, MaxInline: 4096, Policy: &Policy{Approve: []string{"s.text"}},
		Secrets: newSecrets(t,
			secrets.Spec{Name: "KEY", Value: value, Allow: allow("tool:s.", tools)},
			secrets.Spec{Name: "DIGITS", Value: digits}),
		Functions: map[string]Function{"f": func(_ context.Context, c *FunctionCall) (*Value, error) {
			return &Value{Kind: ValueText, Data: []byte(value), Head: jsonOf(map[string]string{"h": value})}, nil
		}},
	})
	who := &person{replies: []*Reply{{Action: ActionAccept}}}
	o := who.options()
	var events []Event
	o.Emit = func(e Event) { events = append(events, e) }
	c := begin(t, h, o)
	placeholder := string(do(t, c, FnSecret, map[string]any{"name": "KEY"}).body)
	if placeholder != "{{secret:KEY}}" {
		t.Fatalf("placeholder %q", placeholder)
	}
	if r := do(t, c, FnSecret, map[string]any{"name": "KEE"}); r.Code != CodeUnavailable || !strings.Contains(r.Hint, "KEY") {
		t.Errorf("unknown secret: %+v", r)
	}
	clean := func(what string, b []byte) {
		t.Helper()
		for _, s := range [][]byte{[]byte(value), []byte(digits), jsonOf(value)[1:20], []byte(base64.StdEncoding.EncodeToString([]byte(value)))} {
			if bytes.Contains(b, s) {
				t.Errorf("%s has the secret: %q", what, b)
			}
		}
	}
	for i, tool := range tools {
		req := request(OpCall, fnHead{Fn: FnTool, Args: toolHead{"s", tool, map[string]any{"key": placeholder}}})
		answer := c.Handle(context.Background(), req)
		clean(tool, answer)
		if len(got) != i+1 || got[i] != value {
			t.Errorf("%s got %q", tool, got)
		}
		r := decode(t, answer)
		switch tool {
		case "text":
			if string(r.body) != "<"+placeholder+">" {
				t.Errorf("text: %q", r.body)
			}
		case "structured":
			if string(r.body) != `{"`+placeholder+`":"`+placeholder+`"}` {
				t.Errorf("structured: %q", r.body)
			}
		case "large":
			read := do(t, c, FnRead, map[string]any{"handle": r.Handle, "start": -20})
			if r.Kind != ValueHandle || !strings.HasSuffix(string(read.body), placeholder+"yyy") {
				t.Errorf("large: %+v %q", r, read.body)
			}
		case "number": // without the secret it is no JSON any more
			if r.Kind != ValueText || string(r.body) != `{"n":{{secret:DIGITS}}1}` {
				t.Errorf("number: %+v %q", r, r.body)
			}
		}
	}
	if r := callTool(t, c, "s", "other", map[string]any{"key": placeholder}); r.Code != CodeDenied || len(got) != len(tools) {
		t.Errorf("a tool that it is not for: %+v", r)
	}
	if r := callTool(t, c, "s", "text", map[string]any{"key": "{{secret:NONE}}"}); r.Code != CodeDenied {
		t.Errorf("no such secret: %+v", r)
	}
	clean("function", c.Handle(context.Background(), request(OpCall, `{"fn":"f"}`)))
	// Code that got hold of the value all the same does not get it into questions or records.
	callTool(t, c, "s", "text", map[string]any{"key": value})
	clean("question", append(who.asked[0].Args, who.asked[1].Args...))
	if len(events) != len(tools) {
		t.Errorf("%d events", len(events))
	}
	for _, e := range events {
		clean("event", e.Data)
	}
	records, _ := c.End()
	for _, r := range records {
		clean("record", r.Args)
		if !json.Valid(r.Args) {
			t.Errorf("arguments %s", r.Args)
		}
	}
}

func allow(prefix string, tools []string) (out []string) {
	for _, t := range tools {
		out = append(out, prefix+t)
	}
	return out
}

func jsonOf(v any) json.RawMessage {
	j, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return j
}

func TestRecordArgs(t *testing.T) {
	h := newHost(t, &Options{Secrets: newSecrets(t, secrets.Spec{Name: "KEY", Value: "hunter2hunter2"})})
	for _, args := range []string{
		`{}`, `{"a": 1}`, `"` + strings.Repeat("x", MaxRecordArgs-2) + `"`,
	} {
		if got := h.RecordArgs(json.RawMessage(args)); string(got) != args {
			t.Errorf("%.50s became %.50s", args, got)
		}
	}
	for name, args := range map[string]string{
		"ascii":      `"` + strings.Repeat("x", 3*MaxRecordArgs) + `"`,
		"characters": `"` + strings.Repeat("ö\U0001f40c", MaxRecordArgs) + `"`,
		"escapes":    `"` + strings.Repeat(`\"\n`, MaxRecordArgs) + `"`,
		"a secret":   `"` + strings.Repeat("x", MaxRecordArgs-10) + `hunter2hunter2"`,
		"cut":        `"` + strings.Repeat("x", MaxRecordArgs-1) + strings.Repeat("hunter2hunter2", 5) + `"`,
	} {
		got := h.RecordArgs(json.RawMessage(args))
		var s string
		if err := json.Unmarshal(got, &s); err != nil || len(got) > MaxRecordArgs || len(got) < MaxRecordArgs/3 {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if strings.Contains(s, "hunter2") || strings.Contains(s, "\ufffd") {
			t.Errorf("%s: %s", name, s)
		}
		if name != "a secret" && name != "cut" && !strings.HasPrefix(args, s) {
			t.Errorf("%s: not the beginning", name)
		}
	}
}
