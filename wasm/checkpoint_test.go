package wasm_test

import (
	"context"
	"errors"
	"testing"

	"github.com/mayfly-run/mayfly/wasm"
	tg "github.com/mayfly-run/mayfly/wasm/internal/testguest"
)

func (b *box) checkpoint() *wasm.Checkpoint {
	b.t.Helper()
	c, err := b.m.Checkpoint()
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

func (b *box) rollback(c *wasm.Checkpoint) {
	b.t.Helper()
	if err := b.m.Rollback(c); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) wantByte(addr uint32, want byte) {
	b.t.Helper()
	if got := b.call(tg.Load, addr)[0]; got != want {
		b.t.Errorf("byte at %#x is %d, want %d", addr, got, want)
	}
}

// TestCheckpoint goes back and forth with little changed data, which is copied, and with much, which gets a layer.
func TestCheckpoint(t *testing.T) {
	for name, size := range map[string]uint32{"copied": 64 << 10, "layered": 8 << 20} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, newImage(t), nil)
			fresh := b.checkpoint()
			b.count(3)
			b.rollback(fresh)
			b.wantCount(0, tg.Pages)
			fresh.Release()

			b.call(tg.Grow, 256)
			const at = tg.Pages * pageSize
			for step := range uint32(4) {
				b.call(tg.Touch, at, size, step+1)
				b.count(1)
				c := b.checkpoint()
				for range 2 { // a checkpoint can be used again
					b.call(tg.Touch, at, size, 99)
					b.call(tg.Touch, at+size, 4096, 99)
					b.call(tg.Grow, 3)
					b.count(1)
					b.rollback(c)
					b.wantByte(at+size-4096, byte(step+1))
					b.wantByte(at+size, 0)
				}
				c.Release()
			}
			b.wantCount(4, tg.Pages+256)

			// Snapshots are relative to the image, whatever lies between.
			s := b.snapshot()
			b.restore(nil)
			b.wantCount(0, tg.Pages)
			b.restore(s)
			b.wantCount(4, tg.Pages+256)
			b.wantByte(at+size-4096, 4)
		})
	}
}

func TestTrim(t *testing.T) {
	for name, size := range map[string]uint32{"image": 64 << 10, "layer": 8 << 20} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, newImage(t), nil)
			b.call(tg.Grow, 256)
			b.call(tg.Touch, tg.Pages*pageSize, size, 7)
			b.count(2)
			c := b.checkpoint()
			defer c.Release()
			b.count(3)
			if err := b.m.Trim(); err != nil {
				t.Fatal(err)
			}
			b.wantCount(5, tg.Pages+256)
			b.wantByte(tg.Pages*pageSize+size-4096, 7)
			b.rollback(c)
			b.wantCount(2, tg.Pages+256)
		})
	}
}

// TestReuse: a memory that is used again shows nothing of what it was used for before.
func TestReuse(t *testing.T) {
	rt, err := wasm.NewRuntime(t.Context(), &wasm.RuntimeOptions{CacheDir: wasm.CacheOff, ReadyMemories: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close(t.Context())
	g := newGuest(nil)
	g.Warm = func(ctx context.Context, im *wasm.Image, m *wasm.Memory) error {
		_, _, err := im.Call(ctx, m, tg.Request(tg.Count, 1), nil)
		return err
	}
	im, err := rt.Image(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		m, err := im.NewMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		b := &box{t: t, im: im, m: m}
		b.wantCount(0, tg.Pages)
		b.call(tg.Grow, 16)
		for addr := uint32(tg.Pages * pageSize); addr < (tg.Pages+16)*pageSize; addr += pageSize {
			b.wantByte(addr, 0)
		}
		b.call(tg.Touch, tg.Pages*pageSize, 16*pageSize, 9)
		b.count(5)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCheckpointErrors(t *testing.T) {
	im := newImage(t)
	a, b := newBox(t, im, nil), newBox(t, im, nil)
	old := a.checkpoint()
	a.count(1)
	latest := a.checkpoint()
	for name, err := range map[string]error{
		"older":             a.m.Rollback(old),
		"of another memory": b.m.Rollback(latest),
		"before a restore":  func() error { a.restore(nil); return a.m.Rollback(latest) }(),
	} {
		if !errors.Is(err, wasm.ErrImage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
