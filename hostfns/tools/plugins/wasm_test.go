package plugins

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// Types of functions in the modules made here.
const (
	tNone    = iota // ()
	tI32            // () i32
	tI64            // () i64
	tOff            // (i64)
	tOffOff         // (i64) i64
	t2Off           // (i64, i64)
	t2OffOff        // (i64, i64) i64
	tPoll           // (i32, i32, i32, i32) i32
	tExit           // (i32)
	tParam          // (i32) i32
)

var typeSection = []byte{
	10,
	0x60, 0, 0,
	0x60, 0, 1, i32,
	0x60, 0, 1, i64,
	0x60, 1, i64, 0,
	0x60, 1, i64, 1, i64,
	0x60, 2, i64, i64, 0,
	0x60, 2, i64, i64, 1, i64,
	0x60, 4, i32, i32, i32, i32, 1, i32,
	0x60, 1, i32, 0,
	0x60, 1, i32, 1, i32,
}

const (
	i32, i64 = 0x7f, 0x7e

	unreachable, loop, block, br, brIf, end, call, drop = 0x00, 0x03, 0x02, 0x0c, 0x0d, 0x0b, 0x10, 0x1a
	localGet, localTee, constI32, constI64              = 0x20, 0x22, 0x41, 0x42
	memoryGrow, addI64, subI64                          = 0x40, 0x7c, 0x7d
	void                                                = 0x40
)

type imp struct {
	module, name string
	typ          byte
}

// Imports that every module made here has, in the order of their indexes.
const (
	fInputOffset = iota
	fInputLength
	fOutputSet
	fAlloc
	fLength
	fErrorSet
	fHTTP
	fLog
	fConfig
	fStore
	fPoll
	fExit
	fStatus
	imports
)

var importList = [imports]imp{
	{extismEnv, "input_offset", tI64},
	{extismEnv, "input_length", tI64},
	{extismEnv, "output_set", t2Off},
	{extismEnv, "alloc", tOffOff},
	{extismEnv, "length", tOffOff},
	{extismEnv, "error_set", tOff},
	{extismEnv, "http_request", t2OffOff},
	{extismEnv, "log_info", tOff},
	{extismEnv, "config_get", tOffOff},
	{extismEnv, "store_u64", t2Off},
	{wasi, "poll_oneoff", tPoll},
	{wasi, "proc_exit", tExit},
	{extismEnv, "http_status_code", tI32},
}

type fn struct {
	export string
	typ    byte
	code   []byte
}

type mod struct {
	imports []imp // more of them
	tables  []byte
	start   string
	data    []byte // at address 0
	funcs   []fn
}

func cat(parts ...any) (b []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = append(b, byte(p))
		case []byte:
			b = append(b, p...)
		}
	}
	return b
}

// num is a constant as instructions have it.
func num(v int64) (b []byte) {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func (m *mod) bytes() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, content []byte) {
		out = append(appendU32(append(out, id), uint32(len(content))), content...)
	}
	section(sectionType, typeSection)
	all := append(importList[:], m.imports...)
	s := appendU32(nil, uint32(len(all)))
	for _, i := range all {
		s = append(appendString(appendString(s, i.module), i.name), 0, i.typ)
	}
	section(sectionImport, s)
	s = appendU32(nil, uint32(len(m.funcs)))
	for _, f := range m.funcs {
		s = append(s, f.typ)
	}
	section(sectionFunction, s)
	if m.tables != nil {
		section(sectionTable, m.tables)
	}
	section(5, []byte{1, 0, 1})
	s = appendU32(nil, uint32(len(m.funcs)+1))
	s = append(appendString(s, "memory"), 2, 0)
	start := -1
	for i, f := range m.funcs {
		s = append(appendString(s, f.export), 0)
		s = appendU32(s, uint32(len(all)+i))
		if f.export == m.start {
			start = len(all) + i
		}
	}
	section(sectionExport, s)
	if start >= 0 {
		section(8, appendU32(nil, uint32(start)))
	}
	s = appendU32(nil, uint32(len(m.funcs)))
	for _, f := range m.funcs {
		body := append(append([]byte{1, 2, i64}, f.code...), end) // two locals
		s = append(appendU32(s, uint32(len(body))), body...)
	}
	section(10, s)
	if m.data != nil {
		section(11, append(appendU32([]byte{1, 0, constI32, 0, end}, uint32(len(m.data))), m.data...))
	}
	return out
}

// text makes a block of the host's memory with up to 8 bytes, and leaves its offset in local 0.
func text(s string) []byte {
	var b [8]byte
	copy(b[:], s)
	return cat(constI64, num(int64(len(s))), call, fAlloc, localTee, 0,
		constI64, num(int64(binary.LittleEndian.Uint64(b[:]))), call, fStore)
}

var (
	ok = cat(constI32, 0)
	// output returns what is at the offset in local 0.
	output = cat(localGet, 0, localGet, 0, call, fLength, call, fOutputSet)
	// echo returns the input.
	echo    = cat(call, fInputOffset, call, fInputLength, call, fOutputSet)
	forever = cat(loop, void, br, 0, end)
	get     = cat(call, fInputOffset, constI64, 0, call, fHTTP, localTee, 0, drop, output)
)

// dir makes a directory of plug-ins; values are []byte, string or *mod.
func dir(t testing.TB, files map[string]any) string {
	t.Helper()
	d := t.TempDir()
	for name, v := range files {
		var b []byte
		switch v := v.(type) {
		case []byte:
			b = v
		case string:
			b = []byte(v)
		case *mod:
			b = v.bytes()
		}
		if err := os.WriteFile(filepath.Join(d, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return d
}
