package vfs_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// pairOfFiles is one file open in both file systems.
type pairOfFiles struct{ ours, theirs sys.File }

// differential runs a program on a stored file system and in a directory of the host.
type differential struct {
	*testing.T
	ours, theirs sys.FS
	open         []pairOfFiles
	program      []byte
}

func (x *differential) next() int {
	if len(x.program) == 0 {
		return 0
	}
	b := x.program[0]
	x.program = x.program[1:]
	return int(b)
}

func (x *differential) path() string {
	names := []string{"a", "b", "c", "d"}
	p := names[x.next()%4]
	for x.next()%3 == 0 && len(p) < 20 {
		p += "/" + names[x.next()%4]
	}
	return p
}

// same compares the outcome of a call. Where a call can fail for two reasons systems differ in which they tell.
func (x *differential) same(what string, ours, theirs sys.Errno) {
	x.Helper()
	if ours == 0 && theirs == sys.ELOOP {
		x.Skip("os.Root follows fewer links than POSIX asks for")
	}
	if (ours == 0) != (theirs == 0) {
		x.Fatalf("%s: got %q, a disk says %q", what, ours, theirs)
	}
}

func (x *differential) do() {
	switch op := x.next() % 20; op {
	case 0, 1:
		p := x.path()
		x.same("mkdir "+p, x.ours.Mkdir(p, 0o755), x.theirs.Mkdir(p, 0o755))
	case 2, 3, 4:
		p := x.path()
		flag := []sys.Oflag{
			sys.O_RDWR | sys.O_CREAT, sys.O_RDWR | sys.O_CREAT | sys.O_EXCL, sys.O_RDWR | sys.O_TRUNC, sys.O_RDWR | sys.O_APPEND,
			sys.O_RDONLY, sys.O_RDWR | sys.O_CREAT | sys.O_NOFOLLOW, sys.O_RDONLY | sys.O_DIRECTORY, sys.O_WRONLY | sys.O_CREAT | sys.O_TRUNC,
		}[x.next()%8]
		a, e1 := x.ours.OpenFile(p, flag, 0o644)
		b, e2 := x.theirs.OpenFile(p, flag, 0o644)
		x.same(fmt.Sprintf("open %s %x", p, flag), e1, e2)
		if e1 == 0 {
			x.open = append(x.open, pairOfFiles{a, b})
		}
	case 5, 6, 7, 8, 9:
		if len(x.open) > 0 {
			x.file(op, x.open[x.next()%len(x.open)])
		}
	case 10:
		if len(x.open) > 0 {
			i := x.next() % len(x.open)
			x.open[i].ours.Close()
			x.open[i].theirs.Close()
			x.open = slices.Delete(x.open, i, i+1)
		}
	case 11:
		p := x.path()
		x.same("unlink "+p, x.ours.Unlink(p), x.theirs.Unlink(p))
	case 12:
		p := x.path()
		x.same("rmdir "+p, x.ours.Rmdir(p), x.theirs.Rmdir(p))
	case 13, 14:
		a, b := x.path(), x.path()
		x.same("rename "+a+" "+b, x.ours.Rename(a, b), x.theirs.Rename(a, b))
	case 15:
		a, b := x.path(), x.path()
		x.same("link "+a+" "+b, x.ours.Link(a, b), x.theirs.Link(a, b))
	case 16:
		p, mode := x.path(), []uint32{0o600, 0o644, 0o755}[x.next()%3]
		x.same("chmod "+p, x.ours.Chmod(p, fs.FileMode(mode)), x.theirs.Chmod(p, fs.FileMode(mode)))
	case 17:
		p := x.path()
		a, e1 := x.ours.Stat(p)
		b, e2 := x.theirs.Stat(p)
		x.same("stat "+p, e1, e2)
		if a.Mode != b.Mode || a.Mode.IsRegular() && (a.Size != b.Size || a.Nlink != b.Nlink) {
			x.Fatalf("stat %s: %+v, a disk says %+v", p, a, b)
		}
	case 18:
		p, mtim := x.path(), int64(x.next())*1e9
		x.same("utimens "+p, x.ours.Utimens(p, mtim, mtim), x.theirs.Utimens(p, mtim, mtim))
	case 19:
		// A link leads into its own directory only, as others may not be made on the host.
		p, target := x.path(), []string{"a", "b/c", "c", "."}[x.next()%4]
		x.same("symlink "+p, x.ours.Symlink(target, p), x.theirs.Symlink(target, p))
	}
}

func (x *differential) file(op int, f pairOfFiles) {
	size, off := x.next()*x.next()+1, int64(x.next()*x.next()*3) // of nothing, Go asks no disk
	data := bytes.Repeat([]byte{byte(x.next())}, size)
	switch op {
	case 5:
		n, e1 := f.ours.Pwrite(data, off)
		m, e2 := f.theirs.Pwrite(data, off)
		x.same("pwrite", e1, e2)
		if n != m {
			x.Fatalf("pwrite: %d and %d", n, m)
		}
	case 6:
		n, e1 := f.ours.Write(data)
		m, e2 := f.theirs.Write(data)
		x.same("write", e1, e2)
		if n != m {
			x.Fatalf("write: %d and %d", n, m)
		}
	case 7:
		x.same("truncate", f.ours.Truncate(off), f.theirs.Truncate(off))
	case 8:
		a, b := make([]byte, size), make([]byte, size)
		n, e1 := f.ours.Pread(a, off)
		m, e2 := f.theirs.Pread(b, off)
		x.same("pread", e1, e2)
		if n != m || !bytes.Equal(a[:n], b[:m]) {
			x.Fatalf("pread: %d and %d bytes", n, m)
		}
	case 9:
		if dir, _ := f.ours.IsDir(); dir {
			return
		}
		n, e1 := f.ours.Seek(off, x.next()%3)
		m, e2 := f.theirs.Seek(n, 0)
		if e1 == 0 && (e2 != 0 || n != m) {
			x.Fatalf("seek: %d and %d, %v", n, m, e2)
		}
	}
}

// tree lists a file system by its guest's view.
func tree(t *testing.T, fsys sys.FS) map[string]string {
	out := map[string]string{}
	var visit func(p string)
	visit = func(p string) {
		f, errno := fsys.OpenFile(p, sys.O_RDONLY, 0)
		mustErrno(t, errno, 0)
		defer f.Close()
		entries, errno := f.Readdir(-1)
		mustErrno(t, errno, 0)
		for _, e := range entries {
			q := p + "/" + e.Name
			st, errno := fsys.Lstat(q)
			mustErrno(t, errno, 0)
			switch {
			case st.Mode.IsDir():
				out[q] = st.Mode.String()
				visit(q)
			case st.Mode.IsRegular():
				g, errno := fsys.OpenFile(q, sys.O_RDONLY, 0)
				mustErrno(t, errno, 0)
				data := make([]byte, st.Size+1)
				n, errno := g.Pread(data, 0)
				mustErrno(t, errno, 0)
				g.Close()
				out[q] = fmt.Sprint(st.Mode, st.Nlink, string(data[:n]))
			default:
				target, errno := fsys.Readlink(q)
				mustErrno(t, errno, 0)
				out[q] = "-> " + target
			}
		}
	}
	visit(".")
	return out
}

func runDifferential(t *testing.T, o vfs.Options, program []byte) {
	store := newTestStore()
	m, err := vfs.Open(store, cas.Hash{}, &o)
	must(t, err)
	theirs, closeRoot, err := vfs.OpenHost(t.TempDir(), true)
	must(t, err)
	defer closeRoot()
	x := &differential{T: t, ours: m, theirs: theirs, program: program}
	for step := 0; len(x.program) > 0; step++ {
		x.do()
		if step%50 == 49 { // what is stored is the same
			var b cas.Batch
			c, err := m.Commit(&b)
			must(t, err)
			must(t, store.add(&b))
			must(t, store.complete(c.Frame))
			m.Committed()
		}
	}
	for _, f := range x.open {
		f.ours.Close()
		f.theirs.Close()
	}
	must(t, m.CheckInvariants(0, 0))
	var b cas.Batch
	c, err := m.Commit(&b)
	must(t, err)
	must(t, store.add(&b))
	opened, err := vfs.Open(store, c.Frame, &o)
	must(t, err)
	want := tree(t, theirs)
	for name, fsys := range map[string]sys.FS{"in memory": m, "opened": opened} {
		if got := tree(t, fsys); !maps.Equal(got, want) {
			t.Fatalf("%s: got %.1000v\na disk has %.1000v", name, got, want)
		}
	}
}

func TestDifferential(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs links, modes and the semantics of POSIX on the host")
	}
	n := 60
	if testing.Short() {
		n = 15
	}
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 11))
		program := make([]byte, 2500)
		for i := range program {
			program[i] = byte(r.Uint32())
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			runDifferential(t, durableOptions[seed%len(durableOptions)], program)
		})
	}
}

// FuzzDifferential runs random operations on a stored file system and in a directory of the host, and compares.
func FuzzDifferential(f *testing.F) {
	if runtime.GOOS != "linux" {
		f.Skip("needs links, modes and the semantics of POSIX on the host")
	}
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 5))
		b := make([]byte, 400)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) <= 3000 {
			runDifferential(t, vfs.Options{}, program)
		}
	})
}
