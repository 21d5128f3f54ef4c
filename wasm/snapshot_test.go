package wasm_test

import (
	"errors"
	"testing"

	"github.com/mayfly-run/mayfly/wasm"
	tg "github.com/mayfly-run/mayfly/wasm/internal/testguest"
)

func (b *box) snapshot() *wasm.Snapshot {
	b.t.Helper()
	s, err := b.m.Snapshot()
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *box) restore(s *wasm.Snapshot) {
	b.t.Helper()
	if err := b.m.Restore(s); err != nil {
		b.t.Fatal(err)
	}
}

func TestSnapshot(t *testing.T) {
	im := newImage(t)
	b := newBox(t, im, nil)
	fresh := b.snapshot()
	if fresh.Bytes() != 0 {
		t.Errorf("a fresh memory has %d changed bytes", fresh.Bytes())
	}
	b.count(1)
	one := b.snapshot()
	if n := one.Bytes(); n == 0 || n > 4*pageSize {
		t.Errorf("%d bytes for one counter", n)
	}
	b.count(1)
	b.call(tg.Grow, 2)
	b.call(tg.Fill, guest, 9, 2*pageSize)
	two := b.snapshot()

	for range 2 { // any order, any number of times
		b.restore(one)
		b.wantCount(1, tg.Pages)
		b.restore(two)
		b.wantCount(2, tg.Pages+2)
		if got := words(b.call(tg.Load, guest+pageSize)); got[0] != 0x09090909 {
			t.Errorf("grown part holds %#x", got[0])
		}
		b.restore(nil)
		b.wantCount(0, tg.Pages)
		b.restore(fresh)
		b.wantCount(0, tg.Pages)
		b.restore(one)
		// What was cut off comes back as zeros.
		b.call(tg.Grow, 2)
		if got := words(b.call(tg.Load, guest+pageSize)); got[0] != 0 {
			t.Errorf("after shrinking and growing the memory holds %#x", got[0])
		}
	}
	// A memory goes on from where it was restored to.
	b.restore(one)
	b.count(1)
	b.wantCount(2, tg.Pages)
}

// A page that was changed back to what the image has is still restored over other changes.
func TestSnapshotOfZeros(t *testing.T) {
	b := newBox(t, newImage(t), nil)
	b.call(tg.Poke, 5*pageSize, 1)
	b.call(tg.Poke, 5*pageSize, 0)
	s := b.snapshot()
	b.call(tg.Poke, 5*pageSize, 2)
	b.call(tg.Poke, tg.Greeting, 3)
	b.restore(s)
	if got := words(b.call(tg.Load, 5*pageSize)); got[0] != 0 {
		t.Errorf("%#x", got[0])
	}
	if got := b.call(tg.Load, tg.Greeting); string(got) != tg.Hello[:4] {
		t.Errorf("%q", got)
	}
}

// Forks of a running sandbox: a snapshot restored to other memories, even after its own is gone.
func TestSnapshotToOtherMemory(t *testing.T) {
	im := newImage(t)
	a := newBox(t, im, nil)
	a.call(tg.Grow, 1)
	a.count(4)
	s := a.snapshot()
	b, c := newBox(t, im, nil), newBox(t, im, nil)
	c.count(100)
	b.restore(s)
	c.restore(s)
	b.count(1)
	if err := a.m.Close(); err != nil {
		t.Fatal(err)
	}
	b.wantCount(5, tg.Pages+1)
	c.wantCount(4, tg.Pages+1)
}

func TestSnapshotErrors(t *testing.T) {
	im := newImage(t)
	other, err := newRuntime(t, "").Image(t.Context(), newGuest(nil))
	if err != nil {
		t.Fatal(err)
	}
	a, b := newBox(t, im, nil), newBox(t, other, nil)
	a.count(1)
	if err := b.m.Restore(a.snapshot()); !errors.Is(err, wasm.ErrImage) {
		t.Errorf("other image: %v", err)
	}
	if err := b.m.Restore(&wasm.Snapshot{}); !errors.Is(err, wasm.ErrImage) {
		t.Errorf("empty snapshot: %v", err)
	}
	if _, _, err := im.Call(t.Context(), b.m, tg.Request(tg.Status), nil); !errors.Is(err, wasm.ErrImage) {
		t.Errorf("call through another image: %v", err)
	}
	b.wantCount(0, tg.Pages)
	a.call(tg.Grow, 1)
	small := newBox(t, im, &wasm.MemoryOptions{Limit: guest})
	small.count(2)
	if err := small.m.Restore(a.snapshot()); !errors.Is(err, wasm.ErrLimit) {
		t.Errorf("snapshot larger than the limit: %v", err)
	}
	small.wantCount(2, tg.Pages) // nothing was done
}
