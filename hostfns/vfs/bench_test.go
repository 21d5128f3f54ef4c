package vfs_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

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
