package wasi

import (
	"context"
	"io"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// With NoWait the clock that would be first has happened at once, and nothing else.
func TestNoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noWait, blocks := true, 0
		g := newGuest(t, &Options{
			NoWait: func() bool { return noWait },
			Block:  func(_ context.Context, f func()) { blocks++; f() },
		})
		start := time.Now()
		const hour = uint64(time.Hour)
		g.wantEvents(g.poll(g.ctx, sub{id: 1, timeout: hour}), pollEvent{})
		g.wantEvents(g.poll(g.ctx, sub{id: 1, timeout: math.MaxUint64}), pollEvent{})
		g.wantEvents(g.poll(g.ctx, sub{id: 1, timeout: 3 * hour}, sub{id: 0, timeout: hour}, sub{id: 1, timeout: hour}),
			pollEvent{index: 1}, pollEvent{index: 2})
		if blocks != 3 {
			t.Errorf("%d times in Block, want 3", blocks)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("waited %v", took)
		}
		// What has happened comes first.
		g.wantEvents(g.poll(g.ctx, sub{kind: pollWrite, id: 1}, sub{id: 1, timeout: hour}), pollEvent{kind: pollWrite, nbytes: 1})
		noWait = false
		g.wantEvents(g.poll(g.ctx, sub{id: 1, timeout: hour}), pollEvent{})
		if took := time.Since(start); took != time.Hour {
			t.Errorf("waited %v after NoWait, want an hour", took)
		}
	})
}

// With NoWait a guest learns what its input is, however late the goroutine that reads it.
func TestNoWaitStdin(t *testing.T) {
	input, now, hour := sub{kind: pollRead}, sub{id: 1}, sub{id: 1, timeout: uint64(time.Hour)}
	ready := pollEvent{kind: pollRead, nbytes: 5}
	for _, tt := range []struct {
		name string
		subs []sub // none: a read that does not block
		want []pollEvent
	}{
		{"poll", []sub{input}, []pollEvent{ready}},
		{"poll that is over at once", []sub{input, now}, []pollEvent{ready, {index: 1}}},
		{"poll with a time limit", []sub{input, hour}, []pollEvent{ready}},
		{"poll of output as well", []sub{input, {kind: pollWrite, id: 1}},
			[]pollEvent{ready, {index: 1, kind: pollWrite, nbytes: 1}}},
		{"read", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newHeldReader("input")
				g := newGuest(t, &Options{
					Stdin: NewStdin(r), NoWait: func() bool { return true },
					NotReady: func() { t.Error("NotReady was called") },
				})
				g.want(success, "fd_fdstat_set_flags", 0, fdNonblock)
				over := false
				go func() {
					if len(tt.subs) > 0 {
						g.wantEvents(g.poll(g.ctx, tt.subs...), tt.want...)
					} else if s := g.read(0, 9); s != "input" {
						t.Errorf("read %q", s)
					}
					over = true
				}()
				synctest.Wait()
				if over {
					t.Error("it did not wait for its input")
				}
				r.release()
				synctest.Wait()
				if !over {
					t.Error("it waits though its input is there")
				}
			})
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		r := newHeldReader("input")
		told := 0
		g := newGuest(t, &Options{
			Stdin: NewStdin(r), NoWait: func() bool { return true }, NotReady: func() { told++ },
		})
		ctx, cancel := context.WithCancel(g.ctx)
		cancel()
		g.wantEvents(g.poll(ctx, input))
		g.wantEvents(g.poll(ctx, input, hour), pollEvent{index: 1})
		if told != 2 {
			t.Errorf("told %d times, want 2", told)
		}
		r.release()
		g.p.stdin.Wait()
	})
}

// A fork has sources of its own where ForkSources gives some.
func TestForkSources(t *testing.T) {
	forks := 0
	g := newGuest(t, &Options{
		Rand:     strings.NewReader("parents own"),
		Walltime: func() time.Time { return time.Unix(1, 0) }, Monotonic: func() time.Duration { return 2 },
		CPUTime: func() time.Duration { return 3 },
		ForkSources: func() (io.Reader, func() time.Time, func() time.Duration, func() time.Duration) {
			forks++
			if forks == 1 {
				return nil, nil, nil, nil
			}
			return strings.NewReader("the fork's own"), func() time.Time { return time.Unix(10, 0) },
				func() time.Duration { return 20 }, func() time.Duration { return 30 }
		},
	})
	want := func(p *Process, random string, clocks ...uint64) {
		t.Helper()
		g.ctx = withProcess(t.Context(), p)
		g.want(success, "random_get", dataAt, uint64(len(random)))
		if got := string(g.bytes(dataAt, uint32(len(random)))); got != random {
			t.Errorf("random bytes %q, want %q", got, random)
		}
		for id, v := range clocks {
			g.want(success, "clock_time_get", uint64(id), 0, resultAt)
			if got := g.u64(resultAt); got != v {
				t.Errorf("clock %d is %d, want %d", id, got, v)
			}
		}
	}
	first, second := g.p.Fork(), g.p.Fork()
	defer first.Close()
	defer second.Close()
	want(g.p, "par", 1e9, 2, 3)
	want(second, "the fork", 10e9, 20, 30)
	want(first, "ents", 1e9, 2, 3)
	want(g.p, " own", 1e9, 2, 3)
	if forks != 2 {
		t.Errorf("%d calls for 2 forks", forks)
	}
}
