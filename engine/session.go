package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
	"github.com/mayfly-run/mayfly/wasm"
)

// Session is a sandbox that keeps its state. Its executions run one after the other; all methods are safe for concurrent
// use.
type Session struct {
	e    *Engine
	id   string
	spec Spec

	turn chan struct{} // holds a token during an execution
	box  Sandboxed
	step int
	idle *time.Timer
	// trimmed tells that the sandbox was trimmed since it was last used.
	trimmed bool
	kept    *kept // nil unless the session is durable
	host    *hostfns.Host
	hosted  *hostfns.Session // what the session has of host, nil without one

	state  sync.Mutex
	cancel context.CancelFunc
	closed bool
	// values are the results too large to be told, by ID; valueIDs has these, the oldest first.
	values   map[string][]byte
	valueIDs []string
	stored   int
	value    []byte // the one of the execution that runs, if it is large
}

// TrimAfter is how long a session has to be idle before its memory is trimmed, see wasm.Memory.Trim: longer than an agent
// takes that works through a list, shorter than a model takes to think.
const TrimAfter = time.Second

// maxHead bounds the bytes of arguments, environment and file name together: twice what Linux gives a process. Encoded,
// they stay far below what a frame may have.
const maxHead = 4 << 20

// maxValues bounds the bytes of large results that a session keeps; the oldest go first.
const maxValues = 64 << 20

// ID returns the session's identifier.
func (s *Session) ID() string { return s.id }

// Language returns the language that the session runs.
func (s *Session) Language() string { return s.spec.Language }

// Exec runs a piece of code; what it defines is there for the next. Errors are as those of Engine.Run. After a kill or a
// crash the session is where it was before the execution, and goes on.
func (s *Session) Exec(ctx context.Context, r Request) (*Result, error) {
	arrived := time.Now()
	x, err := s.prepare(&r)
	if err != nil {
		return notStarted(&r, arrived, err), err
	}
	if !s.e.enter() {
		err := &Error{Err: ErrClosed, Phase: PhaseRequest}
		return notStarted(&r, arrived, err), err
	}
	defer s.e.running.Done()
	// The session's turn comes first, so that executions which wait for it do not hold places that others could use.
	if err := s.e.queue.acquire(ctx, s.turn); err != nil {
		return notStarted(&r, arrived, queueError(err)), queueError(err)
	}
	defer func() { <-s.turn }()
	place, err := s.e.queue.enter(ctx)
	if err != nil {
		return notStarted(&r, arrived, queueError(err)), queueError(err)
	}
	defer place.leave()
	x.Idle = place.idle
	// A place that was free is taken without a look at the context.
	if err := ctx.Err(); err != nil {
		return notStarted(&r, arrived, queueError(err)), queueError(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !s.begin(cancel) {
		err := &Error{Err: ErrClosed, Phase: PhaseRequest}
		return notStarted(&r, arrived, err), err
	}
	defer s.begin(nil)
	return s.run(ctx, x, arrived, time.Since(arrived))
}

func queueError(err error) error {
	e := &Error{Err: err, Phase: PhaseQueue}
	if errors.Is(err, ErrBusy) {
		e.Hint = "raise Options.MaxQueue or MaxInFlight, or send less at once"
	}
	return e
}

// prepare checks a request and fills in its defaults.
func (s *Session) prepare(r *Request) (*Execution, error) {
	o := &s.e.opts
	switch {
	case len(r.Code) > o.MaxCode:
		return nil, requestError("put data into files", "code of %d bytes, at most %d are allowed", len(r.Code), o.MaxCode)
	case strings.ContainsRune(r.Code, 0):
		return nil, requestError("", "code contains a NUL byte")
	case r.Sandbox != nil:
		return nil, requestError("give it to NewSession", "Request.Sandbox in a session")
	case r.Language != "" && r.Language != s.spec.Language:
		return nil, requestError("open another session", "the session runs %s, not %s", s.spec.Language, r.Language)
	case r.Timeout < 0:
		return nil, requestError("", "timeout of %v", r.Timeout)
	case r.MaxOutput < 0:
		return nil, requestError("", "output of at most %d bytes", r.MaxOutput)
	}
	size := len(r.Filename)
	for _, a := range r.Args {
		size += len(a)
	}
	for k, v := range r.Env {
		size += len(k) + len(v)
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.ContainsRune(v, 0) {
			return nil, requestError("names have no '=' and nothing has NUL bytes", "environment variable %q", k)
		}
	}
	if size > maxHead {
		return nil, requestError("put data into files or standard input",
			"arguments, environment and file name of %d bytes, at most %d are allowed", size, maxHead)
	}
	x := &Execution{Request: *r, Grace: o.Grace}
	setDefault(&x.MaxOutput, o.MaxOutput)
	x.Output = newOutput(x.MaxOutput, r.OnEvent)
	set := s.e.secretsOf(r.Host)
	if err := refuseSecrets(set, r); err != nil {
		return nil, err
	}
	if set != nil {
		x.secrets = set
		x.Output.scrub(set)
		if x.Stdin != nil {
			x.Stdin = set.Reader(x.Stdin)
		}
	}
	if x.Timeout == 0 {
		x.Timeout = max(o.Timeout, 0)
	}
	x.Limit = wasm.NewWallLimit(x.Timeout)
	return x, nil
}

// begin notes how to cancel the execution that starts, or with nil that it has ended. It fails on a closed session.
func (s *Session) begin(cancel context.CancelFunc) bool {
	s.state.Lock()
	defer s.state.Unlock()
	s.cancel = cancel
	return !s.closed
}

func (s *Session) run(ctx context.Context, x *Execution, arrived time.Time, queued time.Duration) (*Result, error) {
	if err := s.checkSuspended(x); err != nil {
		return notStarted(&x.Request, arrived, err), err
	}
	fork, err := s.open(ctx)
	if err != nil {
		return notStarted(&x.Request, arrived, err), err
	}
	started := time.Now()
	s.step++
	x.Step = s.step
	if x.Filename == "" {
		x.Filename = fmt.Sprintf("<step %d>", s.step)
	}
	exec := func() (*Result, error) {
		r, err := s.exec(ctx, x, arrived)
		r.Usage.QueueMS = milliseconds(queued)
		r.Usage.WallMS = milliseconds(time.Since(started))
		r.Usage.ForkUS = float64(fork.Nanoseconds()) / 1000
		return r, err
	}
	if s.kept == nil {
		return exec()
	}
	r, err := s.keepStep(ctx, x, exec)
	if r == nil {
		s.step = s.kept.head.Step
		r = notStarted(&x.Request, arrived, err)
	}
	return r, err
}

// open makes the session's sandbox, unless it has one, and returns what that took.
func (s *Session) open(ctx context.Context) (time.Duration, error) {
	if s.box != nil {
		return 0, nil
	}
	// The first sandbox of a language waits for the guest to be loaded, which is not what a fork takes.
	if err := s.e.Warm(ctx, s.spec.Language); err != nil {
		return 0, openError(ctx, err)
	}
	start := time.Now()
	var box Sandboxed
	var err error
	if s.kept == nil {
		box, err = s.e.exec.Open(ctx, s.spec)
	} else {
		box, err = s.resume(ctx)
	}
	if err != nil {
		return 0, openError(ctx, err)
	}
	s.box = box
	return time.Since(start), nil
}

// exec runs x in the session's sandbox. There is a result in any case.
func (s *Session) exec(ctx context.Context, x *Execution, arrived time.Time) (*Result, error) {
	id := newID("ex")
	calls := s.beginCalls(ctx, x, id)
	out, err := s.box.Exec(ctx, x)
	r := &Result{
		ExecutionID: id, SessionID: s.id, Step: x.Step, Language: s.spec.Language,
		Executor: s.e.exec.Name(), Started: arrived, HostCalls: []HostCall{}, FilesChanged: []FileChange{},
	}
	calls.end(r)
	x.Output.flush()
	if p := x.Output.panicked; p != nil {
		panic(p)
	}
	x.Output.into(r)
	if err != nil {
		r.Status, r.ExitCode = StatusLost, ExitError
		r.Error = &ExecError{Kind: "crash", Message: err.Error()}
		scrubResult(x.secrets, r)
		return r, &Error{Err: err, Phase: PhaseExec}
	}
	s.fill(r, out, x.secrets)
	s.rest()
	return r, nil
}

// openError tells an invalid sandbox from a failure to make one.
func openError(ctx context.Context, err error) error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case ctx.Err() != nil:
		return &Error{Err: ctx.Err(), Phase: PhaseFork}
	}
	return &Error{Err: err, Phase: PhaseFork}
}

// fill copies an outcome into a result.
func (s *Session) fill(r *Result, o *Outcome, set *secrets.Set) {
	waited := r.Usage.HostCallMS
	r.Status, r.ExitCode, r.Error, r.Usage = o.Status, o.ExitCode, o.Error, o.Usage
	r.Usage.HostCallMS = waited
	if o.Files != nil {
		r.FilesChanged = o.Files
	}
	r.Truncated.Files, r.ThreadsEnded = o.MoreFiles, o.ThreadsEnded
	r.ResultRef, r.ResultName, s.value = o.ValueRef, o.ValueName, nil
	limit := s.e.opts.MaxResult
	if set != nil {
		o.ValueJSON, o.ValueRepr = scrubJSON(set, o.ValueJSON), string(set.Scrub([]byte(o.ValueRepr)))
		defer scrubResult(set, r)
	}
	if len(o.ValueJSON) <= limit && len(o.ValueRepr) <= limit {
		r.Result, r.ResultRepr = o.ValueJSON, o.ValueRepr
		return
	}
	value := o.ValueJSON
	if len(value) == 0 {
		value = []byte(o.ValueRepr)
	}
	r.ResultRef = s.keep(r.ExecutionID, value)
	s.value = value
	r.ResultRepr = preview(o.ValueRepr, limit/8)
}

// Close ends the session. An execution in flight is cancelled and waited for. A durable session stays in the store; it is
// closed when it was closed as often as it was opened.
func (s *Session) Close() error {
	if s.kept != nil {
		s.e.mu.Lock()
		s.kept.opens--
		used := s.kept.opens > 0
		s.e.mu.Unlock()
		if used {
			return nil
		}
	}
	return s.end()
}

// running tells whether code runs in the session.
func (s *Session) running() bool {
	s.state.Lock()
	defer s.state.Unlock()
	return s.cancel != nil
}

// end closes the session, whoever uses it.
func (s *Session) end() error {
	s.state.Lock()
	if s.closed {
		s.state.Unlock()
		return nil
	}
	s.closed = true
	if s.cancel != nil {
		s.cancel()
	}
	s.state.Unlock()
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.e.forget(s)
	s.closeHost()
	if s.kept != nil {
		defer close(s.kept.ended)
	}
	s.state.Lock()
	s.values, s.valueIDs, s.stored = nil, nil, 0
	s.state.Unlock()
	if s.idle != nil {
		s.idle.Stop()
	}
	if s.box == nil {
		return nil
	}
	box := s.box
	s.box = nil
	return box.Close(context.Background())
}

// notStarted is the result of a request that never ran.
func notStarted(r *Request, arrived time.Time, err error) *Result {
	res := &Result{
		ExecutionID: newID("ex"), Language: r.Language, Status: StatusNotStarted, Started: arrived, ExitCode: ExitError,
		HostCalls: []HostCall{}, FilesChanged: []FileChange{},
		Error: &ExecError{Kind: "request", Message: err.Error()},
	}
	var e *Error
	if errors.As(err, &e) {
		res.Error.Message, res.Error.Hint = e.Err.Error(), e.Hint
	}
	return res
}
