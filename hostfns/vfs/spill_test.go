package vfs_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

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

// A clone does not depend on what the other one gives back.
func TestCloneOfSpilledData(t *testing.T) {
	s := newStored(vfs.Options{CacheBytes: 1, DirtyBytes: 1})
	want := []byte(strings.Repeat("0123456789", 50_000))
	must(t, s.WriteFile("a", want, 0o644))
	clone := &stored{s.Clone(), s.store, s.opts}
	must(t, s.Remove("a"))
	must(t, s.WriteFile("b", want[:1000], 0o644))
	must(t, s.Close())
	if data, err := clone.ReadFile("a"); err != nil || !bytes.Equal(data, want) {
		t.Fatal(err)
	}
	clone = clone.reopen(t)
	if data, err := clone.ReadFile("a"); err != nil || !bytes.Equal(data, want) {
		t.Fatal(err)
	}
	s.store.balanced(t)
}
