package wasm_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/wasm"
	tg "github.com/mayfly-run/mayfly/wasm/internal/testguest"
	"github.com/mayfly-run/mayfly/wasm/wasi"
)

// The first stage: the guest finds the reason, the breaker bits (added to the ones that are there) and the limit.
func TestInterrupt(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	tests := []struct {
		name   string
		ctx    context.Context
		o      wasm.CallOptions
		reason wasm.Reason
		limit  uint32
	}{
		{"time limit", t.Context(), wasm.CallOptions{Timeout: 20 * time.Millisecond}, wasm.TimeLimit, 20},
		{"cancelled", cancelled, wasm.CallOptions{}, wasm.Cancelled, 1},
		{"deadline of the caller", expired, wasm.CallOptions{Timeout: time.Hour}, wasm.Cancelled, 3600_000},
		{"ticks", t.Context(), wasm.CallOptions{MaxTicks: 5}, wasm.TickLimit, 5},
	}
	im := newImage(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBox(t, im, nil)
			b.count(1)
			tt.o.Grace = time.Minute
			answer, usage, err := im.Call(tt.ctx, b.m, tg.Request(tg.SpinUntil), &tt.o)
			if err != nil {
				t.Fatal(err)
			}
			if w := words(answer); w[0] != uint32(tt.reason) || w[1] != tg.BreakerBits|1 || w[2] != tt.limit {
				t.Errorf("reason %d, breaker %#x, limit %d", w[0], w[1], w[2])
			}
			if usage.Interrupted != tt.reason || usage.Ticks == 0 {
				t.Errorf("usage %+v", usage)
			}
			if tt.o.MaxTicks > 0 && usage.Ticks != tt.o.MaxTicks+1 {
				t.Errorf("%d ticks", usage.Ticks)
			}
			b.wantCount(1, tg.Pages) // a guest that stopped in time is fine
		})
	}
}

// The second stage: a guest that does not stop is killed, wherever it is.
func TestKill(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	const long = 16 << 20
	tests := []struct {
		name    string
		ctx     context.Context
		o       wasm.CallOptions
		request []byte
		reason  wasm.Reason
	}{
		{"time limit", t.Context(), wasm.CallOptions{Timeout: 10 * time.Millisecond, Grace: 10 * time.Millisecond}, tg.Request(tg.Spin), wasm.TimeLimit},
		{"cancelled", cancelled, wasm.CallOptions{Grace: 10 * time.Millisecond}, tg.Request(tg.Spin), wasm.Cancelled},
		{"no grace", cancelled, wasm.CallOptions{Grace: -1}, tg.Request(tg.Spin), wasm.Cancelled},
		{"ticks", t.Context(), wasm.CallOptions{MaxTicks: 3, Grace: -1}, tg.Request(tg.Spin), wasm.TickLimit},
		{"in memory.fill", t.Context(), wasm.CallOptions{MaxTicks: 3, Grace: -1}, tg.Request(tg.Fill, guest, 1, long), wasm.TickLimit},
		{"in memory.copy", t.Context(), wasm.CallOptions{MaxTicks: 3, Grace: -1}, tg.Request(tg.Copy, guest, guest+1, long), wasm.TickLimit},
		{"polite, but no grace", cancelled, wasm.CallOptions{Grace: -1}, tg.Request(tg.SpinUntil), wasm.Cancelled},
	}
	im := newImage(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBox(t, im, nil)
			b.call(tg.Grow, long/pageSize+1)
			_, usage, err := im.Call(tt.ctx, b.m, tt.request, &tt.o)
			var killed *wasm.KilledError
			if !errors.As(err, &killed) || killed.Reason != tt.reason || usage.Interrupted != tt.reason {
				t.Fatalf("%v, usage %+v", err, usage)
			}
			if _, _, err := b.try(tg.Request(tg.Status)); !errors.Is(err, wasm.ErrSuspect) {
				t.Errorf("next call: %v", err)
			}
			b.restore(nil)
			b.wantCount(0, tg.Pages)
		})
	}
}

// A host function that blocks gets a context that ends with the call's limit, and the guest gets its interrupt right
// after it.
func TestInterruptInHostCall(t *testing.T) {
	b := newBox(t, newImage(t), nil)
	b.o.Timeout = 10 * time.Millisecond
	b.o.Handle = func(ctx context.Context, _ []byte) []byte {
		<-ctx.Done()
		return nil
	}
	frame := wasm.Frame{}.Append(nil)
	_, usage, err := b.try(tg.RequestBytes(tg.HostCall, tg.HostCallBody(0, 0, 0, frame)))
	if err != nil || usage.Interrupted != wasm.TimeLimit {
		t.Errorf("%v, usage %+v", err, usage)
	}
	// It came too late for the guest to see, and is not left to the next call.
	b.o = wasm.CallOptions{}
	if w := words(b.call(tg.Load, tg.Control)); w[0] != 0 {
		t.Errorf("interrupt word %d", w[0])
	}
}

// lateContext is cancelled some time before those that derive from it are.
type lateContext struct {
	context.Context
	over atomic.Bool
	done chan struct{}
}

func (c *lateContext) Done() <-chan struct{} { return c.done }

func (c *lateContext) Err() error {
	if c.over.Load() {
		return context.Canceled
	}
	return nil
}

// A host function learns of the end of the caller's context, and returns, before the call's own context is done. The guest
// gets its interrupt nevertheless, or it would take the answer for that of a host that goes on.
func TestInterruptAfterHostCallThatKnowsFirst(t *testing.T) {
	im := newImage(t)
	b := newBox(t, im, nil)
	ctx := &lateContext{Context: t.Context(), done: make(chan struct{})}
	defer close(ctx.done)
	b.o.Handle = func(context.Context, []byte) []byte {
		ctx.over.Store(true)
		return nil
	}
	request := tg.RequestBytes(tg.HostCall, tg.HostCallBody(0, 0, 0, wasm.Frame{}.Append(nil)))
	_, usage, err := im.Call(ctx, b.m, request, &b.o)
	if err != nil || usage.Interrupted != wasm.Cancelled {
		t.Errorf("%v, usage %+v", err, usage)
	}
}

// The same after a wait in WASI.
func TestInterruptInBlock(t *testing.T) {
	im := newImage(t)
	b := newBox(t, im, nil)
	b.process(wasi.Options{})
	if w := words(b.call(tg.Yield)); w[0] != 0 {
		t.Errorf("interrupt %d without a reason", w[0])
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	answer, _, err := im.Call(ctx, b.m, tg.Request(tg.Yield), &b.o)
	if err != nil || words(answer)[0] != uint32(wasm.Cancelled) {
		t.Errorf("%v, %v", answer, err)
	}
	b.o.Grace = -1
	if _, _, err := im.Call(ctx, b.m, tg.Request(tg.Yield), &b.o); !errors.As(err, new(*wasm.KilledError)) {
		t.Errorf("without grace: %v", err)
	}
}

// Nobody asked: no limit, no interrupt.
func TestNoInterrupt(t *testing.T) {
	b := newBox(t, newImage(t), nil)
	_, usage, err := b.try(tg.Request(tg.SpinN, 3_000_000))
	if err != nil || usage.Interrupted != wasm.NotInterrupted || usage.Ticks < 50 {
		t.Errorf("%v, usage %+v", err, usage)
	}
}

// Ticks are a deterministic measure. The countdown goes on from call to call and is part of a memory's state.
func TestTicks(t *testing.T) {
	im := newImage(t)
	run := func(b *box, op tg.Op, args ...uint32) uint64 {
		t.Helper()
		_, usage, err := b.try(tg.Request(op, args...))
		if err != nil {
			t.Fatal(err)
		}
		return usage.Ticks
	}
	var want [3]uint64
	for i := range 3 {
		b := newBox(t, im, nil)
		got := [3]uint64{run(b, tg.SpinN, 1_000_000), run(b, tg.SpinN, 10), run(b, tg.SpinN, 999_999)}
		if i > 0 && got != want {
			t.Errorf("ticks %v, before %v", got, want)
		}
		want = got
		s := b.snapshot()
		first := run(b, tg.SpinN, 1_234_567)
		b.restore(s)
		if again := run(b, tg.SpinN, 1_234_567); again != first {
			t.Errorf("%d ticks after a restore, %d before", again, first)
		}
	}
	b := newBox(t, im, nil)
	b.call(tg.Grow, 8<<20/pageSize)
	if n := run(b, tg.Fill, guest, 1, 8<<20); n != 7 {
		t.Errorf("%d ticks for 8 MiB", n)
	}
}

func TestReason(t *testing.T) {
	for r, want := range map[wasm.Reason]string{
		wasm.NotInterrupted: "not interrupted", wasm.TimeLimit: "time limit", wasm.Cancelled: "cancelled", wasm.TickLimit: "CPU limit",
	} {
		if r.String() != want {
			t.Errorf("%d is %q", r, r)
		}
	}
	if got := (&wasm.KilledError{Reason: wasm.TimeLimit}).Error(); got != "guest killed: time limit" {
		t.Error(got)
	}
}
