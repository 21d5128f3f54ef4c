//go:build linux && !mayfly_file && !mayfly_copy

package wasm

import (
	"slices"
	"testing"
)

// Both interfaces of the kernel and the comparison find the same pages, also when there are more ranges than fit into
// one answer.
func TestPagemap(t *testing.T) {
	base, err := newBase(make([]byte, 512*pageSize))
	if err != nil {
		t.Fatal(err)
	}
	defer base.close()
	// The part behind the base is too small for huge pages, which would count whole.
	const size = 514 * pageSize
	r := testRegion(t, base, size)
	b := r.bytes(size)
	for i := 0; i < size/osPage; i += 7 {
		b[i*osPage] = 1
	}
	f, err := pagemap()
	if err != nil {
		t.Skip(err)
	}
	slow, err := r.readPagemap(f, nil, size)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < size/osPage; i += 7 {
		if want := (span{i * osPage, osPage}); slow[i/7] != want {
			t.Fatalf("span %d is %v, want %v", i/7, slow[i/7], want)
		}
	}
	fast, err := r.scan(f, nil, size)
	if err != nil {
		t.Logf("no PAGEMAP_SCAN: %v", err)
	} else if !slices.Equal(fast, slow) {
		t.Errorf("%d spans by PAGEMAP_SCAN, %d by reading the page map", len(fast), len(slow))
	}
	if compared, err := r.compare(nil, size); err != nil || !slices.Equal(compared, slow) {
		t.Errorf("%d spans by comparison, %d by reading the page map: %v", len(compared), len(slow), err)
	}
	// The comparison has read every page by now, which makes none of them a changed one.
	if fast != nil {
		if again, err := r.scan(f, nil, size); err != nil || !slices.Equal(again, slow) {
			t.Errorf("%d spans by PAGEMAP_SCAN after reading, %d before: %v", len(again), len(slow), err)
		}
	}
}
