package vfs_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

func listTree(t *testing.T, fsys sys.FS, dir string, batch int) []string {
	t.Helper()
	f := mustOpen(t, fsys, dir, sys.O_RDONLY|sys.O_DIRECTORY)
	var names []string
	for {
		entries, errno := f.Readdir(batch)
		mustErrno(t, errno, 0)
		for _, e := range entries {
			names = append(names, e.Name)
			st, errno := fsys.Lstat(dir + "/" + e.Name)
			if errno != 0 || st.Ino != e.Ino || st.Mode.Type() != e.Type {
				t.Fatalf("%s: %v, entry %+v, stat %+v", e.Name, errno, e, st)
			}
		}
		if batch <= 0 || len(entries) < batch {
			slices.Sort(names)
			return names
		}
	}
}

func content(t *testing.T, fsys sys.FS, name string) string {
	t.Helper()
	buf := make([]byte, 1000)
	n, errno := mustOpen(t, fsys, name, sys.O_RDONLY).Read(buf)
	mustErrno(t, errno, 0)
	return string(buf[:n])
}

// guestTree is a tree as a sandbox has it.
func guestTree(t *testing.T) (tree *vfs.Tree, root, work, tmp *vfs.FS) {
	root, work, tmp = vfs.New(nil), vfs.New(nil), vfs.New(nil)
	tree = vfs.NewTree(root)
	must(t, root.MkdirAll("etc", 0o755))
	must(t, root.WriteFile("etc/hosts", []byte("hosts"), 0o644))
	must(t, root.MkdirAll("workspace", 0o755))
	must(t, root.WriteFile("workspace/hidden", nil, 0o644))
	must(t, tree.Mount("/workspace", work))
	must(t, tree.Mount("/tmp", tmp))
	must(t, tree.Mount("/mnt/a/data", vfs.FromFS(fstest.MapFS{"x/y": {Data: []byte("xy")}, "z": {Data: []byte("z")}})))
	return
}

func TestTreeListing(t *testing.T) {
	tree, _, _, _ := guestTree(t)
	for _, batch := range []int{0, 1, 2, 3, 100} {
		if got := listTree(t, tree, ".", batch); !slices.Equal(got, []string{"etc", "mnt", "tmp", "workspace"}) {
			t.Fatalf("batch %d: %q", batch, got)
		}
		if got := listTree(t, tree, "mnt/a", batch); !slices.Equal(got, []string{"data"}) {
			t.Fatal(got)
		}
	}
	if got := listTree(t, tree, "mnt/a/data", 1); !slices.Equal(got, []string{"x", "z"}) {
		t.Fatal(got)
	}
	if got := listTree(t, tree, "workspace", 0); len(got) != 0 {
		t.Fatalf("what is below a mount shows: %q", got)
	}
	d := mustOpen(t, tree, ".", sys.O_RDONLY)
	d.Readdir(-1)
	if _, errno := d.Seek(0, 0); errno != 0 {
		t.Fatal(errno)
	}
	if entries, _ := d.Readdir(-1); len(entries) != 4 {
		t.Fatal(entries)
	}
	if got := tree.Mounts(); !slices.Equal(got, []string{"/", "/mnt/a/data", "/tmp", "/workspace"}) {
		t.Fatal(got)
	}
}

func TestTreeDevices(t *testing.T) {
	tree, _, work, tmp := guestTree(t)
	must(t, work.WriteFile("f", nil, 0o644))
	must(t, tmp.WriteFile("f", nil, 0o644))
	a, _ := tree.Stat("workspace/f")
	b, _ := tree.Stat("tmp/f")
	st, _ := mustOpen(t, tree, "tmp/f", sys.O_RDONLY).Stat()
	if a.Dev == b.Dev || a.Ino != b.Ino || st != b {
		t.Fatalf("%+v %+v %+v", a, b, st)
	}
}

func TestTreeMountPointsStay(t *testing.T) {
	tree, _, _, _ := guestTree(t)
	for _, p := range []string{"workspace", "tmp", "mnt", "mnt/a", "mnt/a/data", "."} {
		mustErrno(t, tree.Rmdir(p), vfs.EBUSY)
		mustErrno(t, tree.Unlink(p), sys.EISDIR)
		mustErrno(t, tree.Rename(p, "other"), vfs.EBUSY)
		mustErrno(t, tree.Rename("etc", p), vfs.EBUSY)
		mustErrno(t, tree.Mkdir(p, 0o755), sys.EEXIST)
		mustErrno(t, tree.Symlink("x", p), sys.EEXIST)
		mustErrno(t, tree.Link("etc/hosts", p), sys.EEXIST)
		_, errno := tree.Readlink(p)
		mustErrno(t, errno, sys.EINVAL)
		_, errno = tree.OpenFile(p, sys.O_RDWR, 0)
		mustErrno(t, errno, sys.EISDIR)
		if st, errno := tree.Stat(p); errno != 0 || !st.Mode.IsDir() {
			t.Fatal(p, errno)
		}
	}
	// Nothing can be made where no file system is.
	_, errno := tree.OpenFile("mnt/a/new", sys.O_WRONLY|sys.O_CREAT, 0o644)
	mustErrno(t, errno, sys.EROFS)
	mustErrno(t, tree.Mkdir("mnt/new", 0o755), sys.EROFS)
	mustErrno(t, tree.Symlink("x", "mnt/new"), sys.EROFS)
	mustErrno(t, tree.Rename("etc/hosts", "mnt/new"), sys.EROFS)
	mustErrno(t, tree.Chmod("mnt/a", 0o700), sys.EROFS)
	_, errno = tree.Stat("mnt/new")
	mustErrno(t, errno, sys.ENOENT)
	mustErrno(t, tree.Mkdir("new", 0o755), 0)
}

func TestTreeAcrossMounts(t *testing.T) {
	tree, _, work, _ := guestTree(t)
	must(t, work.WriteFile("f", []byte("f"), 0o644))
	mustErrno(t, tree.Rename("workspace/f", "tmp/f"), vfs.EXDEV)
	mustErrno(t, tree.Link("workspace/f", "tmp/f"), vfs.EXDEV)
	mustErrno(t, tree.Rename("etc/hosts", "tmp/hosts"), vfs.EXDEV)
	mustErrno(t, tree.Rename("workspace/no", "tmp/f"), sys.ENOENT)
	mustErrno(t, tree.Rename("workspace/f", "workspace/g"), 0)
	mustErrno(t, tree.Mkdir("mnt/a/data/new", 0o755), sys.EROFS)
	if got := content(t, tree, "workspace/../workspace/./g"); got != "f" {
		t.Fatal(got)
	}
}

func TestTreeSymlinks(t *testing.T) {
	tree, root, work, tmp := guestTree(t)
	must(t, work.WriteFile("f", []byte("work"), 0o644))
	must(t, tmp.WriteFile("f", []byte("tmp"), 0o644))
	for name, target := range map[string]string{
		"workspace/abs": "/workspace/f", "workspace/other": "/tmp/f", "workspace/rel": "../tmp/f",
		"workspace/dir": "/tmp", "tmp/back": "../workspace", "ws": "workspace", "workspace/up": "../../../etc/hosts",
		"workspace/data": "/mnt/a/data", "loop": "/tmp/loop", "tmp/loop": "../loop", "etc/ws": "../workspace/abs",
	} {
		mustErrno(t, tree.Symlink(target, name), 0)
	}
	for name, want := range map[string]string{
		"workspace/abs": "work", "workspace/other": "tmp", "workspace/rel": "tmp", "workspace/dir/f": "tmp",
		"tmp/back/f": "work", "tmp/back/dir/back/dir/f": "tmp", "ws/f": "work", "ws/abs": "work",
		"workspace/up": "hosts", "workspace/data/x/y": "xy", "ws/data/z": "z", "etc/ws": "work",
	} {
		if got := content(t, tree, name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	_, errno := tree.Stat("loop")
	mustErrno(t, errno, sys.ELOOP)
	_, errno = tree.OpenFile("workspace/abs", sys.O_RDONLY|sys.O_NOFOLLOW, 0)
	mustErrno(t, errno, sys.ELOOP)
	st, errno := tree.Lstat("ws/abs")
	if errno != 0 || st.Mode.Type() != fs.ModeSymlink {
		t.Fatal(st, errno)
	}
	// What is below a mount cannot be reached by a link either.
	_, errno = tree.Stat("ws/hidden")
	mustErrno(t, errno, sys.ENOENT)
	if _, err := root.StatFile("workspace/hidden"); err != nil {
		t.Fatal(err)
	}
	// Create through a link into another mount.
	mustErrno(t, tree.Symlink("/tmp/made", "workspace/make"), 0)
	f := mustOpen(t, tree, "workspace/make", sys.O_WRONLY|sys.O_CREAT)
	f.Write([]byte("made"))
	if data, err := tmp.ReadFile("made"); err != nil || string(data) != "made" {
		t.Fatal(string(data), err)
	}
	// Renaming and removing act on the link.
	mustErrno(t, tree.Rename("workspace/other", "workspace/other2"), 0)
	mustErrno(t, tree.Unlink("workspace/dir"), 0)
	mustErrno(t, tree.Unlink("ws"), 0)
	if got := content(t, tree, "tmp/f"); got != "tmp" {
		t.Fatal(got)
	}
}

// Links to very deep places, one to the next, must not keep a single call busy for long: nothing can interrupt it.
func TestTreeSymlinkWork(t *testing.T) {
	tree, _, work, _ := guestTree(t)
	deep := strings.Repeat("a/", 1000) // nearly MaxDepth
	must(t, work.MkdirAll(deep, 0o755))
	must(t, work.WriteFile(deep+"f", []byte("deep"), 0o644))
	mustErrno(t, tree.Symlink("/workspace/"+deep+"f", "workspace/0"), 0)
	for i := range 38 {
		mustErrno(t, tree.Symlink(fmt.Sprintf("/workspace/%sl%d", deep, i+1), fmt.Sprintf("workspace/%sl%d", deep, i)), 0)
	}
	if got := content(t, tree, "workspace/0"); got != "deep" {
		t.Fatal(got)
	}
	_, errno := tree.Stat("workspace/" + deep + "l0")
	mustErrno(t, errno, sys.ELOOP)
}

// A mount that masks part of a host-like file system cannot be passed by a link.
func TestTreeMaskHolds(t *testing.T) {
	inner := vfs.New(nil)
	must(t, inner.MkdirAll("private", 0o755))
	must(t, inner.WriteFile("private/key", []byte("key"), 0o600))
	for name, fsys := range map[string]sys.FS{"memory": inner, "opaque": opaque{inner}} {
		tree := vfs.NewTree(vfs.New(nil))
		must(t, tree.Mount("/data/private", vfs.New(nil)))
		must(t, tree.Mount("/data", fsys))
		inner.Unlink("l")
		mustErrno(t, tree.Symlink("private", "data/l"), 0)
		for _, p := range []string{"data/private/key", "data/l/key", "data/l/../private/key"} {
			if _, errno := tree.Stat(p); errno != sys.ENOENT {
				t.Errorf("%s: %s: %v", name, p, errno)
			}
		}
	}
}

func TestTreeNestedMounts(t *testing.T) {
	outer, in := vfs.New(nil), vfs.New(nil)
	tree := vfs.NewTree(vfs.New(nil))
	must(t, tree.Mount("/a/b/c", in))
	must(t, tree.Mount("/a", outer))
	must(t, in.WriteFile("f", []byte("in"), 0o644))
	must(t, outer.WriteFile("f", []byte("out"), 0o644))
	if content(t, tree, "a/f") != "out" || content(t, tree, "a/b/c/f") != "in" {
		t.Fatal("the longest prefix does not win")
	}
	if got := listTree(t, tree, "a", 1); !slices.Equal(got, []string{"b", "f"}) {
		t.Fatal(got)
	}
	must(t, tree.Mount("/ab", vfs.New(nil)))
	_, errno := tree.Stat("ab/f")
	mustErrno(t, errno, sys.ENOENT)
}

func TestMountValidation(t *testing.T) {
	tree := vfs.NewTree(vfs.New(nil))
	m := vfs.New(nil)
	for _, p := range []string{"", "/", "a", "/a/", "/a//b", "/a/../b", "/./a", "/a\x00"} {
		if err := tree.Mount(p, m); vfs.ErrnoOf(err) != sys.EINVAL {
			t.Errorf("%q: %v", p, err)
		}
	}
	if err := tree.Mount("/a", nil); err == nil {
		t.Error("nil was mounted")
	}
	must(t, tree.Mount("/a", m))
	if err := tree.Mount("/a", m); err == nil {
		t.Error("mounted twice")
	}
}

func TestFromFS(t *testing.T) {
	fsys := vfs.FromFS(fstest.MapFS{"d/f": {Data: []byte("hello")}, "g": {}})
	if got := content(t, fsys, "d/f"); got != "hello" {
		t.Fatal(got)
	}
	if got := listTree(t, fsys, ".", 1); !slices.Equal(got, []string{"d", "g"}) {
		t.Fatal(got)
	}
	f := mustOpen(t, fsys, "d/f", sys.O_RDONLY)
	buf := make([]byte, 3)
	if n, errno := f.Pread(buf, 2); n != 3 || errno != 0 || string(buf) != "llo" {
		t.Fatal(n, errno)
	}
	for p, want := range map[string]sys.Errno{"no": sys.ENOENT, "g/x": sys.ENOTDIR, "": sys.ENOENT, "no/x/y": sys.ENOENT} {
		_, errno := fsys.Stat(p)
		mustErrno(t, errno, want)
	}
	for flag, want := range map[sys.Oflag]sys.Errno{
		sys.O_RDWR: sys.EROFS, sys.O_WRONLY | sys.O_CREAT: sys.EROFS, sys.O_CREAT | sys.O_EXCL | sys.O_RDWR: sys.EEXIST,
		sys.O_DIRECTORY: sys.ENOTDIR,
	} {
		_, errno := fsys.OpenFile("g", flag, 0)
		mustErrno(t, errno, want)
	}
	mustErrno(t, fsys.Mkdir("x", 0o755), sys.EROFS)
	mustErrno(t, fsys.Unlink("g"), sys.EROFS)
}
