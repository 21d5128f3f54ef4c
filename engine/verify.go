package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/wasm"
)

// VerifyOptions of Journal.Verify; nil means all of it.
type VerifyOptions struct {
	// ChainOnly checks the records and the objects, and runs nothing again.
	ChainOnly bool
	// Progress is told of each step before it is run again.
	Progress func(step, last int)
}

// Verification is what Journal.Verify found.
type Verification struct {
	Session string `json:"session"`
	First   int    `json:"first"`
	Last    int    `json:"last"`
	// OK tells that nothing is damaged and nothing diverged.
	OK bool `json:"ok"`
	// Records and Objects were checked against their hashes, Executed steps were run again.
	Records  int `json:"records"`
	Objects  int `json:"objects"`
	Executed int `json:"executed"`
	// Identical counts the steps after which the interpreter's memory was, byte by byte, what the snapshot has.
	Identical int `json:"identical"`
	// Differing are the executed steps after which it was not, though nothing that can be seen differed.
	Differing []int `json:"differing,omitempty"`
	// Skipped are the steps whose repetition proves nothing, with the reason.
	Skipped []StepNote `json:"skipped,omitempty"`
	// Damage are records and objects that are not what their hashes say. Nothing is run again then.
	Damage []StepNote `json:"damage,omitempty"`
	// Divergence is the first step that went another way than recorded. What comes after it was not run.
	Divergence *Divergence `json:"divergence,omitempty"`
}

// StepNote says something about a step.
type StepNote struct {
	Step   int    `json:"step"`
	Reason string `json:"reason"`
}

// Verify checks that the journal is a whole chain of records, that all objects that it names are intact, and that running
// the session again from its beginning gives what the journal says: programs get the random numbers, clock readings and
// answers that were recorded. The error is about Verify itself; what it found is in the Verification.
func (j *Journal) Verify(ctx context.Context, o *VerifyOptions) (*Verification, error) {
	if o == nil {
		o = &VerifyOptions{}
	}
	v := &Verification{Session: j.head.ID, First: j.head.First, Last: j.head.Step}
	records, err := j.verifyChain(ctx, v)
	if err != nil {
		return nil, err
	}
	if !o.ChainOnly && len(v.Damage) == 0 {
		if err := j.verifyRuns(ctx, v, records, o); err != nil {
			return nil, storeError(err)
		}
	}
	v.OK = len(v.Damage) == 0 && v.Divergence == nil
	return v, nil
}

// verifyChain checks records and objects.
func (j *Journal) verifyChain(ctx context.Context, v *Verification) ([]*Record, error) {
	var records []*Record
	damage := func(step int, format string, args ...any) {
		v.Damage = append(v.Damage, StepNote{step, fmt.Sprintf(format, args...)})
	}
	seen := map[cas.Hash]bool{}
	step := j.head.First
	var previous cas.Hash
	for r, err := range j.Records(ctx, step) {
		if err := ctx.Err(); err != nil {
			return nil, &Error{Err: err, Phase: PhaseStore}
		}
		if err != nil {
			if !errors.Is(err, ErrStoreDamaged) && !isDamage(err) {
				return nil, err
			}
			damage(step, "%v", err)
			return records, nil
		}
		switch {
		case r.Step != step:
			damage(step, "the record is missing; the next one is of step %d", r.Step)
		case len(records) > 0 && r.Previous != previous:
			damage(step, "the record does not follow the one before it: %v instead of %v", r.Previous, previous)
		}
		v.Records++
		dropped := !j.head.keeps(r.Step)
		for _, h := range r.holds() {
			if dropped && slices.Contains(r.State.holds(), h) {
				continue
			}
			if err := j.verifyObject(v, seen, h); err != nil {
				damage(step, "%v", err)
			}
		}
		records = append(records, r)
		previous, step = r.Hash(), r.Step+1
	}
	switch {
	case step != j.head.Step+1:
		damage(step, "the journal ends before step %d, the session's last one", j.head.Step)
	case previous != j.head.Record:
		damage(j.head.Step, "the session's last record should be %v and is %v", j.head.Record, previous)
	}
	return records, nil
}

// verifyObject checks an object and all below it.
func (j *Journal) verifyObject(v *Verification, seen map[cas.Hash]bool, h cas.Hash) error {
	todo, noted := []cas.Hash{h}, map[cas.Hash]bool{}
	for len(todo) > 0 {
		h, todo = todo[len(todo)-1], todo[:len(todo)-1]
		if seen[h] {
			continue
		}
		o, err := j.e.opts.Store.Get(h)
		if err != nil {
			return err
		}
		seen[h] = true
		v.Objects++
		// Each once: objects of an import may name one another thousands of times.
		for _, ref := range o.Refs {
			if !seen[ref] && !noted[ref] {
				noted[ref] = true
				todo = append(todo, ref)
			}
		}
	}
	return nil
}

const notKept = "its state, or what that came from, was not kept"

// verifyRuns runs the session again.
func (j *Journal) verifyRuns(ctx context.Context, v *Verification, records []*Record, o *VerifyOptions) error {
	leave, err := j.e.work(ctx)
	if err != nil {
		return err
	}
	defer leave()
	spec := j.e.spec(j.head, nil)
	spec.Mounts = readOnly(spec.Mounts)
	var x *restored
	defer func() {
		if x != nil && x.box != nil {
			x.box.Close(context.WithoutCancel(ctx))
		}
	}()
	for _, rec := range records {
		if err := ctx.Err(); err != nil {
			return err
		}
		if o.Progress != nil {
			o.Progress(rec.Step, v.Last)
		}
		kept := j.head.keeps(rec.Step)
		if x != nil && (rec.Kind == RecordFiles || rec.Kind == RecordSnapshot || rec.Kind == RecordWait) {
			err := j.rerun(ctx, x, rec, spec)
			if err != nil && kept {
				return err
			}
			if err != nil { // nothing can be run again up to a state that was kept
				v.Skipped = append(v.Skipped, StepNote{rec.Step, notKept})
				x.box.Close(ctx)
				x = nil
			}
			continue
		}
		if rec.Kind != RecordExec || x == nil {
			if x == nil && !kept {
				v.Skipped = append(v.Skipped, StepNote{rec.Step, notKept})
				continue
			}
			// Its state came from elsewhere: from a file, another step, another session.
			next, err := j.restore(ctx, rec, spec)
			if err != nil && (kept || ctx.Err() != nil) {
				return err
			}
			if x != nil && x.box != nil {
				x.box.Close(ctx)
			}
			if x = next; err != nil {
				v.Skipped = append(v.Skipped, StepNote{rec.Step, notKept})
				x = nil
			}
			continue
		}
		again, err := j.again(ctx, x.box, rec)
		if err != nil {
			return err
		}
		if again.undone {
			v.Skipped = append(v.Skipped, StepNote{rec.Step, again.skipped})
			continue
		}
		v.Executed++
		if v.Divergence = again.divergence; v.Divergence != nil {
			return nil
		}
		same, err := j.sameMemory(x.box, rec)
		if err != nil {
			return err
		}
		if same {
			v.Identical++
		} else if !rec.State.Memory.IsZero() && j.head.keeps(rec.Step) {
			v.Differing = append(v.Differing, rec.Step)
		}
		if again.skipped == "" {
			continue
		}
		v.Skipped = append(v.Skipped, StepNote{rec.Step, again.skipped})
		if same || !rec.State.stored() || !kept {
			continue
		}
		// What follows is to be judged by what really was.
		x.box.Close(ctx)
		x = nil
		if x, err = j.restore(ctx, rec, spec); err != nil {
			return err
		}
	}
	return nil
}

// sameMemory tells whether the memory of a sandbox is what the snapshot of a record has.
func (j *Journal) sameMemory(box *wasmSandbox, rec *Record) (bool, error) {
	if rec.State.Fresh || box.fresh {
		return rec.State.Fresh == box.fresh, nil
	}
	if rec.State.Memory.IsZero() || rec.State.Image != box.im.Sum() {
		return false, nil
	}
	m, err := newMemory(box.im, &box.spec)
	if err != nil {
		return false, err
	}
	defer m.Close()
	if _, err := loadMemory(m, box.spec.Memory, box.im, j.e.opts.Store, rec.State.Memory); err != nil {
		if isDamage(err) {
			return false, nil // it was not kept
		}
		return false, err
	}
	want, err := m.Patch(nil)
	if err != nil {
		return false, err
	}
	got, err := box.mem.Patch(nil)
	if err != nil {
		return false, err
	}
	return samePatch(want, got), nil
}

// samePatch compares two patches relative to the image: equal memories have equal ones.
func samePatch(a, b *wasm.Patch) bool {
	return bytes.Equal(a.Head(), b.Head()) && slices.EqualFunc(a.Parts(cas.MaxData), b.Parts(cas.MaxData), bytes.Equal)
}

func readOnly(mounts []Mount) []Mount {
	out := make([]Mount, len(mounts))
	for i, m := range mounts {
		m.Writable = false
		out[i] = m
	}
	return out
}
