package vfs_test

import (
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

var dumpSeed = maphash.MakeSeed()

// dump lists all that a guest can see, times, inode numbers and the order of directories included.
func dump(t testing.TB, m *vfs.FS) string {
	t.Helper()
	var out strings.Builder
	var visit func(p string)
	visit = func(p string) {
		st, errno := m.Lstat(p)
		mustErrno(t, errno, 0)
		fmt.Fprintf(&out, "%s %+v", p, st)
		switch {
		case st.Mode.IsDir():
			out.WriteString("\n")
			f := mustOpen(t, m, p, sys.O_RDONLY)
			entries, errno := f.Readdir(-1)
			mustErrno(t, errno, 0)
			f.Close()
			for _, e := range entries {
				visit(p + "/" + e.Name)
			}
		case st.Mode.IsRegular():
			data, err := m.ReadFile(p)
			must(t, err)
			fmt.Fprintf(&out, " %x\n", maphash.Bytes(dumpSeed, data))
		default:
			target, _ := m.Readlink(p)
			fmt.Fprintf(&out, " %s\n", target)
		}
	}
	visit(".")
	fmt.Fprintf(&out, "%+v\n", m.Usage())
	return out.String()
}

// clone copies the model. The map leads from an old node to its copy.
func (m *model) clone() (*model, map[*mnode]*mnode) {
	copies := map[*mnode]*mnode{}
	var visit func(n *mnode) *mnode
	visit = func(n *mnode) *mnode {
		if c := copies[n]; c != nil {
			return c
		}
		c := &mnode{kind: n.kind, data: append([]byte(nil), n.data...), target: n.target, links: n.links, sub: map[string]*mnode{}}
		copies[n] = c
		for name, s := range n.sub {
			c.sub[name] = visit(s)
		}
		return c
	}
	root := visit(m.root)
	for n, c := range copies {
		c.up = copies[n.up]
	}
	return &model{root}, copies
}

func (n *mnode) copyOr(copies map[*mnode]*mnode) *mnode {
	c := copies[n]
	if c == nil { // it has no name
		c = &mnode{data: append([]byte(nil), n.data...)}
		copies[n] = c
	}
	return c
}

// saved is a state to go back to.
type saved struct {
	ref   *model
	dump  string
	files map[uint64]*mnode // open then, by inode number
	open  []openPair
}

// durable is a machine that goes back, commits, and begins anew from what was committed.
type durable struct {
	machine
	store *testStore
	opts  vfs.Options
	saved *saved
	base  cas.Hash
	mark  map[string]string
}

func ino(t testing.TB, f sys.File) uint64 {
	n, errno := f.Ino()
	mustErrno(t, errno, 0)
	return n
}

// save notes the present state.
func (x *durable) save() {
	ref, copies := x.ref.clone()
	s := &saved{ref: ref, dump: dump(x, x.m), files: map[uint64]*mnode{}, open: append([]openPair(nil), x.open...)}
	for i, o := range x.open {
		c := o.n.copyOr(copies)
		s.files[ino(x, o.f)] = c
		s.open[i].n = c
	}
	x.saved = s
}

func (x *durable) checkpoint() {
	x.m.Checkpoint()
	x.save()
}

func (x *durable) mustBe(what, want string) {
	x.Helper()
	if got := dump(x, x.m); got != want {
		x.Fatalf("step %d: %s:\n%s\nwant\n%s", x.step, what, got, want)
	}
	must(x, x.m.CheckState())
}

func (x *durable) rollback() {
	s := x.saved
	if s == nil {
		return
	}
	x.m.Rollback()
	still := map[sys.File]bool{}
	for _, o := range x.open {
		still[o.f] = true
	}
	// Files that were open then and still are show the old state; what was closed since can be taken again.
	var open []openPair
	for _, o := range s.open {
		if still[o.f] {
			delete(still, o.f)
		} else {
			f, errno := x.m.OpenInode(ino(x, o.f), sys.O_RDWR)
			mustErrno(x, errno, 0)
			o.f = f
		}
		open = append(open, o)
	}
	for f := range still {
		if _, errno := f.Stat(); errno != 0 {
			mustErrno(x, errno, vfs.ESTALE)
			_, errno = f.Write([]byte("x"))
			mustErrno(x, errno, vfs.ESTALE)
		}
		f.Close()
	}
	x.ref, x.open = s.ref, open
	x.mustBe("after a rollback", s.dump)
	x.compare()
	for _, o := range open {
		compareOpen(x.T, o)
	}
	x.m.Mark()
	x.mark = memorySnapshot(x.T, x.m)
	x.save()
}

// commit stores the state, or fails to.
func (x *durable) commit(fail bool) {
	var b cas.Batch
	before := dump(x, x.m)
	c, err := x.m.Commit(&b)
	must(x, err)
	if fail {
		if x.next()%2 == 0 {
			x.mustBe("after a commit that failed", before)
		}
		return
	}
	if !c.Changed && c.Frame != x.base {
		x.Fatalf("step %d: unchanged, but another frame", x.step)
	}
	must(x, x.store.add(&b))
	must(x, x.store.complete(c.Frame))
	if x.next()%3 == 0 { // somebody writes meanwhile
		for range x.next() % 8 {
			x.do(x.next() % 15)
		}
		x.m.Committed()
		x.saved = nil // it is not known here
	} else {
		x.m.Committed()
		x.save()
	}
	x.base = c.Frame
}

// reopen goes on with what was committed last, from the store.
func (x *durable) reopen() {
	x.commitNow()
	want := dump(x, x.m)
	next, err := vfs.Open(x.store, x.base, &x.opts)
	must(x, err)
	must(x, next.CheckState())
	old := x.m
	x.m, x.fsys = next, next
	// A file without a name stays when somebody takes it.
	for i := range x.open {
		o := &x.open[i]
		n := ino(x, o.f)
		o.f.Close()
		var errno sys.Errno
		o.f, errno = next.OpenInode(n, sys.O_RDWR)
		mustErrno(x, errno, 0)
	}
	next.DropOrphans()
	x.mustBe("after opening", want)
	must(x, old.Close())
	next.Mark()
	x.mark = memorySnapshot(x.T, next)
	x.save()
	if c := x.tree(); c != x.fresh() {
		x.Fatalf("step %d: the hash depends on the history", x.step)
	}
}

func (x *durable) commitNow() {
	var b cas.Batch
	c, err := x.m.Commit(&b)
	must(x, err)
	must(x, x.store.add(&b))
	must(x, x.store.complete(c.Frame))
	x.m.Committed()
	x.base = c.Frame
}

// tree is the canonical hash.
func (x *durable) tree() cas.Hash {
	var b cas.Batch
	c, err := x.m.Commit(&b)
	must(x, err)
	if c.Changed || b.Len() > 0 {
		x.Fatalf("step %d: changed by nothing: %d objects", x.step, b.Len())
	}
	return c.Tree
}

// fresh is the canonical hash of a clone, which begins with a keyframe.
func (x *durable) fresh() cas.Hash {
	var b cas.Batch
	clone := x.m.Clone()
	defer clone.Close()
	c, err := clone.Commit(&b)
	must(x, err)
	return c.Tree
}

func runDurable(t *testing.T, o vfs.Options, program []byte) {
	now := int64(0)
	o.Now = func() int64 { now++; return now }
	store := newTestStore()
	m, err := vfs.Open(store, cas.Hash{}, &o)
	must(t, err)
	m.Mark()
	x := &durable{
		machine: machine{T: t, m: m, fsys: m, ref: newModel(), program: program},
		store:   store, opts: o, mark: map[string]string{},
	}
	for ; len(x.program) > 0; x.step++ {
		switch op := x.next() % 64; {
		case op < 56:
			x.do(op % 16)
		case op < 59:
			x.checkpoint()
		case op < 61:
			x.rollback()
		case op == 61:
			x.commit(true)
		case op == 62:
			x.commit(false)
		default:
			x.reopen()
		}
	}
	must(t, x.m.CheckState())
	if !maps.Equal(x.compare(), x.ref.snapshot()) {
		t.Fatal("compare")
	}
	compareChanges(t, x.m, x.mark, x.compare())
	x.closeAll()
	must(t, x.m.CheckInvariants(0, 0))
	must(t, x.m.Err())
	must(t, x.m.Close())
	store.balanced(t)
}

var durableOptions = []vfs.Options{{}, {CacheBytes: 1, DirtyBytes: 1}, {CacheBytes: 100_000, DirtyBytes: 200_000}}

func TestDurablePrograms(t *testing.T) {
	n := 60
	if testing.Short() {
		n = 15
	}
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		program := make([]byte, 2000)
		for i := range program {
			program[i] = byte(r.Uint32())
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runDurable(t, durableOptions[seed%len(durableOptions)], program) })
		if t.Failed() {
			return
		}
	}
}

// FuzzDurable runs random operations with rollbacks, commits that fail or not, and restarts, on a stored file system and
// on the model.
func FuzzDurable(f *testing.F) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := make([]byte, 600)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(byte(seed), b)
	}
	f.Fuzz(func(t *testing.T, kind byte, program []byte) {
		if len(program) <= 4000 {
			runDurable(t, durableOptions[int(kind)%len(durableOptions)], program)
		}
	})
}
