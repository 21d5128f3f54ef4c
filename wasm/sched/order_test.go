package sched_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/wasm/sched"
)

// Threads begin in the order in which they were started, and take turns.
func TestYieldTakesTurns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{})
		w.mustRun(func(first *sched.Thread) {
			for range 3 {
				w.start(func(t *sched.Thread) {
					w.note(t, "begins")
					t.Yield()
					w.note(t, "ends")
				})
			}
			w.note(first, "has started")
			first.Yield()
			w.note(first, "goes on")
			first.Yield()
			w.note(first, "is alone")
			first.Yield()
		})
		w.wantLog("1 has started", "2 begins", "3 begins", "4 begins", "1 goes on", "2 ends", "3 ends", "4 ends", "1 is alone")
	})
}

// A thread that starts others goes on, and those come after what was ready before.
func TestStartIsNoSwitch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{})
		w.mustRun(func(first *sched.Thread) {
			w.start(func(t *sched.Thread) {
				w.start(func(t *sched.Thread) { w.note(t, "inner") })
				w.note(t, "has started")
			})
			w.start(func(t *sched.Thread) { w.note(t, "outer") })
			w.join(first)
		})
		w.wantLog("2 has started", "3 outer", "4 inner")
	})
}

func TestWakeCounts(t *testing.T) {
	tests := []struct{ n, want int }{
		{0, 0}, {-1, 0}, {math.MinInt, 0}, {1, 1}, {2, 2}, {4, 4}, {5, 4}, {math.MaxInt, 4},
	}
	for _, tt := range tests {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, sched.Options{})
			w.mustRun(func(first *sched.Thread) {
				for range 4 {
					w.start(func(t *sched.Thread) {
						w.wait(t, 7)
						w.note(t, "woken")
					})
				}
				first.Yield()
				w.Wake(8, math.MaxInt) // nobody is there
				w.Wake(7, tt.n)
				first.Yield()
			})
			// In the order in which they began to wait.
			w.wantLog([]string{"2 woken", "3 woken", "4 woken", "5 woken"}[:tt.want]...)
		})
	}
}

// A thread that waits again is the last in the line; one whose wait ended otherwise is not in it any more.
func TestWakeOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{})
		w.mustRun(func(first *sched.Thread) {
			for range 3 {
				w.start(func(t *sched.Thread) {
					for range 2 {
						w.wait(t, 7)
						w.note(t, "woken")
					}
				})
			}
			w.start(func(t *sched.Thread) {
				w.note(t, "%d", t.Wait(7, 1))
				w.wait(t, 7)
				w.note(t, "woken")
			})
			first.Wait(joinAddr, 2)
			for w.Alive() > 1 {
				w.Wake(7, 1)
				first.Yield()
			}
		})
		w.wantLog("5 1", "2 woken", "3 woken", "4 woken", "5 woken", "2 woken", "3 woken", "4 woken")
	})
}

// Waking somebody twice, or before it waits, is not remembered.
func TestWakeIsNoCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{})
		w.mustRun(func(first *sched.Thread) {
			w.Wake(7, 1)
			w.start(func(t *sched.Thread) {
				w.note(t, "%d", t.Wait(7, 10))
				w.note(t, "%d", t.Wait(7, 10))
			})
			w.Wake(7, 1)
			first.Yield()
			w.Wake(7, 1)
			w.Wake(7, 1)
			w.join(first)
		})
		w.wantLog("2 0", "2 1")
	})
}

func TestLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{MaxThreads: 3})
		body := func(t *sched.Thread) { t.Wait(7, -1) }
		w.mustRun(func(first *sched.Thread) {
			w.start(body)
			w.start(body)
			if err := w.try(body); !errors.Is(err, sched.ErrThreads) {
				t.Errorf("one too many: %v", err)
			}
			first.Yield()
			w.Wake(7, 1)
			first.Yield()
			w.start(body) // in the place of the one that has ended
			if err := w.try(body); !errors.Is(err, sched.ErrThreads) {
				t.Errorf("one too many again: %v", err)
			}
			w.Drop(first)
			w.start(body)
			w.start(body)
			if n := w.Alive(); n != 3 {
				t.Errorf("%d alive, want 3", n)
			}
		})
		if s := w.Stats(); s.Started != 5 || s.Peak != 3 {
			t.Errorf("%+v, want 5 started and a peak of 3", s)
		}
	})
}

// Threads that were dropped, but do not listen, do not count as alive, but there may not be any number of them.
func TestLimitOfDropped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{MaxThreads: 3})
		w.mustRun(func(first *sched.Thread) {
			deaf := func(t *sched.Thread) { t.Block(func() { time.Sleep(time.Hour) }) }
			for range 2 {
				w.start(deaf)
				w.start(deaf)
				first.Yield()
				w.Drop(first)
			}
			if err := w.try(deaf); !errors.Is(err, sched.ErrThreads) {
				t.Errorf("with four threads that do not go: %v", err)
			}
			first.Wait(7, 2*time.Hour)
			w.start(deaf)
			w.start(deaf)
		})
	})
}

func TestDefaults(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{})
		w.mustRun(func(*sched.Thread) {
			n := 1
			for w.try(func(*sched.Thread) {}) == nil {
				n++
			}
			if n != sched.DefaultMaxThreads {
				t.Errorf("%d threads by default", n)
			}
		})
	})
}

func TestSwitches(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{})
		w.mustRun(func(first *sched.Thread) {
			first.Yield()
			first.Wait(7, 1) // comes back to the same thread: no switch
			w.start(func(t *sched.Thread) { t.Yield() })
			first.Yield()
			first.Yield()
		})
		if s := w.Stats(); s.Switches != 4 {
			t.Errorf("%d switches, want 4", s.Switches)
		}
	})
}
