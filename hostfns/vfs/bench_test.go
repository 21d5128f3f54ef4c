package vfs_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

var sink any

func BenchmarkNewMemory(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		sink = vfs.New(nil)
	}
}

func BenchmarkNewSandboxTree(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		t := vfs.NewTree(vfs.New(nil))
		t.Mount("/workspace", vfs.New(nil))
		t.Mount("/tmp", vfs.New(nil))
		sink = t
	}
}

// TestEmptyMemoryIsSmall holds the promise that thousands may be kept.
func TestEmptyMemoryIsSmall(t *testing.T) {
	const n = 1000
	keep := make([]*vfs.FS, n)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range keep {
		keep[i] = vfs.New(nil)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / n; each > 1024 {
		t.Fatalf("an empty Memory takes %d bytes", each)
	}
	runtime.KeepAlive(keep)
}

func benchSmallFile(b *testing.B, fsys sys.FS) {
	b.ReportAllocs()
	data, buf := make([]byte, 1000), make([]byte, 4096)
	fsys.Mkdir("workspace", 0o755)
	for b.Loop() {
		f, _ := fsys.OpenFile("workspace/f", sys.O_RDWR|sys.O_CREAT|sys.O_TRUNC, 0o644)
		f.Write(data)
		if n, errno := f.Pread(buf, 0); n != len(data) || errno != 0 {
			b.Fatal(n, errno)
		}
		f.Close()
	}
}

func BenchmarkSmallFileMemory(b *testing.B) { benchSmallFile(b, vfs.New(nil)) }

func BenchmarkSmallFileTree(b *testing.B) {
	t := vfs.NewTree(vfs.New(nil))
	mustMount(b, t, "/workspace", vfs.New(nil))
	benchSmallFile(b, t)
}

func BenchmarkSmallFileTreeWithSymlinks(b *testing.B) {
	t := vfs.NewTree(vfs.New(nil))
	mustMount(b, t, "/workspace", vfs.New(nil))
	t.Symlink("x", "workspace/l")
	benchSmallFile(b, t)
}

func BenchmarkSmallFileHost(b *testing.B) {
	fsys, closeRoot, err := vfs.OpenHost(b.TempDir(), true)
	must(b, err)
	defer closeRoot()
	benchSmallFile(b, fsys)
}

func BenchmarkStatMissing(b *testing.B) { // what an import does most
	m := vfs.New(nil)
	must(b, m.MkdirAll("usr/lib/python/site-packages", 0o755))
	b.ReportAllocs()
	for b.Loop() {
		m.Stat("usr/lib/python/site-packages/json.py")
	}
}

func BenchmarkSequentialWrite(b *testing.B) {
	data := make([]byte, 64<<10)
	b.SetBytes(16 << 20)
	for b.Loop() {
		m := vfs.New(nil)
		f, _ := m.OpenFile("f", sys.O_WRONLY|sys.O_CREAT, 0o644)
		for range 256 {
			f.Write(data)
		}
	}
}

func BenchmarkClone(b *testing.B) {
	m := vfs.New(nil)
	for i := range 1000 {
		must(b, m.WriteFile(fmt.Sprint("f", i), make([]byte, 1000), 0o644))
	}
	b.ReportAllocs()
	for b.Loop() {
		sink = m.Clone()
	}
}

// storedFiles is a file system of n small files in directories of 100, committed to a store.
func storedFiles(b *testing.B, n int) (*stored, cas.Hash) {
	s := newStored(vfs.Options{})
	for i := range n {
		if i%100 == 0 {
			must(b, s.MkdirAll(fmt.Sprint("d", i/100), 0o755))
		}
		must(b, s.WriteFile(fmt.Sprintf("d%d/f%d", i/100, i), fmt.Append(nil, "content of ", i), 0o644))
	}
	return s, s.commit(b).Frame
}

// BenchmarkCommitSmall is a commit of one small change.
func BenchmarkCommitSmall(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(n, "files"), func(b *testing.B) {
			s, _ := storedFiles(b, min(n, vfs.DefaultMaxFiles*9/10))
			b.ReportAllocs()
			bytes := int64(0)
			for i := 0; b.Loop(); i++ {
				s.Checkpoint()
				must(b, s.WriteFile("d1/f150", fmt.Append(nil, "step ", i), 0o644))
				var batch cas.Batch
				c, err := s.Commit(&batch)
				must(b, err)
				must(b, s.store.add(&batch))
				s.Committed()
				bytes += c.Bytes
			}
			b.ReportMetric(float64(bytes)/float64(b.N), "stored-B/op")
		})
	}
}

// BenchmarkCommitUnchanged is what a step costs that touches no file.
func BenchmarkCommitUnchanged(b *testing.B) {
	s, _ := storedFiles(b, 1000)
	for b.Loop() {
		s.Checkpoint()
		var batch cas.Batch
		_, err := s.Commit(&batch)
		must(b, err)
		s.Committed()
	}
}

// BenchmarkCommitBigDir is a commit of one new name in a directory of 90,000.
func BenchmarkCommitBigDir(b *testing.B) {
	s := newStored(vfs.Options{})
	for i := range 90_000 {
		must(b, s.WriteFile(fmt.Sprint("f", i), nil, 0o644))
	}
	s.commit(b)
	bytes := int64(0)
	for i := 0; b.Loop(); i++ {
		s.Checkpoint()
		mustErrno(b, s.Rename(fmt.Sprint("f", i), fmt.Sprint("f", i+90_000)), 0)
		var batch cas.Batch
		c, err := s.Commit(&batch)
		must(b, err)
		must(b, s.store.add(&batch))
		s.Committed()
		bytes += c.Bytes
	}
	b.ReportMetric(float64(bytes)/float64(b.N), "stored-B/op")
}

func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(n, "files"), func(b *testing.B) {
			s, frame := storedFiles(b, min(n, vfs.DefaultMaxFiles*9/10))
			b.ReportAllocs()
			for b.Loop() {
				m, err := vfs.Open(s.store, frame, nil)
				must(b, err)
				sink = m
			}
		})
	}
}

// BenchmarkCheckpoint is a checkpoint and a small write, and going back.
func BenchmarkCheckpoint(b *testing.B) {
	for _, rollback := range []bool{false, true} {
		b.Run(fmt.Sprint("rollback=", rollback), func(b *testing.B) {
			m := vfs.New(nil)
			must(b, m.WriteFile("f", make([]byte, 1000), 0o644))
			f := mustOpen(b, m, "f", sys.O_RDWR)
			data := []byte("x")
			b.ReportAllocs()
			for b.Loop() {
				m.Checkpoint()
				f.Pwrite(data, 10)
				if rollback {
					m.Rollback()
				}
			}
		})
	}
}

// BenchmarkSequentialCommit writes 16 MiB that differ and commits them.
func BenchmarkSequentialCommit(b *testing.B) {
	data := make([]byte, 64<<10)
	b.SetBytes(16 << 20)
	s := newStored(vfs.Options{})
	for i := 0; b.Loop(); i++ {
		f, _ := s.OpenFile("f", sys.O_WRONLY|sys.O_CREAT|sys.O_TRUNC, 0o644)
		for j := range 256 {
			copy(data, fmt.Append(nil, i, j))
			data[len(data)-1] = 1
			f.Write(data)
		}
		f.Close()
		var batch cas.Batch
		_, err := s.Commit(&batch)
		must(b, err)
		s.Committed() // the objects are dropped: the store is not measured
	}
}
