//go:build wasip1

// Package pdk is what a plug-in written in Go needs of Extism: its input, its output, and a way to fail. The official
// kit, github.com/extism/go-pdk, has more; a plug-in may use that just as well.
package pdk

import "encoding/binary"

// The host's memory is not the plug-in's own: what is exchanged is copied by these.

//go:wasmimport extism:host/env input_length
func inputLength() uint64

//go:wasmimport extism:host/env input_load_u8
func inputLoad8(offset uint64) uint32

//go:wasmimport extism:host/env input_load_u64
func inputLoad64(offset uint64) uint64

//go:wasmimport extism:host/env output_set
func outputSet(offset, length uint64)

//go:wasmimport extism:host/env error_set
func errorSet(offset uint64)

//go:wasmimport extism:host/env log_info
func logInfo(offset uint64)

//go:wasmimport extism:host/env config_get
func configGet(offset uint64) uint64

//go:wasmimport extism:host/env alloc
func alloc(length uint64) uint64

//go:wasmimport extism:host/env length
func length(offset uint64) uint64

//go:wasmimport extism:host/env load_u8
func load8(offset uint64) uint32

//go:wasmimport extism:host/env store_u8
func store8(offset uint64, v uint32)

//go:wasmimport extism:host/env store_u64
func store64(offset uint64, v uint64)

// Input returns what the function was called with.
func Input() []byte {
	b := make([]byte, inputLength())
	i := 0
	for ; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], inputLoad64(uint64(i)))
	}
	for ; i < len(b); i++ {
		b[i] = byte(inputLoad8(uint64(i)))
	}
	return b
}

func store(b []byte) uint64 {
	offset := alloc(uint64(len(b)))
	if offset == 0 && len(b) > 0 {
		panic("the host has no memory for it")
	}
	i := 0
	for ; i+8 <= len(b); i += 8 {
		store64(offset+uint64(i), binary.LittleEndian.Uint64(b[i:]))
	}
	for ; i < len(b); i++ {
		store8(offset+uint64(i), uint32(b[i]))
	}
	return offset
}

// Output sets what the function returns, and is zero, which the function then returns for success.
func Output(b []byte) int32 {
	outputSet(store(b), uint64(len(b)))
	return 0
}

// Fail says why the function failed, and is one, which the function then returns.
func Fail(text string) int32 {
	errorSet(store([]byte(text)))
	return 1
}

// Log writes to the host's log.
func Log(text string) { logInfo(store([]byte(text))) }

// Config returns a value of the manifest's config, empty if it has none.
func Config(name string) string {
	offset := configGet(store([]byte(name)))
	if offset == 0 {
		return ""
	}
	b := make([]byte, length(offset))
	for i := range b {
		b[i] = byte(load8(offset + uint64(i)))
	}
	return string(b)
}
