// Package sched schedules the threads of one WebAssembly instance. WebAssembly's own threads need shared memory and atomic
// instructions; these need neither, since exactly one thread runs at a time.
//
// Each thread is a goroutine that has called into the instance, so it has a native stack of its own. The one that may run
// holds the baton. It gives the baton away only in Wait, Yield and Block, which host functions call, and goes on when it
// has it back. What the instance has once but each thread needs for itself (stack pointer, thread-local words) is exchanged
// by the Machine at that moment.
//
// The package knows nothing of WebAssembly: its threads are Go functions.
package sched
