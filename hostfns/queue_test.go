package hostfns

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

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

func TestMaxParallel(t *testing.T) {
	const limit = 3
	var running, most atomic.Int64
	p := NewTools("s")
	raw(p, "t", func(context.Context, *ToolCall) (*ToolResult, error) {
		n := running.Add(1)
		for {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		runtime.Gosched()
		running.Add(-1)
		return nil, nil
	})
	c := begin(t, newHost(t, &Options{Providers: []Provider{p}, Policy: &Policy{MaxParallel: limit}}), nil)
	for range 500 {
		start(t, c, 0, FnTool, toolHead{"s", "t", nil})
	}
	for range 500 {
		wait(t, c, 0, -1)
	}
	if n := most.Load(); n > limit {
		t.Errorf("%d calls at once", n)
	}
}

// TestNothingIsLost: a call that ends just when a wait does is there for the next wait, or the answer of this one.
func TestNothingIsLost(t *testing.T) {
	const calls = 2000
	c := begin(t, newHost(t, &Options{Providers: []Provider{adder()}, Policy: &Policy{MaxCalls: calls}}), nil)
	left := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.started)
	}
	seen := map[int]bool{}
	for n := 1; n <= calls; n++ {
		start(t, c, 0, FnTool, toolHead{"math", "add", addArgs{}})
		for len(seen) < n && left() > 0 {
			if id, _ := wait(t, c, 0, int64(n%20)*500); id > 0 {
				seen[id] = true
			}
		}
	}
	if len(seen) != calls {
		t.Errorf("%d calls came back", len(seen))
	}
}

// TestRequestIsNotKept: the caller may use its memory for something else at once.
func TestRequestIsNotKept(t *testing.T) {
	p := NewTools("s")
	g := newGate(p)
	raw(p, "echo", func(_ context.Context, c *ToolCall) (*ToolResult, error) { return text(string(c.Args)), nil })
	h := newHost(t, &Options{Providers: []Provider{p}, Policy: &Policy{MaxParallel: 1}, Functions: map[string]Function{
		"f": func(_ context.Context, c *FunctionCall) (*Value, error) {
			return &Value{Kind: ValueText, Data: append(c.Args, c.Body...)}, nil
		},
	}})
	c := begin(t, h, nil)
	start(t, c, 0, FnTool, gateArgs("a"))
	queue := 0
	for _, req := range [][]byte{
		request(OpStart, fnHead{FnTool, toolHead{"s", "echo", map[string]int{"a": 1}}, &queue}),
		request(OpStart, fnHead{"f", map[string]int{"a": 1}, &queue}, 'b', 'o', 'd', 'y'),
	} {
		c.Handle(context.Background(), req)
		clear(req)
	}
	<-g.entered
	g.open("a")
	for _, want := range []string{"a", `{"a":1}`, `{"a":1}body`} {
		if id, r := wait(t, c, 0, -1); string(r.body) != want {
			t.Errorf("call %d: %q %s, want %s", id, r.body, r.Message, want)
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
