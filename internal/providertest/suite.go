package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
)

// Options of Suite.
type Options struct {
	// Without are tools that the kind of server cannot have: Slow, Blocks, Progress, Ask.
	Without []string
	// Untyped: blocks other than text are not told apart by the kind of server, so Blocks is not compared in full.
	Untyped bool
}

// Suite tests a provider. New makes one that has a server of the given name with the tools of Definitions; the suite
// closes it. Nil options are the full suite.
func Suite(t *testing.T, o *Options, newProvider func(t *testing.T, server string) hostfns.Provider) {
	if o == nil {
		o = &Options{}
	}
	const server = "under-test"
	p := newProvider(t, server)
	closed := false
	defer func() {
		if !closed {
			p.Close()
		}
	}()
	s := &suite{p: p, server: server}
	t.Run("Servers", s.servers)
	t.Run("Tools", func(t *testing.T) { s.tools(t, o.Without) })
	t.Run("UnknownServer", s.unknownServer)
	t.Run("UnknownTool", s.unknownTool)
	t.Run("Echo", s.echo)
	t.Run("Concurrent", s.concurrent)
	t.Run("Structured", s.structured)
	t.Run("Failure", s.failure)
	t.Run("Big", s.big)
	optional := func(tool, name string, f func(*testing.T)) {
		t.Run(name, func(t *testing.T) {
			if slices.Contains(o.Without, tool) {
				t.Skipf("this kind of server has no tool %s", tool)
			}
			f(t)
		})
	}
	optional(Slow, "Cancelled", func(t *testing.T) { s.ends(t, context.Canceled) })
	optional(Slow, "Deadline", func(t *testing.T) { s.ends(t, context.DeadlineExceeded) })
	optional(Blocks, "Blocks", func(t *testing.T) { s.blocks(t, o.Untyped) })
	optional(Progress, "Progress", s.progress)
	optional(Ask, "Ask", s.ask)
	optional(Ask, "AskNobody", s.askNobody)
	t.Run("Close", func(t *testing.T) {
		closed = true
		s.close(t)
	})
}

type suite struct {
	p      hostfns.Provider
	server string
}

func (s *suite) call(t *testing.T, tool string, args any) *hostfns.ToolResult {
	t.Helper()
	return s.callWith(t, &hostfns.ToolCall{Tool: tool}, args)
}

func (s *suite) callWith(t *testing.T, c *hostfns.ToolCall, args any) *hostfns.ToolResult {
	t.Helper()
	j, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	c.Server, c.Args = s.server, j
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := s.p.Call(ctx, c)
	if err != nil {
		t.Fatalf("%s: %v", c.Tool, err)
	}
	if r == nil {
		t.Fatalf("%s: neither a result nor an error", c.Tool)
	}
	return r
}

func text(t *testing.T, r *hostfns.ToolResult) string {
	t.Helper()
	if len(r.Content) != 1 || r.Content[0].Type != hostfns.BlockText {
		t.Fatalf("result %+v, want one block of text", r)
	}
	return r.Content[0].Text
}

func (s *suite) servers(t *testing.T) {
	got := s.p.Servers()
	if !slices.Contains(got, s.server) || !slices.IsSorted(got) {
		t.Errorf("servers %q, want %q among them, sorted", got, s.server)
	}
}

func (s *suite) tools(t *testing.T, without []string) {
	l, err := s.p.Tools(context.Background(), s.server)
	if err != nil {
		t.Fatal(err)
	}
	if l.Version == "" {
		t.Error("the listing has no version")
	}
	for _, want := range Definitions() {
		if slices.Contains(without, want.Name) {
			continue
		}
		i := slices.IndexFunc(l.Tools, func(d *hostfns.Tool) bool { return d.Name == want.Name })
		if i < 0 {
			t.Errorf("there is no tool %s", want.Name)
			continue
		}
		got := l.Tools[i]
		if got.Description != want.Description {
			t.Errorf("%s: description %q, want %q", want.Name, got.Description, want.Description)
		}
		sameJSON(t, want.Name+": input schema", got.InputSchema, want.InputSchema)
		sameJSON(t, want.Name+": output schema", got.OutputSchema, want.OutputSchema)
		if want.Name == Echo && (got.Annotations.ReadOnly == nil || !*got.Annotations.ReadOnly) {
			t.Error("echo is not marked read-only")
		}
	}
	again, err := s.p.Tools(context.Background(), s.server)
	if err != nil || again.Version != l.Version {
		t.Errorf("listed again: %v, version %q after %q", err, again.Version, l.Version)
	}
	if r, ok := s.p.(hostfns.Refresher); ok {
		anew, err := r.Refresh(context.Background(), s.server)
		if err != nil || anew.Version != l.Version {
			t.Errorf("refreshed: %v, version %q after %q", err, anew.Version, l.Version)
		}
	}
}

func sameJSON(t *testing.T, what string, got, want json.RawMessage) {
	t.Helper()
	var g, w any
	if len(got) > 0 {
		if err := json.Unmarshal(got, &g); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(want) > 0 {
		if err := json.Unmarshal(want, &w); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("%s is %s, want %s", what, got, want)
	}
}

// code returns the code of an Error.
func code(err error) string {
	var e *hostfns.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Code
}

func (s *suite) unknownServer(t *testing.T) {
	l, err := s.p.Tools(context.Background(), "no-such-server")
	if l != nil || code(err) != hostfns.CodeUnavailable {
		t.Errorf("listing of an unknown server: %v, %v; want the code %s", l, err, hostfns.CodeUnavailable)
	}
	_, err = s.p.Call(context.Background(), &hostfns.ToolCall{Server: "no-such-server", Tool: Echo, Args: json.RawMessage("{}")})
	if code(err) != hostfns.CodeUnavailable {
		t.Errorf("call: %v; want the code %s", err, hostfns.CodeUnavailable)
	}
}

func (s *suite) unknownTool(t *testing.T) {
	_, err := s.p.Call(context.Background(), &hostfns.ToolCall{Server: s.server, Tool: "no-such-tool", Args: json.RawMessage("{}")})
	if code(err) != hostfns.CodeUnknownTool {
		t.Errorf("%v; want the code %s", err, hostfns.CodeUnknownTool)
	}
}

func (s *suite) echo(t *testing.T) {
	for _, want := range []string{"", "one", "a\x00b", "zwölf \U0001f40c\u2028", `"quoted\`, strings.Repeat("long ", 10_000)} {
		r := s.call(t, Echo, map[string]any{"text": want})
		if got := text(t, r); got != want || r.IsError {
			t.Errorf("echo of %.40q is %.40q, failed: %v", want, got, r.IsError)
		}
	}
}

func (s *suite) concurrent(t *testing.T) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				want := strings.Repeat("x", 1000)
				j, _ := json.Marshal(map[string]any{"text": want})
				r, err := s.p.Call(context.Background(), &hostfns.ToolCall{Server: s.server, Tool: Echo, Args: j})
				if err != nil || len(r.Content) != 1 || r.Content[0].Text != want {
					t.Errorf("a call among others: %v", err)
				}
			}
		})
	}
	all.Wait()
}

func (s *suite) structured(t *testing.T) {
	r := s.call(t, Add, map[string]any{"a": 1 << 40, "b": -2})
	sameJSON(t, "the structured result", r.Structured, json.RawMessage(`{"sum": 1099511627774}`))
}

func (s *suite) failure(t *testing.T) {
	r := s.call(t, Fail, map[string]any{"message": "no such file"})
	if !r.IsError || text(t, r) != "no such file" {
		t.Errorf("result %+v, want a failure", r)
	}
}

func (s *suite) big(t *testing.T) {
	for _, n := range []int{1 << 20, 10 << 20} {
		if got := len(text(t, s.call(t, Big, map[string]any{"bytes": n}))); got != n {
			t.Errorf("%d bytes, want %d", got, n)
		}
	}
}

// ends checks that a call ends with its context, and that the server can be used afterwards.
func (s *suite) ends(t *testing.T, want error) {
	ctx, cancel := context.WithCancel(context.Background())
	if errors.Is(want, context.DeadlineExceeded) {
		ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
	}
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := s.p.Call(ctx, &hostfns.ToolCall{Server: s.server, Tool: Slow, Args: json.RawMessage("{}")})
		ended <- err
	}()
	if errors.Is(want, context.Canceled) {
		cancel()
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("no error")
		}
		if c := code(err); !errors.Is(err, want) && c != hostfns.CodeCancelled && c != hostfns.CodeTimeout {
			t.Errorf("%v, want %v", err, want)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the call goes on though its context is done")
	}
	if got := text(t, s.call(t, Echo, map[string]any{"text": "after"})); got != "after" {
		t.Errorf("echo after it: %q", got)
	}
}

func (s *suite) blocks(t *testing.T, untyped bool) {
	r := s.call(t, Blocks, map[string]any{})
	want := SomeBlocks()
	if len(r.Content) != len(want) {
		t.Fatalf("%d blocks, want %d", len(r.Content), len(want))
	}
	for i := range want {
		if !untyped && !reflect.DeepEqual(r.Content[i], want[i]) {
			t.Errorf("block %d is %+v, want %+v", i, r.Content[i], want[i])
		}
	}
}

func (s *suite) progress(t *testing.T) {
	var mu sync.Mutex
	var events []hostfns.Event
	r := s.callWith(t, &hostfns.ToolCall{Tool: Progress, Emit: func(e hostfns.Event) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e)
	}}, map[string]any{"steps": 3})
	if text(t, r) != "done" {
		t.Errorf("result %+v", r)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(events) != 3 {
		t.Fatalf("%d events, want 3, all before the call returns", len(events))
	}
	for i, e := range events {
		var d struct {
			Server, Tool    string
			Progress, Total float64
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			t.Fatal(err)
		}
		if e.Kind != hostfns.EventProgress || d.Server != s.server || d.Tool != Progress || d.Progress != float64(i+1) || d.Total != 3 {
			t.Errorf("event %d is %s %s", i, e.Kind, e.Data)
		}
	}
	// Nobody listens.
	if r := s.call(t, Progress, map[string]any{"steps": 3}); text(t, r) != "done" {
		t.Errorf("result %+v", r)
	}
}

func (s *suite) ask(t *testing.T) {
	for _, c := range []struct {
		reply hostfns.Reply
		want  string
	}{
		{hostfns.Reply{Action: hostfns.ActionAccept, Content: json.RawMessage(`{"name":"Ada"}`)}, "accept Ada"},
		{hostfns.Reply{Action: hostfns.ActionDecline}, "decline "},
		{hostfns.Reply{Action: hostfns.ActionCancel}, "cancel "},
	} {
		asked := make(chan *hostfns.Question, 1)
		r := s.callWith(t, &hostfns.ToolCall{Tool: Ask, Ask: func(_ context.Context, q *hostfns.Question) (*hostfns.Reply, error) {
			asked <- q
			return &c.reply, nil
		}}, map[string]any{"message": "Who are you?"})
		if got := text(t, r); got != c.want {
			t.Errorf("the tool got %q, want %q", got, c.want)
		}
		q := <-asked
		if q.Message != "Who are you?" {
			t.Errorf("the question is %q", q.Message)
		}
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(q.Schema, &schema); err != nil || schema.Properties["name"] == nil {
			t.Errorf("the schema of the question is %s (%v)", q.Schema, err)
		}
	}
}

func (s *suite) askNobody(t *testing.T) {
	if got := text(t, s.call(t, Ask, map[string]any{"message": "Anybody?"})); got != "decline " {
		t.Errorf("the tool got %q, want that it was declined", got)
	}
}

func (s *suite) close(t *testing.T) {
	if err := s.p.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := s.p.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
	if _, err := s.p.Call(context.Background(), &hostfns.ToolCall{Server: s.server, Tool: Echo, Args: json.RawMessage(`{"text":""}`)}); err == nil {
		t.Error("a closed provider answers calls")
	}
}
