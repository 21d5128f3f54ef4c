//go:build linux && !mayfly_file && !mayfly_copy

package wasm

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// layered tells whether the region maps a layer of its own instead of the image.
func (r *region) layered() bool { return r.layer >= 0 }

// commit moves the pages of the spans, which hold what changed in the first n bytes, into the region's layer, so that
// reset brings back the present state. The first time, the layer is made, with everything that is not zero. A memory does
// not shrink while it has a layer, so that nothing in it can come back from beyond the end.
func (r *region) commit(spans []span, n int) (bool, error) {
	if r.layered() {
		if err := r.write(spans); err != nil {
			return false, err
		}
		for _, sp := range spans {
			if err := r.advise(sp.Off, sp.Len, unix.MADV_DONTNEED); err != nil {
				return false, err
			}
		}
		return true, nil
	}
	fd, err := unix.MemfdCreate("mayfly-layer", unix.MFD_CLOEXEC)
	if err != nil {
		return false, fmt.Errorf("memfd_create: %w", err)
	}
	r.layer = fd
	err = unix.Ftruncate(fd, int64(r.max))
	if err == nil {
		err = r.write(nonZero(r.bytes(n)))
	}
	if err == nil {
		_, err = mmap(r.addr, r.max, mapFlags|unix.MAP_FIXED, fd)
	}
	if err != nil {
		r.layer = -1
		return false, errors.Join(err, unix.Close(fd))
	}
	return true, nil
}

// write copies the spans from memory to the layer.
func (r *region) write(spans []span) error {
	mem := r.bytes(r.high)
	for _, sp := range spans {
		for off, end := sp.Off, sp.Off+sp.Len; off < end; {
			k, err := unix.Pwrite(r.layer, mem[off:end], int64(off))
			if err != nil {
				return fmt.Errorf("write layer: %w", err)
			}
			off += k
		}
	}
	return nil
}

// unlayer maps the image again, and zeros behind it.
func (r *region) unlayer() error {
	if !r.layered() {
		return nil
	}
	if _, err := mmap(r.addr, r.max, mapFlags|unix.MAP_ANONYMOUS|unix.MAP_FIXED, -1); err != nil {
		return err
	}
	if _, err := mmap(r.addr, r.base.size, mapFlags|unix.MAP_FIXED, r.base.fd); err != nil {
		return err
	}
	fd := r.layer
	r.layer = -1
	return unix.Close(fd)
}
