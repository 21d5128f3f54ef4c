package engine

import (
	"runtime"
	"time"

	"github.com/mayfly-run/mayfly/wasm"
	"github.com/mayfly-run/mayfly/wasm/sched"
)

// Defaults of Options and Sandbox.
const (
	// DefaultTimeout is the wall-clock time of an execution: what an agent waits for before it loses patience.
	DefaultTimeout = 30 * time.Second
	// DefaultGrace is the time that a program has, after it got its TimeoutError, to clean up before it is killed.
	DefaultGrace = time.Second
	// DefaultMemory is what a guest's memory may grow to in bytes, interpreter included (48 MiB for CPython).
	DefaultMemory = 512 << 20
	// DefaultOutput is the number of bytes kept of each of stdout and stderr: more than a model can read.
	DefaultOutput = 1 << 20
	// DefaultWorkspace is the size in bytes of all files of a sandbox.
	DefaultWorkspace = 1 << 30
	// DefaultFiles is the number of files and directories of a sandbox.
	DefaultFiles = 100_000
	// DefaultThreads is the number of threads that a program may have at once: each takes 1.5 MiB of its memory.
	DefaultThreads = sched.DefaultMaxThreads
	// DefaultStacks is what the host has for the stacks of a program's threads: one that recurses as deeply as Python
	// lets it takes some ten MiB.
	DefaultStacks = wasm.DefaultStacks
	// DefaultResult is the size in bytes up to which a value is part of the result; larger ones are kept by the session
	// and referred to.
	DefaultResult = 64 << 10
	// DefaultCode is the largest piece of source code in bytes. Parsers need some hundred times as much memory.
	DefaultCode = 4 << 20
	// DefaultUnload is how long an idle durable session stays in memory: coming back takes it some milliseconds.
	DefaultUnload = 5 * time.Minute
	// DefaultQueue is the number of executions that may wait for their turn.
	DefaultQueue = 256
	// DefaultMaxWaiting is the number of executions that wait for tools and do not count as running. Each takes a megabyte or
	// two besides what its program needs.
	DefaultMaxWaiting = 1000
)

// minStacks is the least that Sandbox.Stacks may be: a main thread needs as much for ordinary recursion.
const minStacks = 8 << 20

// The most that a sandbox may ask for: memory is what 32 bits address, and threads are far more than it has room for.
const (
	maxMemory  = 4 << 30
	maxThreads = 1 << 20
)

// defaultInFlight is the number of executions that run at once. More than the cores, since some of them wait.
func defaultInFlight() int { return 2 * runtime.GOMAXPROCS(0) }
