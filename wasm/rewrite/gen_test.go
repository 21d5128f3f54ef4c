package rewrite_test

import "github.com/mayfly-run/mayfly/wasm/internal/testguest"

// generator makes a random valid function (i32, i64) -> i64 out of bytes; when they are used up it goes on with a
// sequence that depends on them.
type generator struct {
	bytes []byte
	state uint32
	c     *testguest.Code
	depth int
	loops uint32
	size  int
	// threads: with a stack pointer, see threadModule. It depends on the length of the program, so that programs in testdata
	// keep their meaning.
	threads bool
}

// Locals of the generated function, after its parameters.
const (
	genLocals   = "iiillffddiii"
	genCounters = 2 + 9 // the last three count loops
)

var genByType = map[byte][]uint32{'i': {0, 2, 3, 4}, 'l': {1, 5, 6}, 'f': {7, 8}, 'd': {9, 10}}

func generate(program []byte) []byte {
	g := &generator{bytes: program, state: 1, c: code(), threads: len(program)%3 == 1}
	for range 6 + g.n(8) {
		g.statement()
	}
	g.c.Get(1)
	for _, l := range []uint32{0, 2, 3, 4} {
		g.c.I64(31).Raw(0x7e).Get(l).Raw(0xad, 0x7c)
	}
	for _, l := range []uint32{5, 6} {
		g.c.I64(31).Raw(0x7e).Get(l).Raw(0x7c)
	}
	for _, l := range []uint32{7, 8} {
		g.c.I64(31).Raw(0x7e).Get(l).Raw(0xbc, 0xad, 0x7c)
	}
	for _, l := range []uint32{9, 10} {
		g.c.I64(31).Raw(0x7e).Get(l).Raw(0xbd, 0x7c)
	}
	if !g.threads {
		return module1(2, "il:l", genLocals, g.c)
	}
	g.c.I64(31).Raw(0x7e).Op(0x23, 0).Raw(0xad, 0x7c)
	m := threadModule(2)
	m.Export("f", testguest.KindFunc, m.Func("il:l", genLocals, g.c))
	return m.Bytes()
}

func (g *generator) n(limit int) int {
	g.state = g.state*1664525 + 1013904223
	if len(g.bytes) > 0 {
		g.state ^= uint32(g.bytes[0]) * 0x9e3779b1
		g.bytes = g.bytes[1:]
	}
	return int(g.state>>9) % limit
}

func (g *generator) typ() byte { return "ilfd"[g.n(4)] }

func (g *generator) local(typ byte) uint32 {
	l := genByType[typ]
	return l[g.n(len(l))]
}

func (g *generator) statement() {
	g.size++
	if g.threads && g.n(3) == 0 {
		g.stack()
	}
	kind := g.n(12)
	if g.depth > 3 || g.size > 80 {
		kind %= 4
	}
	switch kind {
	case 0, 1:
		t := g.typ()
		g.expr(t, 3)
		g.c.Set(g.local(t))
	case 2, 3:
		g.store()
	case 4, 5:
		g.expr('i', 2)
		g.c.If(testguest.Void)
		g.block()
		if g.n(2) == 0 {
			g.c.Else()
			g.block()
		}
		g.c.End()
	case 6:
		g.c.Block(testguest.Void)
		g.block()
		g.expr('i', 2)
		g.c.Op(0x0d, 0)
		g.block()
		if g.n(3) == 0 { // code that is not reached
			g.c.Op(0x0c, 0)
			g.block()
		}
		g.c.End()
	case 7, 8:
		if g.loops == 3 {
			return
		}
		counter := genCounters + g.loops
		g.loops++
		g.c.I32(int32(1 + g.n(5))).Set(counter).Loop(testguest.Void)
		g.block()
		g.c.Get(counter).I32(1).Raw(0x6b).Tee(counter).Op(0x0d, 0).End()
		g.loops--
	case 9: // a branch takes an operand along
		t := g.typ()
		g.c.Block(valueTypes[t])
		if t == 'i' { // and leaves it as an address
			g.c.I32(int32(g.n(page)))
		} else {
			g.expr(t, 2)
		}
		g.expr('i', 1)
		g.c.Op(0x0d, 0)
		if t == 'i' {
			g.c.Mem(0x28, uint32(g.n(100)))
		}
		g.c.End().Set(g.local(t))
	case 10:
		g.bulk()
	case 11:
		if g.depth > 0 {
			return
		}
		g.c.I32(int32(g.n(2))).Op(0x40, 0).Op(0x3f, 0).Raw(0x6a).Set(g.local('i'))
	}
}

var valueTypes = map[byte]byte{'i': testguest.I32T, 'l': testguest.I64T, 'f': testguest.F32T, 'd': testguest.F64T}

func (g *generator) block() {
	g.depth++
	for range 1 + g.n(3) {
		g.statement()
	}
	g.depth--
}

// stack moves the stack pointer.
func (g *generator) stack() {
	switch g.n(5) {
	case 0: // down, as a function begins
		l := g.local('i')
		g.c.Op(0x23, 0).I32(int32(16*g.n(64))).Raw(0x6b).Tee(l).Op(0x24, 0)
	case 1: // up, as it ends
		g.c.Op(0x23, 0).I32(int32(16*g.n(64))).Raw(0x6a).Op(0x24, 0)
	case 2: // up from where it was
		g.c.Get(g.local('i')).I32(int32(g.n(100)-50)).Raw(0x6a).Op(0x24, 0)
	case 3:
		g.expr('i', 2)
		g.c.Op(0x24, 0)
	case 4:
		g.c.Op(0x23, 0).Set(g.local('i'))
	}
}

func (g *generator) bulk() {
	for range 2 {
		g.expr('i', 1)
		g.c.I32(0xffff).Raw(0x71)
	}
	if g.n(2) == 0 {
		g.c.I32(int32(g.n(200)))
	} else {
		g.expr('i', 1)
		g.c.I32([]int32{0xfff, 0x7f}[g.n(2)]).Raw(0x71)
	}
	if g.n(2) == 0 {
		g.c.Raw(0xfc, 10, 0, 0)
	} else {
		g.c.Raw(0xfc, 11, 0)
	}
}

// address pushes an address and returns an offset with which accesses stay inside of the memory, or both as a constant.
func (g *generator) address() (offset uint32) {
	offset = uint32([]int{0, 4, 8, 100, 30000, 65519, 65528, 65535 - 8}[g.n(8)])
	switch g.n(5) {
	case 0:
		g.c.I32(int32(g.n(2*page - 8)))
		return 0
	case 1: // ends with the last byte of the memory
		g.c.I32(int32(2*page - 8 - offset))
		return offset
	case 2, 3: // through a local
		l := g.local('i')
		g.expr('i', 1)
		g.c.I32(0xffff).Raw(0x71).Tee(l)
		if g.n(2) == 0 {
			g.c.Mem(0x28, uint32(g.n(1000))).Raw(0x1a).Get(l)
		}
		return offset
	}
	g.expr('i', 1)
	g.c.I32(0xffff).Raw(0x71)
	return offset
}

func (g *generator) store() {
	off := g.address()
	i := g.n(9)
	g.expr("ilfdiilll"[i], 2)
	g.c.Mem(byte(0x36+i), off)
}

func (g *generator) load(t byte) {
	off := g.address()
	ops := map[byte][]byte{
		'i': {0x28, 0x2c, 0x2d, 0x2e, 0x2f}, 'l': {0x29, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35}, 'f': {0x2a}, 'd': {0x2b},
	}[t]
	g.c.Mem(ops[g.n(len(ops))], off)
}

// expr pushes a value of a type. Arithmetic of floats is left out, since engines may disagree about the bits of NaNs.
func (g *generator) expr(t byte, depth int) {
	g.size++
	kind := g.n(10)
	if depth == 0 || g.size > 400 {
		kind %= 3
	}
	switch kind {
	case 0, 1:
		g.c.Get(g.local(t))
	case 2:
		g.constant(t)
	case 3, 4:
		g.load(t)
	case 5:
		g.expr(t, depth-1)
		g.expr(t, depth-1)
		g.expr('i', depth-1)
		g.c.Raw(0x1b)
	case 6:
		g.expr('i', depth-1)
		g.c.If(valueTypes[t])
		g.expr(t, depth-1)
		g.c.Else()
		g.expr(t, depth-1)
		g.c.End()
	default:
		g.operator(t, depth-1)
	}
}

func (g *generator) constant(t byte) {
	x := int32(g.n(1<<22)) * 0x1003
	switch t {
	case 'i':
		g.c.I32(x)
	case 'l':
		g.c.I64(int64(x) * 0x100000001)
	case 'f':
		g.c.F32(uint32(x))
	case 'd':
		g.c.F64(uint64(x) * 0x100000001)
	}
}

// operators by the type of their result: the opcode and the types of the operands.
var operators = map[byte][]struct {
	op string
	in string
}{
	'i': {
		{"\x6a", "ii"}, {"\x6b", "ii"}, {"\x6c", "ii"}, {"\x71", "ii"}, {"\x72", "ii"}, {"\x73", "ii"}, {"\x74", "ii"}, {"\x76", "ii"},
		{"\x45", "i"}, {"\x46", "ii"}, {"\x48", "ii"}, {"\x49", "ii"}, {"\x51", "ll"}, {"\x54", "ll"}, {"\x5b", "ff"}, {"\x63", "dd"},
		{"\xa7", "l"}, {"\xbc", "f"}, {"\xc0", "i"}, {"\xfc\x00", "f"}, {"\xfc\x03", "d"}, {"\x67", "i"}, {"\x3f\x00", ""},
	},
	'l': {
		{"\x7c", "ll"}, {"\x7d", "ll"}, {"\x7e", "ll"}, {"\x83", "ll"}, {"\x85", "ll"}, {"\x86", "ll"}, {"\x89", "ll"},
		{"\xac", "i"}, {"\xad", "i"}, {"\xbd", "d"}, {"\xc4", "l"}, {"\xfc\x06", "d"}, {"\xfc\x05", "f"}, {"\x79", "l"},
	},
	'f': {{"\xbe", "i"}, {"\x8c", "f"}, {"\x8b", "f"}, {"\x98", "ff"}, {"\xb2", "i"}, {"\xb5", "l"}},
	'd': {{"\xbf", "l"}, {"\x9a", "d"}, {"\x99", "d"}, {"\xa6", "dd"}, {"\xb7", "i"}, {"\xba", "l"}},
}

func (g *generator) operator(t byte, depth int) {
	list := operators[t]
	o := list[g.n(len(list))]
	for i := range o.in {
		g.expr(o.in[i], depth)
	}
	g.c.Raw([]byte(o.op)...)
}
