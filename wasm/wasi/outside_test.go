package wasi

import (
	"context"
	"io/fs"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"
)

// watchedFS counts the files that are opened and closed.
type watchedFS struct {
	sys.FS
	opened int
	closed int
}

type watchedFile struct {
	sys.File
	w      *watchedFS
	closed *bool
}

func (f watchedFile) Stat() (wsys.Stat_t, sys.Errno) {
	if *f.closed {
		return wsys.Stat_t{}, sys.EBADF
	}
	return f.File.Stat()
}

func (w *watchedFS) OpenFile(path string, flag sys.Oflag, perm fs.FileMode) (sys.File, sys.Errno) {
	f, e := w.FS.OpenFile(path, flag, perm)
	if e != 0 {
		return f, e
	}
	w.opened++
	return watchedFile{f, w, new(bool)}, 0
}

func (f watchedFile) Close() sys.Errno {
	f.w.closed++
	*f.closed = true
	return f.File.Close()
}

// File operations of a guest with several threads run in Block, and move data through a buffer.
func TestOutside(t *testing.T) {
	blocks, shared := 0, true
	g := newGuest(t, &Options{
		FS:     newMemFS(),
		Shared: func(context.Context) bool { return shared },
		Block:  func(_ context.Context, f func()) { blocks++; f() },
	})
	outside := func(name string, want int, f func()) {
		t.Helper()
		blocks = 0
		f()
		if blocks != want {
			t.Errorf("%s: %d times in Block, want %d", name, blocks, want)
		}
	}
	var fd uint64
	outside("open", 1, func() { fd = g.open("file", openCreat, rightsAll) })
	long := strings.Repeat("0123456789abcdef", 100)
	outside("write", 1, func() { g.write(fd, long) })
	outside("seek", 0, func() { g.want(success, "fd_seek", fd, 0, 0, resultAt) })
	outside("read", 1, func() {
		if s := g.read(fd, uint32(len(long)+5)); s != long {
			t.Errorf("read %d bytes", len(s))
		}
	})
	shared = false
	outside("alone", 0, func() {
		g.want(success, "fd_seek", fd, 0, 0, resultAt)
		if s := g.read(fd, 4); s != "0123" {
			t.Errorf("read %q", s)
		}
	})
	shared = true
	outside("close", 1, func() { g.want(success, "fd_close", fd) })
}

// A thread that is ended while it opens a file leaves no open file behind.
func TestOutsideEnded(t *testing.T) {
	w := &watchedFS{FS: newMemFS()}
	ended := false
	g := newGuest(t, &Options{
		FS:     w,
		Shared: func(context.Context) bool { return true },
		Block: func(_ context.Context, f func()) {
			f()
			if ended {
				panic(context.Canceled)
			}
		},
	})
	g.open("file", openCreat, rightsAll)
	ended = true
	at, n := g.path("other")
	if _, err := g.try(g.ctx, "path_open", 3, 0, at, n, openCreat, rightsAll, rightsAll, 0, resultAt); err == nil {
		t.Error("the call was not ended")
	}
	if w.opened != 2 || w.closed != 1 {
		t.Errorf("%d files opened, %d closed", w.opened, w.closed)
	}
}

// A fork has the same descriptors, and leaves closing to the process that it was forked from.
func TestForkOfProcess(t *testing.T) {
	w := &watchedFS{FS: newMemFS()}
	g := newGuest(t, &Options{FS: w})
	fd := g.open("file", openCreat, rightsAll)
	g.write(fd, "before ")
	p := g.p
	child := p.Fork()
	g.ctx = withProcess(context.Background(), child)
	g.write(fd, "child ")
	other := g.open("other", openCreat, rightsAll)
	if other == fd {
		t.Error("a descriptor of the first process was given out again")
	}
	if err := child.Close(); err != nil {
		t.Error(err)
	}
	if w.opened != 2 || w.closed != 1 {
		t.Errorf("%d files opened, %d closed", w.opened, w.closed)
	}
	g.ctx = withProcess(context.Background(), p)
	g.write(fd, "after")
	g.want(success, "fd_seek", fd, 0, 0, resultAt)
	if s := g.read(fd, 99); s != "before child after" {
		t.Errorf("file has %q", s)
	}
}
