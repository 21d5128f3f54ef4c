package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mayfly-run/mayfly/engine/internal/tape"
	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/wasm"
)

// maxReplay bounds the records that are gone through to make one state.
const maxReplay = 10_000

// isDamage tells whether an object is missing or not what it was, so that what needs it has to be had in another way.
func isDamage(err error) bool {
	return errors.Is(err, cas.ErrMissing) || errors.Is(err, cas.ErrDamaged) || errors.Is(err, wasm.ErrPatch)
}

// spec is what a stored session's sandboxes are made of; a nil tape stands for a new one.
func (e *Engine) spec(h *sessionHead, t *tape.Tape) Spec {
	if t == nil {
		t = tape.New()
	}
	return Spec{Sandbox: h.Sandbox, store: e.opts.Store, tape: t, now: t.FileTime}
}

// restored is a sandbox in the state that some step left.
type restored struct {
	box *wasmSandbox
	// ran is the number of executions that were run again for it, and notes what a person should know about them.
	ran   int
	notes []string
}

// restore makes a sandbox in the state after a record: from its snapshot, or, when there is none that fits, by running
// again what led to it.
func (j *Journal) restore(ctx context.Context, rec *Record, spec Spec) (*restored, error) {
	x := &restored{}
	if rec.State.stored() {
		var err error
		x.box, err = j.e.wasm.resume(ctx, spec, &rec.State, nil)
		switch {
		case err == nil:
			return x, nil
		case errors.Is(err, errGuestBuild):
			x.note("step %d was stored by another build of the guest, so the session was run again on this one", rec.Step)
		case isDamage(err):
			x.note("the snapshot of step %d cannot be used (%v), so the session was run again", rec.Step, err)
		default:
			return nil, j.stateError(rec, err)
		}
	}
	return x, storeError(j.rebuild(ctx, x, rec, spec))
}

func (x *restored) note(format string, args ...any) {
	x.notes = append(x.notes, fmt.Sprintf(format, args...))
}

// rebuild runs again what led from the last usable snapshot to a record.
func (j *Journal) rebuild(ctx context.Context, x *restored, rec *Record, spec Spec) error {
	im, err := j.e.wasm.image(ctx, spec.Language)
	if err != nil {
		return err
	}
	var path []*Record // what is to be run, the last first
	for from, at, seen := j, rec, 1; ; seen++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch at.Kind {
		case RecordRewind, RecordFork:
			from, at, err = from.origin(ctx, at)
		case RecordCreate:
			path = append(path, at)
		default:
			path = append(path, at)
			at, err = from.record(ctx, at.Step-1)
		}
		if err != nil {
			return err
		}
		if at.State.Fresh || at != rec && at.State.stored() && at.State.Image == im.Sum() {
			st := at.State
			if x.box, err = j.e.wasm.resume(ctx, spec, &st, nil); err == nil {
				break
			}
			if !isDamage(err) {
				return err
			}
			x.note("the snapshot of step %d cannot be used either (%v)", at.Step, err)
		}
		if at.Kind == RecordCreate || seen > maxReplay {
			return &Error{
				Err:   fmt.Errorf("%w: the state of step %d of session %s cannot be had: no snapshot fits, and it cannot be run again", ErrNoStep, rec.Step, j.head.ID),
				Phase: PhaseStore, Hint: "an older build of mayfly may have the guest that it was stored with",
			}
		}
	}
	for i := len(path) - 1; i >= 0 && err == nil; i-- {
		err = j.rerun(ctx, x, path[i], spec)
	}
	if err == nil {
		err = x.box.fit(spec.limits())
	}
	if err != nil {
		return errors.Join(err, x.box.Close(ctx))
	}
	return nil
}

// origin returns the record that a fork or rewind began with.
func (j *Journal) origin(ctx context.Context, of *Record) (*Journal, *Record, error) {
	o := of.Origin
	if of.Kind == RecordRewind { // whatever the session was called then
		if o.Step >= of.Step {
			return nil, nil, fmt.Errorf("%w: step %d goes back to step %d", ErrStoreDamaged, of.Step, o.Step)
		}
		r, err := j.record(ctx, o.Step)
		return j, r, err
	}
	other, err := j.e.Journal(ctx, o.Session)
	if err == nil && other.head.Tenant == j.head.Tenant && o.Step >= other.head.First && o.Step <= other.head.Step {
		r, err := other.record(ctx, o.Step)
		if err != nil || r.Hash() == of.Previous {
			return other, r, err
		}
	}
	if err != nil && !errors.Is(err, ErrNoSession) {
		return nil, nil, err
	}
	// An import may name any session. Whether there is one, how long it is, and what is in it, is not told.
	return nil, nil, &Error{
		Err:   fmt.Errorf("%w: step %d of session %s, which this one was forked from, is not there any more", ErrNoStep, o.Step, o.Session),
		Phase: PhaseStore,
	}
}

// rerun brings the sandbox from the state before a record to the one after it.
func (j *Journal) rerun(ctx context.Context, x *restored, rec *Record, spec Spec) error {
	switch rec.Kind {
	case RecordExec:
		if slices.ContainsFunc(spec.Mounts, func(m Mount) bool { return m.Writable }) {
			return &Error{
				Err:   fmt.Errorf("%w: step %d cannot be run again, since it could write to mounted directories", ErrNoStep, rec.Step),
				Phase: PhaseStore, Hint: "open the session with read-only mounts",
			}
		}
		again, err := j.again(ctx, x.box, rec)
		if err != nil {
			return err
		}
		switch {
		case again.undone:
			return nil
		case again.late:
			return &Error{
				Err:   fmt.Errorf("%w: step %d did not come to its end when it was run again", ErrNoStep, rec.Step),
				Phase: PhaseStore, Hint: "try again when the machine is less busy",
			}
		}
		x.ran++
		if again.divergence != nil {
			x.note("step %d went another way: %v", rec.Step, again.divergence)
		} else if again.skipped != "" {
			x.note("step %d may have gone another way: %s", rec.Step, again.skipped)
		}
	case RecordFiles:
		// The files are those of the record; the memory does not know the difference.
		st := rec.State
		st.Fresh, st.Reseed = x.box.fresh, x.box.reseed
		spec.setLimits(x.box.spec.limits()) // what its memory has
		box, err := j.e.wasm.resume(ctx, spec, &st, x.box.mem)
		if err != nil {
			return j.stateError(rec, err)
		}
		x.box.mem = nil
		old := x.box
		x.box = box
		return old.Close(ctx)
	}
	return nil
}
