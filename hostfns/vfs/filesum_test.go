package vfs_test

import (
	"errors"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

func sum(t *testing.T, m *vfs.FS, name string) cas.Hash {
	t.Helper()
	h, err := m.Sum(name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestSum: the sum depends on what a file is, and not on how it came to be that or where it is kept.
func TestSum(t *testing.T) {
	data := make([]byte, 200_000)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	store := &cas.Memory{}
	a := vfs.New(&vfs.Options{Store: store})
	b := vfs.New(nil)
	for i, m := range []*vfs.FS{a, b} {
		for name, content := range map[string][]byte{"same": data, "other": data[:len(data)-1], "empty": nil} {
			if i == 1 { // made in another way
				if err := m.WriteFile(name, []byte("something longer than nothing"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := m.WriteFile(name, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	var batch cas.Batch
	c, err := a.Commit(&batch)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range batch.All {
		if _, err := store.Put(o); err != nil {
			t.Fatal(err)
		}
	}
	a.Committed()
	opened, err := vfs.Open(store, c.Frame, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"same", "other", "empty"} {
		if x, y, z := sum(t, a, name), sum(t, b, name), sum(t, opened, name); x != y || x != z {
			t.Errorf("%s: %v stored, %v in memory, %v opened", name, x, y, z)
		}
	}
	before := sum(t, opened, "same")
	for what, change := range map[string]func() error{
		"content": func() error { return opened.WriteFile("same", data[1:], 0o644) },
		"mode": func() error {
			if errno := opened.Chmod("same", 0o600); errno != 0 {
				return errno
			}
			return nil
		},
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if sum(t, opened, "same") == before {
			t.Errorf("the same sum after a change of %s", what)
		}
		before = sum(t, opened, "same")
	}
	if before == sum(t, opened, "other") || sum(t, opened, "empty") == sum(t, opened, "other") {
		t.Error("different files have one sum")
	}
	if _, err := a.Sum("."); vfs.ErrnoOf(err) != sys.EISDIR {
		t.Error(err)
	}
	if _, err := a.Sum("none"); !errors.Is(err, sys.ENOENT) && vfs.ErrnoOf(err) != sys.ENOENT {
		t.Error(err)
	}
}

// TestSumOfHole: a sparse file costs nothing to sum.
func TestSumOfHole(t *testing.T) {
	m := vfs.New(nil)
	f, errno := m.OpenFile("sparse", sys.O_RDWR|sys.O_CREAT, 0o644)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer f.Close()
	before := sum(t, m, "sparse")
	if errno := f.Truncate(1 << 43); errno != 0 {
		t.Fatal(errno)
	}
	if sum(t, m, "sparse") == before {
		t.Error("the size does not count")
	}
}
