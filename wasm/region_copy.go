//go:build (!linux && !darwin) || mayfly_copy

package wasm

import "bytes"

// ForkMethod says how this build makes private copies of an image.
const ForkMethod = "plain copy"

// memoryStays tells that a memory never moves when it grows.
const memoryStays = false

// osPage is the granularity of snapshots; nothing here depends on the system's own.
var osPage = 4096

// base is the memory of an image.
type base struct {
	size int
	view []byte
}

func newBase(mem []byte) (*base, error) {
	return &base{size: len(mem), view: append([]byte(nil), mem...)}, nil
}

// newBaseFromSpans makes a base of zeros, save for the spans, whose bytes stand one after the other in pages.
func newBaseFromSpans(size int, spans []span, pages []byte) (*base, error) {
	b := &base{size: size, view: make([]byte, size)}
	for _, sp := range spans {
		pages = pages[copy(b.view[sp.Off:sp.Off+sp.Len], pages):]
	}
	return b, nil
}

func (b *base) close() error { b.view = nil; return nil }

// region is a copy on the Go heap.
type region struct {
	buf  []byte
	max  int
	base *base
}

func newRegion(b *base, max int) (*region, error) {
	r := &region{max: max, base: b}
	if b != nil {
		r.buf = append([]byte(nil), b.view...)
	}
	return r, nil
}

// bytes returns the first n bytes, which move when the buffer has to grow.
func (r *region) bytes(n int) []byte {
	if n > r.max {
		return nil
	}
	if n > cap(r.buf) {
		b := make([]byte, n, min(max(n, cap(r.buf)+cap(r.buf)/4), r.max))
		copy(b, r.buf)
		r.buf = b
	}
	if n > len(r.buf) {
		r.buf = r.buf[:n]
	}
	return r.buf[:n:n]
}

func (r *region) reset() error {
	n := 0
	if r.base != nil {
		n = copy(r.buf, r.base.view)
	}
	clear(r.buf[n:])
	return nil
}

func (r *region) dirty(spans []span, n int) ([]span, error) {
	return compareSpans(spans, r.buf[:n], r.base.view, bytes.Equal), nil
}

func (r *region) populate(_, _ []span) error { return nil }

func (r *region) mapped(int) []span { return nil }

func (r *region) free() error { r.buf = nil; return nil }

// revert is not worth it here.
func (r *region) revert([]span) error { return errNoRevert }
