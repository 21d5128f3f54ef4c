package engine

import (
	"context"
	"time"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

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
	now := time.Now().UTC()
	h := *j.head
	h.ID, h.Created, h.Active = as, now, now
	h.Waiting = nil
	h.Parent = &StepRef{session, from.Step}
	h.Imported = min(h.Imported, from.Step) // what the fork does itself was not imported
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
	if err := e.checkTenant(ctx, j.head.Tenant); err != nil {
		return nil, err
	}
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
