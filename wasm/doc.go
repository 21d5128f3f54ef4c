// Package wasm forks initialised WebAssembly guests.
//
// A guest is an interpreter compiled to WebAssembly that speaks the ABI of guests/README.md. Initialising one costs
// hundreds of milliseconds, so it is done once per guest: an [Image] is the compiled module and the linear memory that
// the initialised interpreter left behind. A [Memory] is a private copy-on-write view of that memory and costs
// microseconds. A worker is a module instance in which memories are swapped in turn, so there are only as many instances
// as calls in flight. A [Snapshot] is what a memory changed against its image; a [Checkpoint] is a cheaper one, of the moment
// before a call, to go back to when the guest has to be killed.
//
// The package knows nothing about languages, tools and sessions. Guest code is hostile to it: every pointer, length and
// frame is checked, time is bounded by ticks (see package rewrite), memory by [MemoryOptions].
package wasm
