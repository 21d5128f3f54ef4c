package wasi

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

type gotEntry struct {
	name string
	next uint64
	ino  uint64
	typ  byte
}

// readdir calls fd_readdir once. It returns the whole entries, and whether there is more.
func (g *guest) readdir(fd uint64, size uint32, cookie uint64) (list []gotEntry, more bool) {
	g.t.Helper()
	g.want(success, "fd_readdir", fd, dataAt, uint64(size), cookie, resultAt)
	used := g.u32(resultAt)
	if used > size {
		g.t.Fatalf("used %d of %d bytes", used, size)
	}
	b := g.bytes(dataAt, used)
	for len(b) >= direntSize {
		n := int(le.Uint32(b[16:]))
		if len(b) < direntSize+n {
			break
		}
		list = append(list, gotEntry{string(b[direntSize : direntSize+n]), le.Uint64(b), le.Uint64(b[8:]), b[20]})
		b = b[direntSize+n:]
	}
	return list, used == size
}

// readAll reads a directory as wasi-libc does, with a buffer that grows when not even one entry fits.
func (g *guest) readAll(fd uint64, size uint32, between func()) (names []string) {
	g.t.Helper()
	cookie := uint64(0)
	for {
		list, more := g.readdir(fd, size, cookie)
		for _, e := range list {
			names = append(names, e.name)
			cookie = e.next
		}
		if !more {
			return names
		}
		if len(list) == 0 {
			size *= 2
		}
		if between != nil {
			between()
		}
	}
}

func TestReaddir(t *testing.T) {
	g, dir := dirGuest(t)
	must(t, os.Mkdir(filepath.Join(dir, "many"), 0o755))
	var all []string
	for i := range 1500 { // more than one batch
		name := fmt.Sprintf("file-%d-%0*d", i, i%40+1, 0)
		all = append(all, name)
		must(t, os.WriteFile(filepath.Join(dir, "many", name), nil, 0o600))
	}
	must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	must(t, os.Symlink("many", filepath.Join(dir, "soft")))
	all = append(all, ".", "..")
	slices.Sort(all)
	for _, size := range []uint32{direntSize, direntSize + 1, 60, 100, 4096, 65536} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			fd := g.open("many", openDirectory, readOnly)
			names := g.readAll(fd, size, nil)
			slices.Sort(names)
			if !slices.Equal(names, all) {
				t.Errorf("%d names, want %d", len(names), len(all))
			}
			g.want(success, "fd_close", fd)
		})
	}

	fd := g.open("empty", openDirectory, readOnly)
	if names := g.readAll(fd, 4096, nil); !slices.Equal(names, []string{".", ".."}) {
		t.Errorf("empty: %q", names)
	}
	g.want(success, "fd_close", fd)

	for range 2 { // the root, twice over
		list, _ := g.readdir(rootFD, 4096, 0)
		types := map[string]byte{}
		for _, e := range list {
			types[e.name] = e.typ
			if e.ino == 0 {
				t.Errorf("%s has no inode", e.name)
			}
		}
		want := map[string]byte{".": typeDirectory, "..": typeDirectory, "many": typeDirectory,
			"empty": typeDirectory, "soft": typeSymlink}
		if fmt.Sprint(types) != fmt.Sprint(want) {
			t.Errorf("root: %v, want %v", types, want)
		}
	}
	if g.p.cached != 5 {
		t.Errorf("%d entries held, want those of the root", g.p.cached)
	}
}

func TestReaddirWhileChanging(t *testing.T) {
	g, dir := dirGuest(t)
	var want []string
	for i := range 50 {
		name := fmt.Sprint(i)
		want = append(want, name)
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	want = append(want, ".", "..")
	slices.Sort(want)
	n := 0
	got := g.readAll(rootFD, 100, func() { // one goes, one comes
		os.Remove(filepath.Join(dir, fmt.Sprint(n)))
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint("new", n)), nil, 0o600))
		n++
	})
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	// Starting over shows the changes.
	if got := g.readAll(rootFD, 4096, nil); !slices.Contains(got, "new0") {
		t.Errorf("second reading has no new file: %q", got)
	}
}

func TestReaddirCookies(t *testing.T) {
	g := newGuest(t, &Options{FS: newMemFS()})
	for i := range 5 {
		g.writeFile(fmt.Sprint(i), "")
	}
	list, _ := g.readdir(rootFD, 4096, 0)
	for i, e := range list {
		if e.next != uint64(i)+1 {
			t.Errorf("cookie %d after entry %d", e.next, i)
		}
		rest, _ := g.readdir(rootFD, 4096, uint64(i))
		if !slices.Equal(rest, list[i:]) {
			t.Errorf("from cookie %d: %v", i, rest)
		}
	}
	end := uint64(len(list))
	if rest, more := g.readdir(rootFD, 4096, end); len(rest) != 0 || more {
		t.Errorf("at the end: %v", rest)
	}
	g.want(errInval, "fd_readdir", rootFD, dataAt, 4096, end+1, resultAt)
	g.want(errInval, "fd_readdir", rootFD, dataAt, 4096, 1<<63, resultAt)
	g.want(errInval, "fd_readdir", rootFD, dataAt, direntSize-1, 0, resultAt)
	g.want(errFault, "fd_readdir", rootFD, memSize-50, 100, 0, resultAt)
	g.want(errFault, "fd_readdir", rootFD, dataAt, 0xffffffff, 0, resultAt)
	g.want(errFault, "fd_readdir", rootFD, dataAt, 100, 0, memSize-3)
	g.want(errNotdir, "fd_readdir", 1, dataAt, 100, 0, resultAt)
	g.want(errBadf, "fd_readdir", 77, dataAt, 100, 0, resultAt)
	fd := g.open("1", 0, readOnly)
	g.want(errNotdir, "fd_readdir", fd, dataAt, 100, 0, resultAt)
	// A cookie works on a descriptor that has not been read: a program may have kept it.
	fd = g.open(".", openDirectory, readOnly)
	if rest, _ := g.readdir(fd, 4096, 3); len(rest) != len(list)-3 {
		t.Errorf("got %v", rest)
	}
}

func TestReaddirLimit(t *testing.T) {
	g := newGuest(t, &Options{FS: newMemFS()})
	g.writeFile("f", "")
	g.p.cached = maxCachedEntries - 2
	g.want(errNomem, "fd_readdir", rootFD, dataAt, 4096, 0, resultAt)
	g.p.cached = 0
	g.want(success, "fd_readdir", rootFD, dataAt, 4096, 0, resultAt)
}
