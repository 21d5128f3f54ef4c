package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestResults(t *testing.T) {
	p := NewTools("s")
	results := map[string]*ToolResult{
		"none":       {},
		"text":       text("hello"),
		"badtext":    text("a\xff"),
		"two":        {Content: []Block{{Type: BlockText, Text: "a"}, {Type: BlockText, Text: "b"}}},
		"image":      {Content: []Block{{Type: BlockImage, Data: []byte{1}, MIMEType: "image/png"}}},
		"structured": {Content: []Block{{Type: BlockText, Text: "a"}}, Structured: json.RawMessage(`{"a": 1}`)},
		"both": {Content: []Block{{Type: BlockText, Text: "a"}, {Type: BlockImage, Data: []byte{1}}},
			Structured: json.RawMessage(`{"a":1}`)},
		"array":    {Structured: json.RawMessage(`[1]`)},
		"broken":   {Structured: json.RawMessage(`{"a":`)},
		"failed":   {IsError: true, Content: []Block{{Type: BlockText, Text: "no"}, {Type: BlockText, Text: "way"}}},
		"silent":   {IsError: true},
		"failedas": {IsError: true, Content: []Block{{Type: BlockText, Text: "no"}}, Structured: json.RawMessage(`{"why":1}`)},
		"long":     {IsError: true, Content: []Block{{Type: BlockText, Text: strings.Repeat("x", 10*maxMessage)}}},
		"typed":    {Structured: json.RawMessage(`{"n":1}`)},
		"untyped":  text("no structure"),
		"mistyped": {Structured: json.RawMessage(`{"n":"one"}`)},
		"wrapped":  {Structured: json.RawMessage(`{"result":[1,2]}`)},
	}
	for name := range results {
		def := Tool{Name: name}
		switch name {
		case "typed", "untyped", "mistyped":
			def.OutputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
		case "wrapped":
			def.OutputSchema = json.RawMessage(`{"type":"object","properties":{"result":{"type":"array"}},"required":["result"]}`)
		}
		p.Add(def, func(context.Context, *ToolCall) (*ToolResult, error) { return results[name], nil })
	}
	raw(p, "nil", func(context.Context, *ToolCall) (*ToolResult, error) { return nil, nil })
	c := begin(t, newHost(t, &Options{Providers: []Provider{p}}), nil)
	for _, tc := range []struct {
		tool string
		kind ValueKind
		body string
		code string
		data string
		say  string
	}{
		{tool: "none", kind: ValueNone},
		{tool: "nil", kind: ValueNone},
		{tool: "text", kind: ValueText, body: "hello"},
		{tool: "badtext", kind: ValueText, body: "a\ufffd"},
		{tool: "two", kind: ValueBlocks, body: "ab"},
		{tool: "image", kind: ValueBlocks, body: "\x01"},
		{tool: "structured", kind: ValueJSON, body: `{"a": 1}`},
		{tool: "both", kind: ValueBlocks, body: "a\x01"},
		{tool: "array", code: CodeInvalidResult},
		{tool: "broken", code: CodeInvalidResult},
		{tool: "failed", code: CodeToolFailed, say: "no\nway"},
		{tool: "silent", code: CodeToolFailed, say: "the tool failed and did not say why"},
		{tool: "failedas", code: CodeToolFailed, say: "no", data: `{"why":1}`},
		{tool: "long", code: CodeToolFailed, say: strings.Repeat("x", maxMessage-3) + "..."},
		{tool: "typed", kind: ValueJSON, body: `{"n":1}`},
		{tool: "untyped", code: CodeInvalidResult},
		{tool: "mistyped", code: CodeInvalidResult, data: `{"n":"one"}`},
		{tool: "wrapped", kind: ValueJSON, body: `[1,2]`},
	} {
		r := callTool(t, c, "s", tc.tool, map[string]any{})
		if r.Kind != tc.kind || string(r.body) != tc.body || r.Code != tc.code || string(r.Data) != tc.data ||
			tc.say != "" && r.Message != tc.say {
			t.Errorf("%s: %+v %q", tc.tool, r, r.body)
		}
		if tc.code != "" && (r.Server != "s" || r.Tool != tc.tool) {
			t.Errorf("%s: the error is of %s.%s", tc.tool, r.Server, r.Tool)
		}
	}
}

// TestPolicyOfCalls: what is denied is not called, and says so.
func TestPolicyOfCalls(t *testing.T) {
	yes := true
	calls := atomic.Int64{}
	listed := atomic.Int64{}
	newProvider := func(server string) Provider {
		p := NewTools(server)
		f := func(context.Context, *ToolCall) (*ToolResult, error) {
			calls.Add(1)
			return text("called"), nil
		}
		p.Add(Tool{Name: "read-it", Annotations: Annotations{ReadOnly: &yes}}, f)
		p.Add(Tool{Name: "write-it"}, f)
		return &counted{p, &listed}
	}
	for _, tc := range []struct {
		name     string
		policies [3]*Policy // of host, session, execution
		allowed  string
		starts   bool
	}{
		{"all", [3]*Policy{}, "a.read-it a.write-it b.read-it b.write-it", true},
		{"host", [3]*Policy{{Allow: []string{"a"}}}, "a.read-it a.write-it", true},
		{"session", [3]*Policy{1: {Deny: []string{"*.write*"}}}, "a.read-it b.read-it", true},
		{"execution", [3]*Policy{2: {ReadOnly: true}}, "a.read-it b.read-it", true},
		{"together", [3]*Policy{{Allow: []string{"a.*"}}, {Deny: []string{"a.write_it"}}, {}}, "a.read-it", true},
		{"nothing", [3]*Policy{{Allow: []string{"a.*"}}, {Allow: []string{"b.*"}}}, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			calls.Store(0)
			listed.Store(0)
			h := newHost(t, &Options{Providers: []Provider{newProvider("a"), newProvider("b")}, Policy: tc.policies[0]})
			s := h.NewSession(tc.policies[1])
			defer s.Close()
			c := s.Begin(context.Background(), &ExecOptions{Policy: tc.policies[2]})
			var allowed []string
			for _, server := range []string{"a", "b"} {
				for _, tool := range []string{"read-it", "write-it"} {
					switch r := callTool(t, c, server, tool, map[string]any{}); r.Code {
					case "":
						allowed = append(allowed, server+"."+tool)
					case CodeDenied:
					default:
						t.Errorf("%s.%s: %+v", server, tool, r)
					}
				}
			}
			if got := strings.Join(allowed, " "); got != tc.allowed || int(calls.Load()) != len(allowed) {
				t.Errorf("allowed %s after %d calls, want %s", got, calls.Load(), tc.allowed)
			}
			if (listed.Load() > 0) != tc.starts {
				t.Errorf("servers were listed %d times", listed.Load())
			}
			records, _ := c.End()
			if len(records) != 4 || records[0].Outcome == "ok" != slices.Contains(allowed, "a.read-it") {
				t.Errorf("records %+v", records)
			}
		})
	}
}

// counted counts listings.
type counted struct {
	Provider
	n *atomic.Int64
}

func (c *counted) Tools(ctx context.Context, server string) (*Listing, error) {
	c.n.Add(1)
	return c.Provider.Tools(ctx, server)
}

func TestRetries(t *testing.T) {
	yes, no := true, false
	unavailable := &Error{Code: CodeUnavailable, Message: "gone"}
	for _, tc := range []struct {
		name   string
		a      Annotations
		policy *Policy
		errs   []error // of the tries; then it works
		calls  int
		took   time.Duration
		code   string
	}{
		{"works", Annotations{Idempotent: &yes}, nil, nil, 1, 0, ""},
		{"idempotent", Annotations{Idempotent: &yes}, nil, []error{unavailable, unavailable}, 3, 300 * time.Millisecond, ""},
		{"read-only", Annotations{ReadOnly: &yes}, nil, []error{unavailable}, 2, 100 * time.Millisecond, ""},
		{"retryable", Annotations{Idempotent: &yes}, nil, []error{&Error{Code: CodeServer, Retryable: true}}, 2, 100 * time.Millisecond, ""},
		{"neither", Annotations{Idempotent: &no}, nil, []error{unavailable}, 1, 0, CodeUnavailable},
		{"not said", Annotations{}, nil, []error{&Error{Code: CodeServer, Retryable: true}}, 1, 0, CodeServer},
		{"another error", Annotations{Idempotent: &yes}, nil, []error{&Error{Code: CodeServer}}, 1, 0, CodeServer},
		{"an error that is none of ours", Annotations{Idempotent: &yes}, nil, []error{errors.New("odd")}, 1, 0, CodeServer},
		{"too often", Annotations{Idempotent: &yes}, &Policy{Retries: 1}, []error{unavailable, unavailable}, 2, 100 * time.Millisecond, CodeUnavailable},
		{"never", Annotations{Idempotent: &yes}, &Policy{Retries: -1}, []error{unavailable}, 1, 0, CodeUnavailable},
		{"when the server says", Annotations{Idempotent: &yes}, nil,
			[]error{&Error{Code: CodeUnavailable, RetryAfter: 2 * time.Second}}, 2, 2 * time.Second, ""},
		{"much later", Annotations{Idempotent: &yes}, nil, []error{&Error{Code: CodeUnavailable, RetryAfter: time.Hour}}, 1, 0, CodeUnavailable},
		{"no time left", Annotations{Idempotent: &yes}, &Policy{CallTimeout: 50 * time.Millisecond}, []error{unavailable}, 1,
			50 * time.Millisecond, CodeTimeout},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tools := NewTools("s")
				p := &failing{Provider: tools, errs: tc.errs}
				tools.Add(Tool{Name: "t", Annotations: tc.a}, func(context.Context, *ToolCall) (*ToolResult, error) { return text("ok"), nil })
				c := begin(t, newHost(t, &Options{Providers: []Provider{p}, Policy: tc.policy, Logger: slog.New(slog.DiscardHandler)}), nil)
				began := time.Now()
				r := callTool(t, c, "s", "t", nil)
				if r.Code != tc.code || p.calls != tc.calls || time.Since(began) != tc.took {
					t.Errorf("%+v after %d calls and %v", r, p.calls, time.Since(began))
				}
				if records, _ := c.End(); len(records) != 1 {
					t.Errorf("records %+v", records)
				}
			})
		})
	}
}

// failing returns errors first. (A tool's own error would count as its failure.)
type failing struct {
	Provider
	errs  []error
	calls int
}

func (f *failing) Call(ctx context.Context, c *ToolCall) (*ToolResult, error) {
	f.calls++
	if f.calls <= len(f.errs) {
		return nil, f.errs[f.calls-1]
	}
	return f.Provider.Call(ctx, c)
}

// TestProvidersThatFail: whatever a provider does, the call ends with an error that tells nothing of the host.
func TestProvidersThatFail(t *testing.T) {
	p := NewTools("s")
	raw(p, "panics", func(context.Context, *ToolCall) (*ToolResult, error) {
		var m map[string]int
		m["secret path"] = 1
		return nil, nil
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
func (listsBadly) Close() error                                         { return nil }

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
