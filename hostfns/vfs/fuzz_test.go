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
	ref, fsys := newModel(), view(m)
	var open []openPair
	atMark := map[string]string{}
	next := func() int {
		if len(program) == 0 {
			return 0
		}
		b := program[0]
		program = program[1:]
		return int(b)
	}
	names := []string{"a", "b", "c", "d"}
	path := func() string {
		p := names[next()%4]
		for next()%3 == 0 && len(p) < 20 {
			p += "/" + names[next()%4]
		}
		return p
	}
	targets := []string{"a", "b/c", "../a", "/d", "c", "../../b", "/a/b", "."}
	for step := 0; len(program) > 0; step++ {
		op := next() % 16
		var got, want sys.Errno
		what := ""
		switch op {
		case 0, 1:
			p := path()
			what = "mkdir " + p
			got, want = fsys.Mkdir(p, 0o755), ref.create(p, 1<<31, "")
		case 2, 3, 4:
			p, excl := path(), next()%4 == 0
			what = fmt.Sprint("open ", p, excl)
			flag := sys.O_RDWR | sys.O_CREAT
			if excl {
				flag |= sys.O_EXCL
			}
			var pair openPair
			pair.f, got = fsys.OpenFile(p, flag, 0o644)
			pair.n, want = ref.open(p, true, excl)
			if got == 0 && want == 0 {
				open = append(open, pair)
			}
		case 5, 6:
			if len(open) == 0 {
				continue
			}
			o := open[next()%len(open)]
			data, off := bytes.Repeat([]byte{byte(step + 1)}, next()*next()), next()*next()*5
			what = fmt.Sprint("write ", len(data), " at ", off)
			_, got = o.f.Pwrite(data, int64(off))
			o.n.write(data, off)
		case 7:
			if len(open) == 0 {
				continue
			}
			o, size := open[next()%len(open)], next()*next()*3
			what = fmt.Sprint("truncate ", size)
			got = o.f.Truncate(int64(size))
			o.n.truncate(size)
		case 8:
			if len(open) == 0 {
				continue
			}
			i := next() % len(open)
			compareOpen(t, open[i])
			open[i].f.Close()
			open = slices.Delete(open, i, i+1)
		case 9:
			p := path()
			what = "unlink " + p
			got, want = fsys.Unlink(p), ref.remove(p, false)
		case 10:
			p := path()
			what = "rmdir " + p
			got, want = fsys.Rmdir(p), ref.remove(p, true)
		case 11, 12:
			a, b := path(), path()
			what = "rename " + a + " " + b
			got, want = fsys.Rename(a, b), ref.rename(a, b)
		case 13:
			a, b := path(), path()
			what = "link " + a + " " + b
			got, want = fsys.Link(a, b), ref.link(a, b)
		case 14:
			target, p := targets[next()%len(targets)], path()
			what = "symlink " + target + " " + p
			got, want = fsys.Symlink(target, p), ref.create(p, 1<<27, target)
		case 15:
			if next()%4 == 0 { // go on with a clone; the old one must not change
				for _, o := range open {
					compareOpen(t, o)
					o.f.Close()
				}
				open = nil
				old, frozen := m, memorySnapshot(t, m)
				m = m.Clone()
				fsys = view(m)
				m.Mark()
				atMark = frozen
				defer func() {
					if !maps.Equal(memorySnapshot(t, old), frozen) {
						t.Errorf("the original changed with its clone")
					}
				}()
				continue
			}
			p := path()
			what = "stat " + p
			_, got = fsys.Stat(p)
			var n *mnode
			if _, _, n, want = ref.find(p, true); want == 0 && n == nil {
				want = sys.ENOENT
			}
		}
		twoPaths := op >= 11 && op <= 13
		if got != want && !(lenient && twoPaths && got != 0 && want != 0) {
			t.Fatalf("step %d: %s: got %v, want %v", step, what, got, want)
		}
	}
	for _, o := range open {
		compareOpen(t, o)
		o.f.Close()
	}
	now := memorySnapshot(t, m)
	if want := ref.snapshot(); !maps.Equal(now, want) {
		t.Fatalf("got %.500v\nwant %.500v", now, want)
	}
	if err := m.CheckInvariants(0, 0); err != nil {
		t.Fatal(err)
	}
	compareChanges(t, m, atMark, now)
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
