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

type sub struct {
	kind    byte
	id      uint32 // clock or descriptor
	timeout uint64
	flags   uint16
}

type pollEvent struct {
	index  uint64 // userdata, which poll sets to the index
	err    errno
	kind   byte
	nbytes uint64
	flags  uint16
}

func (g *guest) poll(ctx context.Context, subs ...sub) []pollEvent {
	g.t.Helper()
	for i, s := range subs {
		var b [subscriptionSize]byte
		le.PutUint64(b[0:], uint64(i))
		b[8] = s.kind
		le.PutUint32(b[16:], s.id)
		le.PutUint64(b[24:], s.timeout)
		le.PutUint16(b[40:], s.flags)
		g.put(dataAt+uint32(i)*subscriptionSize, b[:])
	}
	e, err := g.try(ctx, "poll_oneoff", dataAt, pathAt, uint64(len(subs)), resultAt)
	if e != success || err != nil {
		g.t.Fatalf("poll_oneoff: %d, %v", e, err)
	}
	var events []pollEvent
	for i := range g.u32(resultAt) {
		b := g.bytes(pathAt+i*eventSize, eventSize)
		events = append(events, pollEvent{le.Uint64(b), errno(le.Uint16(b[8:])), b[10], le.Uint64(b[16:]), le.Uint16(b[24:])})
	}
	return events
}

func (g *guest) wantEvents(got []pollEvent, want ...pollEvent) {
	g.t.Helper()
	if len(got) != len(want) {
		g.t.Fatalf("events %+v, want %+v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			g.t.Errorf("event %+v, want %+v", got[i], want[i])
		}
	}
}

// Sleeps take exactly as long as asked, on the clock of a synctest bubble.
func TestSleep(t *testing.T) {
	const ms = uint64(time.Millisecond)
	for _, tt := range []struct {
		name string
		subs []sub
		want []pollEvent
		took time.Duration
	}{
		{"relative", []sub{{id: 1, timeout: 5 * ms}}, []pollEvent{{}}, 5 * time.Millisecond},
		{"realtime", []sub{{id: 0, timeout: 5 * ms}}, []pollEvent{{}}, 5 * time.Millisecond},
		{"zero", []sub{{id: 1}}, []pollEvent{{}}, 0},
		{"absolute", []sub{{id: 1, timeout: uint64(time.Hour) + 7*ms, flags: 1}}, []pollEvent{{}}, 7 * time.Millisecond},
		{"absolute realtime", []sub{{id: 0, timeout: 100e9 + 7*ms, flags: 1}}, []pollEvent{{}}, 7 * time.Millisecond},
		{"absolute, over", []sub{{id: 1, timeout: 1, flags: 1}}, []pollEvent{{}}, 0},
		{"the first of three", []sub{{id: 1, timeout: 9 * ms}, {id: 1, timeout: 3 * ms}, {id: 0, timeout: 3 * ms}},
			[]pollEvent{{index: 1}, {index: 2}}, 3 * time.Millisecond},
		{"CPU time", []sub{{id: 2, timeout: 9 * ms}}, []pollEvent{{err: errNotsup}}, 0},
		{"unknown clock", []sub{{id: 9}}, []pollEvent{{err: errInval}}, 0},
		{"unknown flag", []sub{{id: 1, timeout: ms, flags: 2}}, []pollEvent{{err: errInval}}, 0},
		{"bad descriptor wins", []sub{{id: 1, timeout: 9 * ms}, {kind: pollRead, id: 77}},
			[]pollEvent{{index: 1, err: errBadf, kind: pollRead}}, 0},
		{"output is ready", []sub{{kind: pollWrite, id: 1}, {id: 1, timeout: 9 * ms}},
			[]pollEvent{{kind: pollWrite, nbytes: 1}}, 0},
		{"no input is at its end", []sub{{kind: pollRead, id: 0}}, []pollEvent{{kind: pollRead, flags: pollHangup}}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				g := newGuest(t, &Options{
					Walltime:  func() time.Time { return time.Unix(100, 0).Add(time.Since(start)) },
					Monotonic: func() time.Duration { return time.Hour + time.Since(start) },
				})
				g.wantEvents(g.poll(g.ctx, tt.subs...), tt.want...)
				if took := time.Since(start); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

func TestSleepEndsEarly(t *testing.T) {
	forever := sub{id: 1, timeout: math.MaxUint64}
	synctest.Test(t, func(t *testing.T) {
		in, w := io.Pipe()
		stdin := NewStdin(in)
		g := newGuest(t, &Options{Stdin: stdin})
		defer stdin.Wait()
		defer w.Close()
		ctx, cancel := context.WithCancel(g.ctx)
		defer cancel()
		start := time.Now()
		time.AfterFunc(time.Second, cancel)
		// A success: the first clock counts as expired.
		g.wantEvents(g.poll(ctx, sub{id: 1, timeout: math.MaxInt64}, forever), pollEvent{}, pollEvent{index: 1})
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v", took)
		}
		g.wantEvents(g.poll(ctx, sub{id: 1, timeout: uint64(time.Hour)}, forever), pollEvent{})
		g.wantEvents(g.poll(ctx, sub{kind: pollRead, id: 0})) // no clock: no event
		g.wantEvents(g.poll(ctx, sub{kind: pollRead, id: 0}, sub{id: 1, timeout: 1e9}), pollEvent{index: 1})
		g.iov(10)
		if e, _ := g.try(ctx, "fd_read", 0, iovAt, 1, resultAt); e != errIntr {
			t.Errorf("read of standard input: %d, want EINTR", e)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestPollStdin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, w := io.Pipe()
		stdin := NewStdin(in)
		g := newGuest(t, &Options{Stdin: stdin})
		defer stdin.Wait()
		start := time.Now()
		timeout := sub{id: 1, timeout: uint64(time.Second)}
		input := sub{kind: pollRead, id: 0}
		g.wantEvents(g.poll(g.ctx, timeout, input), pollEvent{index: 0})
		time.AfterFunc(time.Second/2, func() { io.WriteString(w, "four") })
		g.wantEvents(g.poll(g.ctx, timeout, input), pollEvent{index: 1, kind: pollRead, nbytes: 4})
		g.wantEvents(g.poll(g.ctx, input, input), pollEvent{kind: pollRead, nbytes: 4},
			pollEvent{index: 1, kind: pollRead, nbytes: 4})
		if s := g.read(0, 10); s != "four" {
			t.Errorf("read %q", s)
		}
		time.AfterFunc(time.Second, func() { w.Close() })
		g.wantEvents(g.poll(g.ctx, input), pollEvent{kind: pollRead, flags: pollHangup})
		if took := time.Since(start); took != 5*time.Second/2 {
			t.Errorf("took %v", took)
		}
	})
}

func TestPollArguments(t *testing.T) {
	g := newGuest(t, nil)
	g.want(errInval, "poll_oneoff", dataAt, pathAt, 0, resultAt)
	g.want(errInval, "poll_oneoff", dataAt, pathAt, maxSubscriptions+1, resultAt)
	g.want(errInval, "poll_oneoff", dataAt, pathAt, 0xffffffff, resultAt)
	g.want(errFault, "poll_oneoff", memSize-47, pathAt, 1, resultAt)
	g.want(errFault, "poll_oneoff", dataAt, memSize-31, 1, resultAt)
	g.want(errFault, "poll_oneoff", dataAt, pathAt, 1, memSize-3)
	g.put(dataAt+8, []byte{9})
	g.want(errInval, "poll_oneoff", dataAt, pathAt, 1, resultAt)
}

// Waits, and nothing else, go through Block, where another call may use the same process and instance.
func TestBlock(t *testing.T) {
	var g *guest
	blocks := 0
	g = newGuest(t, &Options{
		Stdin: NewStdin(strings.NewReader("input")),
		Block: func(ctx context.Context, f func()) {
			if processOf(ctx) != g.p {
				t.Error("not the context of the call")
			}
			blocks++
			if blocks == 1 {
				g.write(1, "meanwhile")
				g.p.SetArgs([]string{"x"})
				g.want(success, "fd_close", 2)
			}
			f()
		},
	})
	g.wantEvents(g.poll(g.ctx, sub{id: 1, timeout: 1000}), pollEvent{})
	if blocks != 1 {
		t.Errorf("%d waits in a sleep", blocks)
	}
	g.want(success, "sched_yield")
	g.poll(g.ctx, sub{id: 1})
	if blocks != 3 {
		t.Errorf("%d waits after sched_yield and an empty sleep", blocks)
	}
	if s := g.read(0, 10); s != "input" {
		t.Errorf("read %q", s)
	}
}
