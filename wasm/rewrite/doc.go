// Package rewrite turns a guest's WebAssembly module into the form that package wasm forks.
//
// The result is one module without data, start function and custom sections, whose mutable globals are all exported, so
// that the state of an instance is its linear memory plus a few global values, and both can be swapped from outside.
// On the way, function bodies are instrumented:
//
//   - A countdown at every loop header calls the host's tick about once a millisecond. Go cannot preempt compiled
//     WebAssembly, so without it a guest that computes would hold up the garbage collector, and with it the whole process.
//   - memory.copy and memory.fill of more than a chunk are split, with a tick between two chunks, for the same reason.
//   - Bounds checks of accesses through one pointer are merged: see merge.go.
//   - Selects between floats become integer selects: wazero up to v1.12.0 miscompiles the former on amd64
//     (https://github.com/tetratelabs/wazero/issues/2534).
//
// The package reads untrusted bytes: every length is checked against the input, and a module that it does not understand
// whole is refused, never passed through.
package rewrite
