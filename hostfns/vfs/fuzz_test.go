package vfs_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// FuzzMemory runs random operations on a Memory, directly and through a Tree
// that resolves links by itself, and on the model, and compares every result
// code and the trees.
func FuzzMemory(f *testing.F) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 0))
		b := make([]byte, 600)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 4000 {
			return
		}
		m := vfs.New(nil)
		m.Mark()
		runProgram(t, m, false, program)
		runProgram(t, vfs.New(nil), true, program)
	})
}

func TestRandomPrograms(t *testing.T) {
	n := 200
	if testing.Short() {
		n = 50
	}
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 99))
		program := make([]byte, 2000)
		for i := range program {
			program[i] = byte(r.Uint32())
		}
		m := vfs.New(nil)
		m.Mark()
		runProgram(t, m, false, program)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

type openPair struct {
	f sys.File
	n *mnode
}

// machine runs a program on a file system and on the model, and compares.
type machine struct {
	*testing.T
	m       *vfs.FS
	fsys    sys.FS // m, or a view of it
	ref     *model
	open    []openPair
	program []byte
	step    int
	lenient bool // a call with two paths may report either one's error
}

func (x *machine) next() int {
	if len(x.program) == 0 {
		return 0
	}
	b := x.program[0]
	x.program = x.program[1:]
	return int(b)
}

func (x *machine) path() string {
	names := []string{"a", "b", "c", "d"}
	p := names[x.next()%4]
	for x.next()%3 == 0 && len(p) < 20 {
		p += "/" + names[x.next()%4]
	}
	return p
}

// do runs one operation.
func (x *machine) do(op int) {
	x.Helper()
	targets := []string{"a", "b/c", "../a", "/d", "c", "../../b", "/a/b", "."}
	fsys, ref := x.fsys, x.ref
	var got, want sys.Errno
	what := ""
	switch op {
	case 0, 1:
		p := x.path()
		what = "mkdir " + p
		got, want = fsys.Mkdir(p, 0o755), ref.create(p, 1<<31, "")
	case 2, 3, 4:
		p, excl := x.path(), x.next()%4 == 0
		what = fmt.Sprint("open ", p, excl)
		flag := sys.O_RDWR | sys.O_CREAT
		if excl {
			flag |= sys.O_EXCL
		}
		var pair openPair
		pair.f, got = fsys.OpenFile(p, flag, 0o644)
		pair.n, want = ref.open(p, true, excl)
		if got == 0 && want == 0 {
			x.open = append(x.open, pair)
		}
	case 5, 6:
		if len(x.open) == 0 {
			return
		}
		o := x.open[x.next()%len(x.open)]
		data, off := bytes.Repeat([]byte{byte(x.step + 1)}, x.next()*x.next()), x.next()*x.next()*3
		what = fmt.Sprint("write ", len(data), " at ", off)
		_, got = o.f.Pwrite(data, int64(off))
		o.n.write(data, off)
	case 7:
		if len(x.open) == 0 {
			return
		}
		o, size := x.open[x.next()%len(x.open)], x.next()*x.next()*3
		what = fmt.Sprint("truncate ", size)
		got = o.f.Truncate(int64(size))
		o.n.truncate(size)
	case 8:
		if len(x.open) == 0 {
			return
		}
		i := x.next() % len(x.open)
		compareOpen(x.T, x.open[i])
		x.open[i].f.Close()
		x.open = slices.Delete(x.open, i, i+1)
	case 9:
		p := x.path()
		what = "unlink " + p
		got, want = fsys.Unlink(p), ref.remove(p, false)
	case 10:
		p := x.path()
		what = "rmdir " + p
		got, want = fsys.Rmdir(p), ref.remove(p, true)
	case 11, 12:
		a, b := x.path(), x.path()
		what = "rename " + a + " " + b
		got, want = fsys.Rename(a, b), ref.rename(a, b)
	case 13:
		a, b := x.path(), x.path()
		what = "link " + a + " " + b
		got, want = fsys.Link(a, b), ref.link(a, b)
	case 14:
		target, p := targets[x.next()%len(targets)], x.path()
		what = "symlink " + target + " " + p
		got, want = fsys.Symlink(target, p), ref.create(p, 1<<27, target)
	case 15:
		p := x.path()
		what = "stat " + p
		_, got = fsys.Stat(p)
		var n *mnode
		if _, _, n, want = ref.find(p, true); want == 0 && n == nil {
			want = sys.ENOENT
		}
	}
	twoPaths := op >= 11 && op <= 13
	if got != want && !(x.lenient && twoPaths && got != 0 && want != 0) {
		x.Fatalf("step %d: %s: got %v, want %v", x.step, what, got, want)
	}
}

// closeAll compares and closes all files.
func (x *machine) closeAll() {
	x.Helper()
	for _, o := range x.open {
		compareOpen(x.T, o)
		o.f.Close()
	}
	x.open = nil
}

// compare compares the trees.
func (x *machine) compare() map[string]string {
	x.Helper()
	now := memorySnapshot(x.T, x.m)
	if want := x.ref.snapshot(); !maps.Equal(now, want) {
		x.Fatalf("step %d: got %.500v\nwant %.500v", x.step, now, want)
	}
	return now
}

// runProgram compares codes exactly, except that with lenient a call with two
// paths may report either one's error: a tree resolves both before it acts.
func runProgram(t *testing.T, m *vfs.FS, lenient bool, program []byte) {
	t.Helper()
	view := func(m *vfs.FS) sys.FS {
		if lenient {
			return vfs.NewTree(opaque{m})
		}
		return m
	}
	x := &machine{T: t, m: m, fsys: view(m), ref: newModel(), program: program, lenient: lenient}
	atMark := map[string]string{}
	for ; len(x.program) > 0; x.step++ {
		op := x.next() % 16
		if op != 15 || x.next()%4 != 0 {
			x.do(op)
			continue
		}
		// Go on with a clone; the old one must not change.
		x.closeAll()
		old, frozen := x.m, memorySnapshot(t, x.m)
		x.m = old.Clone()
		x.fsys = view(x.m)
		x.m.Mark()
		atMark = frozen
		defer func() {
			if !maps.Equal(memorySnapshot(t, old), frozen) {
				t.Errorf("the original changed with its clone")
			}
		}()
	}
	x.closeAll()
	now := x.compare()
	if err := x.m.CheckInvariants(0, 0); err != nil {
		t.Fatal(err)
	}
	compareChanges(t, x.m, atMark, now)
}

func compareOpen(t *testing.T, o openPair) {
	t.Helper()
	buf := make([]byte, len(o.n.data)+10)
	n, errno := o.f.Pread(buf, 0)
	if errno != 0 || !bytes.Equal(buf[:n], o.n.data) {
		t.Fatalf("open file: %v, %d bytes, want %d", errno, n, len(o.n.data))
	}
	if st, _ := o.f.Stat(); st.Nlink != uint64(o.n.links) {
		t.Fatalf("open file: nlink %d, want %d", st.Nlink, o.n.links)
	}
}

func memorySnapshot(t *testing.T, m *vfs.FS) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := m.WalkDir(".", func(i vfs.Info) error {
		switch {
		case i.Path == ".":
		case i.IsDir():
			out[i.Path] = "dir"
		case i.Target != "":
			out[i.Path] = "link " + i.Target
		default:
			data, err := m.ReadFile(i.Path)
			if err != nil {
				return err
			}
			out[i.Path] = "file " + string(data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// compareChanges checks the change log against two snapshots. The log may call
// a file modified whose content is the same again.
func compareChanges(t *testing.T, m *vfs.FS, before, now map[string]string) {
	t.Helper()
	if m.Changes() == nil && len(before) == 0 {
		return // no mark
	}
	got := map[string]vfs.Op{}
	for _, c := range m.Changes() {
		got[c.Path] = c.Op
		_, was := before[c.Path]
		_, is := now[c.Path]
		if want := map[[2]bool]vfs.Op{{false, true}: vfs.Created, {true, false}: vfs.Deleted, {true, true}: vfs.Modified}[[2]bool{was, is}]; c.Op != want {
			t.Errorf("%s: logged as %s, is %q", c.Path, c.Op, want)
		}
	}
	for p := range before {
		if _, ok := got[p]; !ok && before[p] != now[p] {
			t.Errorf("%s: change is not logged", p)
		}
	}
	for p := range now {
		if _, ok := got[p]; !ok && before[p] != now[p] {
			t.Errorf("%s: change is not logged", p)
		}
	}
}
