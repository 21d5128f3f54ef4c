package engine

import "context"

// retain notes in a head which states are kept from now on, by the policy: those of the last steps, and what they are
// relative to. rec is the record that is about to be the last one.
//
// A step without a snapshot is had again from the snapshot before it. So the states before an edge are given up only when
// there is a snapshot at the edge.
func (j *Journal) retain(ctx context.Context, head *sessionHead, rec *Record) error {
	head.Dropped = head.Kept
	edge := rec.Step - head.Snapshots.Keep + 1
	if head.Snapshots.Keep <= 0 || edge <= head.Kept {
		return nil
	}
	at := rec
	if edge < rec.Step {
		var err error
		if at, err = j.record(ctx, edge); err != nil {
			return err
		}
	}
	if at.State.stored() {
		head.Kept = edge
	}
	return nil
}

// dropStates gives up the states that a head says are not kept any more. A failure costs space, and nothing else.
func (e *Engine) dropStates(ctx context.Context, head *sessionHead) {
	if head.Dropped >= head.Kept {
		return
	}
	j := &Journal{e, head}
	for step := max(head.Dropped, head.First+1); step < head.Kept; step++ {
		rec, err := j.record(ctx, step)
		if err == nil {
			err = e.opts.Store.Release(ctx, head.ID, step, rec.State.holds())
		}
		if err != nil {
			e.opts.Logger.Warn("drop old state", "session", head.ID, "step", step, "error", err)
		}
	}
}

// keeps tells whether the state of a step is kept. The first one always is, so that the session can be run again.
func (h *sessionHead) keeps(step int) bool { return step >= h.Kept || step == h.First }
