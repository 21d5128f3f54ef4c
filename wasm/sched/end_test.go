package sched_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/wasm/sched"
)

// where are the places in which a thread may be when it is ended or interrupted. Each ends in a panic if the thread is
// ended there.
var where = []struct {
	name  string
	begun bool // it has had the baton
	stand func(t *sched.Thread)
}{
	{"not yet begun", false, func(*sched.Thread) {}},
	{"ready", true, func(t *sched.Thread) { t.Yield() }},
	{"waits", true, func(t *sched.Thread) { t.Wait(7, -1) }},
	{"waits with a time limit", true, func(t *sched.Thread) { t.Wait(7, time.Hour) }},
	{"in Block", true, func(t *sched.Thread) { t.Block(func() { <-t.Context().Done() }) }},
	{"ready after Block", true, func(t *sched.Thread) { t.Block(func() {}) }},
}

// place starts a thread and has it go where it is to stand; went tells whether it went on from there.
func (w *world) place(first *sched.Thread, begun bool, stand func(*sched.Thread)) (went *bool) {
	went = new(bool)
	w.start(func(t *sched.Thread) {
		if !begun {
			*went = true
			return
		}
		stand(t)
		*went = true
	})
	if begun {
		first.Yield()
	}
	return went
}

func TestDrop(t *testing.T) {
	for _, tt := range where {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, sched.Options{})
			w.mustRun(func(first *sched.Thread) {
				went := w.place(first, tt.begun, tt.stand)
				w.Drop(first)
				if n := w.Alive(); n != 1 {
					t.Errorf("%s: %d alive after Drop", tt.name, n)
				}
				w.Wake(7, 1) // reaches nobody
				first.Yield()
				first.Wait(7, 2*time.Hour)
				if *went {
					t.Errorf("%s: the thread went on", tt.name)
				}
				// Nothing of it is left: the queue is empty, and nobody is thought to come back.
				if why := first.Wait(7, -1); why != sched.Deadlocked {
					t.Errorf("%s: wait ended as %d after Drop, want Deadlocked", tt.name, why)
				}
				w.start(func(*sched.Thread) {})
				w.join(first)
			})
		})
	}
}

// What a thread does not do itself is done at the end.
func TestFinishDrops(t *testing.T) {
	for _, tt := range where {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, sched.Options{})
			var went *bool
			w.mustRun(func(first *sched.Thread) { went = w.place(first, tt.begun, tt.stand) })
			if *went || w.Alive() != 1 {
				t.Errorf("%s: went on: %v, %d alive after Finish", tt.name, *went, w.Alive())
			}
		})
	}
}

// Another thread than the first drops all but the first and itself.
func TestDropByAnother(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{})
		w.mustRun(func(first *sched.Thread) {
			w.start(func(t *sched.Thread) { t.Wait(7, -1) })
			w.start(func(t *sched.Thread) {
				w.Drop(t)
				w.Drop(t)
				w.note(t, "%d alive", w.Alive())
			})
			if why := first.Wait(7, -1); why != sched.Deadlocked {
				t.Errorf("the first thread's wait ended as %d, want Deadlocked", why)
			}
		})
		w.wantLog("3 2 alive")
	})
}

// A kill ends every thread, wherever it and the one that kills stand.
func TestKill(t *testing.T) {
	killers := []struct {
		name string
		kill func(w *world, first *sched.Thread)
	}{
		{"first thread", func(w *world, _ *sched.Thread) { w.Kill(errTest) }},
		{"another thread", func(w *world, first *sched.Thread) {
			w.start(func(*sched.Thread) { panic(errTest) })
			first.Yield()
		}},
		{"another thread while the first waits", func(w *world, first *sched.Thread) {
			w.start(func(*sched.Thread) { panic(errTest) })
			first.Wait(7, -1)
		}},
		{"another thread while the first is in Block", func(w *world, first *sched.Thread) {
			done := make(chan struct{})
			w.start(func(*sched.Thread) { close(done); panic(errTest) })
			first.Block(func() { <-done })
		}},
		{"another thread after Block", func(w *world, first *sched.Thread) {
			w.start(func(t *sched.Thread) { t.Block(func() { panic(errTest) }) })
			first.Wait(8, 2*time.Hour)
		}},
		{"outside", func(w *world, first *sched.Thread) {
			go w.Kill(errTest)
			first.Wait(7, 2*time.Hour)
		}},
		{"outside while the first computes", func(w *world, first *sched.Thread) {
			go w.Kill(errTest)
			for {
				time.Sleep(time.Microsecond)
				first.Tick()
			}
		}},
		{"outside while another computes", func(w *world, first *sched.Thread) {
			w.start(func(t *sched.Thread) {
				for {
					time.Sleep(time.Microsecond)
					w.m.check(t)
					t.Tick()
				}
			})
			go w.Kill(errTest)
			first.Wait(7, -1)
		}},
	}
	for _, killer := range killers {
		for _, tt := range where {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, sched.Options{})
				ended := false
				panicked, err := w.run(func(first *sched.Thread) {
					w.start(func(t *sched.Thread) {
						defer func() { ended = true }()
						if tt.begun {
							tt.stand(t)
						}
					})
					if tt.begun {
						first.Yield()
					}
					killer.kill(w, first)
					w.Kill(errors.New("one more")) // the first one counts
					if err := w.try(func(*sched.Thread) {}); !errors.Is(err, sched.ErrThreads) {
						t.Errorf("start after a kill: %v", err)
					}
					first.Wait(7, -1)
					t.Error("the first thread goes on")
				})
				if !errors.Is(err, errTest) || !errors.Is(w.Err(), errTest) || !errors.Is(panicked, sched.ErrEnded) {
					t.Errorf("%s, %s: first thread: %v, finish: %v, Err: %v", killer.name, tt.name, panicked, err, w.Err())
				}
				if tt.begun && !ended {
					t.Errorf("%s, %s: a thread was not unwound", killer.name, tt.name)
				}
			})
		}
	}
}

// An error of the first thread is nobody else's business: they are ended by Finish.
func TestFirstFails(t *testing.T) {
	for _, tt := range where {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, sched.Options{})
			panicked, err := w.run(func(first *sched.Thread) {
				w.place(first, tt.begun, tt.stand)
				first.Block(func() { panic(errTest) })
			})
			if !errors.Is(panicked, errTest) || err != nil {
				t.Errorf("%s: first thread: %v, finish: %v", tt.name, panicked, err)
			}
		})
	}
}

// A panic in Block comes out when the thread has the baton, as what unwinds may touch the machine.
func TestBlockPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{})
		w.mustRun(func(first *sched.Thread) {
			computing := make(chan struct{})
			w.start(func(t *sched.Thread) {
				close(computing)
				for range 10 {
					time.Sleep(time.Second)
					w.m.compute(t)
				}
				w.note(t, "ends")
			})
			err := caught(func() {
				first.Block(func() { <-computing; panic(errTest) })
			})
			if !errors.Is(err, errTest) {
				t.Errorf("Block panicked with %v", err)
			}
			w.note(first, "goes on")
		})
		w.wantLog("2 ends", "1 goes on")
	})
}

// A function that ends the goroutine, as t.Fatal does in a host function of a test, ends all threads rather than keeping the
// baton for ever.
func TestGoexit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{})
		panicked, err := w.run(func(first *sched.Thread) {
			w.start(func(t *sched.Thread) { t.Block(runtime.Goexit) })
			first.Wait(7, time.Hour)
		})
		if !errors.Is(panicked, sched.ErrEnded) || err == nil {
			t.Errorf("first thread: %v, finish: %v", panicked, err)
		}
	})
}

func TestInterrupt(t *testing.T) {
	tests := []struct {
		name  string
		stand func(w *world, t *sched.Thread)
		log   []string
	}{
		{"waits", func(w *world, t *sched.Thread) { w.wait(t, 7) }, []string{"2 goes on", "1 ends"}},
		{"waits with a time limit", func(w *world, t *sched.Thread) {
			if why := t.Wait(7, time.Hour); why != sched.Woken {
				w.t.Errorf("wait ended as %d", why)
			}
		}, []string{"2 goes on", "1 ends"}},
		{"in Block", func(_ *world, t *sched.Thread) {
			t.Block(func() { <-t.Context().Done() })
		}, []string{"2 goes on", "1 ends"}},
		{"in Block and does not listen", func(_ *world, t *sched.Thread) {
			t.Block(func() { time.Sleep(time.Minute) })
		}, []string{"1 ends", "2 goes on"}},
		{"ready", func(_ *world, t *sched.Thread) { t.Yield() }, []string{"2 goes on", "1 ends"}},
	}
	for _, tt := range tests {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, sched.Options{})
			w.mustRun(func(first *sched.Thread) {
				w.start(func(t *sched.Thread) {
					tt.stand(w, t)
					w.note(t, "goes on")
					// Only what was going on is interrupted.
					start := time.Now()
					t.Block(func() {
						select {
						case <-t.Context().Done():
						case <-time.After(time.Hour):
						}
					})
					if t.Wait(7, time.Hour) != sched.TimedOut || time.Since(start) != 2*time.Hour {
						w.t.Errorf("%s: what came after the interrupt took %v", tt.name, time.Since(start))
					}
				})
				first.Yield()
				w.Interrupt(first)
				first.Wait(joinAddr, time.Second)
				w.note(first, "ends")
				w.join(first)
			})
			w.wantLog(tt.log...)
		})
	}
}

// Others are interrupted in the order of their IDs, and the first one never.
func TestInterruptOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{})
		w.mustRun(func(first *sched.Thread) {
			for i := range uint32(20) {
				w.start(func(t *sched.Thread) {
					w.wait(t, i*77%20)
					w.note(t, "woken")
				})
			}
			w.start(func(t *sched.Thread) { w.Interrupt(t) })
			if why := first.Wait(99, time.Second); why != sched.TimedOut {
				t.Errorf("the first thread's wait ended as %d", why)
			}
		})
		if !slices.IsSortedFunc(w.log, func(a, b string) int { return len(a) - len(b) }) || len(w.log) != 20 || w.log[0] != "2 woken" {
			t.Errorf("order %q", w.log)
		}
	})
}

// A thread's context is that of its start, and ends with it.
func TestContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		var kept context.Context
		w.mustRun(func(first *sched.Thread) {
			err := w.Start(ctx, &registers{}, func(t *sched.Thread) error {
				defer w.m.leave(t)
				kept = t.Context()
				if kept.Err() != nil {
					w.t.Error("done at once")
				}
				t.Block(func() { <-t.Context().Done() })
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			first.Yield()
			cancel()
			w.join(first)
			w.start(func(t *sched.Thread) { kept = t.Context() })
			w.join(first)
		})
		if kept.Err() == nil {
			t.Error("the context of a thread that has ended is not done")
		}
	})
}

// Alone, a thread need not give the baton away.
func TestBlockAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, sched.Options{})
		w.mustRun(func(first *sched.Thread) {
			first.Block(func() { w.m.check(first) })
			w.start(func(*sched.Thread) {})
			first.Block(func() {
				if w.m.holder.Load() == first {
					t.Error("Block keeps the baton though others are there")
				}
			})
		})
	})
}
