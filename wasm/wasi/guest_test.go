package wasi

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// A guest calls host functions the way wasm does: through a module that imports every one of them and exports it again.
type guest struct {
	t   testing.TB
	ctx context.Context
	m   api.Module
	mem api.Memory
	p   *Process
}

type processKey struct{}

func withProcess(ctx context.Context, p *Process) context.Context {
	return context.WithValue(ctx, processKey{}, p)
}

func processOf(ctx context.Context) *Process {
	p, _ := ctx.Value(processKey{}).(*Process)
	return p
}

const guestPages = 2

func newGuest(t testing.TB, o *Options) *guest {
	t.Helper()
	return newGuestOn(t, wazero.NewRuntimeConfigInterpreter(), o)
}

func newGuestOn(t testing.TB, cfg wazero.RuntimeConfig, o *Options) *guest {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, cfg)
	t.Cleanup(func() { r.Close(ctx) })
	if _, err := Instantiate(ctx, r, processOf); err != nil {
		t.Fatal(err)
	}
	m, err := r.Instantiate(ctx, trampolines())
	if err != nil {
		t.Fatal(err)
	}
	g := &guest{t: t, m: m, mem: m.Memory(), p: NewProcess(o)}
	g.ctx = withProcess(ctx, g.p)
	t.Cleanup(func() {
		if err := g.p.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// trampolines assembles the module: types, imports, functions, a memory, exports, code.
func trampolines() []byte {
	vec := func(items ...[]byte) []byte {
		b := uleb(len(items))
		for _, it := range items {
			b = append(b, it...)
		}
		return b
	}
	section := func(id byte, body []byte) []byte { return append(append([]byte{id}, uleb(len(body))...), body...) }
	name := func(s string) []byte { return append(uleb(len(s)), s...) }

	var types, imports, funcs, exports, codes [][]byte
	for i, f := range functions {
		typ := append([]byte{0x60}, uleb(len(f.params))...)
		code := []byte{0} // no locals
		for j, p := range f.params {
			v := byte(0x7f)
			if p == 'l' {
				v = 0x7e
			}
			typ = append(typ, v)
			code = append(append(code, 0x20), uleb(j)...) // local.get
		}
		if f.name == "proc_exit" {
			typ = append(typ, 0)
		} else {
			typ = append(typ, 1, 0x7f)
		}
		code = append(append(code, 0x10), uleb(i)...) // call
		code = append(code, 0x0b)
		types = append(types, typ)
		imports = append(imports, append(append(append(name(ModuleName), name(f.name)...), 0), uleb(i)...))
		funcs = append(funcs, uleb(i))
		exports = append(exports, append(append(name(f.name), 0), uleb(len(functions)+i)...))
		codes = append(codes, append(uleb(len(code)), code...))
	}
	b := []byte("\x00asm\x01\x00\x00\x00")
	b = append(b, section(1, vec(types...))...)
	b = append(b, section(2, vec(imports...))...)
	b = append(b, section(3, vec(funcs...))...)
	b = append(b, section(5, []byte{1, 1, guestPages, guestPages})...)
	b = append(b, section(7, vec(exports...))...)
	return append(b, section(10, vec(codes...))...)
}

func uleb(n int) (b []byte) {
	for ; n > 0x7f; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func (g *guest) try(ctx context.Context, name string, args ...uint64) (errno, error) {
	g.t.Helper()
	res, err := g.m.ExportedFunction(name).Call(ctx, args...)
	if err != nil || len(res) == 0 {
		return 0, err
	}
	return errno(res[0]), nil
}

// call calls a function that must not trap.
func (g *guest) call(name string, args ...uint64) errno {
	g.t.Helper()
	e, err := g.try(g.ctx, name, args...)
	if err != nil {
		g.t.Fatalf("%s: %v", name, err)
	}
	return e
}

// want calls a function and checks its error number.
func (g *guest) want(e errno, name string, args ...uint64) {
	g.t.Helper()
	if got := g.call(name, args...); got != e {
		g.t.Fatalf("%s%v: errno %d, want %d", name, args, got, e)
	}
}

// Where the helpers below put things in guest memory.
const (
	pathAt   = 1024
	path2At  = 8192
	iovAt    = 16384
	resultAt = 17000
	dataAt   = 65536
	memSize  = guestPages * 65536
)

func (g *guest) u32(at uint32) uint32 {
	v, ok := g.mem.ReadUint32Le(at)
	if !ok {
		g.t.Fatal("read outside of memory")
	}
	return v
}

func (g *guest) u64(at uint32) uint64 {
	v, ok := g.mem.ReadUint64Le(at)
	if !ok {
		g.t.Fatal("read outside of memory")
	}
	return v
}

func (g *guest) bytes(at, n uint32) []byte {
	b, ok := g.mem.Read(at, n)
	if !ok {
		g.t.Fatal("read outside of memory")
	}
	return append([]byte(nil), b...)
}

func (g *guest) put(at uint32, b []byte) {
	if !g.mem.Write(at, b) {
		g.t.Fatal("write outside of memory")
	}
}

// path puts a path at pathAt and returns pointer and length, as arguments.
func (g *guest) path(s string) (uint64, uint64) {
	g.put(pathAt, []byte(s))
	return pathAt, uint64(len(s))
}

// iov makes one buffer of n bytes at dataAt.
func (g *guest) iov(n uint32) {
	g.mem.WriteUint32Le(iovAt, dataAt)
	g.mem.WriteUint32Le(iovAt+4, n)
}

func (g *guest) openAt(dir uint64, path string, oflags, rights, fdflags uint64) (uint64, errno) {
	g.t.Helper()
	p, n := g.path(path)
	e := g.call("path_open", dir, lookupFollow, p, n, oflags, rights, rights, fdflags, resultAt)
	return uint64(g.u32(resultAt)), e
}

const (
	readOnly  = rightRead | rightReaddir
	readWrite = rightRead | rightWrite
)

func (g *guest) open(path string, oflags, rights uint64) uint64 {
	g.t.Helper()
	fd, e := g.openAt(rootFD, path, oflags, rights, 0)
	if e != success {
		g.t.Fatalf("open %s: errno %d", path, e)
	}
	return fd
}

func (g *guest) write(fd uint64, s string) {
	g.t.Helper()
	g.put(dataAt, []byte(s))
	g.iov(uint32(len(s)))
	g.want(success, "fd_write", fd, iovAt, 1, resultAt)
	if n := g.u32(resultAt); int(n) != len(s) {
		g.t.Fatalf("short write: %d of %d", n, len(s))
	}
}

func (g *guest) read(fd uint64, n uint32) string {
	g.t.Helper()
	g.iov(n)
	g.want(success, "fd_read", fd, iovAt, 1, resultAt)
	return string(g.bytes(dataAt, g.u32(resultAt)))
}

func (g *guest) writeFile(path, content string) {
	g.t.Helper()
	fd := g.open(path, openCreat|openTrunc, readWrite)
	if content != "" {
		g.write(fd, content)
	}
	g.want(success, "fd_close", fd)
}

func (g *guest) readFile(path string) string {
	g.t.Helper()
	fd := g.open(path, 0, readOnly)
	s := g.read(fd, 4096)
	g.want(success, "fd_close", fd)
	return s
}

// at calls a path function whose first parameters are a descriptor and a path.
func (g *guest) at(name, path string, more ...uint64) errno {
	g.t.Helper()
	p, n := g.path(path)
	return g.call(name, append([]uint64{rootFD, p, n}, more...)...)
}

// at2 puts two paths and returns their arguments.
func (g *guest) at2(a, b string) (pa, na, pb, nb uint64) {
	g.put(pathAt, []byte(a))
	g.put(path2At, []byte(b))
	return pathAt, uint64(len(a)), path2At, uint64(len(b))
}
