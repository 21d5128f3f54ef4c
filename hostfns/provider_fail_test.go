package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// TestProvidersThatFail: whatever a provider does, the call ends with an error that tells nothing of the host.
func TestProvidersThatFail(t *testing.T) {
	p := NewTools("s")
	raw(p, "panics", func(context.Context, *ToolCall) (*ToolResult, error) {
		panic("secret path")
	})
	raw(p, "exits", func(context.Context, *ToolCall) (*ToolResult, error) {
		runtime.Goexit()
		return nil, nil
	})
	raw(p, "fails", func(context.Context, *ToolCall) (*ToolResult, error) {
		return nil, errors.New("no such file")
	})
	raw(p, "cancels", func(context.Context, *ToolCall) (*ToolResult, error) {
		return nil, &Error{Code: CodeServer, Err: context.Canceled}
	})
	raw(p, "nilerror", func(context.Context, *ToolCall) (*ToolResult, error) { return nil, (*Error)(nil) })
	raw(p, "works", func(context.Context, *ToolCall) (*ToolResult, error) { return text("yes"), nil })
	var logged strings.Builder
	var mu sync.Mutex
	h := newHost(t, &Options{Providers: []Provider{p, listsBadly{}}, Policy: &Policy{MaxParallel: 1},
		Logger: slog.New(slog.NewTextHandler(locked{&mu, &logged}, nil))})
	c := begin(t, h, nil)
	for _, tc := range []struct{ server, tool, code string }{
		{"s", "panics", CodeServer}, {"s", "exits", CodeServer}, {"s", "fails", CodeToolFailed}, {"s", "cancels", CodeServer},
		{"s", "nilerror", CodeServer},
		{"panics", "x", CodeServer}, {"fails", "x", CodeServer}, {"says", "x", CodeTimeout}, {"nothing", "x", CodeUnknownTool},
		{"s", "works", ""},
	} {
		if r := callTool(t, c, tc.server, tc.tool, nil); r.Code != tc.code || strings.Contains(r.Message, "secret") {
			t.Errorf("%s.%s: %+v", tc.server, tc.tool, r)
		}
		// The same with a call that waits for its turn.
		start(t, c, 0, FnTool, toolHead{tc.server, tc.tool, nil})
		start(t, c, 0, FnTool, toolHead{"s", "works", nil})
		for range 2 {
			wait(t, c, 0, -1)
		}
	}
	for _, fn := range []string{FnModule, FnSpec, FnDescribe} {
		for _, server := range []string{"panics", "fails", "says"} {
			if r := do(t, c, fn, map[string]any{"server": server}); r.code != answerError || strings.Contains(r.Message, "secret") {
				t.Errorf("%s of %s: %+v", fn, server, r)
			}
		}
	}
	// A search tells of those that could not be listed.
	r := do(t, c, FnSearch, map[string]any{"query": "works"})
	var head struct{ Failed map[string]string }
	if err := json.Unmarshal(r.Head, &head); err != nil || len(head.Failed) != 3 || head.Failed["says"] != "listing took too long" {
		t.Errorf("search: %+v (%s, %v)", r, r.Head, err)
	}
	// One in which no server can be listed is an error, not an empty answer.
	bad := begin(t, newHost(t, &Options{Providers: []Provider{listsBadly{}}, Policy: &Policy{Deny: []string{"nothing", "fails", "panics"}}}), nil)
	if r := do(t, bad, FnSearch, map[string]any{"query": "x"}); r.Code != CodeTimeout || r.Server != "says" {
		t.Errorf("%+v", r)
	}
	mu.Lock()
	defer mu.Unlock()
	if log := logged.String(); !strings.Contains(log, "stack=") || !strings.Contains(log, "secret listing") {
		t.Errorf("the log is\n%s", log)
	}
}

type locked struct {
	mu *sync.Mutex
	b  *strings.Builder
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

type listsBadly struct{}

func (listsBadly) Servers() []string { return []string{"fails", "nothing", "panics", "says"} }

func (listsBadly) Tools(_ context.Context, server string) (*Listing, error) {
	switch server {
	case "panics":
		panic("secret panic")
	case "fails":
		return nil, errors.New("secret listing")
	case "says":
		return nil, &Error{Code: CodeTimeout, Message: "listing took too long"}
	}
	return nil, nil
}

func (listsBadly) Call(context.Context, *ToolCall) (*ToolResult, error) { return nil, nil }

func (listsBadly) Close() error { return nil }

func TestHints(t *testing.T) {
	p := NewTools("github")
	for _, name := range []string{"create_issue", "create_pull", "list_issues"} {
		raw(p, name, nil2)
	}
	h := newHost(t, &Options{Providers: []Provider{p, adder()}, Policy: &Policy{Deny: []string{"*.create_pull"}}})
	c := begin(t, h, nil)
	for _, tc := range []struct{ server, tool, hint string }{
		{"github", "createIssue", "did you mean create_issue?"},
		{"github", "zzzzzzzz", "tools are: create_issue, list_issues"},
		{"githb", "x", "did you mean github?"},
		{"zzzzzzz", "x", "servers are: github, math"},
	} {
		if r := callTool(t, c, tc.server, tc.tool, nil); r.Hint != tc.hint {
			t.Errorf("%s.%s: hint %q, want %q", tc.server, tc.tool, r.Hint, tc.hint)
		}
	}
	r := callTool(t, c, "math", "add", map[string]any{"a": 1})
	if r.Code != CodeInvalidArguments || !strings.Contains(r.Message+r.Hint, "add(a: int, b: int)") || !strings.Contains(r.Message, "b") {
		t.Errorf("%+v", r)
	}
}

func nil2(context.Context, *ToolCall) (*ToolResult, error) { return nil, nil }

func TestEvents(t *testing.T) {
	p := NewTools("s")
	raw(p, "tells", func(_ context.Context, c *ToolCall) (*ToolResult, error) {
		c.Emit(Event{EventProgress, json.RawMessage(`{"progress":1}`)})
		c.Emit(Event{EventLog, json.RawMessage(`{"broken":`)})
		c.Emit(Event{EventLog, nil})
		c.Emit(Event{EventLog, json.RawMessage(`"` + strings.Repeat("x", maxEventData) + `"`)})
		c.Emit(Event{EventLog, json.RawMessage(`{"level":"info"}`)})
		return nil, nil
	})
	raw(p, "floods", func(_ context.Context, c *ToolCall) (*ToolResult, error) {
		for range maxEvents + 100 {
			c.Emit(Event{EventLog, json.RawMessage(`{}`)})
		}
		return nil, nil
	})
	var mu sync.Mutex
	var got []Event
	h := newHost(t, &Options{Providers: []Provider{p}, Logger: slog.New(slog.DiscardHandler)})
	c := begin(t, h, &ExecOptions{Emit: func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, e)
	}})
	callTool(t, c, "s", "tells", nil)
	want := []Event{{EventProgress, json.RawMessage(`{"progress":1}`)}, {EventLog, json.RawMessage(`{"level":"info"}`)}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("events %s", got)
	}
	got = nil
	callTool(t, c, "s", "floods", nil)
	if len(got) != maxEvents {
		t.Errorf("%d events", len(got))
	}
	// Nobody listens.
	if r := callTool(t, begin(t, h, nil), "s", "tells", nil); r.code != answerOK {
		t.Errorf("%+v", r)
	}
}

func TestScope(t *testing.T) {
	scope := NewScope().Child()
	h := newHost(t, &Options{Functions: map[string]Function{"depth": func(_ context.Context, c *FunctionCall) (*Value, error) {
		return &Value{Kind: ValueText, Data: []byte(itoa(c.Scope.Depth()))}, nil
	}}})
	if r := do(t, begin(t, h, &ExecOptions{Scope: scope}), "depth", nil); string(r.body) != "1" {
		t.Errorf("depth %s", r.body)
	}
	if r := do(t, begin(t, h, nil), "depth", nil); string(r.body) != "0" {
		t.Errorf("depth %s", r.body)
	}
}
