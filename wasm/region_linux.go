//go:build linux && !mayfly_file && !mayfly_copy

package wasm

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ForkMethod says how this build makes private copies of an image.
const ForkMethod = "copy-on-write mapping of a sealed memfd"

var osPage = os.Getpagesize()

// memoryStays tells that a memory never moves when it grows.
const memoryStays = true

// base is the memory of an image, sealed against every change.
type base struct {
	fd   int
	size int
	view []byte // the whole, read-only
}

// newBase copies mem into a memfd. Pages of zeros stay holes.
func newBase(mem []byte) (*base, error) {
	spans := nonZero(mem)
	return makeBase(len(mem), spans, func(i, off int) []byte { return mem[spans[i].Off+off : spans[i].Off+spans[i].Len] })
}

// newBaseFromSpans makes a base of zeros, save for the spans, whose bytes stand one after the other in pages.
func newBaseFromSpans(size int, spans []span, pages []byte) (*base, error) {
	starts, n := make([]int, len(spans)), 0
	for i, sp := range spans {
		starts[i], n = n, n+sp.Len
	}
	return makeBase(size, spans, func(i, off int) []byte { return pages[starts[i]+off : starts[i]+spans[i].Len] })
}

func makeBase(size int, spans []span, rest func(i, off int) []byte) (*base, error) {
	fd, err := unix.MemfdCreate("mayfly-image", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	b := &base{fd: fd, size: size}
	err = b.fill(spans, rest)
	if err == nil {
		b.view, err = unix.Mmap(fd, 0, size, unix.PROT_READ, unix.MAP_PRIVATE)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("image: %w", err), unix.Close(fd))
	}
	return b, nil
}

func (b *base) fill(spans []span, rest func(i, off int) []byte) error {
	if err := unix.Ftruncate(b.fd, int64(b.size)); err != nil {
		return fmt.Errorf("memfd size: %w", err)
	}
	for i, sp := range spans {
		for off := 0; off < sp.Len; {
			n, err := unix.Pwrite(b.fd, rest(i, off), int64(sp.Off+off))
			if err != nil {
				return fmt.Errorf("memfd write: %w", err)
			}
			off += n
		}
	}
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(b.fd), unix.F_ADD_SEALS, seals); err != nil {
		return fmt.Errorf("seal memfd: %w", err)
	}
	return nil
}

func (b *base) close() error { return errors.Join(unix.Munmap(b.view), unix.Close(b.fd)) }

// region is a reserved range of addresses: the image mapped privately at its start, anonymous memory behind it.
// It takes two kernel mappings (vm.max_map_count allows some 32,000 regions by default).
type region struct {
	addr uintptr
	max  int
	high int // the most that was handed out since the last reset
	base *base
	// layer is what is mapped instead of the image; nil for none.
	layer *layer
	// inLayer has a bit for each page that was moved into the layer.
	inLayer []uint64
}

const mapFlags = unix.MAP_PRIVATE | unix.MAP_NORESERVE

func mmap(addr uintptr, n, flags, fd int) (uintptr, error) {
	p, _, e := unix.Syscall6(unix.SYS_MMAP, addr, uintptr(n), unix.PROT_READ|unix.PROT_WRITE, uintptr(flags), uintptr(fd), 0)
	if e != 0 {
		return 0, e
	}
	return p, nil
}

// newRegion maps b, which may be nil, into a fresh region of max bytes.
func newRegion(b *base, max int) (*region, error) {
	addr, err := mmap(0, max, mapFlags|unix.MAP_ANONYMOUS, -1)
	if err != nil {
		return nil, fmt.Errorf("reserve %d bytes of address space: %w", max, mapHint(err))
	}
	r := &region{addr: addr, max: max, base: b}
	if b != nil {
		if _, err := mmap(addr, b.size, mapFlags|unix.MAP_FIXED, b.fd); err != nil {
			return nil, errors.Join(fmt.Errorf("map image: %w", mapHint(err)), r.free())
		}
	}
	return r, nil
}

// mapHint explains the limit that many sandboxes hit first.
func mapHint(err error) error {
	if errors.Is(err, unix.ENOMEM) {
		return fmt.Errorf("%w (each sandbox takes 2 mappings; see the sysctl vm.max_map_count)", err)
	}
	return err
}

// pointer converts without vet's complaint about uintptr arithmetic: the mapping is not Go memory and does not move.
func (r *region) pointer() unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&r.addr)) }

// bytes returns the first n bytes, nil when the region is smaller.
func (r *region) bytes(n int) []byte {
	if n > r.max {
		return nil
	}
	r.high = max(r.high, n)
	return unsafe.Slice((*byte)(r.pointer()), n)[:n:n]
}

func (r *region) advise(off, n, advice int) error {
	if n <= 0 {
		return nil
	}
	if _, _, e := unix.Syscall(unix.SYS_MADVISE, r.addr+uintptr(off), uintptr(n), uintptr(advice)); e != 0 {
		return e
	}
	return nil
}

// reset drops all private pages: the region shows the image again, and zeros behind it.
func (r *region) reset() error {
	n := r.high
	r.high = 0
	return r.advise(0, n, unix.MADV_DONTNEED)
}

func (r *region) free() error {
	if r.addr == 0 {
		return nil
	}
	var errs []error
	if _, _, e := unix.Syscall(unix.SYS_MUNMAP, r.addr, uintptr(r.max), 0); e != 0 {
		errs = append(errs, e)
	}
	r.addr = 0
	if r.layered() {
		errs = append(errs, r.layer.release())
		r.layer = nil
	}
	return errors.Join(errs...)
}

// populate makes private copies of the spans of written, and maps those of read, so that the guest does not fault on them
// later. In this order: a page that is mapped already has to be flushed from the TLB of every core before it can be
// copied, which costs more than the copy. Kernels before 5.14 do not know how to populate; that only costs time.
func (r *region) populate(read, written []span) error {
	for _, sp := range written {
		if err := r.advise(sp.Off, sp.Len, unix.MADV_POPULATE_WRITE); err != nil {
			return err
		}
	}
	for _, sp := range read {
		if err := r.advise(sp.Off, sp.Len, unix.MADV_POPULATE_READ); err != nil {
			return err
		}
	}
	return nil
}

// revert makes the spans, which hold all that was changed, what they are in the image again. Unlike reset it keeps their
// pages, in memory and in the processor's caches, for somebody who will change them again.
func (r *region) revert(spans []span) error {
	mem := r.bytes(r.high)
	for _, sp := range spans {
		if end := sp.Off + sp.Len; end > r.base.size {
			// What lies behind the image is zero, and costs nothing when it is gone.
			from := max(sp.Off, r.base.size)
			last := spans[len(spans)-1]
			if err := r.advise(from, last.Off+last.Len-from, unix.MADV_DONTNEED); err != nil {
				return err
			}
			if from > sp.Off {
				copy(mem[sp.Off:from], r.base.view[sp.Off:from])
			}
			break
		}
		copy(mem[sp.Off:sp.Off+sp.Len], r.base.view[sp.Off:])
	}
	r.high = 0
	return nil
}
