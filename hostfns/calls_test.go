package hostfns

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

type addArgs struct {
	A int `json:"a"`
	B int `json:"b"`
}

func adder() *Tools {
	t := NewTools("math")
	AddTool(t, Tool{Name: "add", Description: "Adds."}, func(_ context.Context, in addArgs) (int, error) { return in.A + in.B, nil })
	return t
}

// raw adds a tool that takes anything.
func raw(t *Tools, name string, f ToolFunc) {
	t.Add(Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, f)
}

func text(s string) *ToolResult { return &ToolResult{Content: []Block{{Type: BlockText, Text: s}}} }

func TestOpCall(t *testing.T) {
	h := newHost(t, &Options{Providers: []Provider{adder()}, Functions: map[string]Function{
		"f.args": func(_ context.Context, c *FunctionCall) (*Value, error) {
			return &Value{Kind: ValueText, Data: fmt.Appendf(nil, "%s %s %s %d", c.Name, c.Args, c.Body, c.Scope.Depth())}, nil
		},
		"f.nothing": func(context.Context, *FunctionCall) (*Value, error) { return nil, nil },
		"f.fails": func(context.Context, *FunctionCall) (*Value, error) {
			return nil, &Error{Code: CodeRateLimit, Message: "slower", RetryAfter: time.Second}
		},
		"f.leaks": func(context.Context, *FunctionCall) (*Value, error) { return nil, fmt.Errorf("open /etc/shadow") },
		"f.panics": func(context.Context, *FunctionCall) (*Value, error) {
			panic("at the disco")
		},
		"f.nonsense": func(context.Context, *FunctionCall) (*Value, error) {
			return &Value{Kind: ValueJSON, Data: []byte("{")}, nil
		},
		"f.badhead": func(context.Context, *FunctionCall) (*Value, error) {
			return &Value{Kind: ValueNone, Head: json.RawMessage(`1`)}, nil
		},
		"f.badtext": func(context.Context, *FunctionCall) (*Value, error) {
			return &Value{Kind: ValueText, Data: []byte("a\xff")}, nil
		},
		"f.kind": func(context.Context, *FunctionCall) (*Value, error) { return &Value{Kind: "odd"}, nil },
	}, Policy: &Policy{Functions: []string{"f.*"}}, Logger: slog.New(slog.DiscardHandler)})
	c := begin(t, h, nil)
	for _, tc := range []struct {
		name string
		head string
		body string
		kind ValueKind
		want string // body or code
	}{
		{"tool", `{"fn":"tools.call","args":{"server":"math","tool":"add","args":{"a":2,"b":3}}}`, "", ValueJSON, "5"},
		{"function", `{"fn":"f.args","args":[1, 2]}`, "body", ValueText, "f.args [1, 2] body 0"},
		{"no arguments", `{"fn":"f.args"}`, "", ValueText, "f.args {}  0"},
		{"more fields", `{"fn":"f.args","args":1,"more":2}`, "", ValueText, "f.args 1  0"},
		{"nothing", `{"fn":"f.nothing"}`, "", ValueNone, ""},
		{"text that is none", `{"fn":"f.badtext"}`, "", ValueText, "a\ufffd"},
		{"an error", `{"fn":"f.fails"}`, "", "", CodeRateLimit},
		{"an error of the host", `{"fn":"f.leaks"}`, "", "", CodeServer},
		{"panic", `{"fn":"f.panics"}`, "", "", CodeServer},
		{"invalid JSON of a function", `{"fn":"f.nonsense"}`, "", "", CodeInvalidResult},
		{"invalid head of a function", `{"fn":"f.badhead"}`, "", "", CodeServer},
		{"unknown kind of value", `{"fn":"f.kind"}`, "", "", CodeServer},
		{"unknown function", `{"fn":"g.x"}`, "", "", CodeUnavailable},
		{"no head", ``, "", "", CodeRequest},
		{"no object", `[]`, "", "", CodeRequest},
		{"no name", `{"args":{}}`, "", "", CodeRequest},
		{"a name that is no text", `{"fn":1}`, "", "", CodeRequest},
		{"a long name", `{"fn":"` + strings.Repeat("x", maxName+1) + `"}`, "", "", CodeRequest},
		{"arguments that are no UTF-8", "{\"fn\":\"f.args\",\"args\":\"\xff\"}", "", "", CodeRequest},
		{"deep nesting", `{"fn":"f.args","args":` + strings.Repeat("[", 20_000), "", "", CodeRequest},
		{"tool without names", `{"fn":"tools.call","args":{}}`, "", "", CodeRequest},
		{"tool with arguments that are none", `{"fn":"tools.call","args":7}`, "", "", CodeRequest},
		{"tool of an unknown server", `{"fn":"tools.call","args":{"server":"x","tool":"y"}}`, "", "", CodeUnavailable},
		{"unknown tool", `{"fn":"tools.call","args":{"server":"math","tool":"y"}}`, "", "", CodeUnknownTool},
		{"arguments that do not fit", `{"fn":"tools.call","args":{"server":"math","tool":"add","args":{"a":"x","b":3}}}`, "", "", CodeInvalidArguments},
		{"arguments of a tool that are none", `{"fn":"tools.call","args":{"server":"math","tool":"add","args":[]}}`, "", "", CodeInvalidArguments},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := request(OpCall, tc.head, []byte(tc.body)...)
			r := decode(t, c.Handle(context.Background(), req))
			if tc.kind == "" {
				if r.code != answerError || r.errorHead.Code != tc.want || r.Message == "" {
					t.Errorf("answer %+v %q, want the code %s", r.errorHead, r.body, tc.want)
				}
				if strings.Contains(r.Message, "shadow") || strings.Contains(r.Message, "disco") {
					t.Errorf("the guest was told %q", r.Message)
				}
				return
			}
			if r.code != answerOK || r.Kind != tc.kind || string(r.body) != tc.want {
				t.Errorf("answer %+v %q", r, r.body)
			}
		})
	}
	// It goes on after all that.
	if r := callTool(t, c, "math", "add", addArgs{1, 1}); string(r.body) != "2" {
		t.Errorf("afterwards: %+v", r)
	}
}

func TestHostileOps(t *testing.T) {
	c := begin(t, newHost(t, &Options{Providers: []Provider{adder()}}), nil)
	for _, tc := range []struct {
		name string
		op   uint32
		head string
	}{
		{"unknown op", 99, `{}`},
		{"no op", 0, `{}`},
		{"start without a queue", OpStart, `{"fn":"tools.servers"}`},
		{"start with a negative queue", OpStart, `{"fn":"tools.servers","queue":-1}`},
		{"start with a large queue", OpStart, fmt.Sprintf(`{"fn":"tools.servers","queue":%d}`, MaxQueues)},
		{"start with a queue that is none", OpStart, `{"fn":"tools.servers","queue":1.5}`},
		{"wait without a queue", OpWait, `{"timeout_ns":0}`},
		{"wait with nonsense", OpWait, `{"queue":"1"}`},
		{"wait for too long a time", OpWait, `{"queue":1,"timeout_ns":99999999999999999999}`},
		{"wake without a queue", OpWake, `{}`},
		{"wake without a head", OpWake, ``},
		{"cancel nothing", OpCancel, `{}`},
		{"cancel what is not there", OpCancel, `{"id":1}`},
		{"cancel zero", OpCancel, `{"id":0}`},
		{"cancel a negative", OpCancel, `{"id":-1}`},
	} {
		r := decode(t, c.Handle(context.Background(), request(tc.op, tc.head)))
		if r.code != answerError || r.Code != CodeRequest {
			t.Errorf("%s: %+v", tc.name, r)
		}
	}
	for _, b := range [][]byte{nil, {1}, make([]byte, 8), []byte("\x01\x00\x00\x00\xff\xff\xff\xff")} {
		if r := decode(t, c.Handle(context.Background(), b)); r.Code != CodeRequest {
			t.Errorf("%q: %+v", b, r)
		}
	}
	if len(c.queues) != 0 || len(c.started) != 0 {
		t.Errorf("%d queues and %d calls are left", len(c.queues), len(c.started))
	}
}

func TestMaxCalls(t *testing.T) {
	for _, limit := range []int{-1, 1, 3} {
		h := newHost(t, &Options{Providers: []Provider{adder()}, Policy: &Policy{MaxCalls: limit}})
		c := begin(t, h, nil)
		for i := range max(0, limit) {
			var r *reply
			if i%2 == 0 {
				r = callTool(t, c, "math", "add", addArgs{})
			} else {
				r = start(t, c, 0, FnTool, toolHead{"math", "add", addArgs{}})
			}
			if r.code != answerOK {
				t.Fatalf("call %d of %d: %s", i, limit, r.Message)
			}
		}
		if r := callTool(t, c, "math", "add", addArgs{}); r.Code != CodeBudget || r.Server != "math" {
			t.Errorf("limit %d: %+v", limit, r)
		}
		if r := start(t, c, 0, FnTool, toolHead{"math", "add", addArgs{}}); r.Code != CodeBudget {
			t.Errorf("limit %d, started: %+v", limit, r)
		}
		// What there is can still be read.
		if r := do(t, c, FnServers, nil); r.code != answerOK {
			t.Errorf("limit %d: %+v", limit, r)
		}
		records, _ := c.End()
		if n := max(0, limit) + 2; len(records) != n || records[n-1].Outcome != CodeBudget {
			t.Errorf("limit %d: records %+v", limit, records)
		}
	}
}

func TestMaxBytes(t *testing.T) {
	p := NewTools("s")
	raw(p, "big", func(context.Context, *ToolCall) (*ToolResult, error) { return text(strings.Repeat("x", 400)), nil })
	h := newHost(t, &Options{Providers: []Provider{p}, Policy: &Policy{MaxBytes: 1000}})
	c := begin(t, h, nil)
	if r := callTool(t, c, "s", "big", map[string]any{}); r.code != answerOK {
		t.Fatal(r.Message)
	}
	if r := callTool(t, c, "s", "big", map[string]any{"x": strings.Repeat("y", 600)}); r.Code != CodeBudget {
		t.Errorf("arguments over the limit: %+v", r)
	}
	if r := callTool(t, c, "s", "big", map[string]any{}); r.code != answerOK {
		t.Errorf("what still fits: %s", r.Message)
	}
	if r := callTool(t, c, "s", "big", map[string]any{}); r.Code != CodeBudget {
		t.Errorf("a result over the limit: %+v", r)
	}
	records, _ := c.End()
	if got := outcomes(records); got != "ok budget ok budget" {
		t.Errorf("outcomes %s", got)
	}
}

func outcomes(records []Record) string {
	var s []string
	for _, r := range records {
		s = append(s, r.Outcome)
	}
	return strings.Join(s, " ")
}

func TestMaxRecords(t *testing.T) {
	c := begin(t, newHost(t, &Options{Policy: &Policy{MaxCalls: 2 * MaxRecords}}), nil)
	for i := range MaxRecords + 5 {
		do(t, c, "f."+itoa(i), nil)
	}
	records, more := c.End()
	if len(records) != MaxRecords || more != 5 || records[MaxRecords-1].Name != "f."+itoa(MaxRecords-1) {
		t.Errorf("%d records, %d more", len(records), more)
	}
	again, more := c.End()
	if len(again) != MaxRecords || more != 5 {
		t.Errorf("the second time: %d records, %d more", len(again), more)
	}
}

// TestHanging: a function that ignores its context keeps nobody, and what it returns in the end is dropped.
func TestHanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewTools("s")
		release := make(chan struct{})
		emit := make(chan func(Event), 2)
		raw(p, "hang", func(_ context.Context, c *ToolCall) (*ToolResult, error) {
			emit <- c.Emit
			<-release
			return text(strings.Repeat("late", 1000)), nil
		})
		var events atomic.Int64
		h := newHost(t, &Options{Providers: []Provider{p}, MaxInline: 10, Policy: &Policy{CallTimeout: time.Second},
			Logger: slog.New(slog.DiscardHandler)})
		s := h.NewSession(nil)
		c := s.Begin(context.Background(), &ExecOptions{Emit: func(Event) { events.Add(1) }})
		began := time.Now()
		if r := callTool(t, c, "s", "hang", nil); r.Code != CodeTimeout {
			t.Errorf("%+v", r)
		}
		if d := time.Since(began); d != time.Second+abandonAfter {
			t.Errorf("answered after %v", d)
		}
		start(t, c, 1, FnTool, toolHead{"s", "hang", nil})
		synctest.Wait()
		began = time.Now()
		records, _ := c.End()
		if d := time.Since(began); d != abandonAfter {
			t.Errorf("ended after %v", d)
		}
		if got := outcomes(records); got != "timeout cancelled" {
			t.Errorf("outcomes %s", got)
		}
		close(release)
		synctest.Wait()
		(<-emit)(Event{EventProgress, json.RawMessage("{}")})
		if len(s.handles.byID) != 0 || events.Load() != 0 {
			t.Errorf("late results left %d handles, %d events", len(s.handles.byID), events.Load())
		}
		s.Close()
	})
}

func TestCloseEndsExecutions(t *testing.T) {
	p := NewTools("s")
	g := newGate(p)
	h := newHost(t, &Options{Providers: []Provider{p}})
	s := h.NewSession(nil)
	var all sync.WaitGroup
	for i := range 3 {
		c := s.Begin(context.Background(), nil)
		all.Go(func() {
			if r := do(t, c, FnTool, gateArgs(itoa(i))); r.Code != CodeCancelled {
				t.Errorf("%+v", r)
			}
		})
		<-g.entered
	}
	s.Close()
	all.Wait()
	s.Close()
	if r := do(t, s.Begin(context.Background(), nil), FnServers, nil); r.Code != CodeCancelled {
		t.Errorf("in a closed session: %+v", r)
	}
}

func BenchmarkCallTool(b *testing.B) {
	c := begin(b, newHost(b, &Options{Providers: []Provider{adder()}, Policy: &Policy{MaxCalls: 1 << 40, MaxBytes: 1 << 50}}), nil)
	req := request(OpCall, fnHead{Fn: FnTool, Args: toolHead{"math", "add", addArgs{2, 3}}})
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		c.Handle(ctx, req)
	}
}
