//go:build linux && !mayfly_file && !mayfly_copy

package wasm

import (
	"bytes"
	"testing"
)

// Two regions of different lengths share a layer until one of them needs it changed; neither sees what the other does.
func TestLayerShared(t *testing.T) {
	b, image := testBase(t)
	const size, small, large = 32 * pageSize, 40 * pageSize, 64 * pageSize
	a, c := testRegion(t, b, small), testRegion(t, b, large)
	want := append(bytes.Clone(image), make([]byte, size-len(image))...)
	set := func(r *region, mem []byte, off int, v byte) {
		r.bytes(size)[off], mem[off] = v, v
	}
	commit := func(r *region, mem []byte) {
		t.Helper()
		spans, err := r.dirty(nil, size)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := r.commit(spans, size); !ok || err != nil {
			t.Fatal(ok, err)
		}
		check(t, r, mem)
		if spans, err := r.compare(nil, size); err != nil || len(spans) > 0 {
			t.Errorf("after a commit %v differ, %v", spans, err)
		}
	}
	set(a, want, 5*pageSize, 1)
	set(a, want, 20*pageSize, 2)
	set(a, want, 0, 0) // what the image has
	commit(a, want)
	if err := c.share(a); err != nil {
		t.Fatal(err)
	}
	if a.layer != c.layer || a.layer.refs.Load() != 2 {
		t.Fatal("the layer is not shared")
	}
	other := bytes.Clone(want)
	check(t, c, other)
	if got := c.bytes(large)[large-1]; got != 0 {
		t.Errorf("the end of the longer region is %d", got)
	}
	c.high = size
	covered(t, c.withLayer(nil), 0, 5*pageSize, 20*pageSize)

	set(c, other, 21*pageSize, 3)
	set(a, want, 5*pageSize, 4)
	check(t, a, want)
	check(t, c, other)
	old := a.layer
	commit(a, want) // gets a layer of its own
	if a.layer == old || old.refs.Load() != 1 {
		t.Error("a shared layer was changed")
	}
	check(t, c, other)
	commit(c, other) // has the old one to itself now
	if c.layer != old {
		t.Error("a layer was made without need")
	}
	check(t, a, want)
	covered(t, a.withLayer(nil), 0, 5*pageSize, 20*pageSize)
	covered(t, c.withLayer(nil), 0, 5*pageSize, 20*pageSize, 21*pageSize)

	if err := c.unlayer(); err != nil {
		t.Fatal(err)
	}
	check(t, a, want)
	check(t, c, append(bytes.Clone(image), make([]byte, size-len(image))...))
}

func check(t *testing.T, r *region, want []byte) {
	t.Helper()
	got := r.bytes(len(want))
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("byte %#x is %d, want %d", i, got[i], want[i])
		}
	}
	buf := make([]byte, osPage)
	if r.layered() {
		if err := r.readLayer(buf, 3*osPage); err != nil {
			t.Error(err)
		}
	}
}
