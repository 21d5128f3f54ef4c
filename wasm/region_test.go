package wasm

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

// testBase is a base of 16 pages of WebAssembly in which some system pages are not zero.
func testBase(t *testing.T) (*base, []byte) {
	t.Helper()
	mem := make([]byte, 16*pageSize)
	for _, off := range []int{0, 3 * pageSize, 3*pageSize + osPage, 15*pageSize - 1, 16*pageSize - 1} {
		mem[off] = 0xaa
	}
	b, err := newBase(mem)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	return b, mem
}

func testRegion(t *testing.T, b *base, max int) *region {
	t.Helper()
	r, err := newRegion(b, max)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.free(); err != nil {
			t.Error(err)
		}
		if err := r.free(); err != nil {
			t.Errorf("second free: %v", err)
		}
	})
	return r
}

// covered tells whether the spans, in order, contain all these offsets, and nothing far away from them.
func covered(t *testing.T, spans []span, offsets ...int) {
	t.Helper()
	for _, off := range offsets {
		if !slices.ContainsFunc(spans, func(s span) bool { return s.Off <= off && off < s.Off+s.Len }) {
			t.Errorf("offset %#x is not in %v", off, spans)
		}
	}
	last, sum := 0, 0
	for _, s := range spans {
		if s.Off < last || s.Len <= 0 || s.Off%osPage != 0 || s.Len%osPage != 0 {
			t.Errorf("spans %v", spans)
		}
		last, sum = s.Off+s.Len, sum+s.Len
	}
	if sum > len(offsets)*pageSize {
		t.Errorf("%d bytes for %d changes", sum, len(offsets))
	}
}

func TestRegion(t *testing.T) {
	base, mem := testBase(t)
	if !bytes.Equal(base.view, mem) {
		t.Error("the base is not what it was made of")
	}
	const max = 24 * pageSize
	a, other := testRegion(t, base, max), testRegion(t, base, max)
	if a.bytes(max+1) != nil {
		t.Error("more bytes than the region has")
	}
	for range 3 {
		b := a.bytes(16 * pageSize)
		if !bytes.Equal(b, mem) || cap(b) != len(b) {
			t.Fatal("a fresh region is not like its base")
		}
		spans, err := a.dirty(nil, len(b))
		if err != nil {
			t.Fatal(err)
		}
		covered(t, spans)

		b[0], b[5*pageSize], b[16*pageSize-1] = 1, 2, 3
		b = a.bytes(20 * pageSize)
		b[20*pageSize-1] = 4
		if b[5*pageSize] != 2 || b[16*pageSize] != 0 {
			t.Error("growing changed the contents")
		}
		if spans, err = a.dirty(spans[:0], len(b)); err != nil {
			t.Fatal(err)
		}
		covered(t, spans, 0, 5*pageSize, 16*pageSize-1, 20*pageSize-1)
		if !bytes.Equal(other.bytes(16*pageSize), mem) {
			t.Fatal("another region changed too")
		}
		if err := a.reset(); err != nil {
			t.Fatal(err)
		}
		if b = a.bytes(max); !isZero(b[16*pageSize:]) {
			t.Error("the part behind the base is not zero after a reset")
		}
		if err := a.reset(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRegionPopulate(t *testing.T) {
	base, mem := testBase(t)
	r := testRegion(t, base, 16*pageSize)
	hot := []span{{0, osPage}, {3 * pageSize, 2 * osPage}}
	if err := r.populate(nil, hot); err != nil {
		t.Skipf("the kernel cannot: %v", err)
	}
	if !bytes.Equal(r.bytes(16*pageSize), mem) {
		t.Error("populating changed the contents")
	}
}

// A base made of spans is the one that the spans were taken from.
func TestBaseFromSpans(t *testing.T) {
	_, mem := testBase(t)
	spans := nonZero(mem)
	var pages []byte
	for _, s := range spans {
		pages = append(pages, mem[s.Off:s.Off+s.Len]...)
	}
	b, err := newBaseFromSpans(len(mem), spans, pages)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	if !bytes.Equal(b.view, mem) {
		t.Error("contents differ")
	}
}

func TestCheckSpans(t *testing.T) {
	size := 16 * osPage
	tests := []struct {
		name  string
		spans []span
		total int
		ok    bool
	}{
		{"none", nil, 0, true},
		{"two", []span{{0, osPage}, {2 * osPage, 3 * osPage}}, 4 * osPage, true},
		{"adjacent", []span{{0, osPage}, {osPage, osPage}}, -1, true},
		{"to the end", []span{{15 * osPage, osPage}}, -1, true},
		{"other total", []span{{0, osPage}}, 2 * osPage, false},
		{"overlapping", []span{{0, 2 * osPage}, {osPage, osPage}}, -1, false},
		{"unordered", []span{{2 * osPage, osPage}, {0, osPage}}, -1, false},
		{"behind the end", []span{{15 * osPage, 2 * osPage}}, -1, false},
		{"negative offset", []span{{-osPage, osPage}}, -1, false},
		{"negative length", []span{{osPage, -osPage}}, -1, false},
		{"empty", []span{{0, 0}}, -1, false},
		{"length that overflows", []span{{osPage, 1<<62 + (1<<62 - osPage)}}, -1, false},
		{"unaligned offset", []span{{1, osPage}}, -1, false},
		{"unaligned length", []span{{0, 1}}, -1, false},
	}
	for _, tt := range tests {
		if err := checkSpans(tt.spans, size, tt.total); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestSpans(t *testing.T) {
	mem := make([]byte, 8*osPage)
	mem[0], mem[osPage], mem[7*osPage+1] = 1, 1, 1
	if got := nonZero(mem); !slices.Equal(got, []span{{0, 2 * osPage}, {7 * osPage, osPage}}) {
		t.Errorf("non-zero %v", got)
	}
	view := make([]byte, 4*osPage)
	view[0], view[3*osPage] = 1, 9
	want := []span{{osPage, osPage}, {3 * osPage, osPage}, {7 * osPage, osPage}}
	if got := compareSpans(nil, mem, view, bytes.Equal); !slices.Equal(got, want) {
		t.Errorf("differences %v", got)
	}
}

// TestRevert undoes changes in the image, across its end and behind it.
func TestRevert(t *testing.T) {
	mem := make([]byte, 8*pageSize)
	for i := range mem {
		mem[i] = byte(i * 7)
	}
	b, err := newBase(mem)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	r := testRegion(t, b, 16*pageSize)
	tests := [][]int{
		{0, 3 * pageSize, 8*pageSize - 1},
		{0, 3 * pageSize, 8*pageSize - 1, 8 * pageSize, 9*pageSize + 5, 16*pageSize - 1},
		{0, 9*pageSize + 5},
		{16*pageSize - 1},
	}
	for _, offsets := range tests {
		n := max(8, offsets[len(offsets)-1]/pageSize+1) * pageSize
		buf := r.bytes(n)
		for _, off := range offsets {
			buf[off]++
		}
		changed, err := r.dirty(nil, n)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.revert(changed); errors.Is(err, errNoRevert) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
		buf = r.bytes(16 * pageSize)
		if !bytes.Equal(buf[:len(mem)], mem) || !isZero(buf[len(mem):]) {
			t.Errorf("%v: not reverted", offsets)
		}
	}
}
