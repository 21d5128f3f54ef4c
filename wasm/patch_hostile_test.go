package wasm_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/mayfly-run/mayfly/wasm"
	tg "github.com/mayfly-run/mayfly/wasm/internal/testguest"
)

// crafted is a head that can be changed.
type crafted struct {
	Version int      `json:"version"`
	Size    int64    `json:"size"`
	Globals []uint64 `json:"globals"`
	Fresh   bool     `json:"fresh"`
}

func craft(t testing.TB, p *wasm.Patch, change func(h *crafted)) wasm.PatchData {
	t.Helper()
	var h crafted
	if err := json.Unmarshal(p.Head(), &h); err != nil {
		t.Fatal(err)
	}
	change(&h)
	b, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	return wasm.PatchData{Head: b, Parts: p.Parts(0)}
}

// runBytes encodes a run as a part has it.
func runBytes(gap, n uint64, data int) []byte {
	b := binary.AppendUvarint(nil, gap)
	b = binary.AppendUvarint(b, n)
	return append(b, make([]byte, data)...)
}

func TestApplyErrors(t *testing.T) {
	im := newImage(t)
	src := newBox(t, im, nil)
	src.call(tg.Grow, 2)
	src.count(1)
	p := src.patch(nil)
	good := data(p)
	const all = (tg.Pages + 2 + 1) * pageSize / 8 // words, guard page included
	part := func(parts ...[]byte) wasm.PatchData { return wasm.PatchData{Head: good.Head, Parts: parts} }
	head := func(s string) wasm.PatchData { return wasm.PatchData{Head: []byte(s)} }
	b := newBox(t, im, &wasm.MemoryOptions{Limit: (tg.Pages + 4) * pageSize})
	for name, x := range map[string]struct {
		bad  wasm.PatchData
		want error
	}{
		"no head":            {wasm.PatchData{}, wasm.ErrPatch},
		"not JSON":           {head("x"), wasm.ErrPatch},
		"long head":          {wasm.PatchData{Head: make([]byte, 1<<20)}, wasm.ErrPatch},
		"version":            {craft(t, p, func(h *crafted) { h.Version = 2 }), wasm.ErrPatch},
		"negative size":      {craft(t, p, func(h *crafted) { h.Size = -pageSize }), wasm.ErrPatch},
		"odd size":           {craft(t, p, func(h *crafted) { h.Size++ }), wasm.ErrPatch},
		"below the image":    {craft(t, p, func(h *crafted) { h.Size = (tg.Pages - 1) * pageSize }), wasm.ErrPatch},
		"over the limit":     {craft(t, p, func(h *crafted) { h.Size = (tg.Pages + 5) * pageSize }), wasm.ErrLimit},
		"impossible size":    {craft(t, p, func(h *crafted) { h.Size = 1 << 62 }), wasm.ErrLimit},
		"globals missing":    {craft(t, p, func(h *crafted) { h.Globals = h.Globals[1:] }), wasm.ErrPatch},
		"too many globals":   {craft(t, p, func(h *crafted) { h.Globals = append(h.Globals, 1) }), wasm.ErrPatch},
		"begins outside":     {part(runBytes(all+1, 1, 8)), wasm.ErrPatch},
		"far outside":        {part(runBytes(1<<63, 1, 8)), wasm.ErrPatch},
		"ends outside":       {part(runBytes(all-1, 2, 16)), wasm.ErrPatch},
		"ends far outside":   {part(runBytes(1, 1<<61, 16)), wasm.ErrPatch},
		"sum overflows":      {part(runBytes(2, 1<<64-1, 16)), wasm.ErrPatch},
		"second run outside": {part(append(runBytes(all-1, 1, 8), runBytes(0, 1, 8)...)), wasm.ErrPatch},
		"empty run":          {part(runBytes(1, 0, 0)), wasm.ErrPatch},
		"half a number":      {part([]byte{0x80}), wasm.ErrPatch},
		"long number":        {part([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}), wasm.ErrPatch},
		"no length":          {part([]byte{1}), wasm.ErrPatch},
		"short data":         {part(runBytes(1, 2, 15)), wasm.ErrPatch},
		"good part before":   {part(append([][]byte{runBytes(5, 1, 8)}, runBytes(1, 2, 15))...), wasm.ErrPatch},
	} {
		for where, chain := range map[string][]wasm.PatchData{
			"first": {x.bad}, "last": {good, x.bad}, "in the middle": {good, x.bad, good},
		} {
			b.apply(good)
			if err := b.m.Apply(chain); !errors.Is(err, x.want) {
				t.Errorf("%s, %s: %v", name, where, err)
			}
			if !wasm.IsFresh(b.m) {
				t.Errorf("%s, %s: not the image", name, where)
			}
			b.wantCount(0, tg.Pages)
		}
	}
	last := part(runBytes(all-1, 1, 8))
	b.apply(last)
	if n := b.m.Size(); n != (tg.Pages+2)*pageSize {
		t.Errorf("%d bytes", n)
	}
}

// A patch cannot make a memory pass for a fresh one, which would be given to the next sandbox as it is.
func TestApplyFresh(t *testing.T) {
	im := newImage(t)
	b := newBox(t, im, nil)
	image := b.patch(nil)
	fresh := func(want bool, d wasm.PatchData) {
		t.Helper()
		b.apply(d)
		if got := wasm.IsFresh(b.m); got != want {
			t.Errorf("%s: fresh %v", d.Head, got)
		}
	}
	fresh(true, data(image))
	fresh(false, craft(t, image, func(h *crafted) { h.Fresh = false }))
	fresh(false, craft(t, image, func(h *crafted) { h.Size += pageSize }))
	fresh(false, craft(t, image, func(h *crafted) { h.Globals[len(h.Globals)-1]++ }))
	b.apply()
	b.count(1)
	fresh(false, craft(t, b.patch(nil), func(h *crafted) { h.Fresh = true }))
	b.wantCount(1, tg.Pages)
}

// TestApplyHostGlobals: the globals by which limits are kept have good values whatever a patch says.
func TestApplyHostGlobals(t *testing.T) {
	im := threadImage(t)
	names := wasm.GlobalNames(im)
	countdown, limit := slices.Index(names, "mayfly_countdown"), slices.Index(names, "mayfly_stack_limit")
	if countdown < 0 || limit < 0 {
		t.Fatalf("globals %q", names)
	}
	for _, v := range []uint64{0, 1 << 31, 1<<31 - 1, 1<<64 - 1, 1 << 40} {
		b := newBox(t, im, nil)
		b.call(tg.SpinN, 10) // so that no value is the first one
		b.apply(craft(t, b.patch(nil), func(h *crafted) { h.Globals[countdown], h.Globals[limit] = v, v }))
		const n = 400_000
		_, u, err := b.try(tg.Request(tg.SpinN, n))
		if err != nil || u.Ticks < n/50_000-2 || u.Ticks > n/50_000+2 {
			t.Errorf("countdown %#x: %d ticks, %v", v, u.Ticks, err)
		}
		b.o.MaxTicks, b.o.Grace = 3, -1
		var killed *wasm.KilledError
		if _, _, err := b.try(tg.Request(tg.Spin)); !errors.As(err, &killed) {
			t.Errorf("countdown %#x: %v", v, err)
		}
		b.apply(craft(t, src(t, im), func(h *crafted) { h.Globals[countdown], h.Globals[limit] = v, v }))
		b.o.MaxTicks, b.o.Grace = 0, 0
		if _, _, err := b.try(tg.RequestBytes(tg.RunProgram, tg.Program(tg.Instr{Op: tg.StackT, A: 3}))); err != nil {
			t.Errorf("stack limit %#x: %v", v, err)
		}
	}
}

func src(t testing.TB, im *wasm.Image) *wasm.Patch {
	t.Helper()
	b := newBox(t, im, nil)
	b.call(tg.Echo)
	return b.patch(nil)
}

// TestApplyGuestGlobals: whatever the guest's own globals are, nothing but the guest suffers.
func TestApplyGuestGlobals(t *testing.T) {
	im := threadImage(t)
	p := src(t, im)
	sp := wasm.StackPointer(im)
	for _, v := range []uint64{0, 5, 1 << 31, 1<<32 - 1, 1 << 32, 1<<64 - 1} {
		b := newBox(t, im, nil)
		b.apply(craft(t, p, func(h *crafted) { h.Globals[sp] = v }))
		_, _, err := b.try(tg.RequestBytes(tg.RunProgram, tg.Program(tg.Instr{Op: tg.StackT, A: 3})))
		var trap *wasm.TrapError
		if err != nil && !errors.As(err, &trap) {
			t.Errorf("stack pointer %#x: %v", v, err)
		}
		b.apply(craft(t, p, func(h *crafted) {
			for i := range h.Globals {
				h.Globals[i] |= v
			}
		}))
		if _, _, err = b.try(tg.Request(tg.Count, 1)); err != nil {
			t.Errorf("globals with %#x: %v", v, err)
			continue
		}
		if v>>32 != 0 {
			// A global of 32 bits has no more.
			if _, globals := wasm.Contents(b.m); globals[sp]>>32 != 0 {
				t.Errorf("stack pointer %#x after a call", globals[sp])
			}
		}
	}
}

// FuzzPatch applies chains of two arbitrary patches. Whatever they are, the memory is usable afterwards, and what was
// accepted is a state that can be saved and restored.
func FuzzPatch(f *testing.F) {
	im := newImage(f)
	seed := newBox(f, im, nil)
	seed.call(tg.Grow, 1)
	seed.count(2)
	first := seed.patch(nil)
	c := seed.checkpoint()
	seed.call(tg.Fill, guest, 3, 5000)
	second := seed.patch(c)
	c.Release()
	part := func(p *wasm.Patch) []byte { return p.Parts(0)[0] }
	f.Add(first.Head(), part(first), second.Head(), part(second))
	f.Add(second.Head(), part(second), first.Head(), part(first))
	f.Add([]byte(`{"version":1,"size":524288,"globals":[]}`), []byte{1, 1}, []byte(nil), []byte(nil))
	f.Add(first.Head(), runBytes(1<<40, 1, 8), first.Head(), runBytes(1, 1<<61, 8))
	const limit = 64 * pageSize
	b, again := newBox(f, im, &wasm.MemoryOptions{Limit: limit}), newBox(f, im, &wasm.MemoryOptions{Limit: limit})
	f.Fuzz(func(t *testing.T, head1, part1, head2, part2 []byte) {
		b.t, again.t = t, t
		b.o = wasm.CallOptions{}
		err := b.m.Apply([]wasm.PatchData{{Head: head1, Parts: [][]byte{part1}}, {Head: head2, Parts: [][]byte{part2}}})
		if err != nil {
			if !errors.Is(err, wasm.ErrPatch) && !errors.Is(err, wasm.ErrLimit) {
				t.Fatal(err)
			}
			b.wantCount(0, tg.Pages)
			return
		}
		if n := b.m.Size(); n > limit || n < guest {
			t.Fatalf("%d bytes", n)
		}
		again.apply(data(b.patch(nil)))
		b.wantSame(again)
		b.o.MaxTicks, b.o.Grace = 3, -1
		var trap *wasm.TrapError
		var killed *wasm.KilledError
		if _, _, err := b.try(tg.Request(tg.Count, 1)); err != nil &&
			!errors.As(err, &trap) && !errors.As(err, &killed) && !errors.Is(err, wasm.ErrNoMemory) {
			t.Fatal(err)
		}
	})
}
