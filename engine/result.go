package engine

import (
	"encoding/json"
	"time"
)

// Status is how an execution ended.
type Status string

// The statuses. Only StatusNotStarted says that no code ran.
const (
	StatusOK          Status = "ok"           // the code ran to its end, or exited with 0
	StatusError       Status = "error"        // an exception was not caught, or the exit code was not 0
	StatusTimeout     Status = "timeout"      // the wall-clock or CPU limit was reached
	StatusMemoryLimit Status = "memory_limit" // the memory limit was reached
	StatusCancelled   Status = "cancelled"    // the context was cancelled
	StatusDenied      Status = "denied"       // policy refused it
	StatusNotStarted  Status = "not_started"  // nothing ran
	StatusLost        Status = "lost"         // it started, but what came of it is not known
)

// Exit codes that an execution gets when it did not choose one itself.
const (
	ExitError     = 1
	ExitTimeout   = 124
	ExitCancelled = 130
	ExitMemory    = 137
)

// Result is what came of an execution. The shape is the same in Go, in the command's --json, in REST and in MCP.
type Result struct {
	ExecutionID string    `json:"execution_id"`
	SessionID   string    `json:"session_id,omitempty"`
	Step        int       `json:"step"`
	Language    string    `json:"language"`
	Executor    string    `json:"executor"`
	Status      Status    `json:"status"`
	Started     time.Time `json:"started"`
	// ExitCode is the program's own, or one of the Exit constants.
	ExitCode int    `json:"exit_code"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	// Truncated says of what there was more.
	Truncated Truncated `json:"truncated"`
	// Result is the value of the last expression, or of the last assignment when the code ends with one, when it can be
	// told as JSON.
	Result json.RawMessage `json:"result,omitempty"`
	// ResultRepr is the same value as the language prints it.
	ResultRepr string `json:"result_repr,omitempty"`
	// ResultName is the variable that the last statement assigned the value to, empty when that was an expression.
	ResultName string `json:"result_name,omitempty"`
	// ResultRef names a value too large for the result: "variable:NAME" is held by a variable of the session,
	// "value:ID" can be had from Session.Value. ResultRepr is a preview then.
	ResultRef string `json:"result_ref,omitempty"`
	// Error describes what went wrong, nil when Status is StatusOK.
	Error        *ExecError   `json:"error,omitempty"`
	HostCalls    []HostCall   `json:"host_calls"`
	FilesChanged []FileChange `json:"files_changed"`
	// ThreadsEnded counts the threads that had to be ended with the execution: daemon threads, and after a timeout all.
	ThreadsEnded int   `json:"threads_ended,omitempty"`
	Usage        Usage `json:"usage"`
}

// Truncated counts the bytes that were left out.
type Truncated struct {
	Stdout int64 `json:"stdout,omitempty"`
	Stderr int64 `json:"stderr,omitempty"`
	// Files tells that more files were changed than are listed.
	Files bool `json:"files,omitempty"`
	// HostCalls is the number of host calls that are not listed.
	HostCalls int `json:"host_calls,omitempty"`
}

// ExecError describes a failure of the code.
type ExecError struct {
	// Kind is exception, syntax, import, deadlock, memory, timeout, cancelled, exit, crash,
	// request or store.
	Kind string `json:"kind"`
	// Type is the language's name of the error: "ValueError".
	Type    string `json:"type,omitempty"`
	Message string `json:"message"`
	// Traceback shows the program's own lines.
	Traceback string `json:"traceback,omitempty"`
	// Line is the last line of the program that was reached, from 1; 0 when unknown.
	Line int `json:"line,omitempty"`
	// Hint says what to do about it.
	Hint string `json:"hint,omitempty"`
	// Restored tells that the session was set back to where it was before the execution.
	Restored bool `json:"restored,omitempty"`
}

// HostCall is a call of a host function.
type HostCall struct {
	// Name is "tools.SERVER.TOOL" or that of the function.
	Name string `json:"name"`
	// Args are the arguments, without secrets; a JSON string with their beginning when they are long.
	Args json.RawMessage `json:"args,omitempty"`
	// Outcome is "ok" or the code of an error (package hostfns).
	Outcome string  `json:"outcome"`
	WallMS  float64 `json:"wall_ms"`
	// Approved is the action by which a person answered, empty when nobody was asked.
	Approved string `json:"approved,omitempty"`
	// Bytes is the size of the answer.
	Bytes int `json:"bytes,omitempty"`
}

// FileChange is a file that the execution changed.
type FileChange struct {
	Path string `json:"path"`
	// Op is created, modified or deleted.
	Op   string `json:"op"`
	Size int64  `json:"size"`
}

// Usage is what an execution took.
type Usage struct {
	// WallMS is the time of the execution itself; waiting, loading a guest and forking come before.
	WallMS float64 `json:"wall_ms"`
	// CPUTicks is a measure of computing that does not depend on the machine, a tick being at most about a millisecond.
	CPUTicks        uint64  `json:"cpu_ticks"`
	QueueMS         float64 `json:"queue_ms"`
	ForkUS          float64 `json:"fork_us"`
	MemoryPeakBytes int64   `json:"memory_peak_bytes"`
	HostCallMS      float64 `json:"host_call_ms"`
	// StoreMS is what it took to store the step of a durable session.
	StoreMS float64 `json:"store_ms,omitempty"`
	// Threads is the largest number of threads at once, the main thread included.
	Threads int `json:"threads,omitempty"`
	// ThreadTicks are the CPU ticks of each thread, the main thread first; only told when there were others. From the 257th
	// thread on they are added up.
	ThreadTicks []uint64 `json:"thread_ticks,omitempty"`
	// Forks counts the processes that the program started; their ticks are part of CPUTicks.
	Forks int `json:"forks,omitempty"`
	// StacksPeakBytes is what the threads' stacks took on the host, as far as it was seen.
	StacksPeakBytes int64 `json:"stacks_peak_bytes,omitempty"`
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
