package vfs_test

import (
	"bytes"
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
