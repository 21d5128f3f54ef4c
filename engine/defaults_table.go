package engine

import (
	"fmt"

	"github.com/mayfly-run/mayfly/wasm"
	"github.com/mayfly-run/mayfly/wasm/wasi"
)

// Default is a limit that holds when nothing else is said.
type Default struct {
	Name, Value, Reason string
}

// Defaults lists them all, for people.
func Defaults() []Default {
	mib := func(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
	return []Default{
		{"timeout", DefaultTimeout.String(), "wall-clock time of an execution: what an agent waits for before it loses patience"},
		{"grace", DefaultGrace.String(), "time to clean up after the TimeoutError, before the kill"},
		{"memory", mib(DefaultMemory), "what the interpreter may grow to, itself included"},
		{"max-output", mib(DefaultOutput), "kept of each of stdout and stderr: more than a model can read"},
		{"result", fmt.Sprintf("%d KiB", DefaultResult>>10), "a larger value is kept by the session and referred to"},
		{"code", mib(DefaultCode), "largest source; parsers need some hundred times as much memory"},
		{"workspace", mib(DefaultWorkspace), "all files of a sandbox"},
		{"files", fmt.Sprint(DefaultFiles), "number of files and directories of a sandbox"},
		{"threads", fmt.Sprint(DefaultThreads), "of a program at once, the main thread included; each takes 1.5 MiB of its memory"},
		{"stacks", mib(DefaultStacks), "of all threads together on the host; needed for deep recursion only"},
		{"processes", fmt.Sprint(wasm.DefaultMaxForks), "that a program may have started at once; copies of its memory, together at most the memory limit"},
		{"running processes", fmt.Sprint(cap(newForks())), "of all programs at once: twice the cores, since some wait; more wait for their turn"},
		{"in-flight", fmt.Sprint(defaultInFlight()), "executions at once: twice the cores, since some wait"},
		{"queue", fmt.Sprint(DefaultQueue), "executions that wait for a place; more are refused"},
		{"waiting", fmt.Sprint(DefaultMaxWaiting), "executions that wait for a tool or sleep, without a place among those that run"},
		{"open files", fmt.Sprint(wasi.DefaultMaxFiles), "descriptors of a sandbox"},
		{"arguments", mib(maxHead), "arguments, environment and file name together, twice what Linux gives a process"},
		{"values", mib(maxValues), "large results that a session keeps; the oldest go first"},
		{"changed files", fmt.Sprint(maxChanges), "listed in a result"},
		{"network", "none", "guest code is hostile until policy says otherwise"},
		{"host files", "none", "only what --mount shows"},
	}
}
