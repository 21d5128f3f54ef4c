package vfstest

import (
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"
	wasys "github.com/tetratelabs/wazero/sys"
)

const (
	rd     = sys.O_RDONLY
	wr     = sys.O_WRONLY
	rdwr   = sys.O_RDWR
	creat  = sys.O_CREAT
	excl   = sys.O_EXCL
	trunc  = sys.O_TRUNC
	appnd  = sys.O_APPEND
	dirf   = sys.O_DIRECTORY
	nofoll = sys.O_NOFOLLOW
)

// fixture is a file system with helpers that fail the test.
type fixture struct {
	*testing.T
	FS sys.FS
}

// is checks a result code.
func (x *fixture) is(got, want sys.Errno) {
	x.Helper()
	if got != want {
		x.Fatalf("got error %q, want %q", got, want)
	}
}

// oneOf checks a result code where systems differ.
func (x *fixture) oneOf(got sys.Errno, want ...sys.Errno) {
	x.Helper()
	if !slices.Contains(want, got) {
		x.Fatalf("got error %q, want one of %q", got, want)
	}
}

func (x *fixture) ok(errno sys.Errno) {
	x.Helper()
	x.is(errno, 0)
}

func (x *fixture) equal(got, want any) {
	x.Helper()
	if got != want {
		x.Fatalf("got %v, want %v", got, want)
	}
}

// open opens a file and closes it at the end of the test.
func (x *fixture) open(path string, flag sys.Oflag) sys.File {
	x.Helper()
	f, errno := x.FS.OpenFile(path, flag, 0o644)
	if errno != 0 {
		x.Fatalf("open %s: %v", path, errno)
	}
	x.Cleanup(func() { f.Close() })
	return f
}

// openErr checks that a file cannot be opened.
func (x *fixture) openErr(path string, flag sys.Oflag, want ...sys.Errno) {
	x.Helper()
	f, errno := x.FS.OpenFile(path, flag, 0o644)
	if errno == 0 {
		f.Close()
	}
	x.oneOf(errno, want...)
}

func (x *fixture) write(path, content string) {
	x.Helper()
	f, errno := x.FS.OpenFile(path, wr|creat|trunc, 0o644)
	x.ok(errno)
	x.put(f, content)
	x.ok(f.Close())
}

func (x *fixture) put(f sys.File, content string) {
	x.Helper()
	n, errno := f.Write([]byte(content))
	x.ok(errno)
	x.equal(n, len(content))
}

func (x *fixture) putAt(f sys.File, content string, off int64) {
	x.Helper()
	n, errno := f.Pwrite([]byte(content), off)
	x.ok(errno)
	x.equal(n, len(content))
}

// rest reads from the current offset to the end.
func (x *fixture) rest(f sys.File) string {
	x.Helper()
	var sb strings.Builder
	buf := make([]byte, 4096)
	for {
		n, errno := f.Read(buf)
		x.ok(errno)
		if n == 0 {
			return sb.String()
		}
		sb.Write(buf[:n])
	}
}

func (x *fixture) at(f sys.File, off int64, n int) string {
	x.Helper()
	buf := make([]byte, n)
	n, errno := f.Pread(buf, off)
	x.ok(errno)
	return string(buf[:n])
}

func (x *fixture) content(path, want string) {
	x.Helper()
	f, errno := x.FS.OpenFile(path, rd, 0)
	if errno != 0 {
		x.Fatalf("open %s: %v", path, errno)
	}
	defer f.Close()
	if got := x.rest(f); got != want {
		x.Fatalf("%s: got %.80q (%d bytes), want %.80q (%d bytes)", path, got, len(got), want, len(want))
	}
}

func (x *fixture) seek(f sys.File, off int64, whence int, want int64) {
	x.Helper()
	got, errno := f.Seek(off, whence)
	x.ok(errno)
	x.equal(got, want)
}

func (x *fixture) rewind(f sys.File) { x.Helper(); x.seek(f, 0, io.SeekStart, 0) }

func (x *fixture) mkdir(paths ...string) {
	x.Helper()
	for _, p := range paths {
		if errno := x.FS.Mkdir(p, 0o755); errno != 0 {
			x.Fatalf("mkdir %s: %v", p, errno)
		}
	}
}

func (x *fixture) stat(path string) wasys.Stat_t {
	x.Helper()
	st, errno := x.FS.Stat(path)
	if errno != 0 {
		x.Fatalf("stat %s: %v", path, errno)
	}
	return st
}

func (x *fixture) fstat(f sys.File) wasys.Stat_t {
	x.Helper()
	st, errno := f.Stat()
	x.ok(errno)
	return st
}

func (x *fixture) statErr(path string, want sys.Errno) {
	x.Helper()
	_, errno := x.FS.Stat(path)
	x.is(errno, want)
}

func (x *fixture) gone(path string) {
	x.Helper()
	_, errno := x.FS.Lstat(path)
	x.is(errno, sys.ENOENT)
}

// names lists a directory in batches and returns the sorted names.
func (x *fixture) names(path string) []string {
	x.Helper()
	f := x.open(path, rd|dirf)
	defer f.Close()
	return x.readdir(f, 3)
}

func (x *fixture) readdir(f sys.File, batch int) []string {
	x.Helper()
	var names []string
	for {
		entries, errno := f.Readdir(batch)
		x.ok(errno)
		for _, e := range entries {
			names = append(names, e.Name)
		}
		if batch <= 0 || len(entries) < batch {
			slices.Sort(names)
			return names
		}
	}
}

func (x *fixture) lists(path string, want ...string) {
	x.Helper()
	if got := x.names(path); !slices.Equal(got, want) {
		x.Fatalf("list %s: got %q, want %q", path, got, want)
	}
}

func (x *fixture) isType(path string, want fs.FileMode) {
	x.Helper()
	st, errno := x.FS.Lstat(path)
	x.ok(errno)
	x.equal(st.Mode.Type(), want)
}
