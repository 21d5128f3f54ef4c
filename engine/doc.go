// Package engine runs untrusted code in sandboxes, inside the calling process.
//
// An [Engine] holds warm interpreters. [Engine.Run] runs a program in a fresh sandbox that exists for this one run;
// [Engine.NewSession] returns a sandbox that keeps its variables and files from one [Session.Exec] to the next. Making a
// sandbox takes microseconds: it is a copy-on-write fork of an interpreter that is already initialised, see package wasm.
//
// Languages are handed in through [Options.Guests], so that a program links only those it names.
//
// The defaults are meant for hostile code: no network, no files of the host, bounded memory, time and output.
package engine
