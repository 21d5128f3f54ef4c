//go:build linux && !mayfly_file && !mayfly_copy

package wasm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The private pages of a region are its anonymous ones; pages that still show the image are file pages. Two interfaces
// tell them apart (Documentation/admin-guide/mm/pagemap.rst): PAGEMAP_SCAN, from Linux 6.7 on, which returns ranges, and
// /proc/self/pagemap itself, with 8 bytes per page.

const (
	pagemapScan   = 0xc0606610 // _IOWR('f', 16, struct pm_scan_arg)
	pageIsFile    = 1 << 2
	pageIsPresent = 1 << 3
	pageIsSwapped = 1 << 4
	pageIsZero    = 1 << 5 // the kernel's page of zeros: anonymous memory that was only read

	entryPresent = 1 << 63
	entrySwapped = 1 << 62
	entryFile    = 1 << 61
)

type scanArg struct {
	size, flags, start, end, walkEnd, vec, vecLen, maxPages, categoryInverted, categoryMask, categoryAnyOf, returnMask uint64
}

type pageRegion struct{ start, end, categories uint64 }

var pagemap = sync.OnceValues(func() (*os.File, error) { return os.Open("/proc/self/pagemap") })

// dirty appends the spans of the first n bytes that were written since the last reset.
func (r *region) dirty(spans []span, n int) ([]span, error) {
	if f, err := pagemap(); err == nil {
		if out, err := r.scan(f, spans, n); err == nil {
			return out, nil
		}
		if out, err := r.readPagemap(f, spans, n); err == nil {
			return out, nil
		}
	}
	return r.compare(spans, n)
}

// compare is for systems without a page map, such as gVisor or a chroot without /proc. It reads the whole memory.
func (r *region) compare(spans []span, n int) ([]span, error) {
	mem := unsafe.Slice((*byte)(r.pointer()), n)
	if !r.layered() {
		return compareSpans(spans, mem, r.base.view, bytes.Equal), nil
	}
	view, err := unix.Mmap(r.layer.fd, 0, n, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	return compareSpans(spans, mem, view, bytes.Equal), unix.Munmap(view)
}

var scanBuffers = sync.Pool{New: func() any { return new([256]pageRegion) }}

func (r *region) scan(f *os.File, spans []span, n int) ([]span, error) {
	// The kernel writes to vec through an address that Go does not see, so it must not be on the stack, which moves.
	vec := scanBuffers.Get().(*[256]pageRegion)
	defer scanBuffers.Put(vec)
	start, end := uint64(r.addr), uint64(r.addr)+uint64(n)
	for start < end {
		a := scanArg{
			size: uint64(unsafe.Sizeof(scanArg{})), start: start, end: end,
			vec: uint64(uintptr(unsafe.Pointer(&vec[0]))), vecLen: uint64(len(vec)),
			// Present or swapped, and not a page of the image's file.
			categoryInverted: pageIsFile | pageIsZero, categoryMask: pageIsFile | pageIsZero,
			categoryAnyOf: pageIsPresent | pageIsSwapped,
			returnMask:    pageIsPresent | pageIsSwapped,
		}
		got, _, e := unix.Syscall(unix.SYS_IOCTL, f.Fd(), pagemapScan, uintptr(unsafe.Pointer(&a)))
		if e != 0 {
			return nil, e
		}
		for _, v := range vec[:got] {
			spans = addSpan(spans, int(v.start-uint64(r.addr)), int(v.end-v.start))
		}
		if a.walkEnd <= start {
			return nil, fmt.Errorf("PAGEMAP_SCAN stopped at %#x", a.walkEnd)
		}
		start = a.walkEnd
	}
	return spans, nil
}

func (r *region) readPagemap(f *os.File, spans []span, n int) ([]span, error) {
	return r.entries(f, spans, n, func(e uint64) bool { return e&(entryPresent|entrySwapped) != 0 && e&entryFile == 0 })
}

// entries appends the spans of pages whose entry in the page map is wanted.
func (r *region) entries(f *os.File, spans []span, n int, wanted func(entry uint64) bool) ([]span, error) {
	b := make([]byte, n/osPage*8)
	if _, err := f.ReadAt(b, int64(r.addr)/int64(osPage)*8); err != nil {
		return nil, err
	}
	for i := 0; i < len(b); i += 8 {
		if wanted(binary.LittleEndian.Uint64(b[i:])) {
			spans = addSpan(spans, i/8*osPage, osPage)
		}
	}
	return spans, nil
}

// mapped returns the spans of the first n bytes that were read or written since the last reset, as far as the system
// tells.
func (r *region) mapped(n int) []span {
	f, err := pagemap()
	if err != nil {
		return nil
	}
	spans, err := r.entries(f, nil, n, func(e uint64) bool { return e&entryPresent != 0 })
	if err != nil {
		return nil
	}
	return spans
}
