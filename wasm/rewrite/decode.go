package rewrite

import "bytes"

// funcType is an entry of the type section.
type funcType struct {
	params, results []byte
}

// Segment is an active data segment: bytes that the module places at Offset of its memory when it starts.
type Segment struct {
	Offset uint32
	Bytes  []byte
}

// Global is a mutable global of the rewritten module, exported so that its value can be saved and restored.
type Global struct {
	// Name is the export name.
	Name string `json:"name"`
}

type export struct {
	name  string
	kind  byte
	index uint32
}

type section struct {
	id   byte
	body []byte
}

// module is a decoded guest module, with the sections kept that the rewriter copies as they are.
type module struct {
	types        []funcType
	imports      []byte // body of the import section, copied
	importTypes  []uint32
	tickImport   int  // function index of mayfly.tick, -1 if it is not imported
	threads      bool // mayfly.thread_start is imported
	funcs        []uint32
	sections     []section
	memMin       uint32
	globalTypes  []byte
	globalMut    []bool
	exports      []export
	data         []Segment
	start        bool
	bodies       [][]byte
	tableEntries int
}

const (
	secCustom   = 0
	secType     = 1
	secImport   = 2
	secFunction = 3
	secTable    = 4
	secMemory   = 5
	secGlobal   = 6
	secExport   = 7
	secStart    = 8
	secElement  = 9
	secCode     = 10
	secData     = 11
	secCount    = 12
)

var header = []byte("\x00asm\x01\x00\x00\x00")

func decode(bin []byte) (*module, error) {
	if !bytes.HasPrefix(bin, header) {
		return nil, formatErr("not a WebAssembly 1.0 binary")
	}
	m := &module{tickImport: -1}
	r := &reader{b: bin, pos: len(header)}
	last := byte(0)
	for !r.done() {
		id := r.u8()
		body := r.bytes(r.u32())
		if r.err != nil {
			return nil, r.err
		}
		if id == secCustom {
			continue
		}
		// The data count section (12) stands between elements and code.
		if order(id) <= last {
			return nil, formatErr("section %d out of order", id)
		}
		last = order(id)
		s := &reader{b: body}
		m.section(id, s)
		if s.err != nil {
			return nil, s.err
		}
		if !s.done() {
			return nil, formatErr("section %d has %d bytes too many", id, len(body)-s.pos)
		}
		m.sections = append(m.sections, section{id, body})
	}
	if m.memMin == 0 {
		return nil, formatErr("no memory")
	}
	if len(m.funcs) == 0 || len(m.exports) == 0 {
		return nil, formatErr("no functions or no exports")
	}
	if len(m.bodies) != len(m.funcs) {
		return nil, formatErr("%d functions but %d bodies", len(m.funcs), len(m.bodies))
	}
	return m, nil
}

// order is the position that a section must have.
func order(id byte) byte {
	switch {
	case id == secCount:
		return 2*secElement + 1
	default:
		return 2 * id
	}
}

func (m *module) section(id byte, r *reader) {
	switch id {
	case secType:
		m.readTypes(r)
	case secImport:
		m.readImports(r)
	case secFunction:
		for n := r.count(); n > 0 && r.err == nil; n-- {
			t := r.u32()
			if int(t) >= len(m.types) {
				r.fail("type %d of %d", t, len(m.types))
			}
			m.funcs = append(m.funcs, t)
		}
	case secTable:
		if r.count() != 1 {
			r.fail("more than one table")
		}
		r.u8()
		if r.u8()&1 != 0 {
			r.u32()
		}
		r.u32()
	case secMemory:
		m.readMemory(r)
	case secGlobal:
		for n := r.count(); n > 0 && r.err == nil; n-- {
			// A reference is a pointer of this process: it could not be saved.
			t := r.u8()
			if t < typeF64 || t > typeI32 {
				r.fail("global of type %#x", t)
			}
			m.globalTypes = append(m.globalTypes, t)
			m.globalMut = append(m.globalMut, r.u8() == 1)
			r.constExpr()
		}
	case secExport:
		for n := r.count(); n > 0 && r.err == nil; n-- {
			m.exports = append(m.exports, export{r.name(), r.u8(), r.u32()})
		}
	case secStart:
		r.u32()
		m.start = true
	case secElement:
		m.readElements(r)
	case secCode:
		for n := r.count(); n > 0 && r.err == nil; n-- {
			m.bodies = append(m.bodies, r.bytes(r.u32()))
		}
	case secData:
		m.readData(r)
	case secCount:
		r.u32()
	default:
		r.fail("section %d not known", id)
	}
}

func (m *module) readTypes(r *reader) {
	for n := r.count(); n > 0 && r.err == nil; n-- {
		if r.u8() != 0x60 {
			r.fail("not a function type")
		}
		m.types = append(m.types, funcType{r.bytes(r.u32()), r.bytes(r.u32())})
	}
}

func (m *module) readImports(r *reader) {
	m.imports = r.b
	for n := r.count(); n > 0 && r.err == nil; n-- {
		mod, name := r.name(), r.name()
		if kind := r.u8(); kind != 0 {
			r.fail("import %s.%s is not a function", mod, name)
			return
		}
		t := r.u32()
		if int(t) >= len(m.types) {
			r.fail("type %d of %d", t, len(m.types))
			return
		}
		if mod == "mayfly" && name == "tick" {
			if len(m.types[t].params)+len(m.types[t].results) != 0 {
				r.fail("mayfly.tick has parameters or results")
			}
			m.tickImport = len(m.importTypes)
		}
		m.threads = m.threads || mod == "mayfly" && name == "thread_start"
		m.importTypes = append(m.importTypes, t)
	}
}

func (m *module) readMemory(r *reader) {
	if r.count() != 1 {
		r.fail("more than one memory")
		return
	}
	flags := r.u8()
	if flags > 1 {
		r.fail("shared or 64-bit memory")
	}
	m.memMin = r.u32()
	if flags&1 != 0 {
		r.u32()
	}
	// One page stays for the guard.
	if m.memMin == 0 || m.memMin >= maxPages {
		r.fail("memory of %d pages", m.memMin)
	}
}

func (m *module) readElements(r *reader) {
	for n := r.count(); n > 0 && r.err == nil; n-- {
		// Only active segments for table 0: the table is then the same in every instance, for ever.
		if kind := r.u32(); kind != 0 {
			r.fail("element segment of kind %d", kind)
			return
		}
		r.constExpr()
		for k := r.count(); k > 0 && r.err == nil; k-- {
			r.u32()
			m.tableEntries++
		}
	}
}

func (m *module) readData(r *reader) {
	for n := r.count(); n > 0 && r.err == nil; n-- {
		if kind := r.u32(); kind != 0 {
			r.fail("data segment of kind %d", kind)
			return
		}
		off, op := r.constExpr()
		if op != opI32Const {
			r.fail("data segment whose offset is not a constant")
			return
		}
		b := r.bytes(r.u32())
		if end := uint64(uint32(off)) + uint64(len(b)); end > uint64(m.memMin)*pageSize {
			r.fail("data segment ends at %d, outside of the memory", end)
			return
		}
		m.data = append(m.data, Segment{uint32(off), b})
	}
}

// typeOf returns the type of a function by its index, imports first.
func (m *module) typeOf(index uint32) (funcType, bool) {
	n := uint32(len(m.importTypes))
	switch {
	case index < n:
		return m.types[m.importTypes[index]], true
	case int64(index-n) < int64(len(m.funcs)):
		return m.types[m.funcs[index-n]], true
	}
	return funcType{}, false
}
