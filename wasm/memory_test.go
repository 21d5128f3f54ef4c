package wasm_test

import (
	"errors"
	"testing"

	"github.com/mayfly-run/mayfly/wasm"
	tg "github.com/mayfly-run/mayfly/wasm/internal/testguest"
)

// Forks see nothing of each other: memory, globals and size, also when their calls take turns on one worker.
func TestForksAreIsolated(t *testing.T) {
	im := newImage(t)
	a, b, c := newBox(t, im, nil), newBox(t, im, nil), newBox(t, im, nil)
	for i := range uint32(5) {
		a.count(1)
		b.count(10)
		a.wantCount(i+1, tg.Pages)
		b.wantCount(10*(i+1), tg.Pages)
	}
	a.call(tg.Grow, 3)
	a.call(tg.Fill, guest-100, 7, 2*pageSize)
	a.wantCount(5, tg.Pages+3)
	b.wantCount(50, tg.Pages)
	c.wantCount(0, tg.Pages)
	newBox(t, im, nil).wantCount(0, tg.Pages)
	if got := words(b.call(tg.Load, guest-4)); got[0] != 0 {
		t.Errorf("b sees %#x of a", got[0])
	}
	if got := words(a.call(tg.Load, guest+pageSize)); got[0] != 0x07070707 {
		t.Errorf("a lost what it wrote: %#x", got[0])
	}
}

// A fork of a used image gets clean pages even after many others came and went.
func TestForksAreClean(t *testing.T) {
	im := newImage(t)
	for range 50 {
		m, err := im.NewMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		b := &box{t: t, im: im, m: m}
		b.wantCount(0, tg.Pages)
		if got := words(b.call(tg.Load, 3*pageSize+8192)); got[0] != 0 {
			t.Fatalf("warm-up or another fork left %#x", got[0])
		}
		b.count(1)
		b.call(tg.Fill, 2*pageSize, 255, 4*pageSize)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	im := newImage(t)
	for _, limit := range []int64{-1, 1, guest - 1, 1 << 32, 1<<32 - 1} {
		if _, err := im.NewMemory(&wasm.MemoryOptions{Limit: limit}); !errors.Is(err, wasm.ErrLimit) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	const fails = 0xffffffff
	tests := []struct {
		limit  int64
		grow   uint32
		pages  uint32 // result of memory.grow
		denied bool
	}{
		{guest, 0, tg.Pages, false},
		{guest, 1, fails, true},
		{guest + 1, 1, tg.Pages, false}, // limits are rounded up to pages
		{guest + 4*pageSize, 4, tg.Pages, false},
		{guest + 4*pageSize, 5, fails, true},
		{guest + 4*pageSize, 60000, fails, true},
		{0, wasm.DefaultMemoryLimit/pageSize - tg.Pages, tg.Pages, false},
		{0, wasm.DefaultMemoryLimit/pageSize - tg.Pages + 1, fails, true},
		{1 << 30, 1<<30/pageSize - tg.Pages, tg.Pages, false},
	}
	for _, tt := range tests {
		if wasm.ForkMethod == "plain copy" && tt.grow > 4096 && tt.pages != fails {
			continue
		}
		b := newBox(t, im, &wasm.MemoryOptions{Limit: tt.limit})
		answer, usage, err := b.try(tg.Request(tg.Grow, tt.grow))
		if err != nil {
			t.Fatal(err)
		}
		size := uint32(tg.Pages)
		if tt.pages != fails {
			size += tt.grow
		}
		if got := words(answer); got[0] != tt.pages || got[1] != size || usage.MemoryDenied != tt.denied {
			t.Errorf("limit %d, growth by %d: %v, denied %v", tt.limit, tt.grow, got, usage.MemoryDenied)
		}
		if b.m.Size() != int64(size)*pageSize || usage.MemoryPeak != b.m.Size() {
			t.Errorf("limit %d, growth by %d: size %d, peak %d", tt.limit, tt.grow, b.m.Size(), usage.MemoryPeak)
		}
		// A refusal is no fault: the guest goes on, and the next call starts afresh.
		if _, usage, err = b.try(tg.Request(tg.Status)); err != nil || usage.MemoryDenied {
			t.Errorf("next call: %v, denied %v", err, usage.MemoryDenied)
		}
		if err := b.m.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestClosedMemory(t *testing.T) {
	im := newImage(t)
	b := newBox(t, im, nil)
	b.count(1)
	for range 2 {
		if err := b.m.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := b.try(tg.Request(tg.Status)); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("Call: %v", err)
	}
	if _, err := b.m.Snapshot(); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("Snapshot: %v", err)
	}
	if _, err := b.m.Checkpoint(); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("Checkpoint: %v", err)
	}
	if err := b.m.Restore(nil); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("Restore: %v", err)
	}
}
