package engine

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mayfly-run/mayfly/engine/internal/guest"
	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/wasm"
)

// hostFunction answers the requests that guest code makes by mayfly.call: both are frames (guests/README.md).
type hostFunction func(ctx context.Context, request []byte) []byte

var (
	errNotRecorded = errors.New("the journal has no answer to this call")
	errNoHost      = errors.New("there are no host functions")
)

// handle returns what answers the guest's calls: in a durable session, answers are recorded, and those of a step that is run
// again come from its record.
func (s *wasmSandbox) handle(x *Execution) hostFunction {
	t := s.spec.tape
	if t == nil {
		return x.Handle
	}
	return func(ctx context.Context, request []byte) []byte {
		x.replayed.note(request)
		answer := t.Call(request, func() []byte { return x.Handle(ctx, request) })
		if answer == nil {
			return failedCall(hostfns.CodeUnavailable, errNotRecorded)
		}
		return answer
	}
}

// replayedCalls are the host calls of a step that is run again, for the comparison: the host does not see them then.
type replayedCalls struct {
	mu    sync.Mutex
	calls []HostCall
}

func (r *replayedCalls) note(request []byte) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if name, _, ok := hostfns.Inspect(request); ok && len(r.calls) < hostfns.MaxRecords {
		r.calls = append(r.calls, HostCall{Name: name})
	}
}

// failedCall is the answer to a call that has none.
func failedCall(code string, err error) []byte {
	head, jsonErr := json.Marshal(map[string]string{"code": code, "message": firstLine(err.Error())})
	if jsonErr != nil {
		panic(jsonErr) // of strings
	}
	return wasm.Frame{Code: guest.Failed, Head: head}.Append(nil)
}

// noHost answers where there are no host functions.
func noHost(context.Context, []byte) []byte { return failedCall(hostfns.CodeUnavailable, errNoHost) }

// hostCalls are the host calls of one execution.
type hostCalls struct {
	id     string
	calls  *hostfns.Calls // nil without a host
	handle hostFunction
	waited atomic.Int64 // nanoseconds
	// refused are the calls where there is no host.
	refused replayedCalls

	forked atomic.Bool // there are or were copies of the program

	// suspending is held while a question is stored, or is not one any more.
	suspending sync.Mutex
	over       bool                     // nothing more may be stored
	stored     int                      // bytes of what was
	asked      map[int]hostfns.Question // the approvals that are open, by the number of the call

	mu    sync.Mutex
	ended bool
}

// beginCalls makes x.Handle.
func (s *Session) beginCalls(ctx context.Context, x *Execution, id string) *hostCalls {
	h := &hostCalls{id: id, asked: map[int]hostfns.Question{}}
	h.handle = func(ctx context.Context, request []byte) []byte {
		h.refused.note(request)
		return noHost(ctx, request)
	}
	switch session := s.hostSession(x.Host); {
	case s.e.call != nil:
		h.handle = s.e.call
	case session != nil:
		o := &hostfns.ExecOptions{
			Session: s.id, Execution: id, Policy: x.Policy, Scope: x.Scope,
			Emit:  func(e hostfns.Event) { h.emit(x.Output, e) },
			Pause: func(context.Context) func() { return x.Limit.Pause() },
		}
		if (s.e.opts.Questions || s.e.opts.OnQuestion != nil) && !x.NoQuestions {
			o.Ask = func(asking context.Context, q *hostfns.Question) (*hostfns.Reply, error) {
				r, err := s.ask(asking, h, x, q)
				if q.Kind == hostfns.QuestionApproval && (err != nil || r.Action != hostfns.ActionAccept) && ctx.Err() == nil {
					// The program goes on without the call.
					if err := s.settle(h, x, true); err != nil {
						s.e.opts.Logger.Warn("settle a question", "session", s.id, "error", err)
					}
				}
				return r, err
			}
			o.Approved = func(_ context.Context, _ *hostfns.Question, started bool) error { return s.settle(h, x, started) }
		}
		h.calls = session.Begin(ctx, o)
		x.calls = h.calls
		h.handle = h.calls.Handle
		x.HandleProcess = func() func(context.Context, []byte) []byte {
			h.forked.Store(true)
			return h.calls.Process()
		}
	}
	x.Handle = func(ctx context.Context, request []byte) []byte {
		start := time.Now()
		defer func() { h.waited.Add(int64(time.Since(start))) }()
		return h.handle(ctx, request)
	}
	return h
}

// emit passes an event on, unless the execution has ended.
func (h *hostCalls) emit(o *Output, e hostfns.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		o.event(Event{EventKind(e.Kind), e.Data})
	}
}

// tell passes an event on whose data is encoded here.
func (h *hostCalls) tell(o *Output, kind hostfns.EventKind, data any) {
	b, err := json.Marshal(data)
	if err != nil {
		return // of what this package made
	}
	h.emit(o, hostfns.Event{Kind: kind, Data: b})
}

// end ends the calls that are still under way, and tells of all in the result.
func (h *hostCalls) end(r *Result) {
	if h.calls != nil {
		records, more := h.calls.End()
		for _, c := range records {
			r.HostCalls = append(r.HostCalls, HostCall{
				Name: c.Name, Args: c.Args, Outcome: c.Outcome, WallMS: milliseconds(c.Wall), Approved: c.Approved, Bytes: c.Bytes,
			})
		}
		r.Truncated.HostCalls = more
	}
	// A call that does not end in time may be storing its question.
	h.suspending.Lock()
	h.over = true
	h.suspending.Unlock()
	h.refused.mu.Lock()
	for _, c := range h.refused.calls {
		c.Outcome = hostfns.CodeUnavailable
		r.HostCalls = append(r.HostCalls, c)
	}
	h.refused.mu.Unlock()
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	r.Usage.HostCallMS = milliseconds(time.Duration(h.waited.Load()))
}

// hostSession returns what the session may use of a host; nil: there is none. The session's turn guards it.
func (s *Session) hostSession(h *hostfns.Host) *hostfns.Session {
	if h == nil {
		h = s.e.opts.Host
	}
	if s.host != h {
		s.closeHost()
		s.host = h
		if h != nil {
			s.hosted = h.NewSession(s.spec.Policy)
		}
	}
	return s.hosted
}

// closeHost gives up what the session has of a host.
func (s *Session) closeHost() {
	if s.hosted != nil {
		s.hosted.Close()
	}
	s.host, s.hosted = nil, nil
}
