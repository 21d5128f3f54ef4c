package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mayfly-run/mayfly/engine/internal/tape"
	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// kept is what a durable session has besides its sandbox. The session's turn guards it; head and last are changed under
// Session.state as well, so that they can be read while code runs.
type kept struct {
	store Store
	head  *sessionHead
	last  *Record
	tape  *tape.Tape
	notes []string
	opens int           // Engine.mu guards it
	ended chan struct{} // closed when the session is
}

const storeHint = "the session is where it was before this execution; mayfly doctor --store tells more"

// keepStep has run execute x in the sandbox of a durable session, and stores the step. The result is nil when nothing ran.
func (s *Session) keepStep(ctx context.Context, x *Execution, run func() (*Result, error)) (*Result, error) {
	k := s.kept
	box, ok := s.box.(keeper)
	if !ok {
		return nil, &Error{Err: fmt.Errorf("%w: executor %s cannot keep sessions", ErrUnavailable, s.e.exec.Name()), Phase: PhaseRequest}
	}
	began := time.Now().UTC()
	batch := &cas.Batch{}
	input, err := s.input(x, batch)
	if err != nil {
		return nil, &Error{Err: err, Phase: PhaseRequest}
	}
	if err := s.beginTape(x, began); err != nil {
		return nil, err
	}
	x.input, x.objects = input, batch
	if x.Stdin != nil {
		x.Stdin = k.tape.Stdin(x.Stdin)
	}
	settled := false
	defer func() {
		if !settled { // Request.OnEvent or Options.Audit panicked: the step does not count, unless it was stored before
			k.tape.Off()
			s.step = k.head.Step
			_ = s.abandon(context.WithoutCancel(ctx))
		}
	}()
	r, err := run()
	s.unsteady(r)
	recording, asked := k.tape.End()
	k.tape.Off()
	if err == nil && asked != nil {
		err = &Error{Err: fmt.Errorf("%w: %v", errDiverged, asked), Phase: PhaseExec, Hint: "rewind the session to the step before"}
	}
	// Nobody cancelled it: the session is being closed, or whoever had the code run is gone, and says so by the context's cause.
	if err == nil && r.Status == StatusCancelled && (s.closing() || errors.Is(context.Cause(ctx), ErrSuspended)) && k.waiting() != nil {
		r.Error = &ExecError{Kind: "suspended", Message: suspendedMessage, Restored: true}
		err = &Error{Err: ErrSuspended, Phase: PhaseExec, Hint: fmt.Sprintf(
			"it goes on from there: mayfly questions reply %s --accept (or --decline)", k.last.Wait.Question.ID)}
	}
	if err != nil {
		settled = true
		s.step = k.head.Step
		return r, errors.Join(err, s.abandon(ctx))
	}
	// Steps that wait for a reply may have been stored meanwhile.
	rec := s.record(RecordExec)
	rec.Time, rec.Input = began, input
	if input.After == rec.Step-1 {
		input.After = 0
	}
	r.Step = rec.Step
	start := time.Now()
	err = s.store(ctx, rec, box, batch, recording, r)
	r.Usage.StoreMS = milliseconds(time.Since(start))
	if err == nil {
		settled = true
		return r, nil
	}
	// What was not stored did not happen: the next execution begins where the store is.
	if undo := box.Undo(); undo != nil {
		err = errors.Join(err, undo, s.abandon(ctx))
	}
	settled = true
	s.step = k.head.Step
	r.Status, r.ExitCode = StatusLost, ExitError
	r.Error = &ExecError{Kind: "store", Message: "the step could not be stored: " + err.Error(), Hint: storeHint, Restored: true}
	return r, &Error{Err: err, Phase: PhaseStore, Hint: storeHint}
}

// errDiverged: a step that was to go on did something else than before, so that it cannot.
var errDiverged = errors.New("the step went another way than before it was interrupted, so it cannot go on")

// beginTape begins to note what the execution learns from outside, after what it learned before if it goes on.
func (s *Session) beginTape(x *Execution, now time.Time) error {
	t := s.kept.tape
	if x.resume == nil {
		var seed [32]byte
		_, _ = rand.Read(seed[:]) // it cannot fail
		t.Record(seed, now, tape.Limits{})
		return nil
	}
	w := x.resume.record
	recording, err := s.journal().recording(w)
	if err != nil {
		return err
	}
	var underway hostfns.Underway
	if b := w.Wait.Underway; b != nil {
		data, err := b.readUpTo(s.kept.store, maxTape)
		if err == nil {
			err = json.Unmarshal(data, &underway)
		}
		if err != nil {
			return storeError(err)
		}
	}
	return t.Resume(recording, tape.Limits{}, &tape.ResumeOptions{
		Called: func(request, answer []byte) {
			if c := x.calls; c != nil {
				c.Replayed(request, answer)
			}
		},
		Live: func() {
			if c := x.calls; c != nil {
				c.Continue(&underway)
			}
		},
	})
}

// abandon closes a sandbox whose state is not the stored one; the next execution makes it again from the store.
func (s *Session) abandon(ctx context.Context) error {
	box := s.box
	s.box = nil
	return box.Close(ctx)
}

// input is the request as the journal keeps it.
func (s *Session) input(x *Execution, b *cas.Batch) (*Input, error) {
	code, err := newBlob(b, []byte(x.Code))
	if err != nil {
		return nil, err
	}
	reseed := s.kept.last.State.Reseed
	if box, ok := s.box.(*wasmSandbox); ok {
		reseed = box.reseed
	}
	in := &Input{
		Code: code, Stdin: x.Stdin != nil, NoResult: x.NoResult, Timeout: x.Timeout, MaxTicks: x.MaxTicks,
		Reseed: reseed, Limits: s.spec.limits(), Policy: x.Policy,
	}
	in.After = s.kept.head.Step
	if x.resume != nil {
		in.After = x.resume.record.Input.After
	}
	return in, in.setCall(call{x.Filename, x.Args, x.Env}, b)
}

// unsteady notes on the tape why the execution may go another way when it is repeated.
func (s *Session) unsteady(r *Result) {
	if r.Usage.Threads > 1 {
		s.kept.tape.Unsteady("threads")
	}
	if r.Usage.Forks > 0 {
		s.kept.tape.Unsteady("processes")
	}
	if r.Status == StatusTimeout || r.Status == StatusCancelled {
		s.kept.tape.Unsteady("time limit")
	}
	if len(s.spec.Mounts) > 0 {
		s.kept.tape.Unsteady("mounts")
	}
}

// store completes and commits the record of an execution.
func (s *Session) store(ctx context.Context, rec *Record, box keeper, b *cas.Batch, recording *tape.Recording, r *Result) error {
	t, err := newBlob(b, recording.Encode())
	if err != nil {
		return err
	}
	rec.Tape = &t
	if r.ResultRef != "" && s.value != nil {
		if len(s.value) <= maxBlob { // values are bounded by what a guest may answer
			v, err := newBlob(b, s.value)
			if err != nil {
				return err
			}
			rec.Value = &v
			r.ResultRef = fmt.Sprintf("value:%d", rec.Step)
		}
	}
	encoded, err := json.Marshal(r)
	if err != nil {
		return err
	}
	outcome, err := newBlob(b, encoded)
	if err != nil {
		return err
	}
	rec.Outcome = &outcome
	// What cannot be repeated exactly has to be stored, whatever the policy.
	snapshot := s.kept.head.Snapshots.due(rec.Step) || len(recording.Incomplete) > 0
	st, err := box.Save(b, snapshot)
	if err != nil {
		return err
	}
	rec.State = *st
	if err := s.append(ctx, rec, b); err != nil {
		return err
	}
	if rec.Value != nil {
		s.forgetValue(r.ExecutionID) // the journal has it
	}
	box.Kept()
	return nil
}

// append commits a record, whose state is filled in, as the session's next step.
func (s *Session) append(ctx context.Context, rec *Record, b *cas.Batch) error {
	k := s.kept
	// The code has run: whoever asked for it may be gone, but the step is to be stored.
	ctx = context.WithoutCancel(ctx)
	record, err := rec.encode()
	if err != nil {
		return err
	}
	head := *k.head
	head.Step, head.Record, head.Active, head.Waiting = rec.Step, rec.hash, rec.Time, nil
	if rec.Wait != nil {
		head.Waiting = &rec.Wait.Question
	}
	if rec.State.stored() {
		head.Snapshot = rec.Step
	}
	if err := s.journal().retain(ctx, &head, rec); err != nil {
		return err
	}
	h, err := head.encode()
	if err != nil {
		return err
	}
	err = k.store.Commit(ctx, &Commit{Session: head.ID, Step: rec.Step, Head: h, Record: record, Objects: b, Holds: rec.holds()})
	if err != nil {
		return err
	}
	s.state.Lock()
	k.head, k.last = &head, rec
	s.state.Unlock()
	s.step = rec.Step
	s.e.dropStates(ctx, &head)
	return nil
}
