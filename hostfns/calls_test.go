package hostfns

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
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

// TestGather: 1,000 calls over three queues, all collected, in IDs as they were started.
func TestGather(t *testing.T) {
	const calls, queues = 1000, 3
	c := begin(t, newHost(t, &Options{Providers: []Provider{adder()}}), nil)
	for i := range calls {
		if r := start(t, c, i%queues, FnTool, toolHead{"math", "add", addArgs{i, i}}); r.ID != i+1 {
			t.Fatalf("call %d has the ID %d: %s", i, r.ID, r.Message)
		}
	}
	var mu sync.Mutex
	seen := map[int]bool{}
	var all sync.WaitGroup
	for q := range queues {
		all.Go(func() {
			for range (calls + queues - 1 - q) / queues {
				id, r := wait(t, c, q, -1)
				if (id-1)%queues != q || string(r.body) != itoa(2*(id-1)) {
					t.Errorf("call %d on queue %d: %s", id, q, r.body)
				}
				mu.Lock()
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(seen) != calls {
		t.Errorf("%d calls came back", len(seen))
	}
	if len(c.queues) != 0 || len(c.started) != 0 || c.held != 0 || c.running != 0 {
		t.Errorf("left over: %d queues, %d calls, %d bytes, %d running", len(c.queues), len(c.started), c.held, c.running)
	}
	records, more := c.End()
	if len(records) != calls || more != 0 || records[7].Name != "tools.math.add" || string(records[7].Args) != `{"a":7,"b":7}` ||
		records[7].Outcome != "ok" {
		t.Errorf("%d records, %d more; %+v", len(records), more, records[7])
	}
}

// gate is a tool that waits until it is let go, by name.
type gate struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
	entered chan string
}

func newGate(t *Tools) *gate {
	g := &gate{waiting: map[string]chan struct{}{}, entered: make(chan string, 2000)}
	raw(t, "gate", func(ctx context.Context, c *ToolCall) (*ToolResult, error) {
		var a struct{ Name string }
		if err := json.Unmarshal(c.Args, &a); err != nil {
			return nil, err
		}
		ch := make(chan struct{})
		g.mu.Lock()
		g.waiting[a.Name] = ch
		g.mu.Unlock()
		g.entered <- a.Name
		select {
		case <-ch:
			return text(a.Name), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	return g
}

func (g *gate) open(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.waiting[name])
}

func gateArgs(name string) toolHead { return toolHead{"s", "gate", map[string]any{"name": name}} }

func TestOrder(t *testing.T) {
	p := NewTools("s")
	g := newGate(p)
	c := begin(t, newHost(t, &Options{Providers: []Provider{p}}), nil)
	names := []string{"a", "b", "c"}
	for _, n := range names {
		start(t, c, 5, FnTool, gateArgs(n))
		<-g.entered
	}
	if id, _ := wait(t, c, 5, 0); id != 0 {
		t.Fatalf("call %d ended", id)
	}
	for _, n := range []string{"c", "a", "b"} {
		g.open(n)
		id, r := wait(t, c, 5, -1)
		if names[id-1] != n || string(r.body) != n {
			t.Errorf("call %d came, want that of %s", id, n)
		}
	}
}

// TestTurns: calls beyond the limit wait for their turn, first come, first served, and without a goroutine.
func TestTurns(t *testing.T) {
	p := NewTools("s")
	g := newGate(p)
	c := begin(t, newHost(t, &Options{Providers: []Provider{p}, Policy: &Policy{MaxParallel: 2}}), nil)
	for i := range 6 {
		start(t, c, 0, FnTool, gateArgs(itoa(i)))
	}
	running := []string{<-g.entered, <-g.entered}
	slices.Sort(running)
	if !slices.Equal(running, []string{"0", "1"}) {
		t.Fatalf("%v run", running)
	}
	select {
	case n := <-g.entered:
		t.Fatalf("%s runs as well", n)
	default:
	}
	// One that waits can be cancelled.
	decode(t, c.Handle(context.Background(), request(OpCancel, `{"id":3}`)))
	if id, r := wait(t, c, 0, -1); id != 3 || r.Code != CodeCancelled || r.Server != "s" || r.Tool != "gate" {
		t.Errorf("call %d: %+v", id, r)
	}
	for i := range 4 {
		next := []int{0, 1, 3, 4}[i]
		g.open(itoa(next))
		if id, _ := wait(t, c, 0, -1); id != next+1 {
			t.Errorf("call %d ended", id)
		}
		if i < 2 {
			if n := <-g.entered; n != itoa(3+i) {
				t.Errorf("%s runs next", n)
			}
		}
	}
}

func TestWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := begin(t, newHost(t, nil), nil)
		// Before the wait, once.
		wake(t, c, 1)
		wake(t, c, 1)
		if id, _ := wait(t, c, 1, -1); id != 0 {
			t.Errorf("ID %d", id)
		}
		began := time.Now()
		if id, _ := wait(t, c, 1, int64(time.Second)); id != 0 || time.Since(began) != time.Second {
			t.Errorf("a wake was kept: ID %d after %v", id, time.Since(began))
		}
		// During the wait, and another queue does not matter.
		done := make(chan struct{})
		go func() {
			defer close(done)
			wait(t, c, 1, -1)
		}()
		synctest.Wait()
		wake(t, c, 2)
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("the wake of another queue ended it")
		default:
		}
		wake(t, c, 1)
		<-done
		if id, _ := wait(t, c, 2, -1); id != 0 {
			t.Errorf("ID %d", id)
		}
		if len(c.queues) != 0 || c.wakes != 0 {
			t.Errorf("%d queues, %d wakes are left", len(c.queues), c.wakes)
		}
	})
}

func TestWakesAreBounded(t *testing.T) {
	c := begin(t, newHost(t, nil), nil)
	for i := range maxWakes {
		if r := wake(t, c, i); r.code != answerOK {
			t.Fatal(r.Message)
		}
	}
	if r := wake(t, c, maxWakes); r.Code != CodeBudget {
		t.Errorf("%+v", r)
	}
	if r := wake(t, c, 0); r.code != answerOK {
		t.Errorf("a queue that was woken already: %+v", r)
	}
}

func TestWaitEnds(t *testing.T) {
	for _, how := range []string{"its context", "that of the execution", "End", "Close"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, nil)
				s := h.NewSession(nil)
				ctx, cancel := context.WithCancel(context.Background())
				mine, cancelMine := context.WithCancel(context.Background())
				defer cancel()
				defer cancelMine()
				c := s.Begin(ctx, nil)
				done := make(chan []byte, 1)
				go func() { done <- c.Handle(mine, request(OpWait, `{"queue":1,"timeout_ns":-1}`)) }()
				synctest.Wait()
				switch how {
				case "its context":
					cancelMine()
				case "that of the execution":
					cancel()
				case "End":
					c.End()
				case "Close":
					s.Close()
				}
				if r := decode(t, <-done); r.code != answerOK || r.ID != 0 || len(r.body) != 0 {
					t.Errorf("%+v", r)
				}
				c.End()
				if r := decode(t, c.Handle(context.Background(), request(OpWait, `{"queue":1}`))); r.ID != 0 {
					t.Errorf("after the end: %+v", r)
				}
				if r := do(t, c, FnTool, toolHead{"a", "b", nil}); r.Code != CodeCancelled {
					t.Errorf("call after the end: %+v", r)
				}
				if r := start(t, c, 1, FnSecret, map[string]any{"name": "x"}); r.Code != CodeCancelled {
					t.Errorf("start after the end: %+v", r)
				}
				s.Close()
			})
		})
	}
}

func TestCancel(t *testing.T) {
	p := NewTools("s")
	g := newGate(p)
	c := begin(t, newHost(t, &Options{Providers: []Provider{p}}), nil)
	id := start(t, c, 1, FnTool, gateArgs("a")).ID
	<-g.entered
	head := `{"id":` + itoa(id) + `}`
	for range 3 { // it may be said again, also after it ended
		if r := decode(t, c.Handle(context.Background(), request(OpCancel, head))); r.code != answerOK {
			t.Fatal(r.Message)
		}
	}
	if got, r := wait(t, c, 1, -1); got != id || r.Code != CodeCancelled {
		t.Errorf("%d: %+v", got, r)
	}
	if r := decode(t, c.Handle(context.Background(), request(OpCancel, head))); r.code != answerOK {
		t.Errorf("cancelled after it was collected: %s", r.Message)
	}
	// OpCall ends with its own context.
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-g.entered
		cancel()
	}()
	if r := decode(t, c.Handle(ctx, request(OpCall, fnHead{Fn: FnTool, Args: gateArgs("b")}))); r.Code != CodeCancelled {
		t.Errorf("%+v", r)
	}
	records, _ := c.End()
	for _, r := range records {
		if r.Outcome != CodeCancelled {
			t.Errorf("record %+v", r)
		}
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

func TestStartedAreBounded(t *testing.T) {
	c := begin(t, newHost(t, &Options{Policy: &Policy{MaxCalls: 1}}), nil)
	for range DefaultMaxCalls {
		if r := start(t, c, 0, FnServers, nil); r.code != answerOK {
			t.Fatal(r.Message)
		}
	}
	if r := start(t, c, 0, FnServers, nil); r.Code != CodeBudget {
		t.Errorf("%+v", r)
	}
	if r := start(t, c, 0, FnClose, map[string]any{"handle": 1}); r.Code != CodeBudget {
		t.Errorf("%+v", r)
	}
	wait(t, c, 0, -1)
	if r := start(t, c, 0, FnServers, nil); r.ID != DefaultMaxCalls+1 {
		t.Errorf("%+v", r)
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

// TestHeldBytes: answers that nobody collects are bounded, even those that are not counted otherwise.
func TestHeldBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, &Options{Providers: []Provider{adder()}, Policy: &Policy{MaxBytes: 2000}})
		c := begin(t, h, nil)
		n := 0
		for range 100 {
			n = start(t, c, 0, FnDescribe, map[string]any{"server": "math"}).ID
		}
		synctest.Wait()
		failed := 0
		for range n {
			if _, r := wait(t, c, 0, -1); r.Code == CodeBudget {
				failed++
			}
		}
		if failed < 50 || failed == n {
			t.Errorf("%d of %d failed", failed, n)
		}
		if c.held != 0 {
			t.Errorf("%d bytes are held", c.held)
		}
	})
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

func BenchmarkGather(b *testing.B) {
	const calls = 1000
	h := newHost(b, &Options{Providers: []Provider{adder()}})
	queue := 0
	req := request(OpStart, fnHead{FnTool, toolHead{"math", "add", addArgs{2, 3}}, &queue})
	collect := request(OpWait, `{"queue":0,"timeout_ns":-1}`)
	ctx := context.Background()
	s := h.NewSession(nil)
	defer s.Close()
	for b.Loop() {
		c := s.Begin(ctx, nil)
		for range calls {
			c.Handle(ctx, req)
		}
		for range calls {
			c.Handle(ctx, collect)
		}
		c.End()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/calls, "ns/call")
}
