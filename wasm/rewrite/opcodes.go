package rewrite

// Opcodes and types of the binary format, WebAssembly Core Specification 2.0, chapter 5.
const (
	opUnreachable  = 0x00
	opNop          = 0x01
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opDrop         = 0x1a
	opSelect       = 0x1b
	opSelectTyped  = 0x1c
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opI32Load      = 0x28
	opI32Load8U    = 0x2d
	opI64Load32U   = 0x35
	opI32Store     = 0x36
	opI64Store     = 0x37
	opI32Store8    = 0x3a
	opI64Store32   = 0x3e
	opMemorySize   = 0x3f
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opI32Eqz       = 0x45
	opI32LtS       = 0x48
	opI32LtU       = 0x49
	opI32GtU       = 0x4b
	opI32LeU       = 0x4d
	opI32GeU       = 0x4f
	opI32Add       = 0x6a
	opI32Sub       = 0x6b
	opI32And       = 0x71
	opI64Mul       = 0x7e
	opI64ExtendU   = 0xad
	opRefNull      = 0xd0
	opRefFunc      = 0xd2
	opPrefixFC     = 0xfc

	opI32ReinterpretF32 = 0xbc
	opI64ReinterpretF64 = 0xbd
	opF32ReinterpretI32 = 0xbe
	opF64ReinterpretI64 = 0xbf

	fcMemoryCopy = 10
	fcMemoryFill = 11

	typeI32 = 0x7f
	typeI64 = 0x7e
	typeF32 = 0x7d
	typeF64 = 0x7c
	// typeAny is the type of a value on the stack of unreachable code.
	typeAny = 0x00

	blockEmpty = 0x40
)

// signature is what a plain numeric instruction pops and pushes; out 0 means that it pushes nothing.
type signature struct {
	in  []byte
	out byte
}

// numeric has the signatures of 0x45 (i32.eqz) to 0xc4 (i64.extend32_s), see the tables in section 5.4.7 of the
// specification. They come in runs of the same shape.
var numeric = buildNumeric()

func buildNumeric() (t [256]signature) {
	run := func(from, to int, out byte, in ...byte) {
		for op := from; op <= to; op++ {
			t[op] = signature{in: in, out: out}
		}
	}
	run(0x45, 0x45, typeI32, typeI32)
	run(0x46, 0x4f, typeI32, typeI32, typeI32)
	run(0x50, 0x50, typeI32, typeI64)
	run(0x51, 0x5a, typeI32, typeI64, typeI64)
	run(0x5b, 0x60, typeI32, typeF32, typeF32)
	run(0x61, 0x66, typeI32, typeF64, typeF64)
	run(0x67, 0x69, typeI32, typeI32)
	run(0x6a, 0x78, typeI32, typeI32, typeI32)
	run(0x79, 0x7b, typeI64, typeI64)
	run(0x7c, 0x8a, typeI64, typeI64, typeI64)
	run(0x8b, 0x91, typeF32, typeF32)
	run(0x92, 0x98, typeF32, typeF32, typeF32)
	run(0x99, 0x9f, typeF64, typeF64)
	run(0xa0, 0xa6, typeF64, typeF64, typeF64)
	run(0xa7, 0xa7, typeI32, typeI64)
	run(0xa8, 0xa9, typeI32, typeF32)
	run(0xaa, 0xab, typeI32, typeF64)
	run(0xac, 0xad, typeI64, typeI32)
	run(0xae, 0xaf, typeI64, typeF32)
	run(0xb0, 0xb1, typeI64, typeF64)
	run(0xb2, 0xb3, typeF32, typeI32)
	run(0xb4, 0xb5, typeF32, typeI64)
	run(0xb6, 0xb6, typeF32, typeF64)
	run(0xb7, 0xb8, typeF64, typeI32)
	run(0xb9, 0xba, typeF64, typeI64)
	run(0xbb, 0xbb, typeF64, typeF32)
	run(0xbc, 0xbc, typeI32, typeF32)
	run(0xbd, 0xbd, typeI64, typeF64)
	run(0xbe, 0xbe, typeF32, typeI32)
	run(0xbf, 0xbf, typeF64, typeI64)
	run(0xc0, 0xc1, typeI32, typeI32)
	run(0xc2, 0xc4, typeI64, typeI64)
	return t
}

// access is a load or store: the value's type and the number of bytes touched.
type access struct {
	typ   byte
	size  uint32
	store bool
}

var accesses = [...]access{
	0x28 - opI32Load: {typeI32, 4, false}, 0x29 - opI32Load: {typeI64, 8, false},
	0x2a - opI32Load: {typeF32, 4, false}, 0x2b - opI32Load: {typeF64, 8, false},
	0x2c - opI32Load: {typeI32, 1, false}, 0x2d - opI32Load: {typeI32, 1, false},
	0x2e - opI32Load: {typeI32, 2, false}, 0x2f - opI32Load: {typeI32, 2, false},
	0x30 - opI32Load: {typeI64, 1, false}, 0x31 - opI32Load: {typeI64, 1, false},
	0x32 - opI32Load: {typeI64, 2, false}, 0x33 - opI32Load: {typeI64, 2, false},
	0x34 - opI32Load: {typeI64, 4, false}, 0x35 - opI32Load: {typeI64, 4, false},
	0x36 - opI32Load: {typeI32, 4, true}, 0x37 - opI32Load: {typeI64, 8, true},
	0x38 - opI32Load: {typeF32, 4, true}, 0x39 - opI32Load: {typeF64, 8, true},
	0x3a - opI32Load: {typeI32, 1, true}, 0x3b - opI32Load: {typeI32, 2, true},
	0x3c - opI32Load: {typeI64, 1, true}, 0x3d - opI32Load: {typeI64, 2, true},
	0x3e - opI32Load: {typeI64, 4, true},
}
