package main

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

func TestFormFields(t *testing.T) {
	fields, err := formFields(json.RawMessage(`{"type": "object", "required": ["z"], "properties": {
		"z": {"type": "string", "minLength": 2, "maxLength": 3}, "a": {"type": "integer", "minimum": 1},
		"n": {"type": "number"}, "b": {"type": "boolean"},
		"e": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
		"o": {"type": "string", "oneOf": [{"const": "x", "title": "The X"}, {"const": "y"}]},
		"m": {"type": "array", "items": {"enum": ["p", "q", "r"]}}
	}}`))
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	by := map[string]formField{}
	for _, f := range fields {
		names += f.name
		by[f.name] = f
	}
	if names != "zanbeom" || !by["z"].required || by["a"].required {
		t.Errorf("order %s, %+v", names, fields)
	}
	for _, test := range []struct{ field, line, want string }{
		{"z", "ab", `"ab"`}, {"z", "a", ""}, {"z", "abcd", ""}, {"z", "äöü", `"äöü"`},
		{"a", "7", `7`}, {"a", "0", ""}, {"a", "1.5", ""}, {"a", "x", ""}, {"a", "1e400", ""}, {"a", "99999999999999999999", ""},
		{"n", "1.5", `1.5`}, {"n", "NaN", ""}, {"n", "0x10", ""}, {"n", "Infinity", ""},
		{"b", "yes", `true`}, {"b", "N", `false`}, {"b", "maybe", ""},
		{"e", "green", `"g"`}, {"e", "1", `"r"`}, {"e", "r", `"r"`}, {"e", "3", ""}, {"e", "0", ""},
		{"o", "the x", `"x"`}, {"o", "y", `"y"`}, {"o", "2", `"y"`},
		{"m", "p, 3", `["p","r"]`}, {"m", "p,,", ""},
	} {
		f := by[test.field]
		v, err := f.parse(test.line)
		got := ""
		if err == nil {
			b, _ := json.Marshal(v)
			got = string(b)
		}
		if got != test.want {
			t.Errorf("%s: %q is %s, want %s (%v)", test.field, test.line, got, test.want, err)
		}
	}
}

// TestHostileForms: a server's schema may be anything.
func TestHostileForms(t *testing.T) {
	many := `{"properties": {"a":{}` + strings.Repeat(`,"a":{}`, 1000) + `}}`
	for _, schema := range []string{
		`[]`, `{"properties": []}`, `{"properties": {"a": 1}}`, `{"properties": {"a": {"type": ["string"]}}}`, many, `{`, `"x"`,
	} {
		if f, err := formFields(json.RawMessage(schema)); err == nil {
			t.Errorf("%.80s: %+v", schema, f)
		}
	}
	for _, schema := range []string{``, `{}`, `{"properties": {}}`, `null`} {
		if f, err := formFields(json.RawMessage(schema)); err != nil || len(f) != 0 {
			t.Errorf("%s: %+v, %v", schema, f, err)
		}
	}
	fields, err := formFields(json.RawMessage(`{"properties": {"\u001b[2J": {"title": "a\nb", "description": "\u0007", "enum": ["\r"], "default": "\u0000"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if p := fields[0].prompt(); strings.ContainsAny(p, "\x1b\n\a\r\x00") {
		t.Errorf("prompt %q", p)
	}
}

func TestArgumentText(t *testing.T) {
	text, whole := argumentText(json.RawMessage(`{"path":"a\u001b[2J","n":1}`), 20, 400)
	if !whole || !strings.Contains(text, `"path": "a\u001b[2J"`) || !strings.Contains(text, "\n    \"n\": 1\n") {
		t.Errorf("%v %s", whole, text)
	}
	long := json.RawMessage(`{"a":"` + strings.Repeat("x", 10_000) + `"}`)
	if text, whole = argumentText(long, 20, 400); whole || len(text) > 1000 {
		t.Errorf("%v, %d bytes", whole, len(text))
	}
	list := json.RawMessage(`[` + strings.Repeat(`1,`, 100) + `1]`)
	if text, whole = argumentText(list, 20, 400); whole || strings.Count(text, "\n") != 21 {
		t.Errorf("%v, %d lines", whole, strings.Count(text, "\n"))
	}
	if text, whole = argumentText(list, -1, -1); !whole || strings.Count(text, "\n") != 103 {
		t.Errorf("%v, %d lines", whole, strings.Count(text, "\n"))
	}
	if text, _ = argumentText(json.RawMessage("no JSON \x1b\xff"), 20, 400); strings.ContainsAny(text, "\x1b") {
		t.Errorf("%q", text)
	}
}

// TestAskerWithoutTerminal: questions are declined, each once, and with a reason; those that are settled are not.
func TestAskerWithoutTerminal(t *testing.T) {
	var mu sync.Mutex
	replies := map[string]hostfns.Reply{}
	a := newAsker(t.Context(), questionsAsk, func(_ context.Context, id string, r hostfns.Reply) error {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := replies[id]; ok {
			t.Errorf("%s was answered twice", id)
		}
		replies[id] = r
		return nil
	})
	a.open = func() (*terminalLines, error) { return nil, errNoTerminal }
	event := func(kind hostfns.EventKind, data string) {
		a.event(engine.Event{Kind: engine.EventKind(kind), Data: []byte(data)})
	}
	event(hostfns.EventQuestion, `{"id": "q1", "kind": "approval", "server": "s", "tool": "t"}`)
	event(hostfns.EventQuestion, `{"id": "q2", "kind": "elicitation", "message": "\u001b[2J"}`)
	event(hostfns.EventQuestion, `no JSON`)
	event(hostfns.EventQuestion, `{}`)
	event(hostfns.EventReplied, `{"id": "q9"}`)
	event(hostfns.EventReplied, `[]`)
	a.finish()
	want := hostfns.Reply{Action: hostfns.ActionCancel, Reason: "it needs the approval of a person, and there is no terminal to ask at"}
	if !reflect.DeepEqual(replies, map[string]hostfns.Reply{"q1": want, "q2": want}) {
		t.Errorf("%+v", replies)
	}
}

// finish waits until all questions are answered, and closes.
func (a *asker) finish() {
	a.work.Wait()
	a.close()
}

// TestAskerReplyFails: that somebody else was faster is no trouble.
func TestAskerReplyFails(t *testing.T) {
	a := newAsker(t.Context(), questionsAsk, func(context.Context, string, hostfns.Reply) error { return errors.New("too late") })
	a.open = func() (*terminalLines, error) { return nil, errNoTerminal }
	a.event(engine.Event{Kind: engine.EventKind(hostfns.EventQuestion), Data: []byte(`{"id": "q1"}`)})
	a.finish()
}
