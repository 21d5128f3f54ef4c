package vfs_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// The canonical hash depends on what is there and on nothing else.
func TestTree(t *testing.T) {
	tree := func(build func(m *vfs.FS)) cas.Hash {
		s := newStored(vfs.Options{})
		build(s.FS)
		return s.commit(t).Tree
	}
	big := bytes.Repeat([]byte("0123456789"), 20_000)
	base := func(m *vfs.FS) {
		must(t, m.MkdirAll("d", 0o755))
		must(t, m.WriteFile("d/a", big, 0o644))
		must(t, m.WriteFile("d/b", []byte("b"), 0o644))
		must(t, m.WriteFile("d/c", []byte("b"), 0o644))
		mustErrno(t, m.Symlink("a", "d/l"), 0)
	}
	want := tree(base)
	same := map[string]func(m *vfs.FS){
		"again": base,
		"another order and history": func(m *vfs.FS) {
			mustErrno(t, m.Symlink("a", "l"), 0)
			must(t, m.MkdirAll("d", 0o755))
			must(t, m.WriteFile("tmp", big, 0o644))
			must(t, m.WriteFile("d/c", []byte("bbb"), 0o644))
			must(t, m.WriteFile("d/c", []byte("b"), 0o644))
			must(t, m.WriteFile("d/b", []byte("b"), 0o644))
			mustErrno(t, m.Rename("tmp", "d/a"), 0)
			mustErrno(t, m.Rename("l", "d/l"), 0)
			mustErrno(t, m.Link("d/a", "x"), 0)
			must(t, m.Remove("x"))
			m.Utimens("d/a", 1, 2)
		},
		"zeros and holes": func(m *vfs.FS) {
			base(m)
			f := mustOpen(t, m, "d/b", sys.O_RDWR)
			f.Pwrite(make([]byte, 100_000), 1)
			f.Truncate(1)
			f.Pwrite([]byte("xx"), 0)
			f.Pwrite([]byte("b"), 0)
			f.Truncate(1)
		},
	}
	for name, build := range same {
		if got := tree(build); got != want {
			t.Errorf("%s: the hash differs", name)
		}
	}
	hole := tree(func(m *vfs.FS) { mustErrno(t, mustOpen(t, m, "a", sys.O_RDWR|sys.O_CREAT).Truncate(1e6), 0) })
	if zeros := tree(func(m *vfs.FS) { must(t, m.WriteFile("a", make([]byte, 1e6), 0o644)) }); zeros != hole {
		t.Error("zeros and a hole differ")
	}
	different := map[string]func(m *vfs.FS){
		"mode":      func(m *vfs.FS) { m.Chmod("d/b", 0o600) },
		"dir mode":  func(m *vfs.FS) { m.Chmod("d", 0o700) },
		"root mode": func(m *vfs.FS) { m.Chmod(".", 0o700) },
		"content":   func(m *vfs.FS) { must(t, m.WriteFile("d/b", []byte("c"), 0o644)) },
		"size":      func(m *vfs.FS) { must(t, m.WriteFile("d/b", []byte("b\x00"), 0o644)) },
		"name":      func(m *vfs.FS) { m.Rename("d/b", "d/bb") },
		"swap":      func(m *vfs.FS) { m.Rename("d/a", "t"); m.Rename("d/b", "d/a"); m.Rename("t", "d/b") },
		"target":    func(m *vfs.FS) { m.Unlink("d/l"); m.Symlink("b", "d/l") },
		"type":      func(m *vfs.FS) { m.Unlink("d/l"); m.WriteFile("d/l", []byte("a"), 0o777) },
		"more":      func(m *vfs.FS) { m.Mkdir("e", 0o755) },
		"less":      func(m *vfs.FS) { m.Unlink("d/c") },
		"hard link": func(m *vfs.FS) { m.Unlink("d/c"); m.Link("d/b", "d/c") },
	}
	seen := map[cas.Hash]string{want: "base"}
	for name, change := range different {
		s := newStored(vfs.Options{})
		base(s.FS)
		s.commit(t)
		change(s.FS)
		got := s.commit(t).Tree
		if other, ok := seen[got]; ok {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[got] = name
		if got != tree(func(m *vfs.FS) { base(m); change(m) }) {
			t.Errorf("%s: the hash depends on the history", name)
		}
	}
}

// In a big directory hashes are made of buckets; they must follow every change and rollback.
func TestTreeOfBigDirectory(t *testing.T) {
	s := newStored(vfs.Options{})
	r := rand.New(rand.NewPCG(3, 4))
	trees := map[int]cas.Hash{} // by number of files, while the files are 0..n
	fresh := func(n int) cas.Hash {
		if _, ok := trees[n]; !ok {
			f := newStored(vfs.Options{})
			for i := range n {
				must(t, f.WriteFile(fmt.Sprint(i), nil, 0o644))
			}
			trees[n] = f.commit(t).Tree
		}
		return trees[n]
	}
	n := 0
	for range 60 {
		s.Checkpoint()
		was := n
		for to := r.IntN(600); n != to; {
			if n < to {
				must(t, s.WriteFile(fmt.Sprint(n), nil, 0o644))
				n++
			} else {
				n--
				must(t, s.Remove(fmt.Sprint(n)))
			}
		}
		if n > 0 && r.IntN(2) == 0 { // what an entry leads to changes
			name := fmt.Sprint(r.IntN(n))
			mustErrno(t, s.Chmod(name, 0o600), 0)
			if s.commit(t).Tree == fresh(n) {
				t.Fatalf("%d files: a mode does not change the hash", n)
			}
			mustErrno(t, s.Chmod(name, 0o644), 0)
			s.commit(t)
			was = n
		}
		if r.IntN(3) == 0 {
			var b cas.Batch
			_, err := s.Commit(&b)
			must(t, err)
			s.Rollback()
			n = was
		}
		if got := s.commit(t).Tree; got != fresh(n) {
			t.Fatalf("%d files: the hash is wrong", n)
		}
		must(t, s.CheckState())
	}
}

// Paths of hard links are part of the hash: moving a directory above them changes it.
func TestTreeOfMovedLinks(t *testing.T) {
	s := newStored(vfs.Options{})
	must(t, s.MkdirAll("d/e", 0o755))
	must(t, s.WriteFile("d/e/a", nil, 0o644))
	mustErrno(t, s.Link("d/e/a", "b"), 0)
	s.commit(t)
	mustErrno(t, s.Rename("d", "moved"), 0)
	c := s.commit(t)
	if clone := (&stored{s.Clone(), s.store, s.opts}).commit(t); clone.Tree != c.Tree {
		t.Fatal("the hash is wrong")
	}
}
