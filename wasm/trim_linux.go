//go:build linux && !mayfly_file && !mayfly_copy

package wasm

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// trim unmaps the pages that show the image: those outside of the changed spans, which are shared and cost nothing, but
// which the system counts for each region that has them mapped and keeps page tables for; and those within that were
// written to and are what they were.
func (r *region) trim(changed []span) error {
	end := r.high
	if !r.layered() {
		end = min(end, r.base.size) // what lies behind is mapped only if it was changed
		changed = r.differing(changed)
	}
	off := 0
	for _, sp := range changed {
		if err := r.advise(off, min(sp.Off, end)-off, unix.MADV_DONTNEED); err != nil {
			return err
		}
		off = sp.Off + sp.Len
	}
	return r.advise(off, end-off, unix.MADV_DONTNEED)
}

// differing returns the pages of the spans that differ from the image.
func (r *region) differing(spans []span) (out []span) {
	mem, view := r.bytes(r.high), r.base.view
	for _, sp := range spans {
		for off := sp.Off; off < sp.Off+sp.Len; off += osPage {
			if off >= len(view) || !bytes.Equal(mem[off:off+osPage], view[off:off+osPage]) {
				out = addSpan(out, off, osPage)
			}
		}
	}
	return out
}
