package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// ErrSuspended: the session has a step that waits for a reply to a question, and the process in which it ran has ended.
var ErrSuspended = errors.New("a step of the session waits for a reply")

const suspendedMessage = "the step waits for a reply, and goes on from there when it comes, in another process if need be"

// closing tells that the session is being closed while code runs in it: nobody cancelled that.
func (s *Session) closing() bool {
	s.state.Lock()
	defer s.state.Unlock()
	return s.closed
}

// Wait is what a RecordWait says besides the execution's input and tape: somebody has to decide before the step goes on.
type Wait struct {
	Question hostfns.Question `json:"question"`
	// Underway are the host calls that the program had started and not waited for.
	Underway *Blob `json:"underway,omitempty"`
}

// suspend stores how far the execution is, so that it can go on when this process ends before somebody replies. What cannot
// be repeated exactly is not stored: such an execution ends with its process.
func (s *Session) suspend(ctx context.Context, h *hostCalls, x *Execution, q *hostfns.Question) error {
	if s.kept == nil || q.Kind != hostfns.QuestionApproval {
		return nil
	}
	h.suspending.Lock()
	defer h.suspending.Unlock()
	// What ended between these two looks as if it had not; then its answer is lost, but not the call.
	recording := s.kept.tape.Peek()
	underway := h.calls.Underway()
	if recording == nil || x.input == nil {
		return nil
	}
	rec := s.record(RecordWait)
	b := &cas.Batch{}
	rec.Input, rec.State = x.input, s.kept.last.State
	rec.Note = cutNote(fmt.Sprintf("waits for the approval of %s.%s", q.Server, q.Tool))
	tape, err := newBlob(b, recording.Encode())
	if err != nil {
		return err
	}
	rec.Tape = &tape
	rec.Wait = &Wait{Question: *q}
	if len(underway.Done)+len(underway.Running) > 0 {
		data, err := json.Marshal(underway)
		if err != nil {
			return err
		}
		blob, err := newBlob(b, data)
		if err != nil {
			return err
		}
		rec.Wait.Underway = &blob
	}
	// The input's objects came with the batch of the execution, which is not stored yet.
	for hash, o := range x.objects.All {
		if _, err := b.Add(o); err != nil {
			return fmt.Errorf("%v: %w", hash, err)
		}
	}
	if err := s.append(ctx, rec, b); err != nil {
		return fmt.Errorf("store the question: %w", err)
	}
	return nil
}

// suspended lists the questions of executions whose process ended.
func (e *Engine) suspended(ctx context.Context) ([]OpenQuestion, error) {
	if e.opts.Store == nil {
		return nil, nil
	}
	var all []OpenQuestion
	for b, err := range e.opts.Store.Heads(ctx) {
		if err != nil {
			return nil, storeError(err)
		}
		h, err := parseHead(b)
		if err != nil || h.Waiting == nil || h.Importing {
			continue
		}
		e.mu.Lock()
		s := e.durable[h.ID]
		e.mu.Unlock()
		if s == nil || !s.running() {
			all = append(all, OpenQuestion{Question: *h.Waiting, Suspended: true})
		}
	}
	return all, nil
}

// Resume goes on with the step that waits for the reply to a question, in this process: its code is run again from the
// beginning, and what it learned before comes from the journal. Host calls that it made then are not made again, but for
// those that came after the question. The result is as that of Exec. Of the request, OnEvent, Host, NoQuestions and MaxOutput count.
func (s *Session) Resume(ctx context.Context, question string, r hostfns.Reply, how Request) (*Result, error) {
	arrived := time.Now()
	if err := checkReply(&r); err != nil {
		return nil, err
	}
	var res *Result
	err := s.durableTurn(ctx, func(ctx context.Context) error {
		w := s.kept.last
		if w.Kind != RecordWait || w.Wait.Question.ID != question {
			return &Error{Err: fmt.Errorf("%w: %.80q", ErrNoQuestion, question), Phase: PhaseRequest}
		}
		x, err := s.suspendedExecution(w, how)
		if err != nil {
			return err
		}
		x.resume = &resume{record: w, replies: map[int]hostfns.Reply{w.Wait.Question.Call: r}}
		res, err = s.run(ctx, x, arrived, time.Since(arrived))
		return err
	})
	return res, err
}

// resume is what an Execution has besides when it goes on after its process ended.
type resume struct {
	record  *Record
	replies map[int]hostfns.Reply // by the number of the host call
}

// suspendedExecution is the execution that a RecordWait is of.
func (s *Session) suspendedExecution(w *Record, how Request) (*Execution, error) {
	code, err := w.Input.Code.read(s.kept.store)
	if err != nil {
		return nil, storeError(err)
	}
	c, err := w.Input.call(s.kept.store)
	if err != nil {
		return nil, storeError(err)
	}
	r := Request{
		Code: string(code), Filename: c.Filename, Args: c.Args, Env: c.Env, NoResult: w.Input.NoResult, Timeout: w.Input.Timeout,
		MaxTicks: w.Input.MaxTicks, MaxOutput: how.MaxOutput, OnEvent: how.OnEvent, Host: how.Host, Policy: w.Input.Policy,
		NoQuestions: how.NoQuestions,
	}
	x, err := s.prepare(&r)
	if err == nil && w.Input.Timeout == 0 {
		x.Timeout = 0
	}
	return x, err
}

// checkSuspended refuses other code while a step waits.
func (s *Session) checkSuspended(x *Execution) error {
	if s.kept == nil || x != nil && x.resume != nil || s.kept.last.Kind != RecordWait {
		return nil
	}
	w := s.kept.last
	return &Error{
		Err:   fmt.Errorf("%w: %s", ErrSuspended, w.Note),
		Phase: PhaseRequest,
		Hint: fmt.Sprintf("answer it: mayfly questions reply %s --accept (or --decline); or give the step up: mayfly rewind %s %d",
			w.Wait.Question.ID, s.id, s.kept.before()),
	}
}

// before returns the step before the ones that wait.
func (k *kept) before() int { return k.last.Input.After }
