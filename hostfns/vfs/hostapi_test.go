package vfs_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

func sample(t testing.TB) *vfs.FS {
	m := vfs.New(nil)
	must(t, m.MkdirAll("/a/b", 0o755))
	must(t, m.WriteFile("a/b/one", []byte("1"), 0o755))
	must(t, m.WriteFile("a/two", bytes.Repeat([]byte("2"), 70_000), 0o600))
	must(t, m.WriteFile("three", nil, 0o644))
	mustErrno(t, m.Symlink("../a/two", "a/link"), 0)
	mustErrno(t, m.Link("a/two", "a/zhard"), 0)
	return m
}

func TestHostAPI(t *testing.T) {
	m := sample(t)
	must(t, m.MkdirAll("a/b", 0o755))
	if err := m.MkdirAll("three/x", 0o755); vfs.ErrnoOf(err) != sys.ENOTDIR {
		t.Fatal(err)
	}
	if err := m.MkdirAll("three", 0o755); vfs.ErrnoOf(err) != sys.ENOTDIR {
		t.Fatal(err)
	}
	if _, err := m.ReadFile("a"); vfs.ErrnoOf(err) != sys.EISDIR {
		t.Fatal(err)
	}
	i, err := m.StatFile("/a/link")
	if err != nil || i.Size != 70_000 || i.Mode != 0o600 || i.Path != "a/link" {
		t.Fatal(i, err)
	}
	list, err := m.List("a")
	must(t, err)
	var names []string
	for _, i := range list {
		names = append(names, i.Path)
	}
	if !slices.Equal(names, []string{"a/b", "a/link", "a/two", "a/zhard"}) || list[1].Target != "../a/two" {
		t.Fatal(names)
	}
	if _, err = m.List("three"); vfs.ErrnoOf(err) != sys.ENOTDIR {
		t.Fatal(err)
	}
	var walked []string
	must(t, m.WalkDir("/", func(i vfs.Info) error {
		walked = append(walked, i.Path)
		if i.Path == "a/b" {
			return fs.SkipDir
		}
		return nil
	}))
	if got := strings.Join(walked, " "); got != ". a a/b a/link a/two a/zhard three" {
		t.Fatal(got)
	}
	stop := errors.New("stop")
	if err := m.WalkDir("a", func(vfs.Info) error { return stop }); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	must(t, m.Remove("a/b/../b"))
	if err := m.Remove("a/b"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	must(t, m.Remove("."))
	if u := m.Usage(); u.Bytes != 0 || u.Files != 0 {
		t.Fatalf("%+v", u)
	}
}

func TestTarRoundTrip(t *testing.T) {
	m := sample(t)
	var first bytes.Buffer
	must(t, m.ExportTar(&first, "/", 0))
	back := vfs.New(nil)
	stats, err := back.ImportTar("in/here", bytes.NewReader(first.Bytes()))
	must(t, err)
	if stats.Files != 7 || stats.Bytes != 70_001 {
		t.Fatalf("%+v", stats)
	}
	var second bytes.Buffer
	must(t, back.ExportTar(&second, "in/here", 0))
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Fatal("the second export differs") // times of directories and links included
	}
	st, _ := back.Stat("in/here/a/zhard")
	if st.Nlink != 2 {
		t.Fatalf("%+v", st)
	}
	// Again over what is there.
	_, err = back.ImportTar("in/here", bytes.NewReader(first.Bytes()))
	must(t, err)
	must(t, back.CheckInvariants(0, 0))
	if err := m.ExportTar(&second, "a", 1000); !errors.Is(err, vfs.EFBIG) {
		t.Fatal(err)
	}
	second.Reset()
	must(t, m.ExportTar(&second, "a/b/one", 0))
	h, err := tar.NewReader(&second).Next()
	if err != nil || h.Name != "one" || h.Mode != 0o755 {
		t.Fatal(h, err)
	}
}

func tarOf(t *testing.T, headers ...tar.Header) *bytes.Buffer {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range headers {
		if h.Typeflag == tar.TypeReg {
			h.Size = 1
		}
		h.Mode = 0o644
		must(t, w.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg {
			w.Write([]byte("x"))
		}
	}
	must(t, w.Close())
	return &buf
}

func TestTarIsHostile(t *testing.T) {
	for name, headers := range map[string][]tar.Header{
		"dotdot":       {{Name: "../x", Typeflag: tar.TypeReg}},
		"dotdot in":    {{Name: "a/../../x", Typeflag: tar.TypeReg}},
		"through link": {{Name: "l", Linkname: "/", Typeflag: tar.TypeSymlink}, {Name: "l/x", Typeflag: tar.TypeReg}},
		"hard link":    {{Name: "h", Linkname: "../secret", Typeflag: tar.TypeLink}},
		"link to link": {{Name: "l", Linkname: "/", Typeflag: tar.TypeSymlink}, {Name: "h", Linkname: "l/secret", Typeflag: tar.TypeLink}},
	} {
		m := vfs.New(nil)
		must(t, m.WriteFile("secret", []byte("s"), 0o600))
		if _, err := m.ImportTar("dst", tarOf(t, headers...)); !errors.Is(err, vfs.ErrUnsafeTar) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := m.StatFile("x"); err == nil {
			t.Errorf("%s: escaped", name)
		}
	}
	// A file over a link replaces the link and does not write through it.
	m := vfs.New(nil)
	must(t, m.WriteFile("secret", []byte("s"), 0o600))
	stats, err := m.ImportTar("dst", tarOf(t,
		tar.Header{Name: "l", Linkname: "/secret", Typeflag: tar.TypeSymlink},
		tar.Header{Name: "l", Typeflag: tar.TypeReg},
		tar.Header{Name: "/abs", Typeflag: tar.TypeReg},
		tar.Header{Name: "fifo", Typeflag: tar.TypeFifo}))
	must(t, err)
	if data, _ := m.ReadFile("secret"); string(data) != "s" || stats.Skipped != 1 {
		t.Fatal(string(data), stats)
	}
	if data, _ := m.ReadFile("dst/abs"); string(data) != "x" {
		t.Fatal("an absolute name is relative to dst")
	}
	small := vfs.New(&vfs.Options{MaxFiles: 3})
	var many []tar.Header
	for i := range 5 {
		many = append(many, tar.Header{Name: fmt.Sprint(i), Typeflag: tar.TypeReg})
	}
	if _, err := small.ImportTar("/", tarOf(t, many...)); !errors.Is(err, vfs.ENOSPC) {
		t.Fatal(err)
	}
	if _, err := small.ImportTar("/", strings.NewReader("no tar at all")); err == nil {
		t.Fatal("garbage was taken")
	}
}

func TestImportDir(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(outside, []byte("secret"), 0o600))
	must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "sub", "f"), bytes.Repeat([]byte("f"), 100_000), 0o755))
	must(t, os.Symlink(outside, filepath.Join(dir, "out")))
	m := vfs.New(nil)
	stats, err := m.ImportDir("/work", dir)
	must(t, err)
	if stats != (vfs.ImportStats{Files: 3, Bytes: 100_000}) {
		t.Fatalf("%+v", stats)
	}
	if i, err := m.StatFile("work/sub/f"); err != nil || i.Mode != 0o755 || i.Size != 100_000 {
		t.Fatal(i, err)
	}
	if _, err := m.ReadFile("work/out"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	small := vfs.New(&vfs.Options{MaxBytes: 50_000})
	if _, err := small.ImportDir("/", dir); !errors.Is(err, vfs.ENOSPC) {
		t.Fatal(err)
	}
	if _, err := m.ImportDir("/", filepath.Join(dir, "no")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

func TestChanges(t *testing.T) {
	m := sample(t)
	if m.Changes() != nil {
		t.Fatal("changes without a mark")
	}
	m.Mark()
	check := func(want ...string) {
		t.Helper()
		var got []string
		for _, c := range m.Changes() {
			got = append(got, fmt.Sprint(c.Op, " ", c.Path, " ", c.Size))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %q\nwant %q", got, want)
		}
	}
	check()
	must(t, m.WriteFile("tmp", []byte("x"), 0o644))
	must(t, m.Remove("tmp"))
	m.Utimens("three", 1, 2)
	check()
	f := mustOpen(t, m, "a/zhard", sys.O_RDWR) // both names change
	f.Pwrite([]byte("!"), 0)
	must(t, m.WriteFile("new", []byte("12345"), 0o644))
	m.Chmod("three", 0o755)
	check("modified a/two 70000", "modified a/zhard 70000", "created new 5", "modified three 0")
	mustErrno(t, m.Rename("new", "three"), 0)
	mustErrno(t, m.Rename("a/b", "moved"), 0)
	check("deleted a/b 0", "deleted a/b/one 0", "modified a/two 70000", "modified a/zhard 70000",
		"created moved 0", "created moved/one 1", "modified three 5")
	mustErrno(t, m.Rename("moved", "a/b"), 0)
	m.Mark()
	check()
	f.Pwrite([]byte("?"), 0)
	check("modified a/two 70000", "modified a/zhard 70000")
	m.Mark()
	for i := range vfs.MaxChanges + 5 {
		must(t, m.WriteFile(fmt.Sprint("f", i), nil, 0o644))
	}
	if n := len(m.Changes()); n != vfs.MaxChanges || !m.ChangesTruncated() {
		t.Fatal(n, m.ChangesTruncated())
	}
}

func TestRemoveWhileWalking(t *testing.T) {
	m := sample(t)
	must(t, m.WalkDir(".", func(i vfs.Info) error {
		if i.Path != "." {
			return errors.Join(m.Remove(i.Path), nil)
		}
		return nil
	}))
	if u := m.Usage(); u.Files != 0 {
		t.Fatalf("%+v %v", u, maps.Collect(maps.All(memorySnapshot(t, m))))
	}
}

func TestExportDir(t *testing.T) {
	s := newStored(vfs.Options{CacheBytes: 1})
	must(t, s.MkdirAll("a/b", 0o755))
	must(t, s.WriteFile("a/b/one", []byte("1"), 0o755))
	must(t, s.WriteFile("a/two", bytes.Repeat([]byte("2"), 200_000), 0o600))
	mustErrno(t, s.Symlink("../a/two", "a/link"), 0)
	mustErrno(t, s.Symlink("/etc/passwd", "a/out"), 0)
	mustErrno(t, s.Symlink("../../../x", "a/up"), 0)
	mustErrno(t, s.Link("a/two", "a/zhard"), 0)
	mustErrno(t, s.Chmod("a/b", 0o555), 0)
	sparse := mustOpen(t, s, "a/sparse", sys.O_RDWR|sys.O_CREAT)
	sparse.Pwrite([]byte("end"), 1<<20)
	mustErrno(t, s.Utimens("a/b/one", 5e9, 7e9), 0)
	s = s.reopen(t)

	dir := filepath.Join(t.TempDir(), "new")
	stats, err := s.ExportDir("/", dir, false)
	must(t, err)
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "a/b"), 0o755) })
	if stats.Files != 7 || stats.Skipped != 2 || stats.Bytes != 1+200_000+1<<20+3 {
		t.Fatalf("%+v", stats)
	}
	info, err := os.Stat(filepath.Join(dir, "a/b/one"))
	must(t, err)
	if info.Mode().Perm() != 0o755 || info.ModTime().Unix() != 7 {
		t.Fatal(info.Mode(), info.ModTime())
	}
	if info, err = os.Stat(filepath.Join(dir, "a/b")); err != nil || info.Mode().Perm() != 0o555 {
		t.Fatal(info.Mode(), err)
	}
	one, _ := os.Stat(filepath.Join(dir, "a/two"))
	two, _ := os.Stat(filepath.Join(dir, "a/zhard"))
	if !os.SameFile(one, two) {
		t.Fatal("hard links are two files")
	}
	// It comes back as it was.
	back := newStored(vfs.Options{})
	_, err = back.ImportDir("/", dir)
	must(t, err)
	if data, err := back.ReadFile("a/link"); err != nil || len(data) != 200_000 {
		t.Fatal(len(data), err)
	}

	if _, err = s.ExportDir("/", dir, false); !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	// Replacing never writes through what is there.
	outside := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(outside, []byte("secret"), 0o600))
	must(t, os.Remove(filepath.Join(dir, "a/two")))
	must(t, os.Symlink(outside, filepath.Join(dir, "a/two")))
	_, err = s.ExportDir("/", dir, true)
	must(t, err)
	if data, _ := os.ReadFile(outside); string(data) != "secret" {
		t.Fatal("a file outside was written")
	}
	// A directory that is a link on the host is not followed.
	other := t.TempDir()
	must(t, os.Symlink(outside, filepath.Join(other, "a")))
	if _, err = s.ExportDir("/", other, true); !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	if _, err = s.ExportDir("a/b/one", other, false); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(filepath.Join(other, "one")); string(data) != "1" {
		t.Fatal(string(data))
	}
	if _, err = s.ExportDir("no", other, false); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	huge := vfs.New(&vfs.Options{MaxBytes: 1 << 20})
	mustErrno(t, mustOpen(t, huge, "a", sys.O_RDWR|sys.O_CREAT).Truncate(1<<40), 0)
	if _, err = huge.ExportDir("/", t.TempDir(), false); !errors.Is(err, vfs.EFBIG) {
		t.Fatal(err)
	}
}
