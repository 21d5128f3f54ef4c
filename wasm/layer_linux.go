//go:build linux && !mayfly_file && !mayfly_copy

package wasm

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// layer is a memfd that stands between an image and the private pages of a memory, or of several: while it is shared it
// does not change. A memory that has it to itself moves its pages there at checkpoints.
type layer struct {
	fd   int
	refs atomic.Int32
	mu   sync.Mutex
	size int
}

func newLayer(size int) (*layer, error) {
	fd, err := unix.MemfdCreate("mayfly-layer", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	l := &layer{fd: fd}
	l.refs.Store(1)
	if err := l.reach(size); err != nil {
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}

// reach makes the layer at least so long: what is mapped beyond its end could not be accessed.
func (l *layer) reach(size int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if size <= l.size {
		return nil
	}
	if err := unix.Ftruncate(l.fd, int64(size)); err != nil {
		return fmt.Errorf("size of layer: %w", err)
	}
	l.size = size
	return nil
}

func (l *layer) release() error {
	if l.refs.Add(-1) > 0 {
		return nil
	}
	return unix.Close(l.fd)
}

// layered tells whether the region maps a layer instead of the image.
func (r *region) layered() bool { return r.layer != nil }

// commit moves the pages of the spans, which hold what changed in the first n bytes, into the region's layer, so that
// reset brings back the present state. Where there is none, or a shared one, a new layer is made with everything that is
// not zero. A memory does not shrink while it has a layer, so that nothing in it can come back from beyond the end.
func (r *region) commit(spans []span, n int) (bool, error) {
	if r.inLayer == nil {
		r.inLayer = make([]uint64, (r.max/osPage+63)/64)
	}
	markPages(r.inLayer, spans)
	// Only this region could share it, and its memory is locked.
	if r.layered() && r.layer.refs.Load() == 1 {
		if err := r.write(r.layer, spans); err != nil {
			return false, err
		}
		for _, sp := range spans {
			if err := r.advise(sp.Off, sp.Len, unix.MADV_DONTNEED); err != nil {
				return false, err
			}
		}
		return true, nil
	}
	l, err := newLayer(r.max)
	if err != nil {
		return false, err
	}
	if err := r.write(l, nonZero(r.bytes(n))); err != nil {
		return false, errors.Join(err, l.release())
	}
	return true, r.setLayer(l)
}

// setLayer maps a layer, which the region then has a reference to.
func (r *region) setLayer(l *layer) error {
	if _, err := mmap(r.addr, r.max, mapFlags|unix.MAP_FIXED, l.fd); err != nil {
		return errors.Join(err, l.release())
	}
	old := r.layer
	r.layer = l
	if old != nil {
		return old.release()
	}
	return nil
}

// share maps the layer of another region.
func (r *region) share(from *region) error {
	l := from.layer
	if err := l.reach(r.max); err != nil {
		return err
	}
	l.refs.Add(1)
	r.inLayer = make([]uint64, max((r.max/osPage+63)/64, len(from.inLayer)))
	copy(r.inLayer, from.inLayer)
	return r.setLayer(l)
}

// write copies the spans from memory to a layer.
func (r *region) write(l *layer, spans []span) error {
	mem := r.bytes(r.high)
	for _, sp := range spans {
		for off, end := sp.Off, sp.Off+sp.Len; off < end; {
			k, err := unix.Pwrite(l.fd, mem[off:end], int64(off))
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
	l := r.layer
	r.layer, r.inLayer = nil, nil
	return l.release()
}

// markPages sets the bits of the pages of spans.
func markPages(set []uint64, spans []span) {
	for _, sp := range spans {
		for page := sp.Off / osPage; page < (sp.Off+sp.Len)/osPage; page++ {
			set[page/64] |= 1 << (page % 64)
		}
	}
}

// withLayer adds the pages that were moved into the layer to spans, which are those that changed since.
func (r *region) withLayer(spans []span) (all []span) {
	set := slices.Clone(r.inLayer)
	markPages(set, spans)
	for i, word := range set {
		for ; word != 0; word &= word - 1 {
			all = addSpan(all, (i*64+bits.TrailingZeros64(word))*osPage, osPage)
		}
	}
	return all
}

// readLayer reads from the layer at an offset.
func (r *region) readLayer(b []byte, off int) error {
	for len(b) > 0 {
		n, err := unix.Pread(r.layer.fd, b, int64(off))
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return fmt.Errorf("read layer: %w", err)
		}
		b, off = b[n:], off+n
	}
	return nil
}
