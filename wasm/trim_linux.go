//go:build linux && !mayfly_file && !mayfly_copy

package wasm

import "golang.org/x/sys/unix"

// trim unmaps the pages that still show the image, all but the changed spans. They are shared and cost nothing, but the
// system counts them for each region that has them mapped, and keeps page tables for them.
func (r *region) trim(changed []span) error {
	end := r.high
	if !r.layered() {
		end = min(end, r.base.size) // what lies behind is mapped only if it was changed
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
