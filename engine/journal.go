package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// Journal reads what a durable session did. It is safe for concurrent use, also while code runs in the session: then it
// tells of the steps before.
type Journal struct {
	e    *Engine
	head *sessionHead
}

// Journal returns the journal of a durable session as it is now.
func (e *Engine) Journal(ctx context.Context, session string) (*Journal, error) {
	h, err := e.readHead(ctx, session)
	if err != nil {
		return nil, err
	}
	return &Journal{e, h}, nil
}

// Info describes the session as it was when the journal was opened.
func (j *Journal) Info() SessionInfo { return j.head.info() }

// Records goes through the records from a step on. Their Result is not filled in. An error ends it.
func (j *Journal) Records(ctx context.Context, from int) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		for stored, err := range j.e.opts.Store.Records(ctx, j.head.ID, from) {
			if err != nil {
				yield(nil, storeError(err))
				return
			}
			if stored.Step > j.head.Step {
				return // of later than the head that was read
			}
			r, err := parseRecord(stored.Record)
			if err == nil && r.Step != stored.Step {
				err = fmt.Errorf("%w: record of step %d at the place of step %d", ErrStoreDamaged, r.Step, stored.Step)
			}
			if !yield(r, storeError(err)) || err != nil {
				return
			}
		}
	}
}

// record returns one record without its Result.
func (j *Journal) record(ctx context.Context, step int) (*Record, error) {
	if step == Latest {
		step = j.head.Step
	}
	if step >= j.head.First && step <= j.head.Step {
		for r, err := range j.Records(ctx, step) {
			if err == nil && r.Step != step {
				break
			}
			return r, err
		}
		return nil, storeError(fmt.Errorf("%w: the record of step %d is missing", ErrStoreDamaged, step))
	}
	return nil, &Error{
		Err: fmt.Errorf("%w: session %s has no step %d", ErrNoStep, j.head.ID, step), Phase: PhaseRequest,
		Hint: fmt.Sprintf("it has the steps %d to %d", j.head.First, j.head.Step),
	}
}

// Record returns the record of a step, or of the last one (Latest), with its Result. It is ErrNoStep when there is none.
func (j *Journal) Record(ctx context.Context, step int) (*Record, error) {
	r, err := j.record(ctx, step)
	if err != nil || r.Outcome == nil {
		return r, err
	}
	r.Result, err = j.result(r)
	return r, storeError(err)
}

func (j *Journal) result(r *Record) (*Result, error) {
	b, err := r.Outcome.readUpTo(j.e.opts.Store, maxJSON)
	if err != nil {
		return nil, err
	}
	res, err := parseResult(b)
	if err != nil {
		return nil, fmt.Errorf("%w: result of step %d: %w", ErrStoreDamaged, r.Step, err)
	}
	return res, nil
}

// parseResult decodes a stored result, which an import may have made.
func parseResult(b []byte) (*Result, error) {
	var r struct {
		Result
		HostCalls    json.RawMessage `json:"host_calls"`
		FilesChanged json.RawMessage `json:"files_changed"`
	}
	err := json.Unmarshal(b, &r)
	if err == nil && len(r.HostCalls) > 0 {
		r.Result.HostCalls, err = decodeList[HostCall](r.HostCalls)
	}
	if err == nil && len(r.FilesChanged) > 0 {
		r.Result.FilesChanged, err = decodeList[FileChange](r.FilesChanged)
	}
	return &r.Result, err
}

// Code returns what ran in a step; "" for a record that is no RecordExec.
func (j *Journal) Code(r *Record) (string, error) {
	if r.Input == nil {
		return "", nil
	}
	b, err := r.Input.Code.read(j.e.opts.Store)
	return string(b), storeError(err)
}

// Files returns the files of the session at a step. What is written to them goes nowhere. Close it.
func (j *Journal) Files(ctx context.Context, step int) (*vfs.FS, error) {
	r, err := j.record(ctx, step)
	if err != nil {
		return nil, err
	}
	spec := j.e.spec(j.head, nil)
	fs, err := vfs.Open(j.e.opts.Store, r.State.Files, spec.fileOptions())
	return fs, j.stateError(r, err)
}

// stateError explains why a state cannot be had.
func (j *Journal) stateError(r *Record, err error) error {
	if err == nil {
		return nil
	}
	if !j.head.keeps(r.Step) {
		return &Error{
			Err: fmt.Errorf("%w: the state of step %d was not kept: %w", ErrNoStep, r.Step, err), Phase: PhaseStore,
			Hint: fmt.Sprintf("the session keeps the states of its last %d steps", j.head.Snapshots.Keep),
		}
	}
	return storeError(err)
}

// readHead returns the head of a session.
func (e *Engine) readHead(ctx context.Context, session string) (*sessionHead, error) {
	if e.opts.Store == nil {
		return nil, &Error{Err: ErrNoStore, Phase: PhaseRequest, Hint: "set Options.Store"}
	}
	if err := CheckSessionName(session); err != nil {
		return nil, err
	}
	b, err := e.opts.Store.Head(ctx, session)
	if errors.Is(err, ErrNoSession) {
		return nil, &Error{Err: fmt.Errorf("%w: %s", ErrNoSession, session), Phase: PhaseRequest, Hint: "mayfly sessions list shows those that there are"}
	}
	if err != nil {
		return nil, storeError(err)
	}
	h, err := parseHead(b)
	if err == nil && h.Importing {
		return nil, &Error{Err: fmt.Errorf("%w: %s is being imported", ErrNoSession, session), Phase: PhaseRequest, Hint: "wait for the end of the import"}
	}
	return h, storeError(err)
}

// storeError wraps what went wrong with the store.
func storeError(err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	hint := ""
	if errors.Is(err, ErrStoreDamaged) || isDamage(err) {
		hint = "mayfly doctor --store finds out what is damaged"
	}
	return &Error{Err: err, Phase: PhaseStore, Hint: hint}
}
