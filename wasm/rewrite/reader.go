package rewrite

import (
	"errors"
	"fmt"
)

// ErrFormat is wrapped by every error about a module that is malformed or uses what guests may not use.
var ErrFormat = errors.New("wasm module not accepted")

func formatErr(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

// reader decodes the WebAssembly binary format. The first error sticks: later reads return zero values, so that callers
// check once per item and not once per byte.
type reader struct {
	b   []byte
	pos int
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = formatErr("offset %d: %s", r.pos, fmt.Sprintf(format, args...))
		r.pos = len(r.b)
	}
}

func (r *reader) done() bool { return r.pos >= len(r.b) }

func (r *reader) u8() byte {
	if r.pos >= len(r.b) {
		r.fail("unexpected end")
		return 0
	}
	c := r.b[r.pos]
	r.pos++
	return c
}

func (r *reader) u32() uint32 {
	var x uint64
	for shift := uint(0); shift < 35; shift += 7 {
		c := r.u8()
		x |= uint64(c&0x7f) << shift
		if c < 0x80 {
			if x > 1<<32-1 {
				r.fail("u32 too large")
				return 0
			}
			return uint32(x)
		}
	}
	r.fail("u32 too long")
	return 0
}

// s64 also reads s33 block types and s32 constants, whose encodings are a subset.
func (r *reader) s64() int64 {
	var x int64
	for shift := uint(0); shift < 70; shift += 7 {
		c := r.u8()
		if shift < 64 {
			x |= int64(c&0x7f) << shift
		}
		if c < 0x80 {
			if shift+7 < 64 && c&0x40 != 0 {
				x |= -1 << (shift + 7)
			}
			return x
		}
	}
	r.fail("s64 too long")
	return 0
}

func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.b)-r.pos) {
		r.fail("%d bytes wanted, %d left", n, len(r.b)-r.pos)
		return nil
	}
	b := r.b[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b
}

func (r *reader) name() string { return string(r.bytes(r.u32())) }

// count reads the length of a vector whose items take at least one byte each, so that it can be used to allocate.
func (r *reader) count() int {
	n := r.u32()
	if uint64(n) > uint64(len(r.b)-r.pos) {
		r.fail("vector of %d items in %d bytes", n, len(r.b)-r.pos)
		return 0
	}
	return int(n)
}

// constExpr reads an initialiser of exactly one constant; other forms are refused.
func (r *reader) constExpr() (value int64, opcode byte) {
	opcode = r.u8()
	switch opcode {
	case opI32Const, opI64Const:
		value = r.s64()
	case opF32Const:
		r.bytes(4)
	case opF64Const:
		r.bytes(8)
	case opRefNull:
		r.s64()
	case opRefFunc, opGlobalGet:
		value = int64(r.u32())
	default:
		r.fail("constant expression with opcode %#x", opcode)
	}
	if r.u8() != opEnd {
		r.fail("constant expression of more than one instruction")
	}
	return value, opcode
}

func appendU32(b []byte, x uint32) []byte {
	for x >= 0x80 {
		b = append(b, byte(x)|0x80)
		x >>= 7
	}
	return append(b, byte(x))
}

func appendS64(b []byte, x int64) []byte {
	for {
		c := byte(x & 0x7f)
		x >>= 7
		if x == 0 && c&0x40 == 0 || x == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func appendName(b []byte, s string) []byte {
	b = appendU32(b, uint32(len(s)))
	return append(b, s...)
}

func appendSection(b []byte, id byte, body []byte) []byte {
	b = append(b, id)
	b = appendU32(b, uint32(len(body)))
	return append(b, body...)
}
