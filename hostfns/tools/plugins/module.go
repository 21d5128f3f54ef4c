package plugins

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ours is the name of the module with what this package does in place of Extism's SDK.
const ours = "mayfly:plugin"

// replaced are the host functions of Extism that are ours: the SDK's HTTP follows redirects to hosts that are not
// allowed, and its log has one level for the whole process.
var replaced = []string{"http_request", "get_log_level", "log_trace", "log_debug", "log_info", "log_warn", "log_error"}

const (
	extismEnv = "extism:host/env"
	wasi      = "wasi_snapshot_preview1"

	// maxTable bounds the elements of a table. The runtime bounds memory only, and an element takes eight bytes.
	maxTable   = 1 << 20
	maxTables  = 16
	maxImports = 10_000

	sectionCustom, sectionType, sectionImport, sectionFunction, sectionTable, sectionExport = 0, 1, 2, 3, 4, 7
)

var errModule = errors.New("not a WebAssembly module")

// prepared is a module that was rewritten, and what it exports that can be called: functions without parameters, with
// one result at most.
type prepared struct {
	wasm    []byte
	exports map[string]bool

	plain     []bool            // types of functions that can be called so
	functions []uint32          // types of all functions
	names     map[uint32]string // of functions that are exported
}

// prepare rewrites a module: what we replace is imported from our module, its tables are bounded, and what debuggers
// want is left out. Imports from anywhere but the host and the other modules of the plug-in are an error.
func prepare(wasm []byte, others []string) (*prepared, error) {
	if len(wasm) < 8 || string(wasm[:8]) != "\x00asm\x01\x00\x00\x00" {
		return nil, errModule
	}
	p := &prepared{exports: map[string]bool{}, names: map[uint32]string{}}
	p.wasm = append(make([]byte, 0, len(wasm)+1024), wasm[:8]...)
	for r := (reader{b: wasm[8:]}); len(r.b) > 0; {
		id := r.byte()
		content := r.bytes(r.u32())
		if r.bad {
			return nil, errModule
		}
		section := reader{b: content}
		var err error
		switch id {
		case sectionCustom:
			continue
		case sectionType:
			p.types(&section)
		case sectionImport:
			content, err = p.imports(&section, others)
		case sectionFunction:
			for range section.count() {
				p.functions = append(p.functions, section.u32())
			}
		case sectionTable:
			content, err = tables(&section)
		case sectionExport:
			p.export(&section)
		default:
			section.b = nil // not looked at
		}
		if err != nil {
			return nil, err
		}
		if section.bad || len(section.b) > 0 {
			return nil, errModule
		}
		p.wasm = append(p.wasm, id)
		p.wasm = appendU32(p.wasm, uint32(len(content)))
		p.wasm = append(p.wasm, content...)
	}
	// The SDK links modules by the names in this section, and not by what they export.
	names := appendU32(nil, uint32(len(p.names)))
	for _, i := range slices.Sorted(maps.Keys(p.names)) {
		names = appendString(appendU32(names, i), p.names[i])
	}
	names = append(appendU32([]byte{1}, uint32(len(names))), names...)
	p.wasm = appendString(append(p.wasm, sectionCustom), string(append(appendString(nil, "name"), names...)))
	return p, nil
}

func (p *prepared) types(r *reader) {
	for range r.count() {
		form := r.byte()
		params := r.bytes(r.u32())
		results := r.bytes(r.u32())
		r.bad = r.bad || form != 0x60
		p.plain = append(p.plain, len(params) == 0 && len(results) <= 1)
	}
}

func (p *prepared) export(r *reader) {
	for range r.count() {
		name, kind, index := string(r.bytes(r.u32())), r.byte(), r.u32()
		if r.bad || kind != 0 || uint64(index) >= uint64(len(p.functions)) {
			continue
		}
		p.names[index] = name
		if t := p.functions[index]; uint64(t) < uint64(len(p.plain)) && p.plain[t] {
			p.exports[name] = true
		}
	}
}

func (p *prepared) imports(r *reader, others []string) ([]byte, error) {
	n := r.count()
	if n > maxImports {
		return nil, errors.New("it has too many imports")
	}
	out := appendU32(nil, n)
	for range n {
		mod, field := string(r.bytes(r.u32())), string(r.bytes(r.u32()))
		desc := r.b
		kind := r.byte()
		switch kind {
		case 0: // function
			p.functions = append(p.functions, r.u32())
		case 1: // table
			r.byte()
			r.limits()
		case 2: // memory
			r.limits()
		case 3: // global
			r.byte()
			r.byte()
		default:
			r.bad = true
		}
		if r.bad {
			return nil, errModule
		}
		switch {
		case mod == extismEnv && kind == 0:
			if slices.Contains(replaced, field) {
				mod = ours
			}
		case mod == wasi && kind == 0, mod != "" && kind == 0 && slices.Contains(others, mod):
		default:
			return nil, fmt.Errorf("it imports %q from %q, which plug-ins do not get here", clip(field), clip(mod))
		}
		out = appendString(appendString(out, mod), field)
		out = append(out, desc[:len(desc)-len(r.b)]...)
	}
	return out, nil
}

func tables(r *reader) ([]byte, error) {
	n := r.count()
	if n > maxTables {
		return nil, errors.New("it has too many tables")
	}
	out := appendU32(nil, n)
	for range n {
		out = append(out, r.byte())
		low, high, bounded := r.limits()
		if r.bad {
			return nil, errModule
		}
		if low > maxTable {
			return nil, fmt.Errorf("it has a table of more than %d elements", maxTable)
		}
		if !bounded || high > maxTable {
			high = maxTable
		}
		out = appendU32(appendU32(append(out, 1), low), high)
	}
	return out, nil
}

// reader reads what a module consists of; bad says that there was no such thing.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *reader) bytes(n uint32) []byte {
	if r.bad || uint64(n) > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// count is a number of things that have a byte each at least.
func (r *reader) count() uint32 {
	n := r.u32()
	if uint64(n) > uint64(len(r.b)) {
		r.bad = true
		return 0
	}
	return n
}

func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			if v > 1<<32-1 {
				break
			}
			return uint32(v)
		}
	}
	r.bad = true
	return 0
}

func (r *reader) limits() (low, high uint32, bounded bool) {
	switch flags := r.byte(); flags {
	case 0:
		return r.u32(), 0, false
	case 1:
		return r.u32(), r.u32(), true
	}
	r.bad = true // shared memory, 64 bits
	return 0, 0, false
}

func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func appendString(b []byte, s string) []byte { return append(appendU32(b, uint32(len(s))), s...) }
