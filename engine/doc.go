// Package engine runs untrusted code in sandboxes, inside the calling process.
//
// An [Engine] holds warm interpreters. [Engine.Run] runs a program in a fresh sandbox that exists for this one run;
// [Engine.NewSession] returns a sandbox that keeps its variables and files from one [Session.Exec] to the next. Making a
// sandbox takes microseconds: it is a copy-on-write fork of an interpreter that is already initialised, see package wasm.
//
// # Durable sessions
//
// With [Options.Store] (package engine/store) there are sessions that outlive the process. [Engine.Open] opens one by its
// name. Each of its executions is a step: when Exec returns, what it changed in the interpreter's memory and in the files is
// in the store, together with a [Record] of it, or nothing of it is. [Session.Rewind] and [Engine.Fork] bring back the
// state of any step. [Engine.Journal] reads what was done, and [Journal.Verify] runs it again and compares. [Engine.Export]
// and [Engine.Import] carry a session elsewhere.
//
// Languages are handed in through [Options.Guests], so that a program links only those it names.
//
// The defaults are meant for hostile code: no network, no files of the host, bounded memory, time and output.
package engine
