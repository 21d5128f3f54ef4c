package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// durableTurn waits for the session's turn, as an execution does, and calls f.
func (s *Session) durableTurn(ctx context.Context, f func(ctx context.Context) error) error {
	return s.durablePlace(ctx, func(ctx context.Context, _ *place) error { return f(ctx) })
}

// durablePlace is like durableTurn, for what has to know its place.
func (s *Session) durablePlace(ctx context.Context, f func(ctx context.Context, p *place) error) error {
	if s.kept == nil {
		return &Error{Err: fmt.Errorf("%w: the session is in memory only", ErrNoStore), Phase: PhaseRequest, Hint: "open it by name, with Engine.Open"}
	}
	return s.inTurn(ctx, f)
}

// exclusive calls f while no code runs in the session.
func (s *Session) exclusive(ctx context.Context, f func(ctx context.Context) error) error {
	return s.inTurn(ctx, func(ctx context.Context, _ *place) error { return f(ctx) })
}

func (s *Session) inTurn(ctx context.Context, f func(ctx context.Context, p *place) error) error {
	if !s.e.enter() {
		return &Error{Err: ErrClosed, Phase: PhaseRequest}
	}
	defer s.e.running.Done()
	if err := s.e.queue.acquire(ctx, s.turn); err != nil {
		return queueError(err)
	}
	defer func() { <-s.turn }()
	place, err := s.e.queue.enter(ctx)
	if err != nil {
		return queueError(err)
	}
	defer place.leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !s.begin(cancel) {
		return &Error{Err: ErrClosed, Phase: PhaseRequest}
	}
	defer s.begin(nil)
	err = f(ctx, place)
	if s.box != nil {
		s.rest()
	}
	return err
}

// Info describes a durable session as it is now; of another only ID, Language, Step and Sandbox are known.
func (s *Session) Info() SessionInfo {
	if s.kept == nil {
		return SessionInfo{ID: s.id, Language: s.spec.Language, Sandbox: s.spec.Sandbox, Open: true, Running: s.running()}
	}
	s.state.Lock()
	head := s.kept.head
	s.state.Unlock()
	return s.e.live(head.info())
}

// Notes tells what a person should know of how the session was opened: that its snapshot was of another build of the
// guest, say, and what went another way when it was run again. It is empty until code first ran.
func (s *Session) Notes() []string {
	s.state.Lock()
	defer s.state.Unlock()
	if s.kept == nil {
		return nil
	}
	return append([]string(nil), s.kept.notes...)
}

// journal returns the session's journal as it is now. The session's turn is the caller's.
func (s *Session) journal() *Journal { return &Journal{s.e, s.kept.head} }

// resume makes the sandbox from the store.
func (s *Session) resume(ctx context.Context) (Sandboxed, error) {
	k := s.kept
	r, err := s.journal().restore(ctx, k.last, s.spec)
	if err != nil {
		return nil, err
	}
	s.unshare(r, k.last)
	if r.ran == 0 && len(r.notes) == 0 {
		return r.box, nil
	}
	for _, n := range r.notes {
		s.e.opts.Logger.Info("open session", "session", s.id, "note", n)
	}
	s.state.Lock()
	k.notes = append(k.notes, r.notes...)
	s.state.Unlock()
	if len(r.notes) > 0 {
		// So that it is not run again the next time.
		rec := s.record(RecordMigrate)
		rec.Note = cutNote(fmt.Sprintf("%d steps were run again: %s", r.ran, r.notes[0]))
		if err := s.save(ctx, r.box, rec); err != nil {
			return nil, errors.Join(err, r.box.Close(ctx))
		}
	}
	return r.box, nil
}

// unshare sees to random numbers of its own for a sandbox in a state that an import brought.
func (s *Session) unshare(r *restored, rec *Record) {
	if rec.Step <= s.kept.head.Imported {
		r.box.reseed = true
	}
}

// record returns the next record, to be filled in.
func (s *Session) record(kind RecordKind) *Record {
	return &Record{
		Version: recordVersion, Session: s.kept.head.ID, Step: s.kept.head.Step + 1, Kind: kind, Time: time.Now().UTC(),
		Previous: s.kept.head.Record,
	}
}

// cutNote bounds a note.
func cutNote(s string) string {
	const longest = 1 << 10
	return strings.ToValidUTF8(s[:min(len(s), longest)], "")
}

// save commits a record with the present state of a sandbox, memory included.
func (s *Session) save(ctx context.Context, box keeper, rec *Record) error {
	b := &cas.Batch{}
	st, err := box.Save(b, true)
	if err != nil {
		return storeError(err)
	}
	rec.State = *st
	if err := s.append(ctx, rec, b); err != nil {
		return storeError(err)
	}
	box.Kept()
	return nil
}

// Rewind brings back the session's state after an earlier step: variables, files, everything. It is a step itself, which
// is appended to the journal, so nothing is lost: the steps in between can be gone back to as well.
func (s *Session) Rewind(ctx context.Context, step int) (rec *Record, err error) {
	err = s.durableTurn(ctx, func(ctx context.Context) error {
		j := s.journal()
		to, err := j.record(ctx, step)
		if err != nil {
			return err
		}
		rec = s.record(RecordRewind)
		rec.Origin = &StepRef{s.id, to.Step}
		// First everything that can go wrong, then what is there is let go. The two have one clock.
		clock := s.spec.tape.Base()
		r, err := j.restore(ctx, to, s.spec)
		if err != nil {
			s.spec.tape.SetBase(clock)
			return err
		}
		s.unshare(r, to)
		if err := s.adopt(ctx, r, to, rec); err != nil {
			s.spec.tape.SetBase(clock)
			return errors.Join(err, r.box.Close(ctx))
		}
		old := s.box
		s.box = r.box
		if old != nil {
			if err := old.Close(ctx); err != nil {
				s.e.opts.Logger.Warn("close sandbox", "session", s.id, "error", err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rec, nil
}

// adopt commits a record whose state is that of another one, which r was restored to.
func (s *Session) adopt(ctx context.Context, r *restored, to *Record, rec *Record) error {
	if r.ran > 0 || len(r.notes) > 0 {
		if len(r.notes) > 0 {
			rec.Note = cutNote(r.notes[0])
		}
		return s.save(ctx, r.box, rec)
	}
	rec.State = to.State
	rec.State.Reseed = r.box.reseed
	return storeError(s.append(ctx, rec, &cas.Batch{}))
}
