package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mayfly-run/mayfly/engine/internal/guest"
	"github.com/mayfly-run/mayfly/wasm"
	"github.com/mayfly-run/mayfly/wasm/wasi"
)

// wasmSandbox is one fork of a guest, with its files.
type wasmSandbox struct {
	im      *wasm.Image
	mem     *wasm.Memory
	files   *files
	process *wasi.Process
	forks   forks
	spec    Spec
	guest   string // Guest.ID
	fresh   bool   // nothing ran yet
	reseed  bool   // random state is shared with other forks

	// Where the sandbox was before the last execution, until that is kept or undone.
	before   *wasm.Checkpoint
	open     wasi.Mark
	wasFresh bool
	ran      bool // the last execution was not undone
	// base is the stored frame of the memory at the checkpoint, nil when there is none; next takes its place.
	base, next *memoryBase
}

// Exec runs code in the guest.
func (s *wasmSandbox) Exec(ctx context.Context, x *Execution) (*Outcome, error) {
	req, err := guest.Request(guest.OpExec, s.head(x), []byte(x.Code))
	if err != nil {
		return nil, err
	}
	var stdin *wasi.Stdin
	if x.Stdin != nil {
		stdin = wasi.NewStdin(x.Stdin)
		defer stdin.Close()
	}
	s.process.SetStdio(stdin, x.Output.Stdout(), x.Output.Stderr())
	if !s.spec.Ephemeral {
		if err := s.begin(); err != nil {
			return nil, err
		}
		if s.spec.tape == nil {
			defer s.forgetBefore()
		}
	}
	var children forked
	b, usage, err := s.im.Call(ctx, s.mem, req, &wasm.CallOptions{
		Process: s.process, Handle: s.handle(x), Timeout: x.Timeout, WallLimit: x.Limit, Idle: x.Idle, Grace: x.Grace, MaxTicks: x.MaxTicks,
		MaxThreads: s.spec.Threads, MaxStacks: int(s.spec.Stacks),
		Fork: s.fork(x, &children), NoWait: s.spec.tape != nil && s.spec.tape.Playing(),
	})
	out := &Outcome{Usage: Usage{
		CPUTicks: usage.Ticks + children.ticks.Load(), Forks: int(children.count.Load()), MemoryPeakBytes: usage.MemoryPeak,
		Threads: usage.Threads, ThreadTicks: usage.ThreadTicks, StacksPeakBytes: usage.StackPeak,
	}}
	if err == nil {
		var a *guest.Answer
		if a, err = guest.ParseAnswer(b); err == nil {
			out.answer(a, usage)
		}
	}
	if err != nil {
		if !out.failure(err, usage) {
			return nil, err
		}
		if err := s.restore(out.Error); err != nil {
			return nil, err
		}
	} else {
		s.fresh, s.reseed, s.ran = false, false, true
	}
	if x.secrets != nil && !s.spec.Ephemeral {
		// Values cannot come in by what the host answers; this is for what mounts and other ways brought.
		if _, err := s.files.own.Mask(x.secrets.Mask, x.secrets.Longest()-1); err != nil {
			return nil, fmt.Errorf("remove secrets from files: %w", err)
		}
	}
	out.Files, out.MoreFiles = s.files.changes()
	return out, nil
}

func (s *wasmSandbox) head(x *Execution) guest.ExecHead {
	file := x.Filename
	if strings.HasPrefix(file, "<") { // "<step 1>" and the like are no files
		file = ""
	}
	return guest.ExecHead{
		Filename: x.Filename, File: file, Argv: append([]string{x.Filename}, x.Args...), Env: x.Env,
		Reseed: s.reseed, Stdin: x.Stdin != nil, Result: !x.NoResult, Finish: s.spec.Ephemeral,
	}
}

// begin notes where the sandbox is, to go back there.
func (s *wasmSandbox) begin() (err error) {
	s.forgetBefore()
	if s.before, err = s.mem.Checkpoint(); err != nil {
		return err
	}
	s.open = s.process.Mark()
	s.files.own.Checkpoint()
	if s.ran {
		s.base = nil // the last execution was not kept, so that frame is not the checkpoint's
	}
	s.wasFresh, s.ran = s.fresh, false
	return nil
}

// restore brings the sandbox back to where it was before an execution, which may have stopped half-way. e is told.
func (s *wasmSandbox) restore(e *ExecError) error {
	if s.before == nil {
		return nil // nobody will come back
	}
	if err := s.mem.Rollback(s.before); err != nil {
		return fmt.Errorf("restore the session: %w", err)
	}
	s.files.own.Rollback()
	s.process.Restore(s.open, s.files.reopen)
	s.fresh, s.reseed, s.ran = s.wasFresh, true, false
	if e != nil {
		e.Restored = true
	}
	return nil
}

// Trim gives back what an idle sandbox does not need.
func (s *wasmSandbox) Trim() error { return s.mem.Trim() }

// Close frees the fork.
func (s *wasmSandbox) Close(context.Context) error {
	s.forgetBefore()
	errs := []error{s.process.Close()}
	if s.mem != nil {
		errs = append(errs, s.mem.Close())
	}
	return errors.Join(append(errs, s.files.close())...)
}

// answer fills the outcome of code that ran to some end.
func (o *Outcome) answer(a *guest.Answer, u wasm.Usage) {
	o.Status = StatusOK
	o.ThreadsEnded = a.ThreadsEnded
	o.ValueJSON, o.ValueRepr, o.ValueName = a.ValueJSON, a.ValueRepr, a.Variable
	if a.Preview && a.Variable != "" {
		o.ValueRef = "variable:" + a.Variable
	}
	switch a.Status {
	case guest.StatusExit:
		o.exit(a.Code)
	case guest.StatusError:
		e := a.Error
		o.Error = &ExecError{Kind: e.Kind, Type: e.Type, Message: e.Message, Traceback: e.Traceback, Line: e.Line, Hint: e.Hint}
		o.Status, o.ExitCode = StatusError, ExitError
		switch {
		case u.Interrupted == wasm.Cancelled:
			o.set(StatusCancelled, ExitCancelled, "cancelled")
		case u.Interrupted != wasm.NotInterrupted:
			// Whatever it died of then: the interrupt may have met it in the middle of something.
			o.set(StatusTimeout, ExitTimeout, "timeout")
			o.Error.Hint = timeHint
		case e.Kind == "memory":
			o.set(StatusMemoryLimit, ExitMemory, "memory")
		}
	}
}

func (o *Outcome) set(s Status, code int, kind string) {
	o.Status, o.ExitCode = s, code
	if o.Error == nil {
		o.Error = &ExecError{}
	}
	o.Error.Kind = kind
}

func (o *Outcome) interrupted(r wasm.Reason, consequence string) {
	if r == wasm.Cancelled {
		o.set(StatusCancelled, ExitCancelled, "cancelled")
	} else {
		o.set(StatusTimeout, ExitTimeout, "timeout")
		o.Error.Hint = timeHint
	}
	o.Error.Message = fmt.Sprintf("%s: %s", r, consequence)
}

const (
	timeHint   = "raise the time limit (--timeout), or do less in one execution"
	memoryHint = "work in smaller pieces, or raise the limit (--memory)"
)

func (o *Outcome) exit(code int) {
	o.Status, o.ExitCode = StatusOK, code
	if code != 0 {
		o.Status = StatusError
		o.Error = &ExecError{Kind: "exit", Type: "SystemExit", Message: fmt.Sprintf("the program exited with code %d", code)}
	}
}

// failure fills the outcome of code that stopped half-way. It returns false when the error is Mayfly's own.
func (o *Outcome) failure(err error, u wasm.Usage) bool {
	var killed *wasm.KilledError
	var trap *wasm.TrapError
	var overflow *wasm.StackError
	var exit *wasi.ExitError
	switch {
	case errors.As(err, &killed):
		o.interrupted(killed.Reason, "the program did not end by itself, so it was killed")
	case u.Interrupted != wasm.NotInterrupted && errors.Is(err, wasm.ErrGuest):
		// The interrupt met the support library, before the program began or after it ended.
		o.interrupted(u.Interrupted, "the program's result is lost")
	case errors.As(err, &exit):
		o.exit(int(exit.Code & 0xff))
	case errors.Is(err, wasm.ErrDeadlock):
		o.set(StatusError, ExitError, "deadlock")
		o.Error.Message = "deadlock: every thread waits, and the main thread could not be woken"
	case errors.Is(err, wasm.ErrStacks):
		o.set(StatusMemoryLimit, ExitMemory, "memory")
		o.Error.Message = "the threads recurse so deeply that their stacks need too much memory"
		o.Error.Hint = "use fewer threads, or a loop with an explicit stack instead of recursion"
	case errors.As(err, &overflow):
		o.set(StatusError, ExitError, "crash")
		o.Error.Message = "a thread's stack overflowed"
		o.Error.Hint = "give it a larger one with threading.stack_size(), or use a loop with an explicit stack"
	case errors.Is(err, wasm.ErrNoMemory), u.MemoryDenied && (errors.As(err, &trap) || errors.Is(err, wasm.ErrGuest)):
		o.set(StatusMemoryLimit, ExitMemory, "memory")
		o.Error.Message = "the memory limit was reached"
		o.Error.Hint = memoryHint
	case errors.As(err, &trap):
		o.set(StatusError, ExitError, "crash")
		o.Error.Message = "the interpreter crashed: " + firstLine(trap.Err.Error())
		o.Error.Hint = "deep recursion in C code is the usual reason"
	case errors.Is(err, wasm.ErrGuest), errors.Is(err, guest.ErrAnswer), errors.Is(err, wasm.ErrFrame):
		o.set(StatusError, ExitError, "crash")
		o.Error.Message = "the program damaged the interpreter: " + firstLine(err.Error())
	default:
		return false
	}
	return true
}

func firstLine(s string) string {
	for i, c := range s {
		if c == '\n' {
			return s[:i]
		}
	}
	return s
}
