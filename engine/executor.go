package engine

import (
	"context"
	"time"

	"github.com/mayfly-run/mayfly/engine/internal/tape"
	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
	"github.com/mayfly-run/mayfly/wasm"
)

// Executor makes sandboxes of one kind. The engine has one for WebAssembly guests; others can run code elsewhere.
// Implementations are safe for concurrent use and pass the conformance suite in internal/executortest.
type Executor interface {
	// Name is what results call it: "wasm".
	Name() string
	// Languages lists what it can run.
	Languages() []string
	// Open makes a sandbox. The spec has no defaults left to fill in.
	Open(ctx context.Context, spec Spec) (Sandboxed, error)
	// Close frees what the executor holds, after all its sandboxes are closed.
	Close(ctx context.Context) error
}

// Spec is a Sandbox with its defaults filled in.
type Spec struct {
	Sandbox
	// Ephemeral tells that there will be one execution only, so that nothing has to be kept for a next one.
	Ephemeral bool

	// store and tape are set for durable sessions, see keeper. now is the clock of the file system.
	store cas.ReadWriter
	tape  *tape.Tape
	now   func() int64
	audit func(vfs.Operation)
}

// keeper is a sandbox whose state can be stored. Between an execution and the next, Save and then one of Kept and Undo may
// be called.
type keeper interface {
	Sandboxed
	// Save adds to b what the present state needs and the store does not have. Without snapshot, the memory is left out.
	Save(b *cas.Batch, snapshot bool) (*State, error)
	// Kept tells that what Save returned is stored.
	Kept()
	// Undo goes back to where the sandbox was before the last execution.
	Undo() error
}

// Sandboxed is an open sandbox. One execution at a time runs in it; Close may be called at any time.
type Sandboxed interface {
	// Exec runs code. An error means that Mayfly failed; what the code does wrong is told by the outcome.
	Exec(ctx context.Context, x *Execution) (*Outcome, error)
	// Close ends the sandbox, after the execution in flight.
	Close(ctx context.Context) error
}

// Execution is a Request with its defaults filled in.
type Execution struct {
	Request
	Step    int
	Grace   time.Duration
	Output  *Output
	secrets *secrets.Set // nil without any
	calls   *hostfns.Calls
	input   *Input // in a durable session, with the objects that belong to it
	objects *cas.Batch
	// replayed notes the host calls of a step that is run again.
	replayed *replayedCalls
	resume   *resume // nil but when the execution goes on after its process ended
	// Limit is Timeout, as a limit that is paused while a person is asked.
	Limit *wasm.WallLimit
	// Idle is to be told when the execution waits, so that others can run meanwhile, and before it goes on: then it may have
	// to wait for its turn, until ctx is done. See wasm.CallOptions.Idle. Nil: nobody needs to know.
	Idle func(ctx context.Context, idle bool)
	// Handle answers the frames that code sends to host functions (package hostfns). It waits until the answer is there or
	// ctx is done, and is safe for concurrent use. Never nil.
	Handle func(ctx context.Context, request []byte) []byte
	// HandleProcess returns the Handle of a copy of the program that runs beside it. Nil: copies have no host functions.
	HandleProcess func() func(ctx context.Context, request []byte) []byte
}

// Outcome is what an executor knows of an execution; the engine makes the Result of it.
type Outcome struct {
	Status   Status
	ExitCode int
	// ValueJSON and ValueRepr are the encoded value, empty when there is none or it cannot be encoded. ValueRef is set
	// when ValueRepr is a preview of something that a variable holds, ValueName when the value was assigned.
	ValueJSON []byte
	ValueRepr string
	ValueRef  string
	ValueName string
	Error     *ExecError
	Files     []FileChange
	MoreFiles bool
	// ThreadsEnded counts the threads that had to be ended with the execution.
	ThreadsEnded int
	Usage        Usage
}
