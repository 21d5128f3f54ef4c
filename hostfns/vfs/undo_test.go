package vfs_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

func TestRollbackOpenFiles(t *testing.T) {
	m := vfs.New(nil)
	must(t, m.WriteFile("kept", []byte("old"), 0o644))
	must(t, m.WriteFile("orphan", []byte("orphan"), 0o644))
	kept, orphan, closed := mustOpen(t, m, "kept", sys.O_RDWR), mustOpen(t, m, "orphan", sys.O_RDWR), mustOpen(t, m, "orphan", sys.O_RDWR)
	mustErrno(t, m.Unlink("orphan"), 0)
	number := ino(t, orphan)
	before := dump(t, m)
	m.Checkpoint()

	made := mustOpen(t, m, "made", sys.O_RDWR|sys.O_CREAT)
	kept.Pwrite([]byte("new and longer"), 0)
	orphan.Truncate(0)
	mustErrno(t, closed.Close(), 0)
	mustErrno(t, orphan.Close(), 0)
	mustErrno(t, m.Rename("made", "kept"), 0)
	m.Rollback()

	if got := dump(t, m); got != before {
		t.Fatalf("%s\nwant\n%s", got, before)
	}
	buf := make([]byte, 100)
	if n, errno := kept.Pread(buf, 0); errno != 0 || string(buf[:n]) != "old" {
		t.Fatal(string(buf[:n]), errno)
	}
	if _, errno := made.Write([]byte("x")); errno != vfs.ESTALE {
		t.Fatal(errno)
	}
	mustErrno(t, made.Close(), 0)
	back, errno := m.OpenInode(number, sys.O_RDWR)
	mustErrno(t, errno, 0)
	if n, errno := back.Read(buf); errno != 0 || string(buf[:n]) != "orphan" {
		t.Fatal(string(buf[:n]), errno)
	}
	m.DropOrphans() // it is open
	must(t, m.CheckInvariants(512, 1))
	mustErrno(t, back.Close(), 0)
	must(t, m.CheckInvariants(0, 0))
	if _, errno = m.OpenInode(number, sys.O_RDONLY); errno != vfs.ESTALE {
		t.Fatal(errno)
	}
	m.Rollback() // again: it is back
	must(t, m.CheckInvariants(512, 1))
	m.DropOrphans()
	must(t, m.CheckInvariants(0, 0))
}

func TestRollbackKeepsCursor(t *testing.T) {
	m := vfs.New(nil)
	for i := range 30 {
		must(t, m.WriteFile(fmt.Sprintf("f%02d", i), nil, 0o644))
	}
	dir := mustOpen(t, m, ".", sys.O_RDONLY)
	first, _ := dir.Readdir(10)
	m.Checkpoint()
	for i := range 28 { // the table is compacted
		must(t, m.Remove(fmt.Sprintf("f%02d", i)))
	}
	must(t, m.WriteFile("new", nil, 0o644))
	m.Rollback()
	rest, _ := dir.Readdir(-1)
	if len(first) != 10 || len(rest) != 20 || rest[0].Name != "f10" || rest[19].Name != "f29" {
		t.Fatal(len(first), rest)
	}
	must(t, m.CheckState())
}

// What a guest does over and over between two checkpoints must not fill the host's memory.
func TestLayersAreBounded(t *testing.T) {
	m := vfs.New(nil)
	must(t, m.WriteFile("a", nil, 0o644))
	must(t, m.MkdirAll("d", 0o755))
	m.Checkpoint()
	for i := range 10_000 {
		must(t, m.WriteFile(fmt.Sprint("d/tmp", i), nil, 0o644))
		must(t, m.Remove(fmt.Sprint("d/tmp", i)))
		mustErrno(t, m.Rename("a", fmt.Sprint("d/b", i)), 0)
		mustErrno(t, m.Rename(fmt.Sprint("d/b", i), "a"), 0)
	}
	if layers, nodes, names := m.LayerSize(); layers != 1 || nodes > 3 || names > 1 {
		t.Fatal(layers, nodes, names)
	}
	s := newStored(vfs.Options{})
	must(t, s.WriteFile("a", nil, 0o644))
	s.commit(t)
	for i := range 1000 { // steps that are not committed
		s.Checkpoint()
		must(t, s.WriteFile(fmt.Sprint("tmp", i), nil, 0o644))
		s.Checkpoint()
		must(t, s.Remove(fmt.Sprint("tmp", i)))
	}
	if layers, nodes, names := s.LayerSize(); layers > 2 || nodes > 4 || names > 2 {
		t.Fatal(layers, nodes, names)
	}
}

func TestRollbackChanges(t *testing.T) {
	m := vfs.New(nil)
	must(t, m.WriteFile("a", []byte("1"), 0o644))
	m.Mark()
	must(t, m.WriteFile("b", []byte("1"), 0o644))
	m.Checkpoint()
	must(t, m.WriteFile("a", []byte("2"), 0o644))
	must(t, m.Remove("b"))
	must(t, m.WriteFile("c", []byte("2"), 0o644))
	m.Rollback()
	if c := m.Changes(); len(c) != 1 || c[0].Path != "b" || c[0].Op != vfs.Created {
		t.Fatal(c)
	}
	must(t, m.WriteFile("a", []byte("3"), 0o644))
	if c := m.Changes(); len(c) != 2 {
		t.Fatal(c)
	}
	m.Checkpoint()
	must(t, m.WriteFile("d", nil, 0o644))
	m.Mark()
	must(t, m.WriteFile("e", nil, 0o644))
	m.Rollback()
	if c := m.Changes(); len(c) != 0 {
		t.Fatal(c)
	}
}

func TestRollbackWithoutCheckpoint(t *testing.T) {
	m := vfs.New(nil)
	must(t, m.WriteFile("a", bytes.Repeat([]byte("x"), 100), 0o644))
	m.Rollback()
	if _, err := m.StatFile("a"); err != nil {
		t.Fatal(err)
	}
}

func TestAudit(t *testing.T) {
	var got []string
	m := vfs.New(&vfs.Options{Audit: func(o vfs.Operation) {
		got = append(got, fmt.Sprintf("%s %s %s %d %d+%d %v", o.Op, o.Path, o.To, o.Ino, o.Offset, o.Length, o.Errno == 0))
	}})
	f := mustOpen(t, m, "a", sys.O_RDWR|sys.O_CREAT)
	f.Write([]byte("hello"))
	f.Write([]byte("world"))
	f.Pread(make([]byte, 100), 3)
	f.Truncate(7)
	f.Close()
	m.Mkdir("d", 0o755)
	m.Rename("a", "d/b")
	m.Rename("no", "d/b")
	m.Symlink("d", "l")
	m.Unlink("l")
	must(t, m.WriteFile("w", []byte("abc"), 0o644))
	must(t, m.Remove("d"))
	want := []string{
		"create a  2 0+0 true", "write   2 0+5 true", "write   2 5+5 true", "read   2 3+7 true", "truncate   2 0+7 true",
		"close   2 0+0 true", "mkdir d  0 0+0 true", "rename a d/b 0 0+0 true", "rename no d/b 0 0+0 false",
		"symlink l d 0 0+0 true", "unlink l  0 0+0 true", "write w  0 0+3 true", "remove d  0 0+0 true",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("got\n%q\nwant\n%q", got, want)
	}
}

func TestRollbackLinks(t *testing.T) {
	m := vfs.New(nil)
	must(t, m.WriteFile("a", []byte("x"), 0o644))
	for _, name := range []string{"b", "c", "d"} {
		mustErrno(t, m.Link("a", name), 0)
	}
	m.Checkpoint()
	for _, order := range []string{"abcd", "dcba", "cbda", "badc"} {
		for i := range order {
			must(t, m.Remove(order[i:i+1]))
		}
		m.Rollback()
		must(t, m.CheckState())
	}
}

func TestOpenInodeAfterRollback(t *testing.T) {
	m := vfs.New(nil)
	m.Checkpoint()
	must(t, m.WriteFile("a", []byte("x"), 0o644))
	i, err := m.StatFile("a")
	must(t, err)
	f, errno := m.OpenInode(i.Ino, sys.O_RDONLY)
	mustErrno(t, errno, 0)
	m.Rollback()
	if _, errno = m.OpenInode(i.Ino, sys.O_RDONLY); errno != vfs.ESTALE {
		t.Fatal(errno)
	}
	f.Close()
	must(t, m.CheckInvariants(0, 0))
	must(t, m.MkdirAll("d", 0o755))
	mustErrno(t, m.Symlink("d", "l"), 0)
	for name, want := range map[string]sys.Errno{"d": sys.EISDIR, "l": sys.ELOOP} {
		st, _ := m.Lstat(name)
		if _, errno = m.OpenInode(st.Ino, sys.O_RDWR); errno != want {
			t.Errorf("%s: %v", name, errno)
		}
	}
}

func TestTreeOpenInode(t *testing.T) {
	root, work := vfs.New(nil), vfs.New(nil)
	must(t, root.MkdirAll("mnt/sub", 0o755))
	must(t, work.WriteFile("f", []byte("x"), 0o644))
	tree := vfs.NewTree(root)
	mustMount(t, tree, "/mnt/work", work)
	mustMount(t, tree, "/dev", vfs.Devices(nil))
	for path, want := range map[string]string{".": "[dev mnt]", "mnt": "[sub work]", "mnt/sub": "[]", "mnt/work": "[f]"} {
		st, errno := tree.Stat(path)
		mustErrno(t, errno, 0)
		f, errno := tree.OpenInode(st.Dev, st.Ino, sys.O_RDONLY)
		mustErrno(t, errno, 0)
		entries, errno := f.Readdir(-1)
		mustErrno(t, errno, 0)
		names := []string{}
		for _, e := range entries {
			names = append(names, e.Name)
		}
		if again, _ := f.Stat(); fmt.Sprint(names) != want || again.Dev != st.Dev || again.Ino != st.Ino {
			t.Errorf("%s: %s", path, names)
		}
		f.Close()
	}
	st, _ := tree.Stat("dev/null")
	_, errno := tree.OpenInode(st.Dev, st.Ino, sys.O_RDONLY)
	mustErrno(t, errno, sys.ENOTSUP)
	_, errno = tree.OpenInode(99, 1, sys.O_RDONLY)
	mustErrno(t, errno, vfs.ESTALE)
}
