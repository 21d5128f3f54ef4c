package wasm

import (
	"errors"
	"unsafe"
)

// addSpan appends a span, or makes the last one longer.
func addSpan(s []span, off, n int) []span {
	if k := len(s); k > 0 && s[k-1].Off+s[k-1].Len == off {
		s[k-1].Len += n
		return s
	}
	return append(s, span{off, n})
}

// nonZero returns the system pages of mem that hold anything but zeros.
func nonZero(mem []byte) (spans []span) {
	for off := 0; off < len(mem); off += osPage {
		if !isZero(mem[off:min(off+osPage, len(mem))]) {
			spans = addSpan(spans, off, min(osPage, len(mem)-off))
		}
	}
	return spans
}

// isZero reads word by word; b is a page, so its length is a multiple of 8 and it is aligned.
func isZero(b []byte) bool {
	for _, w := range unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8) {
		if w != 0 {
			return false
		}
	}
	return true
}

// compareSpans appends the spans of mem that differ from view, and those behind the end of view that are not zero.
func compareSpans(spans []span, mem, view []byte, equal func(a, b []byte) bool) []span {
	for off := 0; off < len(mem); off += osPage {
		page := mem[off:min(off+osPage, len(mem))]
		if off < len(view) {
			if equal(page, view[off:off+len(page)]) {
				continue
			}
		} else if isZero(page) {
			continue
		}
		spans = addSpan(spans, off, len(page))
	}
	return spans
}

// bytesIn adds up the lengths of spans.
func bytesIn(spans []span) (n int) {
	for _, sp := range spans {
		n += sp.Len
	}
	return n
}

// errNoRevert is returned by builds that unmap every region.
var errNoRevert = errors.New("regions are not reverted")
