// Package tape records what an execution learns from outside, and plays it back. WebAssembly is deterministic, so a
// guest that starts from the same state and gets the same answers does the same again.
//
// # What is kept
//
//   - Random bytes: the seed only. They come from ChaCha8, which is a cryptographic generator
//     (https://c2sp.org/chacha8rand), so they are fit for keys and tokens. Who has the recording can compute them: it is as
//     confidential as the memory of the session.
//   - Clocks: each reading is the number of microseconds since the step began, by the monotonic clock of the host. The
//     wall clock, the monotonic clock and CPU time are all made of that number. The log holds the differences.
//   - Time stamps of files: a clock that ticks every 4 ms, as the kernel's does. The log holds the ticks that were seen.
//   - Standard input: the bytes, and how many each read brought.
//   - Host functions: a hash of the request, and the answer.
//
// The sources are logged one by one. Their order among each other is not needed to repeat a run, as a guest that is
// single-threaded asks in the same order.
//
// # What cannot be repeated
//
// Threads, processes, time limits and the like depend on more than that. Such a step is recorded as well, with the
// reasons in Recording.Incomplete; so is one that was beyond the [Limits]. A replay of it is [KindUnverified].
package tape
