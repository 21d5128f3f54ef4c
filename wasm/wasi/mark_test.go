package wasi

import (
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"
)

func (g *guest) wantPosition(fd, want uint64) {
	g.t.Helper()
	g.want(success, "fd_tell", fd, resultAt)
	if got := g.u64(resultAt); got != want {
		g.t.Errorf("descriptor %d is at %d, want %d", fd, got, want)
	}
}

// Restore brings descriptors back to what they were at the mark.
func TestRestore(t *testing.T) {
	w := &watchedFS{FS: newMemFS()}
	g := newGuest(t, &Options{FS: w})
	g.writeFile("f", "0123456789")
	g.writeFile("g", "abcdefghij")
	moved, read := g.open("f", 0, readOnly), g.open("f", 0, readOnly)
	closed, replaced := g.open("g", 0, readWrite), g.open("g", 0, readOnly)
	g.read(moved, 2)
	g.read(read, 3)
	g.read(closed, 4)
	g.read(replaced, 5)
	m := g.p.Mark()
	for name, reopen := range map[string]func(OpenFile) (sys.File, sys.Errno){
		"twice":         byPath(w),
		"and again":     byPath(w),
		"nothing there": func(OpenFile) (sys.File, sys.Errno) { return nil, sys.ENOENT },
		"no reopen":     nil,
	} {
		g.read(read, 3)
		g.want(success, "fd_fdstat_set_flags", read, fdAppend)
		g.want(success, "fd_renumber", moved, 50)
		g.want(success, "fd_seek", 50, 9, 0, resultAt)
		g.call("fd_close", closed)
		fd := g.open("f", 0, readOnly)
		g.call("fd_renumber", fd, replaced)
		g.call("fd_close", 1)
		g.open("g", 0, readOnly)
		g.p.Restore(m, reopen)

		g.wantPosition(moved, 2)
		g.wantPosition(read, 3)
		g.want(success, "fd_fdstat_get", read, resultAt)
		if flags := g.u32(resultAt) >> 16; flags != 0 {
			t.Errorf("%s: flags %d", name, flags)
		}
		g.want(errBadf, "fd_tell", 50, resultAt)
		g.write(1, "") // standard output
		switch name {
		case "no reopen":
			g.want(errBadf, "fd_tell", closed, resultAt)
			g.want(errBadf, "fd_tell", replaced, resultAt)
		case "nothing there":
			g.want(errStale, "fd_tell", closed, resultAt)
			g.want(errStale, "fd_tell", replaced, resultAt)
		default:
			g.wantPosition(closed, 4)
			g.wantPosition(replaced, 5)
			if s := g.read(closed, 2); s != "ef" {
				t.Errorf("%s: read %q", name, s)
			}
			g.want(success, "fd_seek", closed, 4, 0, resultAt)
		}
		if open, files := w.opened-w.closed, g.p.OpenFiles(); open > files || name != "nothing there" && open != files {
			t.Errorf("%s: %d files are open, %d descriptors", name, open, files)
		}
	}
}

// What a callback of Restore learns of a file that is closed by now.
func TestRestoreDescribes(t *testing.T) {
	fs := newMemFS()
	g := newGuest(t, &Options{FS: &watchedFS{FS: fs}})
	g.writeFile("f", "0123456789")
	ino := fs.nodes["f"].ino
	fd, e := g.openAt(rootFD, "f", 0, readWrite, fdAppend)
	if e != success {
		t.Fatal(e)
	}
	g.want(success, "fd_seek", fd, 6, 0, resultAt)
	m := g.p.Mark()
	g.want(success, "fd_fdstat_set_flags", fd, 0)
	g.want(success, "fd_close", fd)
	g.want(success, "path_unlink_file", rootFD, func() uint64 { at, _ := g.path("f"); return at }(), 1)
	var got []OpenFile
	g.p.Restore(m, func(o OpenFile) (sys.File, sys.Errno) {
		got = append(got, o)
		return nil, sys.ENOENT
	})
	want := OpenFile{FD: uint32(fd), Path: "f", Read: true, Write: true, Append: true, Flags: fdAppend, Offset: 6, Ino: ino}
	if len(got) != 1 || got[0] != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	// Once more from the same mark: it is stale now, but what it was is known.
	g.want(success, "fd_close", fd)
	got = nil
	g.p.Restore(m, func(o OpenFile) (sys.File, sys.Errno) {
		got = append(got, o)
		return nil, sys.ENOENT
	})
	if len(got) != 1 || got[0] != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	stale := g.p.Mark()
	g.want(success, "fd_close", fd)
	g.p.Restore(stale, func(o OpenFile) (sys.File, sys.Errno) { got = append(got, o); return nil, sys.ENOENT })
	if len(got) != 2 || got[1] != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// BenchmarkMark is what each step of a session with ten open files costs.
func BenchmarkMark(b *testing.B) {
	g := newGuest(b, &Options{FS: newMemFS()})
	for range 10 {
		g.open("f", openCreat, readWrite)
	}
	b.ReportAllocs()
	for b.Loop() {
		g.p.Mark()
	}
}
