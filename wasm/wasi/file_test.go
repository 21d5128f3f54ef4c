package wasi

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
)

// dirGuest has a directory of the host as its root.
func dirGuest(t *testing.T) (*guest, string) {
	t.Helper()
	dir := t.TempDir()
	return newGuest(t, &Options{FS: sysfs.DirFS(dir)}), dir
}

func TestReadWriteSeek(t *testing.T) {
	g, dir := dirGuest(t)
	fd := g.open("f", openCreat, readWrite)
	g.write(fd, "hello world")
	g.want(success, "fd_tell", fd, resultAt)
	if pos := g.u64(resultAt); pos != 11 {
		t.Errorf("tell: %d", pos)
	}
	g.want(success, "fd_seek", fd, uint64(math.MaxUint64-4), io.SeekEnd, resultAt)
	if s := g.read(fd, 100); s != "world" {
		t.Errorf("read %q", s)
	}
	if s := g.read(fd, 100); s != "" {
		t.Errorf("read %q at the end", s)
	}
	g.want(errInval, "fd_seek", fd, 0, 3, resultAt)
	g.want(errInval, "fd_seek", fd, math.MaxUint64, io.SeekStart, resultAt)

	g.iov(4)
	g.want(success, "fd_pread", fd, iovAt, 1, 1, resultAt)
	if s := string(g.bytes(dataAt, g.u32(resultAt))); s != "ello" {
		t.Errorf("pread %q", s)
	}
	g.put(dataAt, []byte("JJ"))
	g.iov(2)
	g.want(success, "fd_pwrite", fd, iovAt, 1, 0, resultAt)
	g.want(errInval, "fd_pread", fd, iovAt, 1, math.MaxUint64, resultAt)
	g.want(success, "fd_filestat_set_size", fd, 5)
	g.want(errInval, "fd_filestat_set_size", fd, math.MaxUint64)
	g.want(success, "fd_allocate", fd, 4, 4)
	g.want(success, "fd_allocate", fd, 0, 1)
	g.want(errFbig, "fd_allocate", fd, math.MaxInt64, 1)
	g.want(errInval, "fd_allocate", fd, 0, 0)
	g.want(success, "fd_sync", fd)
	g.want(success, "fd_datasync", fd)
	g.want(success, "fd_advise", fd, 0, 0, 2)
	g.want(errInval, "fd_advise", fd, 0, 0, 6)
	g.want(success, "fd_close", fd)
	g.want(errBadf, "fd_close", fd)
	if b, _ := os.ReadFile(filepath.Join(dir, "f")); string(b) != "JJllo\x00\x00\x00" {
		t.Errorf("file is %q", b)
	}
}

func TestOpenFlags(t *testing.T) {
	g, dir := dirGuest(t)
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	g.writeFile("f", "text")
	if err := os.Symlink("f", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		path   string
		oflags uint64
		rights uint64
		want   errno
	}{
		{"read", "f", 0, readOnly, success},
		{"missing", "g", 0, readOnly, errNoent},
		{"exclusive", "f", openCreat | openExcl, readWrite, errExist},
		{"directory", "d", openDirectory, readOnly, success},
		{"directory without the flag", "d", 0, readOnly, success},
		{"directory for writing", "d", 0, readWrite, errIsdir},
		{"file as directory", "f", openDirectory, readOnly, errNotdir},
		{"file with slash", "f/", 0, readOnly, errNotdir},
		{"directory with slash", "d/", 0, readOnly, success},
		{"create with slash", "new/", openCreat, readWrite, errIsdir},
		{"create directory", "new", openCreat | openDirectory, readWrite, errInval},
		{"root", ".", openDirectory, readOnly, success},
		{"root for writing", "/", 0, readWrite, errIsdir},
		{"below a file", "f/x", 0, readOnly, errNotdir},
		{"unknown flag", "f", 16, readOnly, errInval},
		{"empty path", "", 0, readOnly, errNoent},
		{"link", "link", 0, readOnly, success},
		{"absolute", "/f", 0, readOnly, success},
		{"above the root", "../../d/../../f", 0, readOnly, success},
		{"NUL", "f\x00", 0, readOnly, errInval},
		{"not UTF-8", "f\xff", 0, readOnly, errIlseq},
		{"too long", strings.Repeat("x", maxPath+1), 0, readOnly, errNameLong},
		{"long name", strings.Repeat("x", 300), 0, readOnly, errNameLong},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fd, e := g.openAt(rootFD, tt.path, tt.oflags, tt.rights, 0)
			if e != tt.want {
				t.Fatalf("errno %d, want %d", e, tt.want)
			}
			if e == success {
				g.want(success, "fd_close", fd)
			}
		})
	}
	p, n := g.path("link")
	g.want(errLoop, "path_open", rootFD, 0, p, n, 0, readOnly, 0, 0, resultAt)
	if n := g.p.OpenFiles(); n != 0 {
		t.Errorf("%d descriptors leaked", n)
	}

	fd := g.open("f", openTrunc, rightWrite)
	g.iov(1)
	g.want(errBadf, "fd_read", fd, iovAt, 1, resultAt)
	g.want(success, "fd_close", fd)
	if s := g.readFile("f"); s != "" {
		t.Errorf("%q after truncation", s)
	}
	fd = g.open("f", 0, readOnly)
	g.want(errBadf, "fd_write", fd, iovAt, 1, resultAt)
	g.want(errBadf, "fd_filestat_set_size", fd, 0)
	g.want(success, "fd_close", fd)
}

func TestAppend(t *testing.T) {
	g, _ := dirGuest(t)
	g.writeFile("f", "one")
	fd, e := g.openAt(rootFD, "f", 0, readWrite, fdAppend)
	if e != success {
		t.Fatal(e)
	}
	g.write(fd, " two")
	g.want(success, "fd_seek", fd, 0, io.SeekStart, resultAt)
	g.write(fd, " three")
	g.want(success, "fd_fdstat_get", fd, resultAt)
	if flags := g.u32(resultAt) >> 16; flags != fdAppend {
		t.Errorf("flags %d", flags)
	}
	g.want(success, "fd_fdstat_set_flags", fd, 0)
	g.want(errInval, "fd_fdstat_set_flags", fd, 32)
	g.want(success, "fd_seek", fd, 0, io.SeekStart, resultAt)
	g.write(fd, "ONE")
	g.want(success, "fd_close", fd)
	if s := g.readFile("f"); s != "ONE two three" {
		t.Errorf("%q", s)
	}
}

func TestBadPointersAreSafe(t *testing.T) {
	g, dir := dirGuest(t)
	g.writeFile("f", "text")
	fd := g.open("f", 0, readWrite)
	defer g.call("fd_close", fd)
	g.iov(4)
	g.want(errFault, "fd_read", fd, iovAt, 1, memSize-3)
	g.want(errFault, "fd_read", fd, memSize-7, 1, resultAt)
	g.want(errFault, "fd_read", fd, 0xffffffff, 1, resultAt)
	g.want(errInval, "fd_read", fd, iovAt, maxIovecs+1, resultAt)
	g.want(errInval, "fd_write", fd, iovAt, 0x20000000, resultAt) // times 8 is 2^32
	g.mem.WriteUint32Le(iovAt, memSize-1)
	g.want(errFault, "fd_read", fd, iovAt, 1, resultAt)
	g.want(errFault, "fd_filestat_get", fd, memSize-63)
	g.want(errFault, "fd_fdstat_get", fd, memSize-23)
	g.want(errFault, "fd_tell", fd, memSize-7)
	if s := g.read(fd, 9); s != "text" {
		t.Errorf("%q: failed reads moved the offset", s)
	}
	// A descriptor that cannot be handed over must not leave a file behind.
	p, n := g.path("new")
	g.want(errFault, "path_open", rootFD, 0, p, n, openCreat, readWrite, 0, 0, memSize-3)
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
		t.Error("file was made")
	}
	g.want(errFault, "path_open", rootFD, 0, memSize-1, 2, 0, readOnly, 0, 0, resultAt)
}

func TestIovecs(t *testing.T) {
	g, _ := dirGuest(t)
	fd := g.open("f", openCreat, readWrite)
	g.put(dataAt, []byte("abcdef"))
	for i, v := range []uint32{dataAt, 2, 0, 0, dataAt + 2, 1, dataAt + 3, 3} {
		g.mem.WriteUint32Le(iovAt+uint32(i)*4, v)
	}
	g.want(success, "fd_write", fd, iovAt, 4, resultAt)
	if n := g.u32(resultAt); n != 6 {
		t.Errorf("wrote %d", n)
	}
	g.want(success, "fd_write", fd, iovAt, 0, resultAt)
	g.want(success, "fd_seek", fd, 0, 0, resultAt)
	g.put(dataAt, []byte("......."))
	g.want(success, "fd_read", fd, iovAt, 4, resultAt)
	if s := string(g.bytes(dataAt, 7)); g.u32(resultAt) != 6 || s != "abcdef." {
		t.Errorf("read %d: %q", g.u32(resultAt), s)
	}
}

// A partial transfer is reported as such, the error comes next time.
func TestQuota(t *testing.T) {
	g := newGuest(t, &Options{FS: newMemFS()})
	fd := g.open("f", openCreat, readWrite)
	g.iov(0)
	for i := range uint32(2) {
		g.mem.WriteUint32Le(iovAt+8*i, 0)
		g.mem.WriteUint32Le(iovAt+8*i+4, memFileMax)
	}
	g.want(success, "fd_write", fd, iovAt, 2, resultAt)
	if n := g.u32(resultAt); n != memFileMax {
		t.Errorf("wrote %d", n)
	}
	g.want(errNospc, "fd_write", fd, iovAt, 2, resultAt)
	g.want(errNospc, "fd_allocate", fd, 0, math.MaxInt64)
	g.want(success, "fd_close", fd)
}

func TestDescriptors(t *testing.T) {
	g := newGuest(t, &Options{FS: newMemFS(), MaxFiles: 6})
	a := g.open("a", openCreat, readWrite)
	b := g.open("b", openCreat, readWrite)
	if a != 4 || b != 5 {
		t.Errorf("descriptors %d and %d", a, b)
	}
	if _, e := g.openAt(rootFD, "c", openCreat, readWrite, 0); e != errMfile {
		t.Errorf("over the limit: %d", e)
	}
	if e := g.at("path_unlink_file", "c"); e != errNoent {
		t.Errorf("the file over the limit was made: %d", e)
	}
	g.write(a, "A")
	g.want(success, "fd_renumber", a, b)
	g.want(errBadf, "fd_tell", a, resultAt)
	g.want(success, "fd_tell", b, resultAt)
	if pos := g.u64(resultAt); pos != 1 {
		t.Errorf("the wrong file survived: at %d", pos)
	}
	g.want(errBadf, "fd_renumber", a, b)
	g.want(errBadf, "fd_renumber", b, 6)
	g.want(errBadf, "fd_renumber", b, 0xffffffff)
	g.want(success, "fd_renumber", b, b)
	g.want(errNotsup, "fd_renumber", rootFD, b)
	g.want(errNotsup, "fd_renumber", b, rootFD)
	g.want(errNotsup, "fd_close", rootFD)
	g.want(success, "fd_renumber", b, 0) // redirects standard input
	if n := g.p.OpenFiles(); n != 1 {
		t.Errorf("%d open", n)
	}
	if fd := g.open("b", 0, readOnly); fd != 4 {
		t.Errorf("lowest free descriptor is %d", fd)
	}
	if err := g.p.Close(); err != nil {
		t.Fatal(err)
	}
	g.want(errBadf, "fd_close", 1)
	if _, e := g.openAt(rootFD, "b", 0, readOnly, 0); e != errBadf {
		t.Errorf("open after Close: %d", e)
	}
	g.p.SetStdio(nil, nil, nil)
	g.want(errBadf, "fd_close", 1)
}

func TestPrestat(t *testing.T) {
	g := newGuest(t, &Options{FS: newMemFS()})
	g.want(success, "fd_prestat_get", rootFD, resultAt)
	if tag, n := g.u32(resultAt), g.u32(resultAt+4); tag != 0 || n != 1 {
		t.Errorf("tag %d, length %d", tag, n)
	}
	g.want(success, "fd_prestat_dir_name", rootFD, dataAt, 1)
	if s := string(g.bytes(dataAt, 1)); s != "/" {
		t.Errorf("name %q", s)
	}
	g.want(errNameLong, "fd_prestat_dir_name", rootFD, dataAt, 0)
	g.want(errFault, "fd_prestat_dir_name", rootFD, memSize, 1)
	g.want(errBadf, "fd_prestat_get", 4, resultAt)
	g.want(errBadf, "fd_prestat_get", 1, resultAt)
}

func TestStandardStreams(t *testing.T) {
	var out, errs bytes.Buffer
	g := newGuest(t, &Options{FS: newMemFS(), Stdout: &out, Stderr: &errs})
	g.write(1, "out")
	g.write(2, "err")
	if s := g.read(0, 10); s != "" {
		t.Errorf("read %q from nothing", s)
	}
	for fd := range uint64(3) {
		g.want(errSpipe, "fd_seek", fd, 0, 1, resultAt)
		g.want(errSpipe, "fd_advise", fd, 0, 0, 0)
		g.want(success, "fd_sync", fd)
		g.want(success, "fd_filestat_get", fd, resultAt)
		g.want(errNotsup, "fd_filestat_set_times", fd, 0, 0, 0)
		g.want(success, "fd_fdstat_get", fd, resultAt)
		if typ := g.u32(resultAt) & 0xff; typ != typeUnknown {
			t.Errorf("descriptor %d has type %d", fd, typ)
		}
		if e := g.call("path_open", fd, 0, pathAt, 1, 0, 0, 0, 0, resultAt); e != errNotdir {
			t.Errorf("open relative to %d: %d", fd, e)
		}
	}
	g.want(errBadf, "fd_read", 1, iovAt, 1, resultAt)
	g.want(errBadf, "fd_write", 0, iovAt, 1, resultAt)
	g.want(errSpipe, "fd_pwrite", 1, iovAt, 1, 0, resultAt)

	// Closing them is harmless and lasts until the next execution.
	for fd := range uint64(3) {
		g.want(success, "fd_close", fd)
		g.want(errBadf, "fd_close", fd)
	}
	if fd := g.open("f", openCreat, readWrite); fd != 0 {
		t.Errorf("lowest free descriptor is %d", fd)
	}
	var next bytes.Buffer
	g.p.SetStdio(nil, &next, &next)
	g.write(1, "next")
	g.write(0, "to the file")
	if out.String() != "out" || errs.String() != "err" || next.String() != "next" {
		t.Errorf("output %q, %q, %q", &out, &errs, &next)
	}
	if s := g.readFile("f"); s != "to the file" {
		t.Errorf("file %q", s)
	}
}

func TestTerminal(t *testing.T) {
	g := newGuest(t, &Options{Terminal: true})
	g.want(success, "fd_fdstat_get", 0, resultAt)
	rights := g.u64(resultAt + 8)
	if g.u32(resultAt)&0xff != typeCharacterDevice || rights&(rightSeek|rightTell) != 0 || rights&rightRead == 0 {
		t.Errorf("isatty would be false: rights %#x", rights)
	}
}

type failingWriter struct {
	room int
	err  error
}

func (w *failingWriter) Write(b []byte) (int, error) {
	n := min(w.room, len(b))
	w.room -= n
	if n < len(b) {
		return n, w.err
	}
	return n, nil
}

func TestWriterErrors(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want errno
	}{
		{errors.New("broken"), errIO},
		{EPIPE, errPipe},
		{sys.EAGAIN, errAgain},
		{nil, errIO},
	} {
		g := newGuest(t, &Options{Stdout: &failingWriter{2, tt.err}})
		g.put(dataAt, []byte("abc"))
		g.iov(3)
		g.want(success, "fd_write", 1, iovAt, 1, resultAt)
		if n := g.u32(resultAt); n != 2 {
			t.Errorf("wrote %d", n)
		}
		g.want(tt.want, "fd_write", 1, iovAt, 1, resultAt)
	}
}

func TestStatAndTimes(t *testing.T) {
	g, dir := dirGuest(t)
	g.writeFile("f", "12345")
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	must(t, os.Symlink("f", filepath.Join(dir, "link")))
	stat := func(path string, follow uint64, want errno, wantType byte) {
		t.Helper()
		p, n := g.path(path)
		g.want(want, "path_filestat_get", rootFD, follow, p, n, resultAt)
		if want == success && g.bytes(resultAt+16, 1)[0] != wantType {
			t.Errorf("%s: type %d, want %d", path, g.bytes(resultAt+16, 1)[0], wantType)
		}
	}
	stat("f", 1, success, typeRegular)
	if size := g.u64(resultAt + 32); size != 5 {
		t.Errorf("size %d", size)
	}
	stat("d", 1, success, typeDirectory)
	stat("d/", 0, success, typeDirectory)
	stat("/", 0, success, typeDirectory)
	stat("link", 1, success, typeRegular)
	stat("link", 0, success, typeSymlink)
	stat("link/", 0, errNotdir, 0)
	stat("f/.", 0, errNotdir, 0)
	stat("gone", 1, errNoent, 0)

	setTimes := func(want errno, path string, follow uint64, atim, mtim, flags uint64) {
		t.Helper()
		p, n := g.path(path)
		g.want(want, "path_filestat_set_times", rootFD, follow, p, n, atim, mtim, flags)
	}
	setTimes(success, "f", 1, 1e9, 2e9, 1|4)
	stat("f", 1, success, typeRegular)
	if a, m := g.u64(resultAt+40), g.u64(resultAt+48); a != 1e9 || m != 2e9 {
		t.Errorf("times %d, %d", a, m)
	}
	setTimes(success, "link", 1, 0, 3e9, 4)
	stat("f", 1, success, typeRegular)
	if a, m := g.u64(resultAt+40), g.u64(resultAt+48); a != 1e9 || m != 3e9 {
		t.Errorf("times %d, %d", a, m)
	}
	setTimes(errNotsup, "link", 0, 0, 3e9, 4)
	setTimes(errNotdir, "f/", 1, 0, 3e9, 4)
	setTimes(errInval, "f", 1, 0, 0, 1|2)
	setTimes(errInval, "f", 1, 0, 0, 4|8)
	setTimes(errInval, "f", 1, 0, 0, 16)
	setTimes(errInval, "f", 1, math.MaxUint64, 0, 1)

	fd := g.open("f", 0, readWrite)
	g.p.walltime = func() time.Time { return time.Unix(9, 0) }
	g.want(success, "fd_filestat_set_times", fd, 0, 0, 2|8)
	g.want(success, "fd_filestat_get", fd, resultAt)
	if a, m := g.u64(resultAt+40), g.u64(resultAt+48); a != 9e9 || m != 9e9 {
		t.Errorf("times %d, %d", a, m)
	}
	g.want(success, "fd_filestat_set_times", rootFD, 0, 7e9, 4)
	g.want(success, "fd_filestat_get", rootFD, resultAt)
	if m := g.u64(resultAt + 48); m != 7e9 {
		t.Errorf("time of the root %d", m)
	}
	g.want(success, "fd_close", fd)
}

func TestPathOperations(t *testing.T) {
	g, dir := dirGuest(t)
	check := func(got, want errno) {
		t.Helper()
		if got != want {
			t.Errorf("errno %d, want %d", got, want)
		}
	}
	check(g.at("path_create_directory", "d"), success)
	check(g.at("path_create_directory", "d/e/"), success)
	check(g.at("path_create_directory", "d"), errExist)
	check(g.at("path_create_directory", "/"), errExist)
	check(g.at("path_remove_directory", "d"), errNotempty)
	check(g.at("path_remove_directory", "d/e"), success)
	check(g.at("path_remove_directory", "."), errBusy)
	g.writeFile("d/f", "content")
	check(g.at("path_remove_directory", "d/f"), errNotdir)
	check(g.at("path_unlink_file", "d"), errIsdir)
	check(g.at("path_unlink_file", "d/"), errIsdir)
	check(g.at("path_unlink_file", "d/f/"), errNotdir)
	check(g.at("path_unlink_file", "/"), errIsdir)

	rename := func(a, b string) errno {
		pa, na, pb, nb := g.at2(a, b)
		return g.call("path_rename", rootFD, pa, na, rootFD, pb, nb)
	}
	check(rename("d/f", "g"), success)
	check(rename("d/f", "g"), errNoent)
	check(rename("g/", "h"), errNotdir)
	check(rename("g", "h/"), errNotdir)
	check(rename("g", "d"), errIsdir)
	check(rename("/", "x"), errBusy)
	check(rename("d", "../d2/"), success)
	check(rename("d2", "d"), success)

	link := func(a, b string, flags uint64) errno {
		pa, na, pb, nb := g.at2(a, b)
		return g.call("path_link", rootFD, flags, pa, na, rootFD, pb, nb)
	}
	check(link("g", "hard", 0), success)
	check(link("g", "hard", 0), errExist)
	check(link("g", "new/", 0), errNoent)
	check(link("/", "new", 0), errPerm)
	check(link("g", "/", 0), errExist)

	symlink := func(content, name string) errno {
		pa, na, pb, nb := g.at2(content, name)
		return g.call("path_symlink", pa, na, rootFD, pb, nb)
	}
	check(symlink("g", "soft"), success)
	check(symlink("", "soft2"), errNoent)
	check(symlink("g", "soft2/"), errNoent)
	check(symlink("g", "."), errExist)
	check(link("soft", "hard2", lookupFollow), errNotsup)
	check(g.at("path_readlink", "soft", dataAt, 10, resultAt), success)
	if s := string(g.bytes(dataAt, g.u32(resultAt))); s != "g" {
		t.Errorf("readlink %q", s)
	}
	check(symlink("a-long-name", "long"), success)
	check(g.at("path_readlink", "long", dataAt, 6, resultAt), success)
	if s := string(g.bytes(dataAt, g.u32(resultAt))); s != "a-long" {
		t.Errorf("readlink cut to %q", s)
	}
	check(g.at("path_readlink", "long", dataAt, 0, resultAt), errInval)
	check(g.at("path_readlink", "long", memSize-1, 10, resultAt), errFault)
	check(g.at("path_readlink", "g", dataAt, 10, resultAt), errInval)
	check(g.at("path_readlink", "/", dataAt, 10, resultAt), errInval)

	names, err := os.ReadDir(dir)
	must(t, err)
	var got []string
	for _, d := range names {
		got = append(got, d.Name())
	}
	if want := []string{"d", "g", "hard", "long", "soft"}; !slices.Equal(got, want) {
		t.Errorf("the host sees %q, want %q", got, want)
	}
}

func TestRelativeToDirectory(t *testing.T) {
	g, _ := dirGuest(t)
	g.at("path_create_directory", "a")
	g.at("path_create_directory", "a/b")
	g.writeFile("a/b/f", "deep")
	g.writeFile("f", "top")
	dir := g.open("a/b", openDirectory, readOnly)
	for path, want := range map[string]string{"f": "deep", "./f": "deep", "../../f": "top", "../../../../f": "top", "/f": "top"} {
		fd, e := g.openAt(dir, path, 0, readOnly, 0)
		if e != success {
			t.Errorf("%s: %d", path, e)
			continue
		}
		if s := g.read(fd, 9); s != want {
			t.Errorf("%s: %q, want %q", path, s, want)
		}
		g.want(success, "fd_close", fd)
	}
	fd := g.open("f", 0, readOnly)
	if _, e := g.openAt(fd, "f", 0, readOnly, 0); e != errNotdir {
		t.Errorf("relative to a file: %d", e)
	}
	if _, e := g.openAt(99, "f", 0, readOnly, 0); e != errBadf {
		t.Errorf("relative to nothing: %d", e)
	}
	g.want(errIsdir, "fd_read", dir, iovAt, 1, resultAt)
	g.want(errBadf, "fd_write", dir, iovAt, 1, resultAt)
	g.want(errIsdir, "fd_seek", dir, 0, 0, resultAt)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
