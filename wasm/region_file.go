//go:build (darwin && !mayfly_copy) || (linux && mayfly_file)

package wasm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ForkMethod says how this build makes private copies of an image.
const ForkMethod = "copy-on-write mapping of an unlinked file"

var osPage = os.Getpagesize()

// memoryStays tells that a memory never moves when it grows.
const memoryStays = true

// base is the memory of an image, in a file without a name, and a read-only view of it to compare with.
type base struct {
	file *os.File
	size int
	view []byte
}

func newBase(mem []byte) (*base, error) {
	spans := nonZero(mem)
	return makeBase(len(mem), spans, func(i int) []byte { return mem[spans[i].Off : spans[i].Off+spans[i].Len] })
}

// newBaseFromSpans makes a base of zeros, save for the spans, whose bytes stand one after the other in pages.
func newBaseFromSpans(size int, spans []span, pages []byte) (*base, error) {
	return makeBase(size, spans, func(i int) []byte {
		b := pages[:spans[i].Len]
		pages = pages[spans[i].Len:]
		return b
	})
}

func makeBase(size int, spans []span, next func(i int) []byte) (*base, error) {
	f, err := os.CreateTemp("", "mayfly-image-*")
	if err != nil {
		return nil, err
	}
	b := &base{file: f, size: size}
	err = errors.Join(os.Remove(f.Name()), f.Truncate(int64(size)))
	for i, sp := range spans {
		if err == nil {
			_, err = f.WriteAt(next(i), int64(sp.Off))
		}
	}
	if err == nil {
		b.view, err = unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return b, nil
}

func (b *base) close() error { return errors.Join(unix.Munmap(b.view), b.file.Close()) }

// region is a reserved range of addresses: the image mapped privately at its start, anonymous memory behind it.
type region struct {
	ptr  unsafe.Pointer
	max  int
	high int
	base *base
}

const protRW = unix.PROT_READ | unix.PROT_WRITE

func newRegion(b *base, max int) (*region, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(max), protRW, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("reserve %d bytes of address space: %w", max, err)
	}
	r := &region{ptr: p, max: max, base: b}
	if err := r.mapBase(); err != nil {
		return nil, errors.Join(err, r.free())
	}
	return r, nil
}

func (r *region) mapBase() error {
	if r.base == nil {
		return nil
	}
	_, err := unix.MmapPtr(int(r.base.file.Fd()), 0, r.ptr, uintptr(r.base.size), protRW, unix.MAP_PRIVATE|unix.MAP_FIXED)
	if err != nil {
		return fmt.Errorf("map image: %w", err)
	}
	return nil
}

func (r *region) bytes(n int) []byte {
	if n > r.max {
		return nil
	}
	r.high = max(r.high, n)
	return unsafe.Slice((*byte)(r.ptr), n)[:n:n]
}

// reset maps the image, and fresh anonymous memory behind it, over what is there.
func (r *region) reset() error {
	from, high := 0, r.high
	r.high = 0
	if r.base != nil {
		from = r.base.size
	}
	if high > from {
		const flags = unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_FIXED | unix.MAP_NORESERVE
		if _, err := unix.MmapPtr(-1, 0, unsafe.Add(r.ptr, from), uintptr(high-from), protRW, flags); err != nil {
			return err
		}
	}
	return r.mapBase()
}

// dirty appends the spans of the first n bytes that differ from the image.
func (r *region) dirty(spans []span, n int) ([]span, error) {
	return compareSpans(spans, unsafe.Slice((*byte)(r.ptr), n), r.base.view, bytes.Equal), nil
}

// populate writes one word of each page to itself. An atomic operation is not optimised away.
func (r *region) populate(_, written []span) error {
	b := unsafe.Slice((*byte)(r.ptr), r.max)
	for _, sp := range written {
		for off := sp.Off; off < sp.Off+sp.Len; off += osPage {
			atomic.OrUint32((*uint32)(unsafe.Pointer(&b[off])), 0)
		}
	}
	return nil
}

func (r *region) free() error {
	if r.ptr == nil {
		return nil
	}
	p := r.ptr
	r.ptr = nil
	return unix.MunmapPtr(p, uintptr(r.max))
}

// mapped is not known here.
func (r *region) mapped(int) []span { return nil }

// revert is not worth it here.
func (r *region) revert([]span) error { return errNoRevert }
