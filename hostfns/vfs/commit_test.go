package vfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

func TestCommitNeedsStore(t *testing.T) {
	var b cas.Batch
	if _, err := vfs.New(nil).Commit(&b); err == nil {
		t.Fatal("committed to nothing")
	}
}

func TestCommitUnchanged(t *testing.T) {
	s := newStored(vfs.Options{})
	first := s.commit(t)
	if !first.Changed || first.Frame.IsZero() {
		t.Fatalf("%+v", first)
	}
	s.Checkpoint()
	must(t, s.WriteFile("a", []byte("x"), 0o644))
	s.Rollback()
	again := s.commit(t)
	if again.Changed || again.Frame != first.Frame || again.Tree != first.Tree || again.Bytes != 0 {
		t.Fatalf("%+v", again)
	}
	// Opened, it is still the same.
	if c := s.openFrame(t, first.Frame).commit(t); c != again {
		t.Fatalf("%+v", c)
	}
}

// A chain of deltas, with keyframes where they are due, is the same state as one keyframe.
func TestLongChain(t *testing.T) {
	s := newStored(vfs.Options{CacheBytes: 100_000})
	r := rand.New(rand.NewPCG(1, 2))
	must(t, s.MkdirAll("d/e", 0o755))
	for i := range 50 {
		must(t, s.WriteFile(fmt.Sprint("d/f", i), bytes.Repeat([]byte{byte(i + 1)}, 3000*i), 0o644))
	}
	keyframes := 0
	for i := range 700 {
		s.Checkpoint()
		name := fmt.Sprint("d/f", r.IntN(60))
		switch i % 5 {
		case 0, 1:
			f := mustOpen(t, s, name, sys.O_RDWR|sys.O_CREAT)
			f.Pwrite([]byte{byte(i)}, r.Int64N(300_000))
			f.Close()
		case 2:
			s.Rename(name, "d/e/"+fmt.Sprint(i))
		case 3:
			s.Link(name, "d/e/l"+fmt.Sprint(i))
		case 4:
			s.Unlink(name)
		}
		c := s.commit(t)
		o, err := s.store.Get(c.Frame)
		must(t, err)
		f, err := cas.ParseFrame(o, vfs.FrameKind)
		must(t, err)
		if f.Depth == 0 {
			keyframes++
		}
	}
	if keyframes < 2 || keyframes > 100 {
		t.Fatalf("%d keyframes", keyframes)
	}
	c := s.commit(t)
	opened := s.openFrame(t, c.Frame)
	clone := &stored{s.Clone(), s.store, s.opts}
	fresh := clone.openFrame(t, clone.commit(t).Frame)
	want := dump(t, s.FS)
	if dump(t, opened.FS) != want || dump(t, fresh.FS) != want {
		t.Fatal("the states differ")
	}
	if a, b := opened.commit(t), fresh.commit(t); a.Changed || a.Tree != c.Tree || b.Tree != c.Tree {
		t.Fatal(a, b, c)
	}
}

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

// A delta costs what changed: one name in a big directory, one chunk of a big file.
func TestDeltaIsSmall(t *testing.T) {
	s := newStored(vfs.Options{})
	for i := range 5000 {
		must(t, s.WriteFile(fmt.Sprint("d", i), nil, 0o644))
	}
	must(t, s.WriteFile("big", bytes.Repeat([]byte("x"), 20<<20), 0o644))
	s.commit(t)
	small := func(what string, limit int64) {
		t.Helper()
		if c := s.commit(t); c.Bytes > limit {
			t.Errorf("%s: %d bytes", what, c.Bytes)
		}
	}
	must(t, s.WriteFile("one more", nil, 0o644))
	small("one name", 600)
	f := mustOpen(t, s, "big", sys.O_RDWR)
	f.Pwrite([]byte("y"), 10<<20)
	small("one byte", 600+64<<10)
	f.Truncate(15 << 20)
	small("truncated", 600)
	mustErrno(t, s.Rename("big", "bigger"), 0)
	small("renamed", 600)
	must(t, s.Remove("bigger"))
	small("removed", 600)
}

func TestCommitFails(t *testing.T) {
	s := newStored(vfs.Options{})
	must(t, s.WriteFile("a", []byte("1"), 0o644))
	first := s.commit(t)
	must(t, s.WriteFile("a", []byte("2"), 0o644))
	want := dump(t, s.FS)
	for range 3 { // none is stored
		var b cas.Batch
		_, err := s.Commit(&b)
		must(t, err)
	}
	if dump(t, s.FS) != want {
		t.Fatal("a commit changed the state")
	}
	f := mustOpen(t, s, "a", sys.O_RDWR)
	f.Pwrite([]byte("3"), 0) // not in the object that was handed over
	f.Close()
	c := s.commit(t) // checks that all of it is there
	o := s.openFrame(t, c.Frame)
	if data, _ := o.ReadFile("a"); string(data) != "3" {
		t.Fatal(string(data))
	}
	if o := s.openFrame(t, first.Frame); o.FS != nil {
		if data, _ := o.ReadFile("a"); string(data) != "1" {
			t.Fatal(string(data))
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	const size = 20 << 20
	s := newStored(vfs.Options{CacheBytes: 1 << 20, DirtyBytes: 2 << 20})
	f := mustOpen(t, s, "big", sys.O_RDWR|sys.O_CREAT)
	data := make([]byte, 64<<10)
	for i := range size / len(data) {
		data[0], data[len(data)-1] = byte(i), 1
		if n, errno := f.Write(data); n != len(data) || errno != 0 {
			t.Fatal(n, errno)
		}
		if l := s.Loaded(); l > 3<<20 {
			t.Fatalf("%d bytes are in memory", l)
		}
	}
	c := s.commit(t)
	if c.Bytes > 3<<20 {
		t.Fatalf("%d bytes in the batch", c.Bytes)
	}
	s.store.balanced(t)
	for i := range size / len(data) {
		f.Pread(data, int64(i*len(data)))
		if l := s.Loaded(); data[0] != byte(i) || l > 2<<20 {
			t.Fatalf("%d bytes are in memory; read %d at %d", l, data[0], i)
		}
	}
	// What is spilled and then dropped is given back.
	for i := range 10 {
		f.Truncate(0)
		f.Seek(0, 0)
		for j := range 100 {
			data[0], data[1] = byte(i), byte(j)
			f.Write(data)
		}
		if n := len(s.store.claims); n > 150 {
			t.Fatalf("%d objects are held for 100 that are used", n)
		}
	}
	s.Rollback()
	s.store.balanced(t)
	must(t, s.Close())
}

func TestStoreIsFull(t *testing.T) {
	s := newStored(vfs.Options{DirtyBytes: 1 << 20})
	s.store.full = true
	f := mustOpen(t, s, "a", sys.O_RDWR|sys.O_CREAT)
	data := bytes.Repeat([]byte("x"), 64<<10)
	var errno sys.Errno
	total := 0
	for errno == 0 && total < 10<<20 {
		var n int
		n, errno = f.Write(data)
		total += n
	}
	if errno != sys.EIO || total > 1<<20 || !errors.Is(s.Err(), errFull) {
		t.Fatal(errno, total)
	}
	if s.Err() != nil {
		t.Fatal("the error is still there")
	}
	s.store.full = false
	if _, errno = f.Write(data); errno != 0 {
		t.Fatal(errno)
	}
	s.commit(t)
}

func TestLostData(t *testing.T) {
	s := newStored(vfs.Options{})
	lost, other := strings.Repeat("lost", 1000), strings.Repeat("other", 50_000)
	must(t, s.WriteFile("lost", []byte(lost), 0o644))
	must(t, s.WriteFile("half", []byte(other+lost), 0o644))
	must(t, s.WriteFile("other", []byte(other), 0o644))
	c := s.commit(t)
	h := cas.Object{Data: []byte(lost)}.Sum()
	for name, damage := range map[string]func(){
		"missing": func() { delete(s.store.objects, h) },
		"damaged": func() { s.store.objects[h] = cas.Object{Data: []byte("something else")} },
	} {
		t.Run(name, func(t *testing.T) {
			damage()
			o := s.openFrame(t, c.Frame)
			if _, err := o.ReadFile("lost"); vfs.ErrnoOf(err) != sys.EIO {
				t.Fatal(err)
			}
			err := o.Err()
			if !errors.Is(err, cas.ErrMissing) && !errors.Is(err, cas.ErrDamaged) {
				t.Fatal(err)
			}
			if data, err := o.ReadFile("other"); err != nil || string(data) != other {
				t.Fatal(err)
			}
			f := mustOpen(t, o, "lost", sys.O_RDWR)
			if _, errno := f.Pwrite([]byte("x"), 100); errno != sys.EIO {
				t.Fatal(errno)
			}
			mustErrno(t, f.Truncate(100), sys.EIO)
			must(t, o.CheckState())
			// What is not touched can be moved and committed all the same.
			mustErrno(t, o.Rename("lost", "moved"), 0)
			var b cas.Batch
			_, err = o.Commit(&b)
			must(t, err)
			must(t, s.store.add(&b))
			o.Committed()
			// Writing all of it heals.
			if _, errno := f.Pwrite([]byte(lost), 0); errno != 0 {
				t.Fatal(errno)
			}
			if data, err := o.ReadFile("moved"); err != nil || string(data) != lost {
				t.Fatal(err)
			}
		})
	}
}

// A file of many tiny pieces must not need much more memory than its quota.
func TestTinyChunksAreCharged(t *testing.T) {
	m := vfs.New(&vfs.Options{MaxBytes: 1 << 20})
	f := mustOpen(t, m, "a", sys.O_RDWR|sys.O_CREAT)
	pieces := 0
	for i := int64(0); i < 10_000; i++ {
		if _, errno := f.Pwrite([]byte("x"), i<<16); errno != 0 {
			mustErrno(t, errno, vfs.ENOSPC)
			break
		}
		mustErrno(t, f.Truncate(i<<16+1), 0)
		pieces++
	}
	if pieces > 257 {
		t.Fatalf("%d pieces in 1 MiB", pieces)
	}
	must(t, m.CheckState())
}

// What was rolled back leaves no trace, not even in what a directory's next entry is numbered.
func TestRollbackLeavesNothing(t *testing.T) {
	frame := func(and func(s *stored)) cas.Hash {
		s := newStored(vfs.Options{Now: func() int64 { return 5 }})
		for i := range 300 {
			must(t, s.WriteFile(fmt.Sprint(i), []byte("x"), 0o644))
		}
		must(t, s.MkdirAll("d/e", 0o755))
		must(t, s.WriteFile("d/a", []byte("x"), 0o644))
		mustErrno(t, s.Link("d/a", "d/e/b"), 0)
		s.commit(t)
		s.Checkpoint()
		and(s)
		must(t, s.WriteFile("last", []byte("x"), 0o644))
		must(t, s.MkdirAll("d/last", 0o755))
		c := s.commit(t)
		if clone := (&stored{s.Clone(), s.store, s.opts}).commit(t); clone.Tree != c.Tree {
			t.Fatal("the hash is wrong")
		}
		return c.Frame
	}
	want := frame(func(*stored) {})
	got := frame(func(s *stored) {
		for i := range 290 {
			must(t, s.Remove(fmt.Sprint(i)))
		}
		mustErrno(t, s.Rename("d", "moved"), 0)
		must(t, s.MkdirAll("moved/more", 0o755))
		must(t, s.WriteFile("more", []byte("x"), 0o644))
		var b cas.Batch
		_, err := s.Commit(&b)
		must(t, err)
		s.Rollback()
		must(t, s.CheckState())
	})
	if got != want {
		t.Fatal("the frames differ")
	}
}

// A clock that stands still must not hide a change.
func TestChangeWithoutTime(t *testing.T) {
	s := newStored(vfs.Options{Now: func() int64 { return 5 }})
	must(t, s.WriteFile("a", bytes.Repeat([]byte("x"), 200_000), 0o644))
	before := s.commit(t)
	f := mustOpen(t, s, "a", sys.O_RDWR)
	mustErrno(t, f.Truncate(1<<16), 0)
	mustErrno(t, f.Truncate(200_000), 0)
	c := s.commit(t)
	if !c.Changed || c.Tree == before.Tree {
		t.Fatalf("%+v", c)
	}
	if dump(t, s.openFrame(t, c.Frame).FS) != dump(t, s.FS) {
		t.Fatal("the states differ")
	}
}

// Runs of entries and chunks that do not fit into one part go on in the next.
func TestManyParts(t *testing.T) {
	s := newStored(vfs.Options{})
	f := mustOpen(t, s, "a", sys.O_RDWR|sys.O_CREAT)
	pad := strings.Repeat("n", 200)
	chunks := func(n int, mark string) {
		for i := range n {
			f.Pwrite(fmt.Append(nil, mark, i), int64(i*3)<<16)
		}
	}
	for i := range 5000 {
		must(t, s.WriteFile(fmt.Sprint(pad, i), nil, 0o644))
	}
	chunks(cas.MaxRefs+100, "first")
	check := func(parts int) {
		t.Helper()
		c := s.commit(t)
		o, err := s.store.Get(c.Frame)
		must(t, err)
		if len(o.Refs) < parts {
			t.Fatalf("%d parts", len(o.Refs))
		}
		if again := s.openFrame(t, c.Frame).commit(t); again.Changed || again.Tree != c.Tree {
			t.Fatal("the states differ")
		}
	}
	check(4)
	chunks(cas.MaxRefs+50, "second")
	for i := range 4000 {
		mustErrno(t, s.Rename(fmt.Sprint(pad, i), fmt.Sprint("m", pad, i)), 0)
	}
	check(4)
	mustErrno(t, f.Truncate(0), 0)
	for i := range 5000 {
		s.Remove(fmt.Sprint(pad, i))
	}
	check(1)
}
