package vfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustErrno(t testing.TB, got, want sys.Errno) {
	t.Helper()
	if got != want {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func mustOpen(t testing.TB, fsys sys.FS, name string, flag sys.Oflag) sys.File {
	t.Helper()
	f, errno := fsys.OpenFile(name, flag, 0o644)
	mustErrno(t, errno, 0)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestSparseCost(t *testing.T) {
	m := vfs.New(nil)
	f := mustOpen(t, m, "a", sys.O_RDWR|sys.O_CREAT)
	if _, errno := f.Pwrite([]byte("x"), 1<<40); errno != 0 {
		t.Fatal(errno)
	}
	if u := m.Usage(); u.Bytes > 64<<10 {
		t.Fatalf("one byte at 1 TiB costs %d bytes", u.Bytes)
	}
	if _, err := m.ReadFile("a"); !errors.Is(err, vfs.EFBIG) {
		t.Fatalf("reading 1 TiB into memory: %v", err)
	}
	mustErrno(t, f.Truncate(vfs.DefaultMaxFileSize), 0)
	mustErrno(t, f.Truncate(vfs.DefaultMaxFileSize+1), vfs.EFBIG)
	if n, errno := f.Pwrite([]byte("xy"), vfs.DefaultMaxFileSize-1); n != 1 || errno != 0 {
		t.Fatalf("a write that ends past the limit: %d, %v", n, errno)
	}
}

func TestQuotaIsExactAndReturned(t *testing.T) {
	m := vfs.New(&vfs.Options{MaxBytes: 100_000})
	if err := m.WriteFile("a", make([]byte, 100_001), 0o644); !errors.Is(err, vfs.ENOSPC) {
		t.Fatal(err)
	}
	must(t, m.WriteFile("a", make([]byte, 100_000), 0o644))
	if u := m.Usage(); u.Bytes != 100_000 {
		t.Fatalf("%+v", u)
	}
	mustErrno(t, m.Symlink("target", "l"), vfs.ENOSPC)
	c := m.Clone()
	must(t, m.Remove("a"))
	if u := m.Usage(); u.Bytes != 0 || u.Files != 0 {
		t.Fatalf("%+v", u)
	}
	if u := c.Usage(); u.Bytes != 100_000 || u.Files != 1 {
		t.Fatalf("%+v", u)
	}
	// Overwriting shared data copies it and charges nothing.
	f := mustOpen(t, c, "a", sys.O_RDWR)
	if n, errno := f.Pwrite(bytes.Repeat([]byte("y"), 100_000), 0); n != 100_000 || errno != 0 {
		t.Fatal(n, errno)
	}
	must(t, c.CheckInvariants(0, 0))
}

func TestOrphanAccounting(t *testing.T) {
	m := vfs.New(nil)
	must(t, m.WriteFile("a", make([]byte, 1000), 0o644))
	must(t, m.WriteFile("b", make([]byte, 500), 0o644))
	f, g := mustOpen(t, m, "a", sys.O_RDWR), mustOpen(t, m, "a", sys.O_RDONLY)
	mustErrno(t, m.Rename("b", "a"), 0)
	must(t, m.CheckInvariants(1024, 1))
	f.Close()
	must(t, m.CheckInvariants(1024, 1))
	if c := m.Clone(); c.Usage().Bytes != 512 || c.Usage().Files != 1 {
		t.Fatalf("the clone has the orphan: %+v", c.Usage())
	}
	g.Close()
	must(t, m.CheckInvariants(0, 0))
}

func TestDepthAndLinkBounds(t *testing.T) {
	m := vfs.New(&vfs.Options{MaxFiles: -1})
	deep := strings.TrimSuffix(strings.Repeat("d/", 600), "/")
	must(t, m.MkdirAll("x/"+deep, 0o755))
	must(t, m.MkdirAll("y/"+deep, 0o755))
	mustErrno(t, m.Rename("x", "y/"+deep+"/x"), vfs.ENAMETOOLONG)
	if err := m.MkdirAll("z/"+strings.Repeat("d/", vfs.MaxDepth), 0o755); !errors.Is(err, vfs.ENAMETOOLONG) {
		t.Fatal(err)
	}
	must(t, m.WriteFile("f", nil, 0o644))
	for i := 1; i < vfs.MaxLinks; i++ {
		mustErrno(t, m.Link("f", fmt.Sprint("l", i)), 0)
	}
	mustErrno(t, m.Link("f", "more"), vfs.EMLINK)
	must(t, m.Remove("/"))
	must(t, m.CheckInvariants(0, 0))
}

func TestTrailingSlash(t *testing.T) {
	m := vfs.New(nil)
	must(t, m.WriteFile("f", nil, 0o644))
	mustErrno(t, m.Mkdir("d/", 0o755), 0)
	_, errno := m.Stat("f/")
	mustErrno(t, errno, sys.ENOTDIR)
	_, errno = m.Stat("/d/")
	mustErrno(t, errno, 0)
	_, errno = m.OpenFile("new/", sys.O_WRONLY|sys.O_CREAT, 0o644)
	mustErrno(t, errno, sys.EISDIR)
	mustErrno(t, m.Rename("f", "g/"), sys.ENOTDIR)
	mustErrno(t, m.Rename("d", "e/"), 0)
	mustErrno(t, m.Rmdir("e/."), sys.EINVAL)
}

// TestCloneRace writes to a file system and its clones at once: shared chunks
// must never be written in place.
func TestCloneRace(t *testing.T) {
	base := vfs.New(nil)
	for i := range 8 {
		must(t, base.WriteFile(fmt.Sprint(i), bytes.Repeat([]byte{'0'}, 200_000), 0o644))
	}
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			m := base
			if g > 0 {
				m = base.Clone()
			}
			mark := []byte{byte('a' + g)}
			for round := range 20 {
				for i := range 8 {
					f, errno := m.OpenFile(fmt.Sprint(i), sys.O_RDWR, 0)
					if errno != 0 {
						t.Error(errno)
						return
					}
					f.Pwrite(mark, int64(round*9_000))
					buf := make([]byte, 200_000)
					f.Pread(buf, 0)
					f.Close()
					if rest := bytes.Trim(buf, "0"+string(mark)); g > 0 && len(bytes.Trim(rest, "a")) != 0 {
						t.Errorf("clone %d sees another's bytes", g)
						return
					}
				}
				if g == 0 {
					m.Clone()
				}
			}
		})
	}
	wg.Wait()
	must(t, base.CheckInvariants(0, 0))
}

func TestClockOption(t *testing.T) {
	now := int64(100)
	m := vfs.New(&vfs.Options{Now: func() int64 { return now }, Device: 7})
	must(t, m.WriteFile("a", nil, 0o644))
	now = 200
	must(t, m.WriteFile("b", nil, 0o644))
	for name, want := range map[string]int64{"a": 100, "b": 200, ".": 200} {
		if st, _ := m.Stat(name); st.Mtim != want || st.Dev != 7 {
			t.Fatalf("%s: %+v", name, st)
		}
	}
}

func TestErrors(t *testing.T) {
	m := vfs.New(nil)
	_, err := m.ReadFile("no")
	if !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, sys.ENOENT) || vfs.ErrnoOf(err) != sys.ENOENT {
		t.Fatal(err)
	}
	tiny := vfs.New(&vfs.Options{MaxFiles: 1})
	must(t, tiny.WriteFile("a", nil, 0o644))
	err = tiny.WriteFile("b", nil, 0o644)
	if err == nil || vfs.ErrnoOf(err) != vfs.ENOSPC || err.Error() != "write b: no space left in the file system (quota)" {
		t.Fatal(err)
	}
	if vfs.ErrnoOf(nil) != 0 || vfs.ErrnoOf(errors.New("x")) != sys.EIO {
		t.Fatal("ErrnoOf")
	}
}
