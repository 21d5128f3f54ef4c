// Package testguest assembles WebAssembly modules for tests, among them a small guest that speaks the ABI of
// guests/README.md, so that the tests of package wasm need neither an interpreter nor a toolchain.
package testguest

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// Module builds a module. Types are written as letters: i (i32), l (i64), f (f32), d (f64); a signature is the
// parameters, a colon and the results: "ii:l". Imports have to be added before functions.
type Module struct {
	// MinPages and MaxPages are the limits of the memory; no MaxPages means none, no MinPages no memory.
	MinPages, MaxPages uint32
	// Replace has section bodies to put in place of those that were built, or as additional sections.
	Replace map[byte][]byte

	sigs    []string
	imports [][]byte
	funcs   []uint32
	bodies  [][]byte
	globals [][]byte
	exports [][]byte
	data    [][]byte
	table   []uint32
}

var valueTypes = map[byte]byte{'i': 0x7f, 'l': 0x7e, 'f': 0x7d, 'd': 0x7c}

// TypeIndex returns the index of a function type.
func (m *Module) TypeIndex(sig string) uint32 {
	if i := slices.Index(m.sigs, sig); i >= 0 {
		return uint32(i)
	}
	m.sigs = append(m.sigs, sig)
	return uint32(len(m.sigs) - 1)
}

// Import adds an imported function and returns its index.
func (m *Module) Import(module, name, sig string) uint32 {
	if len(m.funcs) > 0 {
		panic("imports come before functions")
	}
	b := appendName(appendName(nil, module), name)
	m.imports = append(m.imports, binary.AppendUvarint(append(b, 0), uint64(m.TypeIndex(sig))))
	return uint32(len(m.imports) - 1)
}

// NextFunc returns the index of the function that Func will add next, for recursion.
func (m *Module) NextFunc() uint32 { return uint32(len(m.imports) + len(m.funcs)) }

// Func adds a function and returns its index. The code's final end is added here.
func (m *Module) Func(sig, locals string, c *Code) uint32 {
	b := binary.AppendUvarint(nil, uint64(len(locals)))
	for i := range locals {
		b = append(b, 1, valueTypes[locals[i]])
	}
	return m.RawFunc(m.TypeIndex(sig), append(append(b, c.B...), 0x0b))
}

// RawFunc adds a function whose body is given in bytes, locals and end included.
func (m *Module) RawFunc(typ uint32, body []byte) uint32 {
	index := m.NextFunc()
	m.funcs = append(m.funcs, typ)
	m.bodies = append(m.bodies, body)
	return index
}

// Global adds a global with the bits of its first value.
func (m *Module) Global(typ byte, mutable bool, bits uint64) uint32 {
	b := []byte{valueTypes[typ], 0}
	if mutable {
		b[1] = 1
	}
	c := &Code{}
	switch typ {
	case 'i':
		c.I32(int32(bits))
	case 'l':
		c.I64(int64(bits))
	case 'f':
		c.F32(uint32(bits))
	case 'd':
		c.F64(bits)
	}
	m.globals = append(m.globals, append(append(b, c.B...), 0x0b))
	return uint32(len(m.globals) - 1)
}

// Kinds of exports.
const (
	KindFunc   = 0
	KindTable  = 1
	KindMemory = 2
	KindGlobal = 3
)

// Export adds an export.
func (m *Module) Export(name string, kind byte, index uint32) {
	m.exports = append(m.exports, binary.AppendUvarint(append(appendName(nil, name), kind), uint64(index)))
}

// Data adds an active data segment.
func (m *Module) Data(offset uint32, b []byte) {
	c := (&Code{}).Raw(0).I32(int32(offset)).Raw(0x0b)
	m.data = append(m.data, append(binary.AppendUvarint(c.B, uint64(len(b))), b...))
}

// Table makes the module's table of these functions.
func (m *Module) Table(funcs ...uint32) { m.table = funcs }

// Bytes returns the binary.
func (m *Module) Bytes() []byte {
	sections := map[byte][]byte{}
	put := func(id byte, items [][]byte) {
		if len(items) > 0 {
			sections[id] = vector(items)
		}
	}
	var types, funcs, codes [][]byte
	for _, s := range m.sigs {
		p, r, _ := strings.Cut(s, ":")
		types = append(types, append([]byte{0x60}, append(typeVector(p), typeVector(r)...)...))
	}
	for i, t := range m.funcs {
		funcs = append(funcs, binary.AppendUvarint(nil, uint64(t)))
		codes = append(codes, append(binary.AppendUvarint(nil, uint64(len(m.bodies[i]))), m.bodies[i]...))
	}
	put(1, types)
	put(2, m.imports)
	put(3, funcs)
	if m.table != nil {
		n := uint64(len(m.table))
		sections[4] = binary.AppendUvarint([]byte{1, 0x70, 0}, n)
		b := binary.AppendUvarint([]byte{1, 0, 0x41, 0, 0x0b}, n)
		for _, f := range m.table {
			b = binary.AppendUvarint(b, uint64(f))
		}
		sections[9] = b
	}
	switch {
	case m.MinPages > 0 && m.MaxPages > 0:
		sections[5] = binary.AppendUvarint(binary.AppendUvarint([]byte{1, 1}, uint64(m.MinPages)), uint64(m.MaxPages))
	case m.MinPages > 0:
		sections[5] = binary.AppendUvarint([]byte{1, 0}, uint64(m.MinPages))
	}
	put(6, m.globals)
	put(7, m.exports)
	put(10, codes)
	put(11, m.data)
	for id, b := range m.Replace {
		sections[id] = b
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, id := range []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11, 13} {
		if b, ok := sections[id]; ok {
			out = append(binary.AppendUvarint(append(out, id), uint64(len(b))), b...)
		}
	}
	return out
}

func vector(items [][]byte) []byte {
	b := binary.AppendUvarint(nil, uint64(len(items)))
	return append(b, slices.Concat(items...)...)
}

func typeVector(letters string) []byte {
	b := binary.AppendUvarint(nil, uint64(len(letters)))
	for i := range letters {
		b = append(b, valueTypes[letters[i]])
	}
	return b
}

func appendName(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Code builds the instructions of a function.
type Code struct{ B []byte }

// Raw appends bytes as they are.
func (c *Code) Raw(b ...byte) *Code { c.B = append(c.B, b...); return c }

// Op appends an opcode and its unsigned immediates.
func (c *Code) Op(op byte, imm ...uint32) *Code {
	c.B = append(c.B, op)
	for _, x := range imm {
		c.B = binary.AppendUvarint(c.B, uint64(x))
	}
	return c
}

func (c *Code) signed(op byte, x int64) *Code {
	c.B = append(c.B, op)
	for {
		b := byte(x & 0x7f)
		x >>= 7
		if x == 0 && b&0x40 == 0 || x == -1 && b&0x40 != 0 {
			c.B = append(c.B, b)
			return c
		}
		c.B = append(c.B, b|0x80)
	}
}

// I32 and the like push constants; floats are given by their bits.
func (c *Code) I32(x int32) *Code { return c.signed(0x41, x64(x)) }

// I64 pushes an i64.
func (c *Code) I64(x int64) *Code { return c.signed(0x42, x) }

// F32 pushes an f32.
func (c *Code) F32(bits uint32) *Code {
	c.B = binary.LittleEndian.AppendUint32(append(c.B, 0x43), bits)
	return c
}

// F64 pushes an f64.
func (c *Code) F64(bits uint64) *Code {
	c.B = binary.LittleEndian.AppendUint64(append(c.B, 0x44), bits)
	return c
}

// Float pushes an f64.
func (c *Code) Float(x float64) *Code { return c.F64(math.Float64bits(x)) }

func x64(x int32) int64 { return int64(x) }

// Get pushes a local.
func (c *Code) Get(i uint32) *Code { return c.Op(0x20, i) }

// Set pops into a local.
func (c *Code) Set(i uint32) *Code { return c.Op(0x21, i) }

// Tee copies into a local.
func (c *Code) Tee(i uint32) *Code { return c.Op(0x22, i) }

// Call calls a function by its index.
func (c *Code) Call(f uint32) *Code { return c.Op(0x10, f) }

// Mem appends a load or store with an offset.
func (c *Code) Mem(op byte, offset uint32) *Code { return c.Op(op, 0, offset) }

// Block types without parameters.
const (
	Void = 0x40
	I32T = 0x7f
	I64T = 0x7e
	F32T = 0x7d
	F64T = 0x7c
)

// Block opens a block of a type without parameters, or of a type of Module.TypeIndex below 64.
func (c *Code) Block(bt byte) *Code { return c.Raw(0x02, bt) }

// Loop opens a loop.
func (c *Code) Loop(bt byte) *Code { return c.Raw(0x03, bt) }

// If opens an if.
func (c *Code) If(bt byte) *Code { return c.Raw(0x04, bt) }

// Else starts the other branch.
func (c *Code) Else() *Code { return c.Raw(0x05) }

// End closes a block.
func (c *Code) End() *Code { return c.Raw(0x0b) }
