package engine

import (
	"runtime"
	"time"
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
	// DefaultResult is the size in bytes up to which a value is part of the result; larger ones are kept by the session
	// and referred to.
	DefaultResult = 64 << 10
	// DefaultCode is the largest piece of source code in bytes. Parsers need some hundred times as much memory.
	DefaultCode = 4 << 20
	// DefaultQueue is the number of executions that may wait for their turn.
	DefaultQueue = 256
)

// defaultInFlight is the number of executions that run at once. More than the cores, since some of them wait.
func defaultInFlight() int { return 2 * runtime.GOMAXPROCS(0) }
