package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// ErrSuspended means that the session has a step that waits for a reply to a question, and the process in which it ran has ended.
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

// suspend stores how far the execution is, so that it can go on when this process ends before somebody replies to q. The
// question is open until settle.
func (s *Session) suspend(h *hostCalls, x *Execution, q *hostfns.Question) error {
	if s.kept == nil || q.Kind != hostfns.QuestionApproval {
		return nil
	}
	h.suspending.Lock()
	defer h.suspending.Unlock()
	if h.over {
		return context.Canceled
	}
	h.asked[q.Call] = *q
	_, err := s.storeWait(h, x, q)
	return err
}

// unask notes that a question is not open any more.
func (h *hostCalls) unask(q *hostfns.Question) {
	h.suspending.Lock()
	defer h.suspending.Unlock()
	delete(h.asked, q.Call)
}

// settle is told that somebody decided about a call, which is made next if it was approved. If the process ends from here
// on the step must not go on from that question: the call would be made twice. It goes on from another one that is open,
// when started tells that it is known then that the call was begun.
func (s *Session) settle(h *hostCalls, x *Execution, started bool) error {
	if s.kept == nil {
		return nil
	}
	h.suspending.Lock()
	defer h.suspending.Unlock()
	if h.over {
		return context.Canceled
	}
	if s.kept.head.Waiting == nil {
		return nil
	}
	if started {
		for _, q := range h.asked {
			if stored, err := s.storeWait(h, x, &q); stored || err != nil {
				return err
			}
			break
		}
	}
	return s.unwait()
}

// unwait notes that the session does not wait for a reply.
func (s *Session) unwait() error {
	head := *s.kept.head
	head.Waiting = nil
	b, err := head.encode()
	if err == nil {
		err = s.kept.store.SetHead(context.Background(), head.ID, b)
	}
	if err != nil {
		return fmt.Errorf("store the reply: %w", err)
	}
	s.state.Lock()
	s.kept.head = &head
	s.state.Unlock()
	return nil
}

// maxStoredQuestion bounds a question that is stored, in bytes: it is in the record and in the head.
const maxStoredQuestion = MaxRecord / 4

// maxStoredWaits bounds what the questions of one execution store besides, in bytes. Later ones are not stored.
const maxStoredWaits = 64 << 20

// storeWait stores a RecordWait. What cannot be repeated exactly is not stored: such an execution ends with its process.
func (s *Session) storeWait(h *hostCalls, x *Execution, q *hostfns.Question) (stored bool, err error) {
	// What ended between these two looks as if it had not; then its answer is lost, but not the call.
	recording := s.kept.tape.Peek()
	underway := h.calls.Underway()
	if recording == nil || x.input == nil || h.forked.Load() {
		return false, nil
	}
	if b, err := json.Marshal(q); err != nil || len(b) > maxStoredQuestion {
		return false, err
	}
	rec := s.record(RecordWait)
	b := &cas.Batch{}
	rec.Input, rec.State = x.input, s.kept.last.State
	rec.Note = cutNote(fmt.Sprintf("waits for the approval of %s.%s", q.Server, q.Tool))
	encoded := recording.Encode()
	tape, err := newBlob(b, encoded)
	if err != nil {
		return false, err
	}
	size := len(encoded)
	rec.Tape, rec.Wait = &tape, &Wait{Question: *q}
	if len(underway.Done)+len(underway.Running)+len(underway.Told) > 0 {
		data, err := json.Marshal(underway)
		if err != nil || len(data) > maxTape {
			return false, err
		}
		size += len(data)
		blob, err := newBlob(b, data)
		if err != nil {
			return false, err
		}
		rec.Wait.Underway = &blob
	}
	// A program may ask a thousand times, and be answered by another one.
	if h.stored += size; h.stored > maxStoredWaits {
		return false, nil
	}
	// The input's objects came with the batch of the execution, which is not stored yet.
	for hash, o := range x.objects.All {
		if _, err := b.Add(o); err != nil {
			return false, fmt.Errorf("%v: %w", hash, err)
		}
	}
	if err := s.append(context.Background(), rec, b); err != nil {
		return false, fmt.Errorf("store the question: %w", err)
	}
	return true, nil
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
	err := s.durablePlace(ctx, func(ctx context.Context, p *place) error {
		w := s.kept.waiting()
		if w == nil || w.Wait.Question.ID != question {
			return &Error{Err: fmt.Errorf("%w: %.80q", ErrNoQuestion, question), Phase: PhaseRequest}
		}
		if err := s.canResume(&w.Wait.Question, how.Host); err != nil {
			return err
		}
		x, err := s.suspendedExecution(w, how)
		if err != nil {
			return err
		}
		x.Idle = p.idle
		x.resume = &resume{record: w, reply: r}
		res, err = s.run(ctx, x, arrived, time.Since(arrived))
		return err
	})
	return res, err
}

// resume is what an Execution has besides when it goes on after its process ended.
type resume struct {
	record *Record
	reply  hostfns.Reply
}

// answer returns the reply to a question if it is the one that somebody was shown. The same call of another tool or with
// other arguments is not: a record may come from elsewhere, and a program may go another way than before.
func (r *resume) answer(q *hostfns.Question) *hostfns.Reply {
	if r == nil {
		return nil
	}
	was := &r.record.Wait.Question
	if q.Kind != was.Kind || q.Call != was.Call || q.Server != was.Server || q.Tool != was.Tool || !sameJSON(q.Args, was.Args) {
		return nil
	}
	reply := r.reply
	return &reply
}

// sameJSON compares JSON of which one was stored and the other was not.
func sameJSON(a, b json.RawMessage) bool {
	a, errA := json.Marshal(a)
	b, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// waiting returns the record that the session waits with, nil if it does not.
func (k *kept) waiting() *Record {
	if k.head.Waiting == nil || k.last.Kind != RecordWait {
		return nil
	}
	return k.last
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
	if w.Input.Stdin {
		r.Stdin = strings.NewReader("") // what it read before is in the record
	}
	x, err := s.prepare(&r)
	if err == nil && w.Input.Timeout == 0 {
		x.Timeout = 0
	}
	return x, err
}

// checkSuspended refuses other code while a step waits.
func (s *Session) checkSuspended(x *Execution) error {
	if s.kept == nil || x != nil && x.resume != nil {
		return nil
	}
	w := s.kept.waiting()
	if w == nil {
		return nil
	}
	return &Error{
		Err:   fmt.Errorf("%w: %s", ErrSuspended, w.Note),
		Phase: PhaseRequest,
		Hint: fmt.Sprintf("answer it: mayfly questions reply %s --accept (or --decline); or give the step up: mayfly rewind %s %d",
			w.Wait.Question.ID, s.id, s.kept.before()),
	}
}

// before returns the step before the ones that wait.
func (k *kept) before() int { return k.last.Input.After }

// canResume refuses a reply that would be lost, since the tool that was asked about is not there.
func (s *Session) canResume(q *hostfns.Question, h *hostfns.Host) error {
	if h == nil {
		h = s.e.opts.Host
	}
	if h != nil {
		for _, server := range h.Servers() {
			if server.Name == q.Server {
				return nil
			}
		}
	}
	return requestError("name the tool servers that the step was started with, as by --tools; the question stays open",
		"the tool server %.100q, which the question is about, is not there", q.Server)
}
