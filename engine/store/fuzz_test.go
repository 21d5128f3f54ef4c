package store

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/internal/storetest"
)

// FuzzObject reads rows of objects that somebody made up.
func FuzzObject(f *testing.F) {
	for _, o := range []cas.Object{{}, {Data: []byte("x")}, {Data: make([]byte, 5000), Refs: []cas.Hash{{1}, {2}}},
		{Data: storetest.Data("x", 3000)}} {
		f.Add(encodeObject(o.Sum(), o))
	}
	f.Add(append([]byte{encZstd, 0, 0xff, 0xff, 0x1f}, 0x28, 0xb5, 0x2f, 0xfd))
	f.Fuzz(func(t *testing.T, row []byte) {
		refs, _, ok := decodeRefs(row)
		if len(refs) > cas.MaxRefs {
			t.Errorf("%d references", len(refs))
		}
		o, err := decodeObject(cas.Hash{}, row)
		if err == nil || !errors.Is(err, cas.ErrDamaged) {
			t.Errorf("an object with the hash 0: %v", err)
		}
		if len(o.Data) > cas.MaxData || !ok && len(o.Data) > 0 {
			t.Errorf("%d bytes", len(o.Data))
		}
		// What is an object comes back.
		o = cas.Object{Data: row}
		if len(refs) > 0 {
			o.Refs = refs
		}
		if len(row) > cas.MaxData {
			return
		}
		got, err := decodeObject(o.Sum(), encodeObject(o.Sum(), o))
		if err != nil || !bytes.Equal(got.Data, o.Data) || len(got.Refs) != len(o.Refs) {
			t.Errorf("%v", err)
		}
	})
}

// TestBomb tells that a small row cannot become a large object.
func TestBomb(t *testing.T) {
	enc, err := encoder()
	if err != nil {
		t.Fatal(err)
	}
	bomb := enc.EncodeAll(make([]byte, 64<<20), nil)
	for _, size := range [][]byte{{1}, {0x80, 0x80, 0x20}, {0xff, 0xff, 0xff, 0xff, 0x0f}} {
		row := append(append([]byte{encZstd, 0}, size...), bomb...) // the hash 0 masks nothing
		if _, err := decodeObject(cas.Hash{}, row); !errors.Is(err, cas.ErrDamaged) {
			t.Errorf("a bomb: %v", err)
		}
	}
}

// FuzzRows reads the other rows.
func FuzzRows(f *testing.F) {
	f.Add(sessionRow{3, 1, 7, []byte("{}")}.encode())
	f.Add(encodeHolds([]cas.Hash{{1}, {2}}))
	f.Add(encodeCount(300))
	f.Add(stepKey(keyRecord, "a", 1, 2))
	f.Add([]byte(`{"format":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := decodeSession("a", b); err == nil {
			again, err := decodeSession("a", r.encode())
			if r.first > r.last || r.last > maxStep || err != nil || again.last != r.last || !bytes.Equal(again.head, r.head) {
				t.Errorf("session %+v", r)
			}
		}
		if hs, err := decodeHolds(b); err == nil && !bytes.Equal(encodeHolds(hs), b) {
			t.Error("holds")
		}
		if n, err := decodeCount(b); err == nil && n < 0 {
			t.Errorf("count %d", n)
		}
		if name, gen, step, ok := splitKey(b, true); ok && !bytes.Equal(stepKey(b[0], name, gen, step), b) {
			t.Errorf("key %q", b)
		}
		if name, gen, _, ok := splitKey(b, false); ok && !bytes.Equal(stepsPrefix(b[0], name, gen), b) {
			t.Errorf("key %q", b)
		}
	})
}

// FuzzFiles reads files of Badger that somebody made up.
func FuzzFiles(f *testing.F) {
	dir := f.TempDir()
	s, err := Open(dir, nil)
	if err != nil {
		f.Fatal(err)
	}
	for i := range 2 {
		if err := s.Commit(context.Background(), storetest.Step("a", i, cas.Object{Data: storetest.Data("x", 4100)})); err != nil {
			f.Fatal(err)
		}
	}
	seed := func() {
		paths, _ := filepath.Glob(filepath.Join(dir, badgerDir, "*"))
		for _, p := range paths {
			b, err := readSparse(p)
			if err != nil {
				f.Fatal(err)
			}
			if b = bytes.TrimRight(b, "\x00"); len(b) < 1<<20 {
				f.Add(b)
			}
		}
	}
	seed()
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	seed()
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		each := func(e rawEntry) {
			n += len(e.name()) + len(e.value)
		}
		_, _ = scanTable(b, each)
		for _, txns := range []bool{true, false} {
			st := scanLog(b, txns, true, func(_ int, e rawEntry) { each(e) })
			if st.end > len(b) || st.end+st.tail > len(b) {
				t.Errorf("%+v of %d bytes", st, len(b))
			}
		}
		_, _ = parseDiscard(b)
		_, _ = parseManifest(b)
		_ = n
	})
}
