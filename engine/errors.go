package engine

import (
	"errors"
	"fmt"
)

// Errors that callers branch on. They come wrapped in an *Error.
var (
	// ErrClosed: the engine or session is closed.
	ErrClosed = errors.New("closed")
	// ErrBusy: as many executions wait as Options.MaxQueue allows.
	ErrBusy = errors.New("too many executions are waiting")
	// ErrRequest: the request or the options are not valid.
	ErrRequest = errors.New("invalid request")
	// ErrUnavailable: what was asked for does not work on this machine.
	ErrUnavailable = errors.New("not available")
	// ErrNoStore: durable sessions need Options.Store.
	ErrNoStore = errors.New("the engine has no store")
	// ErrNoStep: the session has no such step, or its state was not kept.
	ErrNoStep = errors.New("no such step")
)

// Phases of an execution in which something can fail.
const (
	PhaseRequest = "request" // nothing was started
	PhaseQueue   = "queue"   // nothing was started
	PhaseFork    = "fork"    // nothing was started
	PhaseExec    = "exec"    // the code may have run
	PhaseStore   = "store"   // the code ran, but the step was not stored and does not count; or nothing was started
)

// Error is a failure of Mayfly itself or of its use, as opposed to one of the code that was to run: that is told by
// Result.Error.
type Error struct {
	// Err is the reason; errors.Is finds the sentinels of this package through it.
	Err error
	// Phase tells how far the request got.
	Phase string
	// Hint says what to do, empty when there is nothing sensible to say.
	Hint string
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %v", e.Phase, e.Err)
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

func requestError(hint, format string, args ...any) *Error {
	return &Error{Err: fmt.Errorf("%w: %w", ErrRequest, fmt.Errorf(format, args...)), Phase: PhaseRequest, Hint: hint}
}
