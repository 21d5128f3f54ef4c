package sched_test

import (
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/wasm/sched"
)

// With NoWait a time limit is over as soon as nothing else can happen, and the order is that of the limits.
func TestNoWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{NoWait: true})
		start := time.Now()
		w.mustRun(func(first *sched.Thread) {
			if got := first.Wait(7, 100*time.Hour); got != sched.TimedOut {
				t.Errorf("alone: ended as %d", got)
			}
			for _, d := range []time.Duration{30, 10, 20} {
				w.start(func(t *sched.Thread) {
					w.note(t, "%d", t.Wait(7, d*time.Second))
					// 10 comes twice before 30; at the same time the thread with the lower number is first.
					w.note(t, "%d", t.Wait(7, d*time.Second))
				})
			}
			w.start(func(t *sched.Thread) { w.note(t, "%d", t.Wait(8, -1)) })
			for range 9 {
				first.Yield()
			}
			w.Wake(8, 1)
			w.join(first)
		})
		w.wantLog("5 0", "3 1", "3 1", "4 1", "2 1", "4 1", "2 1")
		if took := time.Since(start); took != 0 {
			t.Errorf("waited %v", took)
		}
	})
}

// A thread in Block may wake others, so its end is awaited first.
func TestNoWaitBlock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{NoWait: true})
		start := time.Now()
		w.mustRun(func(first *sched.Thread) {
			w.start(func(t *sched.Thread) {
				t.Block(func() { time.Sleep(time.Second) })
				w.Wake(7, 1)
			})
			if got := first.Wait(7, time.Hour); got != sched.Woken {
				t.Errorf("ended as %d", got)
			}
			w.join(first)
		})
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// A thread that computes does not keep time limits from being over when the time has passed.
func TestNoWaitBusy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{NoWait: true})
		w.mustRun(func(first *sched.Thread) {
			done := false
			w.start(func(t *sched.Thread) {
				if got := t.Wait(7, 10*time.Millisecond); got != sched.TimedOut {
					w.t.Errorf("ended as %d", got)
				}
				done = true
			})
			for range 1000 {
				time.Sleep(time.Millisecond) // computes
				if first.Yield(); done {
					return
				}
			}
			t.Error("the time limit was never over")
		})
	})
}

// Where nobody has a time limit it is a deadlock as ever.
func TestNoWaitDeadlock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{NoWait: true})
		w.mustRun(func(first *sched.Thread) {
			w.start(func(t *sched.Thread) { w.note(t, "%d", t.Wait(9, time.Hour)) })
			if got := first.Wait(7, -1); got != sched.Deadlocked {
				t.Errorf("ended as %d", got)
			}
			w.join(first)
		})
		w.wantLog("2 1")
	})
}
