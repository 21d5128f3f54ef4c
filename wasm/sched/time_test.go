package sched_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/wasm/sched"
)

func TestTimeouts(t *testing.T) {
	tests := []struct {
		name    string
		timeout time.Duration
		woken   time.Duration // 0: never
		want    sched.Wake
		after   time.Duration
	}{
		{"expires", 5 * time.Second, 0, sched.TimedOut, 5 * time.Second},
		{"woken before", 5 * time.Second, time.Second, sched.Woken, time.Second},
		{"woken too late", time.Second, 5 * time.Second, sched.TimedOut, time.Second},
		{"smallest", 1, 0, sched.TimedOut, 1},
		{"none at all", 0, 0, sched.TimedOut, 0},
		{"largest", math.MaxInt64, time.Hour, sched.Woken, time.Hour},
		{"never", -1, time.Hour, sched.Woken, time.Hour},
		{"smallest number", math.MinInt64, time.Hour, sched.Woken, time.Hour},
	}
	for _, tt := range tests {
		for _, alone := range []bool{true, false} {
			if alone && tt.woken > 0 {
				continue
			}
			bubble(t, func(t *testing.T) {
				w := newWorld(t, sched.Options{})
				w.mustRun(func(first *sched.Thread) {
					if !alone {
						w.start(func(t *sched.Thread) {
							if tt.woken > 0 {
								t.Wait(8, tt.woken)
								w.Wake(7, 1)
							}
							t.Wait(8, 100*time.Hour)
						})
					}
					start := time.Now()
					got := first.Wait(7, tt.timeout)
					if got != tt.want || time.Since(start) != tt.after {
						t.Errorf("%s: ended as %d after %v, want %d after %v", tt.name, got, time.Since(start), tt.want, tt.after)
					}
					// What is left of the timer must not end the next wait.
					start = time.Now()
					if got := first.Wait(9, 10*time.Hour); got != sched.TimedOut || time.Since(start) != 10*time.Hour {
						t.Errorf("%s: the next wait ended as %d after %v", tt.name, got, time.Since(start))
					}
				})
			})
		}
	}
}

// Those whose time is over first go on first, and one whose time is over at the same moment as it is woken goes on once.
func TestTimeoutOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{})
		w.mustRun(func(first *sched.Thread) {
			for _, d := range []time.Duration{30, 10, 20} {
				w.start(func(t *sched.Thread) { w.note(t, "%d", t.Wait(7, d*time.Second)) })
			}
			w.join(first)
		})
		w.wantLog("3 1", "4 1", "2 1")
	})
}

func TestAlarm(t *testing.T) {
	tests := []struct {
		name  string
		wait  time.Duration
		after time.Duration
		close bool // before the wait
	}{
		{"during a wait", -1, time.Minute, false},
		{"during a wait with a time limit", time.Hour, time.Minute, false},
		{"before a wait", -1, 0, true},
	}
	for _, tt := range tests {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, sched.Options{})
			alarm := make(chan struct{})
			w.mustRun(func(first *sched.Thread) {
				w.start(func(t *sched.Thread) { t.Block(func() { time.Sleep(time.Hour) }) })
				first.Yield()
				first.SetAlarm(alarm)
				if tt.close {
					close(alarm)
				} else {
					time.AfterFunc(time.Minute, func() { close(alarm) })
				}
				start := time.Now()
				if got := first.Wait(7, tt.wait); got != sched.Alarmed || time.Since(start) != tt.after {
					t.Errorf("%s: ended as %d after %v", tt.name, got, time.Since(start))
				}
				first.SetAlarm(nil)
				if got := first.Wait(7, time.Second); got != sched.TimedOut {
					t.Errorf("%s: next wait ended as %d", tt.name, got)
				}
			})
		})
	}
}

// Rouse ends a wait that has begun, and is not remembered for one that has not.
func TestRouse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{})
		w.mustRun(func(first *sched.Thread) {
			rouse := func(want bool) {
				if got := w.Rouse(); got != want {
					t.Errorf("Rouse tells that the first thread is in Block: %v", got)
				}
			}
			rouse(false)
			w.start(func(t *sched.Thread) {
				w.note(t, "rouses")
				rouse(false)
				rouse(false)
				t.Wait(joinAddr, 1)
				rouse(true)
			})
			w.note(first, "%d", first.Wait(7, -1))
			first.Block(func() { time.Sleep(time.Second) })
			w.note(first, "%d", first.Wait(7, 1))
		})
		w.wantLog("2 rouses", "1 2", "1 1")
	})
}

// Only when nobody can go on is the first thread told.
func TestDeadlock(t *testing.T) {
	forever := func(t *sched.Thread) { t.Wait(9, -1) }
	wake := func(w *world) { w.Wake(7, 1) }
	tests := []struct {
		name  string
		other func(w *world, t *sched.Thread)
		want  sched.Wake
		after time.Duration
	}{
		{"others wait", func(_ *world, t *sched.Thread) { forever(t) }, sched.Deadlocked, 0},
		{"others have ended", func(*world, *sched.Thread) {}, sched.Deadlocked, 0},
		{"others go on", func(w *world, t *sched.Thread) { t.Yield(); t.Yield(); wake(w) }, sched.Woken, 0},
		{"wait with a time limit", func(w *world, t *sched.Thread) { t.Wait(9, time.Hour); wake(w) }, sched.Woken, time.Hour},
		{"in Block", func(w *world, t *sched.Thread) { t.Block(func() { time.Sleep(time.Hour) }); wake(w) }, sched.Woken, time.Hour},
		{"after a time limit", func(_ *world, t *sched.Thread) { t.Wait(9, time.Hour); forever(t) }, sched.Deadlocked, time.Hour},
		{"after Block", func(_ *world, t *sched.Thread) { t.Block(func() { time.Sleep(time.Hour) }); forever(t) }, sched.Deadlocked, time.Hour},
		{"others are dropped", func(w *world, t *sched.Thread) {
			w.start(func(t *sched.Thread) { t.Wait(9, time.Hour) })
			w.start(func(t *sched.Thread) { t.Block(func() { <-t.Context().Done() }) })
			w.start(func(t *sched.Thread) { t.Block(func() { time.Sleep(time.Hour) }) }) // does not listen
			t.Yield()
			w.start(forever)
			w.Drop(t)
			forever(t)
		}, sched.Deadlocked, 0},
		{"others are interrupted", func(w *world, t *sched.Thread) {
			w.start(func(t *sched.Thread) { t.Wait(9, time.Hour); forever(t) })
			w.start(func(t *sched.Thread) { t.Block(func() { <-t.Context().Done() }); forever(t) })
			t.Yield()
			w.Interrupt(t)
			forever(t)
		}, sched.Deadlocked, 0},
	}
	for _, tt := range tests {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, sched.Options{})
			w.mustRun(func(first *sched.Thread) {
				w.start(func(t *sched.Thread) { tt.other(w, t) })
				start := time.Now()
				if got := first.Wait(7, -1); got != tt.want || time.Since(start) != tt.after {
					t.Errorf("%s: wait ended as %d after %v, want %d after %v", tt.name, got, time.Since(start), tt.want, tt.after)
				}
				if tt.want == sched.Deadlocked { // and again
					if got := first.Wait(7, -1); got != sched.Deadlocked {
						t.Errorf("%s: second wait ended as %d", tt.name, got)
					}
				}
			})
		})
	}
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{})
		w.mustRun(func(first *sched.Thread) {
			if got := first.Wait(7, -1); got != sched.Deadlocked {
				t.Errorf("alone: %d", got)
			}
		})
	})
}

// The time that a thread has is shared by those that are ready.
func TestSlices(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name   string
		slice  time.Duration
		others int
		want   []time.Duration // the times at which it is asked to yield, when it ticks each half millisecond for 7 ms
	}{
		{"nobody else", 5 * ms, 0, nil},
		{"one other", 5 * ms, 1, []time.Duration{5 * ms, 5*ms + ms/2, 6 * ms, 6*ms + ms/2, 7 * ms}},
		{"default", 0, 1, []time.Duration{5 * ms, 5*ms + ms/2, 6 * ms, 6*ms + ms/2, 7 * ms}},
		{"two others", 12 * ms, 2, []time.Duration{6 * ms, 6*ms + ms/2, 7 * ms}},
		{"not below the minimum", 5 * ms, 100, halves(sched.MinSlice, 7*ms)},
		{"slice below the minimum", 1, 1, halves(sched.MinSlice, 7*ms)},
	}
	for _, tt := range tests {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, sched.Options{Slice: tt.slice})
			w.mustRun(func(first *sched.Thread) {
				for range tt.others {
					w.start(func(*sched.Thread) {})
				}
				var got []time.Duration
				for start := time.Now(); time.Since(start) < 7*ms; {
					time.Sleep(ms / 2)
					n := len(w.m.preempted)
					if first.Tick(); len(w.m.preempted) > n {
						got = append(got, time.Since(start))
					}
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("%s: asked to yield at %v, want %v", tt.name, got, tt.want)
				}
				if tt.others == 0 {
					return
				}
				first.Yield() // to all others, which end
				n := len(w.m.preempted)
				time.Sleep(20 * ms)
				if first.Tick(); len(w.m.preempted) != n {
					t.Errorf("%s: asked to yield with nobody there", tt.name)
				}
				w.start(func(*sched.Thread) {})
				first.Yield() // its time begins anew
				w.start(func(*sched.Thread) {})
				if first.Tick(); len(w.m.preempted) != n {
					t.Errorf("%s: asked to yield at once after it has", tt.name)
				}
			})
		})
	}
}

func halves(from, to time.Duration) (list []time.Duration) {
	for ; from <= to; from += time.Millisecond / 2 {
		list = append(list, from)
	}
	return list
}

// Ticks are counted for each thread, and those of many threads together.
func TestTicks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{})
		want := make([]uint64, sched.MaxCounted+1)
		w.mustRun(func(first *sched.Thread) {
			for id := 2; id <= sched.MaxCounted+3; id++ {
				want[min(id-1, sched.MaxCounted)] += uint64(id)
				w.start(func(t *sched.Thread) {
					for range t.ID {
						t.Tick()
					}
					if t.Ticks() != uint64(id) {
						w.t.Errorf("thread %d has %d ticks", id, t.Ticks())
					}
					if id == 100 {
						t.Wait(7, -1) // dropped at the end, and counted all the same
					}
				})
				first.Yield()
			}
			want[0] = 1
			first.Tick()
		})
		if got := w.Stats().Ticks; !slices.Equal(got, want) {
			t.Errorf("ticks %d", got)
		}
	})
}
