package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// durableTurn waits for the session's turn, as an execution does, and calls f.
func (s *Session) durableTurn(ctx context.Context, f func(ctx context.Context) error) error {
	if s.kept == nil {
		return &Error{Err: fmt.Errorf("%w: the session is in memory only", ErrNoStore), Phase: PhaseRequest, Hint: "open it by name, with Engine.Open"}
	}
	return s.exclusive(ctx, f)
}

// exclusive calls f while no code runs in the session.
func (s *Session) exclusive(ctx context.Context, f func(ctx context.Context) error) error {
	if !s.e.enter() {
		return &Error{Err: ErrClosed, Phase: PhaseRequest}
	}
	defer s.e.running.Done()
	if err := s.e.queue.acquire(ctx, s.turn); err != nil {
		return queueError(err)
	}
	defer func() { <-s.turn }()
	if err := s.e.queue.enter(ctx); err != nil {
		return queueError(err)
	}
	defer s.e.queue.leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !s.begin(cancel) {
		return &Error{Err: ErrClosed, Phase: PhaseRequest}
	}
	defer s.begin(nil)
	err := f(ctx)
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

// Fork makes a session that begins as a copy of another after a step (Latest: the last one), and opens it; as is its
// name, by default one that is made up. The other session may be running. The copy shares what both have, so it costs next
// to nothing; random numbers differ from then on.
func (e *Engine) Fork(ctx context.Context, session string, step int, as string) (*Session, error) {
	j, err := e.Journal(ctx, session)
	if err != nil {
		return nil, err
	}
	from, err := j.record(ctx, step)
	if err != nil {
		return nil, err
	}
	if as == "" {
		as = newID("se")
	}
	if err := CheckSessionName(as); err != nil {
		return nil, err
	}
	if err := e.checkTenant(ctx, j.head.Tenant); err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	h := *j.head
	h.ID, h.Created, h.Active = as, now, now
	h.Parent = &StepRef{session, from.Step}
	rec := &Record{
		Version: recordVersion, Session: as, Step: from.Step, Kind: RecordFork, Time: now, Previous: from.Hash(), Origin: h.Parent,
		State: from.State,
	}
	rec.State.Reseed = true
	b := &cas.Batch{}
	if !from.State.stored() || !j.has(&from.State) {
		if err := j.materialise(ctx, from, rec, b); err != nil {
			return nil, err
		}
	}
	e.opening.Lock()
	defer e.opening.Unlock()
	if err := e.commitFirst(ctx, &h, rec, b); err != nil {
		if isDamage(err) {
			err = j.stateError(from, err)
		}
		return nil, err
	}
	s, err := e.addDurable(&h, rec)
	if err == nil {
		e.forkLive(ctx, session, s)
	}
	return s, err
}

// forkLive gives a new fork a copy of the memory of the session that it came from, if that is here and where the fork
// begins: then nothing has to be read. It is no error if that is not so.
func (e *Engine) forkLive(ctx context.Context, session string, fork *Session) {
	e.mu.Lock()
	from := e.durable[session]
	e.mu.Unlock()
	if from == nil {
		return
	}
	select {
	case from.turn <- struct{}{}:
	default:
		return // code runs in it
	}
	defer func() { <-from.turn }()
	select {
	case fork.turn <- struct{}{}:
	default:
		return
	}
	defer func() { <-fork.turn }()
	box, ok := from.box.(*wasmSandbox)
	// A session of this name may be another one by now. The fork may be closed already, with the engine.
	if !ok || !fork.begin(nil) || box.fresh || fork.box != nil || from.kept.head.Record != fork.kept.last.Previous {
		return
	}
	m, err := box.mem.Fork()
	if err != nil {
		return
	}
	copied, err := e.wasm.resume(ctx, fork.spec, &fork.kept.last.State, m)
	if err != nil {
		m.Close()
		return
	}
	if box.base != nil && box.base.hash == fork.kept.last.State.Memory {
		copied.base = box.base
	}
	fork.box = copied
	fork.rest()
}

// has tells whether the store has what a state begins with.
func (j *Journal) has(st *State) bool {
	for _, h := range st.holds() {
		if _, err := j.e.opts.Store.Get(h); err != nil {
			return false
		}
	}
	return true
}

// materialise fills in the state of a record that begins with that of another which has no snapshot.
func (j *Journal) materialise(ctx context.Context, from, rec *Record, b *cas.Batch) error {
	leave, err := j.e.work(ctx)
	if err != nil {
		return err
	}
	defer leave()
	r, err := j.restore(ctx, from, j.e.spec(j.head, nil))
	if err != nil {
		return err
	}
	defer r.box.Close(ctx)
	st, err := r.box.Save(b, true)
	if err != nil {
		return storeError(err)
	}
	rec.State = *st
	rec.State.Reseed = true
	if len(r.notes) > 0 {
		rec.Note = cutNote(r.notes[0])
	}
	return nil
}

// SnapshotInfo describes a stored snapshot of an interpreter's memory.
type SnapshotInfo struct {
	Step  int      `json:"step"`
	Frame cas.Hash `json:"frame"`
	// Bytes is the size of what this snapshot added, before compression.
	Bytes int64 `json:"bytes"`
}

// Snapshot stores the interpreter's memory as it is now, whatever the policy says. Unless the last step has a snapshot
// already, this is a step of its own.
func (s *Session) Snapshot(ctx context.Context) (info *SnapshotInfo, err error) {
	err = s.durableTurn(ctx, func(ctx context.Context) error {
		if _, err := s.open(ctx); err != nil {
			return err
		}
		if !s.kept.last.State.stored() {
			rec := s.record(RecordSnapshot)
			if err := s.save(ctx, s.box.(keeper), rec); err != nil {
				return err
			}
		}
		last := s.kept.last
		info = &SnapshotInfo{Step: last.Step, Frame: last.State.Memory}
		if info.Frame.IsZero() {
			return nil // nothing ran yet
		}
		o, err := s.kept.store.Get(info.Frame)
		if err != nil {
			return storeError(err)
		}
		f, err := cas.ParseFrame(o, memoryKind)
		info.Bytes = f.Size
		return storeError(err)
	})
	return info, err
}

// EditFiles lets the host change the session's files, between two executions. It is a step, with a note for people; when
// edit returns an error nothing is changed. edit must not keep the file system.
func (s *Session) EditFiles(ctx context.Context, note string, edit func(*vfs.FS) error) (rec *Record, err error) {
	err = s.durableTurn(ctx, func(ctx context.Context) error {
		if _, err := s.open(ctx); err != nil {
			return err
		}
		box, ok := s.box.(*wasmSandbox)
		if !ok {
			return &Error{Err: fmt.Errorf("%w: files of executor %s", ErrUnavailable, s.e.exec.Name()), Phase: PhaseRequest}
		}
		box.files.own.Checkpoint()
		stored := false
		defer func() {
			if !stored { // also when edit panics
				box.files.own.Rollback()
			}
		}()
		if err := edit(box.files.own); err != nil {
			return err
		}
		r := s.record(RecordFiles)
		r.Note = cutNote(note)
		b := &cas.Batch{}
		st, err := box.Save(b, false)
		if err == nil {
			r.State = *st
			err = s.append(ctx, r, b)
		}
		if err != nil {
			return storeError(err)
		}
		stored = true
		box.Kept()
		box.files.own.Mark()
		rec = r
		return nil
	})
	return rec, err
}

// storedValue reads a large result of a durable session.
func (s *Session) storedValue(step int) ([]byte, error) {
	ctx := context.Background()
	s.state.Lock()
	j := s.journal()
	s.state.Unlock()
	r, err := j.record(ctx, step)
	if err != nil {
		return nil, err
	}
	if r.Value == nil {
		return nil, requestError("", "step %d has no value that was too large to be told", step)
	}
	v, err := r.Value.read(s.kept.store)
	return v, storeError(err)
}
