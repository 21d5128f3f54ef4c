package wasi

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// restart gives the guest a new process with the files that the old one had open, as if it had been saved in between.
func (g *guest) restart(o *Options, open func(OpenFile) (sys.File, sys.Errno)) {
	g.t.Helper()
	saved, err := json.Marshal(g.p.Files())
	if err != nil {
		g.t.Fatal(err)
	}
	if err := g.p.Close(); err != nil {
		g.t.Fatal(err)
	}
	var files []OpenFile
	if err := json.Unmarshal(saved, &files); err != nil {
		g.t.Fatal(err)
	}
	p := NewProcess(o)
	if err := p.Reopen(files, open); err != nil {
		g.t.Fatal(err)
	}
	again := p.Files()
	if len(files)+len(again) > 0 && !reflect.DeepEqual(files, again) {
		g.t.Fatalf("files %+v became %+v", files, again)
	}
	g.p = p // the guest closes it
	g.ctx = withProcess(g.t.Context(), p)
}

// byPath opens files by their paths.
func byPath(fs sys.FS) func(OpenFile) (sys.File, sys.Errno) {
	return func(o OpenFile) (sys.File, sys.Errno) {
		flag := sys.O_RDONLY
		if o.Write {
			flag = sys.O_RDWR
		}
		if o.Append {
			flag |= sys.O_APPEND
		}
		return fs.OpenFile(o.Path, flag, 0)
	}
}

func TestReopen(t *testing.T) {
	fs := newMemFS()
	g := newGuest(t, &Options{FS: fs})
	g.writeFile("read", "0123456789")
	write := g.open("write", openCreat, readWrite)
	g.write(write, "hello")
	read := g.open("read", 0, readOnly)
	g.read(read, 4)
	app, e := g.openAt(rootFD, "append", openCreat, readWrite, fdAppend)
	if e != success {
		t.Fatal(e)
	}
	g.write(app, "one ")
	g.want(success, "fd_close", write)
	write = g.open("write", 0, rightWrite)
	g.want(success, "fd_seek", write, 5, 0, resultAt)
	g.restart(&Options{FS: fs}, byPath(fs))
	if s := g.read(read, 3); s != "456" {
		t.Errorf("read %q", s)
	}
	g.write(write, " world")
	if s := g.readFile("write"); s != "hello world" {
		t.Errorf("file has %q", s)
	}
	g.want(errBadf, "fd_read", write, iovAt, 1, resultAt) // it was opened for writing only
	g.want(success, "fd_seek", app, 0, 0, resultAt)
	g.write(app, "two")
	if s := g.readFile("append"); s != "one two" {
		t.Errorf("file has %q", s)
	}
	g.want(success, "fd_close", read)
	g.want(errBadf, "fd_read", read, iovAt, 1, resultAt)
	if n := g.p.OpenFiles(); n != 2 {
		t.Errorf("%d open files", n)
	}
}

func TestFiles(t *testing.T) {
	fs := newMemFS()
	g := newGuest(t, &Options{FS: fs})
	g.want(success, "path_create_directory", rootFD, func() uint64 { at, _ := g.path("dir"); return at }(), 3)
	dir := g.open("dir", openDirectory, readOnly)
	file, e := g.openAt(dir, "file", openCreat, readWrite, fdAppend|fdNonblock)
	if e != success {
		t.Fatal(e)
	}
	g.write(file, "12345")
	want := []OpenFile{
		{FD: uint32(dir), Path: "dir", Dir: true, Read: true, Ino: fs.nodes["dir"].ino},
		{FD: uint32(file), Path: "dir/file", Read: true, Write: true, Append: true, Flags: fdAppend | fdNonblock,
			Offset: 5, Ino: fs.nodes["dir/file"].ino},
	}
	if got := g.p.Files(); !reflect.DeepEqual(got, want) {
		t.Errorf("files %+v, want %+v", got, want)
	}
	b, err := json.Marshal(want[0])
	if err != nil || string(b) != fmt.Sprintf(`{"fd":4,"path":"dir","dir":true,"read":true,"ino":%d}`, want[0].Ino) {
		t.Errorf("%s, %v", b, err)
	}
	if err := g.p.Close(); err != nil {
		t.Error(err)
	}
	if got := g.p.Files(); got != nil {
		t.Errorf("files of a closed process: %+v", got)
	}
}

// What cannot be opened again fails in a way that says so, can be closed, and stays what it is over further restarts.
func TestStaleFiles(t *testing.T) {
	fs := newMemFS()
	g := newGuest(t, &Options{FS: fs})
	fs.make("dir", true)
	fs.make("dir/file", false)
	file := g.open("dir/file", 0, readWrite)
	g.write(file, "123")
	dir := g.open("dir", openDirectory, readOnly)
	gone := func(OpenFile) (sys.File, sys.Errno) { return nil, sys.ENOENT }
	none := func(OpenFile) (sys.File, sys.Errno) { return nil, 0 }
	for _, open := range []func(OpenFile) (sys.File, sys.Errno){gone, none, gone} {
		g.restart(&Options{FS: fs}, open)
		for _, fd := range []uint64{file, dir} {
			for _, f := range functions {
				if !strings.HasPrefix(f.name, "fd_") || f.name == "fd_close" || f.name == "fd_renumber" {
					continue
				}
				args := make([]uint64, len(f.params))
				args[0] = fd
				g.want(errStale, f.name, args...)
			}
			at, n := g.path("file")
			g.want(errStale, "path_filestat_get", fd, 0, at, n, resultAt)
			g.want(errStale, "path_open", fd, 0, at, n, openCreat, rightsAll, rightsAll, 0, resultAt)
			g.wantEvents(g.poll(g.ctx, sub{kind: pollRead, id: uint32(fd)}), pollEvent{err: errStale, kind: pollRead})
		}
	}
	g.want(success, "fd_renumber", file, 77)
	if got := g.p.Files(); len(got) != 2 || got[1].FD != 77 || got[1].Path != "dir/file" || got[1].Offset != 3 {
		t.Errorf("files %+v", got)
	}
	child := g.p.Fork()
	g.ctx = withProcess(g.t.Context(), child)
	g.want(errStale, "fd_read", 77, iovAt, 1, resultAt)
	g.ctx = withProcess(g.t.Context(), g.p)
	g.want(success, "fd_close", 77)
	g.want(success, "fd_close", dir)
	g.want(errBadf, "fd_close", file)
	if g.open("dir", openDirectory, readOnly) != 4 {
		t.Error("a descriptor is not free again")
	}
}

// The callback may return something that is not what was open.
func TestReopenOther(t *testing.T) {
	fs := newMemFS()
	g := newGuest(t, &Options{FS: fs})
	g.writeFile("file", "x")
	fs.make("dir", true)
	fd := g.open("file", 0, readOnly)
	w := &watchedFS{FS: fs}
	g.restart(&Options{FS: fs}, func(OpenFile) (sys.File, sys.Errno) { return w.OpenFile("dir", sys.O_RDONLY, 0) })
	g.want(errStale, "fd_read", fd, iovAt, 1, resultAt)
	if w.opened != 1 || w.closed != 1 {
		t.Errorf("%d files opened, %d closed", w.opened, w.closed)
	}
}

// A guest may have closed standard streams, and have files in their places.
func TestReopenStreams(t *testing.T) {
	fs := newMemFS()
	var out strings.Builder
	g := newGuest(t, &Options{FS: fs, Stdout: &out})
	g.want(success, "fd_close", 1)
	if fd := g.open("one", openCreat, readWrite); fd != 1 {
		t.Fatalf("descriptor %d", fd)
	}
	fd := g.open("two", openCreat, readWrite)
	g.want(success, "fd_renumber", fd, 0)
	g.want(success, "fd_close", 2)
	g.restart(&Options{FS: fs, Stdout: &out}, byPath(fs))
	g.write(1, "to one")
	g.write(0, "to two")
	g.p.SetStdio(nil, &out, nil) // as before each execution
	g.write(1, ", again")
	g.write(2, "")
	g.want(success, "fd_close", 1)
	g.p.SetStdio(nil, &out, nil)
	g.write(1, "to stdout")
	if a, b := g.readFile("one"), g.readFile("two"); a != "to one, again" || b != "to two" || out.String() != "to stdout" {
		t.Errorf("files %q and %q, output %q", a, b, out.String())
	}
}

func TestReopenErrors(t *testing.T) {
	ok := OpenFile{FD: 9, Path: "f", Read: true}
	with := func(change func(o *OpenFile)) []OpenFile {
		o := ok
		change(&o)
		return []OpenFile{{FD: 8, Path: "g"}, o}
	}
	for name, files := range map[string][]OpenFile{
		"beyond the limit": with(func(o *OpenFile) { o.FD = 16 }),
		"largest number":   with(func(o *OpenFile) { o.FD = math.MaxUint32 }),
		"the root":         with(func(o *OpenFile) { o.FD = rootFD }),
		"twice":            with(func(o *OpenFile) { o.FD = 8 }),
		"open already":     with(func(o *OpenFile) { o.FD = 5 }),
		"no path":          with(func(o *OpenFile) { o.Path = "" }),
		"outside":          with(func(o *OpenFile) { o.Path = "../f" }),
		"absolute":         with(func(o *OpenFile) { o.Path = "/f" }),
		"NUL in the path":  with(func(o *OpenFile) { o.Path = "f\x00" }),
		"long path":        with(func(o *OpenFile) { o.Path = strings.Repeat("x", maxPath+1) }),
		"not UTF-8":        with(func(o *OpenFile) { o.Path = "\xff" }),
		"negative offset":  with(func(o *OpenFile) { o.Offset = -1 }),
		"unknown flags":    with(func(o *OpenFile) { o.Flags = 32 }),
		"written dir":      with(func(o *OpenFile) { o.Dir, o.Write = true, true }),
	} {
		p := NewProcess(&Options{FS: newMemFS(), MaxFiles: 16})
		p.fds.put(5, &file{path: "x", f: outsideFile{staleFile{}, p.outside}})
		err := p.Reopen(files, func(OpenFile) (sys.File, sys.Errno) {
			t.Errorf("%s: a file was opened", name)
			return nil, sys.EIO
		})
		if err == nil || p.OpenFiles() != 1 {
			t.Errorf("%s: %v, %d files", name, err, p.OpenFiles())
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := p.Reopen([]OpenFile{ok}, nil); err == nil {
			t.Error("closed process")
		}
	}
}

// FuzzReopen: whatever descriptions say, they are refused or lead to what can be described the same way again.
func FuzzReopen(f *testing.F) {
	f.Add([]byte(`[{"fd":4,"path":"dir","dir":true,"read":true},{"fd":5,"path":"dir/x","write":true,"offset":7,"flags":1}]`))
	f.Add([]byte(`[{"fd":4294967295,"path":"../x"},{"fd":1,"path":"a","offset":-1}]`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var files []OpenFile
		if json.Unmarshal(in, &files) != nil {
			return
		}
		fs := newMemFS()
		fs.make("dir", true)
		fs.make("dir/x", false)
		p := NewProcess(&Options{FS: fs, MaxFiles: 16})
		err := p.Reopen(files, byPath(fs))
		got := p.Files()
		if err != nil && len(got) > 0 || err == nil && len(got) != len(files) {
			t.Errorf("%d files of %d, %v", len(got), len(files), err)
		}
		q := NewProcess(&Options{FS: fs, MaxFiles: 16})
		if err := q.Reopen(got, byPath(fs)); err != nil || !reflect.DeepEqual(got, q.Files()) {
			t.Errorf("again: %v, %+v, want %+v", err, q.Files(), got)
		}
		for _, p := range []*Process{p, q} {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// turningFS lists each directory in another order than the time before.
type turningFS struct {
	*memFS
	times int
}

type turningFile struct {
	sys.File
	fs *turningFS
}

func (s *turningFS) OpenFile(path string, flag sys.Oflag, perm fs.FileMode) (sys.File, sys.Errno) {
	f, e := s.memFS.OpenFile(path, flag, perm)
	return turningFile{f, s}, e
}

func (f turningFile) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	list, e := f.File.Readdir(n)
	if f.fs.times++; f.fs.times%2 == 0 {
		slices.Reverse(list)
	}
	return list, e
}

// A guest goes on with a listing that it began before a restart.
func TestReopenListing(t *testing.T) {
	fs := &turningFS{memFS: newMemFS()}
	g := newGuest(t, &Options{FS: fs})
	fs.make("dir", true)
	var all []string
	for i := range 20 {
		name := fmt.Sprint("name", i)
		fs.make("dir/"+name, false)
		all = append(all, name)
	}
	fd := g.open("dir", openDirectory, readOnly)
	list, _ := g.readdir(fd, 200, 0)
	g.restart(&Options{FS: fs}, byPath(fs))
	rest, _ := g.readdir(fd, 4096, list[len(list)-1].next)
	seen := map[string]int{}
	for _, e := range append(list, rest...) {
		seen[e.name]++
	}
	for _, name := range all {
		if seen[name] != 1 {
			t.Errorf("%s was listed %d times", name, seen[name])
		}
	}
	// A directory that has become shorter is at its end.
	g.restart(&Options{FS: fs}, byPath(fs))
	for _, name := range all {
		delete(fs.nodes, "dir/"+name)
	}
	if rest, more := g.readdir(fd, 4096, 15); len(rest) != 0 || more {
		t.Errorf("listed %v", rest)
	}
}
