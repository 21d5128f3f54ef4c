package sched_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/wasm/sched"
)

// idleLog notes what Idle is told.
type idleLog struct {
	mu  sync.Mutex
	all []bool
}

func (l *idleLog) tell(idle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, idle)
}

func (l *idleLog) take() []bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

func TestIdle(t *testing.T) {
	var log idleLog
	s := sched.New(nothing{}, sched.Options{Idle: log.tell})
	first := s.First()
	first.Block(func() {})
	if got := log.take(); !slices.Equal(got, []bool{true, false}) {
		t.Errorf("the only thread in Block: %v", got)
	}
	first.Wait(1, time.Microsecond)
	if got := log.take(); !slices.Equal(got, []bool{true, false}) {
		t.Errorf("the only thread waits: %v", got)
	}
	release, blocked := make(chan struct{}), make(chan struct{})
	if err := s.Start(context.Background(), nil, func(th *sched.Thread) error {
		th.Block(func() {
			close(blocked)
			<-release
		})
		s.Wake(2, 1)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	first.Yield() // the other one blocks, and this one goes on
	<-blocked
	if got := log.take(); got != nil {
		t.Errorf("one of two runs: %v", got)
	}
	go func() {
		for len(log.peek()) == 0 {
			runtime.Gosched()
		}
		close(release)
	}()
	first.Wait(2, -1)
	if got := log.take(); !slices.Equal(got, []bool{true, false}) {
		t.Errorf("both wait, then one wakes the other: %v", got)
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
}

func (l *idleLog) peek() []bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}
