package wasm_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mayfly-run/mayfly/wasm"
	tg "github.com/mayfly-run/mayfly/wasm/internal/testguest"
)

func (b *box) patch(since *wasm.Checkpoint) *wasm.Patch {
	b.t.Helper()
	p, err := b.m.Patch(since)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// data is a patch as it would be stored.
func data(p *wasm.Patch) wasm.PatchData {
	return wasm.PatchData{Head: p.Head(), Parts: p.Parts(wasm.MinPart)}
}

func (b *box) apply(chain ...wasm.PatchData) {
	b.t.Helper()
	if err := b.m.Apply(chain); err != nil {
		b.t.Fatal(err)
	}
}

// wantSame checks that another memory is in the same state, byte for byte, and that equal states make equal patches.
func (b *box) wantSame(other *box) {
	b.t.Helper()
	mem, globals := wasm.Contents(b.m)
	mem2, globals2 := wasm.Contents(other.m)
	if len(mem) != len(mem2) {
		b.t.Fatalf("%d bytes, want %d", len(mem2), len(mem))
	}
	if i := firstDifference(mem, mem2); i >= 0 {
		b.t.Fatalf("byte %#x is %d, want %d", i, mem2[i], mem[i])
	}
	if !slices.Equal(globals, globals2) {
		b.t.Fatalf("globals %x, want %x", globals2, globals)
	}
	p, q := data(b.patch(nil)), data(other.patch(nil))
	if !bytes.Equal(p.Head, q.Head) || !slices.EqualFunc(p.Parts, q.Parts, bytes.Equal) {
		b.t.Fatal("patches of equal states differ")
	}
}

func firstDifference(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// randomStep changes memory, and perhaps its size and the globals.
func (b *box) randomStep(rnd *rand.Rand, heap uint32) {
	at := func() uint32 { return heap + rnd.Uint32N(8*pageSize) }
	for range rnd.IntN(6) {
		switch rnd.IntN(7) {
		case 0:
			b.count(rnd.Uint32N(9))
		case 1:
			b.call(tg.Grow, rnd.Uint32N(3))
		case 2:
			b.call(tg.Fill, at(), rnd.Uint32N(3), rnd.Uint32N(20_000))
		case 3:
			b.call(tg.Touch, at(), rnd.Uint32N(4*pageSize), rnd.Uint32N(256))
		default:
			b.call(tg.Poke, at(), rnd.Uint32N(4))
		}
	}
}

// TestPatchChain takes a patch at each of many random steps, some of which are rolled back, and restores states from the
// patches: at each step in another memory, and now and then an earlier one in the same, from where it goes on.
func TestPatchChain(t *testing.T) {
	for name, size := range map[string]uint32{"copied": 0, "layered": 8 << 20} {
		t.Run(name, func(t *testing.T) {
			im := newImage(t)
			for seed := range uint64(4) {
				rnd := rand.New(rand.NewPCG(seed, 1))
				b, other := newBox(t, im, nil), newBox(t, im, nil)
				b.call(tg.Grow, 13+size/pageSize)
				heap := uint32(tg.Pages * pageSize)
				b.call(tg.Touch, heap+8*pageSize, size, 5)
				chain := []wasm.PatchData{data(b.patch(nil))}
				layered := false
				for step := range 25 {
					c := b.checkpoint()
					layered = layered || wasm.Layered(b.m)
					b.randomStep(rnd, heap)
					if rnd.IntN(4) == 0 {
						b.randomStep(rnd, heap)
						b.rollback(c)
						if p := b.patch(c); len(p.Parts(0)) != 0 {
							t.Fatalf("%d bytes after a rollback", p.Bytes())
						}
						b.randomStep(rnd, heap)
					}
					chain = append(chain, data(b.patch(c)))
					c.Release()
					other.apply(chain...)
					b.wantSame(other)
					if rnd.IntN(5) == 0 {
						if rnd.IntN(2) == 0 { // a keyframe
							chain = []wasm.PatchData{data(b.patch(nil))}
							other.apply(chain...)
							b.wantSame(other)
						}
						chain = chain[:1+rnd.IntN(len(chain))]
						b.apply(chain...)
						other.apply(chain...)
						b.wantSame(other)
						b.call(tg.Load, heap) // usable
						chain = append([]wasm.PatchData(nil), data(b.patch(nil)))
					}
					if t.Failed() {
						t.Fatalf("seed %d, step %d", seed, step)
					}
				}
				if layered != (size > 0 && wasm.HasLayers) {
					t.Errorf("layered: %v", layered)
				}
			}
		})
	}
}

// A state can be smaller than the one before it, after a rewind; what was cut off comes back as zeros.
func TestPatchShorter(t *testing.T) {
	im := newImage(t)
	b, other := newBox(t, im, nil), newBox(t, im, nil)
	b.count(1)
	small := data(b.patch(nil))
	b.call(tg.Grow, 4)
	b.call(tg.Fill, guest, 7, 4*pageSize)
	large := data(b.patch(nil))
	var regrown wasm.PatchData
	b.apply(small)
	c := b.checkpoint()
	b.call(tg.Grow, 4)
	b.call(tg.Poke, guest+3*pageSize, 9)
	regrown = data(b.patch(c))
	c.Release()
	for name, chain := range map[string][]wasm.PatchData{
		"regrown":             {small, regrown},
		"large, small, again": {large, small, regrown},
	} {
		other.apply(chain...)
		// The page behind the memory belongs to a state as well.
		if mem, _ := wasm.Contents(other.m); bytes.IndexByte(mem[guest+pageSize:], 7) >= 0 {
			t.Errorf("%s: bytes of the longer state are back", name)
		}
		if len(chain) == 2 {
			b.wantSame(other)
		}
		if got := words(other.call(tg.Load, guest+3*pageSize)); got[0] != 9 {
			t.Errorf("%s: %d", name, got[0])
		}
	}
	other.apply(large, small)
	other.wantCount(1, tg.Pages)
}

func TestPatchSmall(t *testing.T) {
	im := newImage(t)
	b := newBox(t, im, nil)
	fresh := b.patch(nil)
	if fresh.Bytes() != 0 || len(fresh.Parts(0)) != 0 || !bytes.Contains(fresh.Head(), []byte(`"fresh":true`)) {
		t.Errorf("patch of a fresh memory: %s, %d bytes", fresh.Head(), fresh.Bytes())
	}
	b.call(tg.Echo) // whatever a call changes by itself
	c := b.checkpoint()
	defer c.Release()
	b.call(tg.Poke, 5*pageSize, 1)
	b.call(tg.Poke, 5*pageSize+100, 1)
	if n := b.patch(c).Bytes(); n > 200 {
		t.Errorf("%d bytes for three words", n)
	}
	b.call(tg.Poke, 5*pageSize, 0)
	b.call(tg.Poke, 5*pageSize+100, 0)
	b.call(tg.Echo)
	if n := b.patch(c).Bytes(); n > 200 {
		t.Errorf("%d bytes for words that were changed back", n)
	}
	b.apply(data(fresh))
	if !wasm.IsFresh(b.m) {
		t.Error("not fresh")
	}
	b.wantCount(0, tg.Pages)
}

// Parts respect their limit, can be applied in any order, and what did not change makes equal parts.
func TestPatchParts(t *testing.T) {
	im := newImage(t)
	b, other := newBox(t, im, nil), newBox(t, im, nil)
	b.call(tg.Grow, 64)
	for addr := uint32(guest); addr < guest+60*pageSize; addr += 4096 {
		b.call(tg.Fill, addr, addr>>12, 4096)
	}
	for at := uint32(0); at < 40_000; at += 24 { // many short runs
		b.call(tg.Poke, 2*pageSize+at, 1)
	}
	p := b.patch(nil)
	for _, limit := range []int{0, wasm.MinPart, 100_000, 512 << 10, 1 << 30} {
		parts, total := p.Parts(limit), 0
		for _, part := range parts {
			total += len(part)
			if len(part) == 0 || len(part) > max(limit, wasm.MinPart) {
				t.Errorf("limit %d: a part of %d bytes", limit, len(part))
			}
		}
		if total < p.Bytes() || total > p.Bytes()*5/4 {
			t.Errorf("limit %d: %d bytes for %d", limit, total, p.Bytes())
		}
		slices.Reverse(parts)
		other.apply(wasm.PatchData{Head: p.Head(), Parts: parts})
		b.wantSame(other)
	}
	old := map[string]bool{}
	for _, part := range p.Parts(512 << 10) {
		old[string(part)] = true
	}
	b.call(tg.Poke, guest+20*pageSize, 0x01020304)
	b.call(tg.Poke, guest+3, 0)
	fresh := 0
	parts := b.patch(nil).Parts(512 << 10)
	for _, part := range parts {
		if !old[string(part)] {
			fresh++
		}
	}
	if len(parts) < 10 || fresh > 3 {
		t.Errorf("%d of %d parts are new after a small change", fresh, len(parts))
	}
}

func TestPatchErrors(t *testing.T) {
	im := newImage(t)
	a, b := newBox(t, im, nil), newBox(t, im, nil)
	old := a.checkpoint()
	a.count(1)
	latest := a.checkpoint()
	for name, since := range map[string]struct {
		b *box
		c *wasm.Checkpoint
	}{"older": {a, old}, "of another memory": {b, latest}} {
		if _, err := since.b.m.Patch(since.c); !errors.Is(err, wasm.ErrImage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := a.try(tg.Request(tg.Trap)); err == nil {
		t.Error("no trap")
	}
	if _, err := a.m.Patch(latest); !errors.Is(err, wasm.ErrSuspect) {
		t.Errorf("after a trap: %v", err)
	}
	if _, err := a.m.Fork(); !errors.Is(err, wasm.ErrSuspect) {
		t.Errorf("fork after a trap: %v", err)
	}
	a.rollback(latest)
	good := data(a.patch(nil))
	a.apply(good)
	if _, err := a.m.Patch(latest); !errors.Is(err, wasm.ErrImage) {
		t.Errorf("before Apply: %v", err)
	}
	a.wantCount(1, tg.Pages)
	m, err := im.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	if _, err := m.Patch(nil); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if err := m.Apply(nil); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if _, err := m.Fork(); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// An interrupt that came too late is no part of a state.
func TestPatchForgetsInterrupt(t *testing.T) {
	im := newImage(t)
	a, b := newBox(t, im, nil), newBox(t, im, nil)
	a.call(tg.SpinN, 400_000)
	b.o.MaxTicks = 1
	if _, u, err := b.try(tg.Request(tg.SpinN, 400_000)); err != nil || u.Interrupted != wasm.TickLimit {
		t.Fatalf("%v, %v", u.Interrupted, err)
	}
	for _, x := range []*box{a, b} {
		x.o.MaxTicks = 0
		x.patch(nil)
	}
	mem, _ := wasm.Contents(b.m)
	if got := words(mem[tg.Control : tg.Control+16]); got[0] != 0 || got[3] != 0 {
		t.Errorf("control block %v", got)
	}
}

// fork returns a copy of the memory, which is closed with the test.
func (b *box) fork() *wasm.Memory {
	b.t.Helper()
	m, err := b.m.Fork()
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { m.Close() })
	return m
}

func TestMemoryFork(t *testing.T) {
	for name, size := range map[string]uint32{"image": 128 << 10, "layer": 8 << 20} {
		t.Run(name, func(t *testing.T) {
			im := newImage(t)
			b := newBox(t, im, &wasm.MemoryOptions{Limit: 64 << 20})
			f := &box{t: t, im: im, m: b.fork()}
			b.wantSame(f)
			if !wasm.IsFresh(f.m) {
				t.Error("the fork of a fresh memory is not fresh")
			}
			b.call(tg.Grow, 200)
			b.call(tg.Touch, guest, size, 3)
			b.count(2)
			c := b.checkpoint()
			defer c.Release()
			b.call(tg.Touch, guest, pageSize, 4)
			f = &box{t: t, im: im, m: b.fork()}
			b.wantSame(f)
			b.count(1)
			b.call(tg.Poke, guest+pageSize, 99)
			f.wantCount(2, tg.Pages+200)
			f.wantByte(guest+pageSize, 3)
			if got := words(f.call(tg.Grow, 64<<20/pageSize)); got[0] != ^uint32(0) {
				t.Error("the fork may grow beyond the limit")
			}
			f.count(5)
			b.wantCount(3, tg.Pages+200)

			// Each goes its own way: what follows makes layers of their own where there were shared ones.
			g := &box{t: t, im: im, m: f.fork()}
			for i, x := range []*box{b, f, g, b, f, g} {
				x.call(tg.Touch, guest, size, 10+uint32(i))
				c := x.checkpoint()
				x.call(tg.Touch, guest, size, 99)
				x.rollback(c)
				c.Release()
			}
			for i, x := range []*box{b, f, g} {
				x.wantByte(guest+size-4096, byte(13+i))
				x.wantByte(guest+size, 0)
			}
			if err := f.m.Close(); err != nil {
				t.Error(err)
			}
			b.wantByte(guest, 13)
			g.wantByte(guest, 15)
		})
	}
}
