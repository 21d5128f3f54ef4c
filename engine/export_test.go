package engine

import (
	"context"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// SetHostFunction gives the guests of e a function to call, before any session is made.
func SetHostFunction(e *Engine, f func(ctx context.Context, request []byte) []byte) { e.call = f }

// Graft appends a step of one session to the journal of another, as if it had been run there.
func Graft(ctx context.Context, e *Engine, from string, step int, to string) error {
	j, err := e.Journal(ctx, from)
	if err != nil {
		return err
	}
	r, err := j.record(ctx, step)
	if err != nil {
		return err
	}
	s, err := e.Open(ctx, to, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	rec := s.record(RecordExec)
	rec.Input, rec.Outcome, rec.Tape, rec.State = r.Input, r.Outcome, r.Tape, r.State
	return s.append(ctx, rec, &cas.Batch{})
}
