package sched_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mayfly-run/mayfly/wasm/sched"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine is what the threads of a test run on. It complains when two run at the same time, or when one does not find in
// the register what it left there. The register is no atomic, so that the race detector sees what the baton does not order.
type machine struct {
	t         testing.TB
	holder    atomic.Pointer[sched.Thread]
	register  int
	preempted []int // IDs, in the order in which they were asked to yield
}

// registers is the State of a thread.
type registers struct {
	saved int // by Save, for Load
	want  int // what the thread itself put into the register
}

func (m *machine) Save(t *sched.Thread) {
	m.check(t)
	t.State.(*registers).saved = m.register
	m.register = -1
	m.leave(t)
}

func (m *machine) Load(t *sched.Thread) {
	if !m.holder.CompareAndSwap(nil, t) {
		m.t.Errorf("thread %d goes on while %d runs", t.ID, m.holder.Load().ID)
	}
	m.register = t.State.(*registers).saved
	m.check(t)
}

func (m *machine) Preempt(t *sched.Thread) {
	m.check(t)
	m.preempted = append(m.preempted, t.ID)
}

// check is for threads to call wherever they run.
func (m *machine) check(t *sched.Thread) {
	if h := m.holder.Load(); h != t {
		m.t.Errorf("thread %d runs, but does not have the baton", t.ID)
		return
	}
	if r := t.State.(*registers); m.register != r.want {
		m.t.Errorf("thread %d has %d in its register, want %d", t.ID, m.register, r.want)
	}
}

// compute changes the register, as code of a thread does all the time.
func (m *machine) compute(t *sched.Thread) {
	m.check(t)
	t.State.(*registers).want++
	m.register++
	m.check(t)
}

// leave notes that a thread does not run any more, if it did.
func (m *machine) leave(t *sched.Thread) { m.holder.CompareAndSwap(t, nil) }

// world is a scheduler under test and what its threads did.
type world struct {
	*sched.Scheduler
	t     testing.TB
	m     *machine
	first *sched.Thread
	log   []string // belongs to the thread that runs
}

func newWorld(t testing.TB, o sched.Options) *world {
	w := &world{t: t, m: &machine{t: t}}
	w.Scheduler = sched.New(w.m, o)
	w.first = w.First()
	w.first.State = &registers{}
	w.m.holder.Store(w.first)
	return w
}

// start adds a thread that must not be refused.
func (w *world) start(body func(t *sched.Thread)) {
	w.t.Helper()
	if err := w.try(body); err != nil {
		w.t.Errorf("start: %v", err)
	}
}

// try starts a thread. A panic of its body with an error is the thread's error, as it is with WebAssembly.
func (w *world) try(body func(t *sched.Thread)) error {
	r := &registers{saved: 1000, want: 1000}
	return w.Start(context.Background(), r, func(t *sched.Thread) error {
		defer w.m.leave(t)
		return caught(func() {
			w.m.compute(t)
			body(t)
			w.m.compute(t)
		})
	})
}

// caught returns the error that f panics with.
func caught(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			err = p
		default:
			panic(p)
		}
	}()
	f()
	return nil
}

// run runs the first thread's body, which ends it with or without an error, and finishes.
func (w *world) run(body func(t *sched.Thread)) (panicked, finished error) {
	panicked = caught(func() { body(w.first) })
	w.m.leave(w.first)
	return panicked, w.Finish()
}

// mustRun is a run that nothing goes wrong in.
func (w *world) mustRun(body func(t *sched.Thread)) {
	w.t.Helper()
	if err, finished := w.run(body); err != nil || finished != nil {
		w.t.Errorf("first thread: %v, finish: %v", err, finished)
	}
}

// note writes down what a thread does.
func (w *world) note(t *sched.Thread, format string, args ...any) {
	w.m.compute(t)
	w.log = append(w.log, fmt.Sprintf("%d ", t.ID)+fmt.Sprintf(format, args...))
}

func (w *world) wantLog(want ...string) {
	w.t.Helper()
	if !slices.Equal(w.log, want) {
		w.t.Errorf("the threads did\n  %q, want\n  %q", w.log, want)
	}
}

// wait is Wait without end, which must be woken.
func (w *world) wait(t *sched.Thread, addr uint32) {
	if why := t.Wait(addr, -1); why != sched.Woken {
		w.t.Errorf("thread %d: wait ended as %d, want Woken", t.ID, why)
	}
	w.m.compute(t)
}

// join waits until all others have ended.
func (w *world) join(t *sched.Thread) {
	for w.Alive() > 1 {
		t.Wait(joinAddr, time.Minute)
		w.m.compute(t)
	}
}

const joinAddr = 1 << 31 // nobody wakes it

// bubble runs a test with a clock of its own, which moves when all goroutines wait for it.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

var errTest = errors.New("an error")
