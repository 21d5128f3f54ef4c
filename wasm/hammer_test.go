package wasm_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/internal/testgc"
	"github.com/mayfly-run/mayfly/wasm"
	tg "github.com/mayfly-run/mayfly/wasm/internal/testguest"
	"github.com/mayfly-run/mayfly/wasm/wasi"
)

// TestHammer runs many sandboxes at the same time that do everything that may go wrong, while the garbage collector
// runs: growth, traps, kills, host calls, snapshots, and closing in the middle of a call. After each mishap the sandbox
// must still be what it was.
func TestHammer(t *testing.T) {
	sandboxes, rounds := 300, 12
	if testing.Short() || raceEnabled {
		sandboxes, rounds = 120, 8
	}
	im := newImage(t)
	stopGC := testgc.Every(t, 0)
	var wg sync.WaitGroup
	inFlight := make(chan struct{}, 16)
	for i := range sandboxes {
		inFlight <- struct{}{}
		wg.Go(func() {
			defer func() { <-inFlight }()
			hammer(t, im, rand.New(rand.NewPCG(1, uint64(i))), rounds)
		})
	}
	wg.Wait()
	stopGC()
	newBox(t, im, nil).wantCount(0, tg.Pages)
}

// hammer is the life of one sandbox. It counts what it counted, and compares after every mishap.
func hammer(t *testing.T, im *wasm.Image, r *rand.Rand, rounds int) {
	m, err := im.NewMemory(&wasm.MemoryOptions{Limit: guest + 64*pageSize})
	if err != nil {
		t.Error(err)
		return
	}
	b := &box{t: t, im: im, m: m}
	n, pages := uint32(0), uint32(tg.Pages)
	for range rounds {
		s, err := m.Snapshot()
		if err != nil {
			t.Error(err)
		}
		mishap := func(want any, request []byte, o *wasm.CallOptions) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+r.IntN(5))*time.Millisecond)
			defer cancel()
			if _, _, err := im.Call(ctx, m, request, o); !errors.As(err, want) {
				t.Errorf("got %v, want a %T", err, want)
			}
			if err := m.Restore(s); err != nil {
				t.Error(err)
			}
		}
		switch r.IntN(9) {
		case 0:
			grow := 1 + r.Uint32N(20)
			if words(b.call(tg.Grow, grow))[0] == pages {
				pages += grow
			}
		case 1:
			mishap(new(*wasm.TrapError), tg.Request(tg.Trap), nil)
		case 2:
			mishap(new(*wasm.TrapError), tg.Request(tg.Fill, 0, r.Uint32(), 1<<31), nil)
		case 3:
			mishap(new(*wasi.ExitError), tg.Request(tg.Exit, 3), nil)
		case 4:
			mishap(new(*wasm.KilledError), tg.Request(tg.Spin), &wasm.CallOptions{Grace: -1})
		case 5:
			mishap(new(*wasm.KilledError), tg.Request(tg.Spin), &wasm.CallOptions{MaxTicks: 2, Timeout: time.Millisecond, Grace: time.Millisecond})
		case 6:
			o := &wasm.CallOptions{Handle: func(_ context.Context, q []byte) []byte { runtime.Gosched(); return q }}
			q := wasm.Frame{Body: make([]byte, r.IntN(50_000))}.Append(nil)
			answer, _, err := im.Call(t.Context(), m, tg.RequestBytes(tg.HostCall, tg.HostCallBody(0, 0, 0, q)), o)
			if err != nil || len(answer) != 12+len(q) {
				t.Errorf("host call: %v, %d bytes", err, len(answer))
			}
			pages = uint32(m.Size() / pageSize) // the buffer may have needed more
		case 7:
			b.call(tg.Touch, 4*pageSize, 3*pageSize, r.Uint32N(256))
		case 8:
			other, err := im.NewMemory(nil)
			if err != nil {
				t.Error(err)
				continue
			}
			if err := other.Restore(s); err != nil {
				t.Error(err)
			}
			(&box{t: t, im: im, m: other}).wantCount(n, pages)
			other.Close()
		}
		b.count(2)
		n += 2
		b.wantCount(n, pages)
	}
	// Close while a call is running.
	inside := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		o := &wasm.CallOptions{Grace: -1, Timeout: 3 * time.Millisecond, Handle: func(context.Context, []byte) []byte { close(inside); return nil }}
		q := wasm.Frame{}.Append(nil)
		_, _, err := im.Call(t.Context(), m, tg.RequestBytes(tg.HostCall, tg.HostCallBody(0, 0, 0, q)), o)
		if err != nil && !errors.As(err, new(*wasm.KilledError)) {
			t.Errorf("call during Close: %v", err)
		}
	})
	<-inside
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}
