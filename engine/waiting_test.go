package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// rendezvous is a tool that returns when so many calls are under way at once.
type rendezvous struct {
	mu      sync.Mutex
	here    int
	all     int
	started chan struct{} // closed when all are there
}

func newRendezvous(n int) *rendezvous { return &rendezvous{all: n, started: make(chan struct{})} }

func (m *rendezvous) host(t testing.TB) *hostfns.Host {
	t.Helper()
	tools := hostfns.NewTools("t")
	hostfns.AddTool(tools, hostfns.Tool{Name: "meet"}, func(ctx context.Context, _ struct{}) (int, error) {
		m.mu.Lock()
		if m.here++; m.here == m.all {
			close(m.started)
		}
		m.mu.Unlock()
		select {
		case <-m.started:
			return m.all, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	})
	h, err := hostfns.New(&hostfns.Options{Providers: []hostfns.Provider{tools}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// TestWaitingTakesNoPlace: executions that wait for a tool do not count as running, so 500 of them wait at once where two
// may run.
func TestWaitingTakesNoPlace(t *testing.T) {
	slowUnderRace(t)
	const sessions = 500
	m := newRendezvous(sessions)
	o := options()
	o.MaxInFlight, o.Host = 2, m.host(t)
	e, err := engine.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var wg sync.WaitGroup
	for range sessions {
		wg.Go(func() {
			r, err := e.Run(context.Background(), engine.Request{Code: "from tools.t import meet\nmeet()", Timeout: time.Minute})
			if err != nil || r.ResultRepr != fmt.Sprint(sessions) {
				t.Errorf("%v %s", err, describe(r))
			}
		})
	}
	wg.Wait()
}

// TestWaitingIsBounded: beyond Options.MaxWaiting an execution keeps its place.
func TestWaitingIsBounded(t *testing.T) {
	m := newRendezvous(4) // two that wait without a place, and the two that may run
	o := options()
	o.MaxInFlight, o.MaxWaiting, o.Host = 2, 2, m.host(t)
	e, err := engine.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	results := make(chan *engine.Result, 5)
	run := func() {
		r, _ := e.Run(ctx, engine.Request{Code: "from tools.t import meet\nmeet()", Timeout: time.Minute})
		results <- r
	}
	for range 4 {
		go run()
	}
	for range 4 {
		if r := <-results; r.ResultRepr != "4" {
			t.Error(describe(r))
		}
	}
}

// TestPlaceAfterSleep: what sleeps takes no place either.
func TestPlaceAfterSleep(t *testing.T) {
	m := newRendezvous(1)
	o := options()
	o.MaxInFlight, o.Host = 1, m.host(t)
	e, err := engine.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	slept := make(chan *engine.Result, 1)
	ctx, wake := context.WithCancel(context.Background())
	awake := make(chan struct{})
	go func() {
		r, _ := e.Run(ctx, engine.Request{
			Code: "import time\nprint('here', flush=True)\ntime.sleep(3600)", Timeout: time.Hour,
			OnEvent: func(engine.Event) { close(awake) },
		})
		slept <- r
	}()
	<-awake
	// The only place is free again, though the other one has not ended.
	if r, err := e.Run(t.Context(), engine.Request{Code: "6 * 7"}); err != nil || r.ResultRepr != "42" {
		t.Errorf("%v %s", err, describe(r))
	}
	wake()
	if r := <-slept; r.Status != engine.StatusCancelled {
		t.Error(describe(r))
	}
}
