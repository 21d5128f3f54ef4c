package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/engine/store"
)

// SizeCost is the size of a store with one session of many small steps.
type SizeCost struct {
	Steps int `json:"steps"`
	// Keep is SnapshotPolicy.Keep, 0 for all.
	Keep int `json:"keep"`
	// DiskBytes is the size of the closed store's files, and StepBytes the same per step.
	DiskBytes int64   `json:"disk_bytes"`
	StepBytes float64 `json:"step_bytes"`
	// LogicalBytes is what is in it, before compression, and KeptBytes after.
	LogicalBytes int64 `json:"logical_bytes"`
	KeptBytes    int64 `json:"kept_bytes"`
	// ChainMS is what it takes to check records and objects, and VerifyMS to run everything again as well.
	ChainMS  float64 `json:"chain_ms"`
	VerifyMS float64 `json:"verify_ms"`
	// Executed and Identical are what Verification has.
	Executed  int `json:"executed"`
	Identical int `json:"identical"`
}

const sizeSetup = `
history, counts = [], {}
def step(i):
    history.append(f'what happened in step {i}')
    counts[i % 50] = counts.get(i % 50, 0) + 1
    with open('log.txt', 'a') as f:
        f.write(history[-1] + '\n')
`

func (b *stateRun) measureSize(ctx context.Context) error {
	for _, keep := range []int{0, 10} {
		if err := b.measureKeep(ctx, keep); err != nil {
			return fmt.Errorf("size, keep %d: %w", keep, err)
		}
	}
	return nil
}

func (b *stateRun) measureKeep(ctx context.Context, keep int) (err error) {
	n := b.opts.Steps
	b.progress("size of a store: %d steps, keep %d", n, keep)
	name := fmt.Sprintf("size-%d", keep)
	s, err := b.open(ctx, name, store.Sync)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	session, err := s.Open(ctx, name, &engine.SessionOptions{Snapshots: &engine.SnapshotPolicy{Keep: keep}})
	if err != nil {
		return err
	}
	_, err = runCode(ctx, session, sizeSetup)
	for i := 1; i < n && err == nil; i++ {
		_, err = runCode(ctx, session, fmt.Sprintf("step(%d)", i))
	}
	if err = errors.Join(err, session.Close()); err != nil {
		return err
	}
	if err := s.store.Collect(ctx); err != nil {
		return err
	}
	st, err := s.store.Stats(ctx)
	if err != nil {
		return err
	}
	if err := s.close(); err != nil {
		return err
	}
	cost := SizeCost{Steps: n, Keep: keep, LogicalBytes: st.Logical, KeptBytes: st.Compressed}
	if cost.DiskBytes, err = diskUse(s.dir); err != nil {
		return err
	}
	cost.StepBytes = round(float64(cost.DiskBytes) / float64(n))
	if s, err = b.open(ctx, name, store.Sync); err != nil {
		return err
	}
	if err := cost.verify(ctx, s, name); err != nil {
		if ctx.Err() != nil {
			return err
		}
		// What was measured in the minutes before is worth telling all the same.
		b.note("the session of %d steps, keep %d, could not be verified: %v", n, keep, err)
	}
	b.report.Size = append(b.report.Size, cost)
	return nil
}

func (c *SizeCost) verify(ctx context.Context, s *stateStore, name string) error {
	j, err := s.Journal(ctx, name)
	if err != nil {
		return err
	}
	var v *engine.Verification
	for _, how := range []struct {
		o  engine.VerifyOptions
		ms *float64
	}{{engine.VerifyOptions{ChainOnly: true}, &c.ChainMS}, {engine.VerifyOptions{}, &c.VerifyMS}} {
		took, err := timed(func() error {
			v, err = j.Verify(ctx, &how.o)
			return err
		})
		if err != nil {
			return err
		}
		if !v.OK {
			return fmt.Errorf("the session is not what it was: %+v, divergence %v", v, v.Divergence)
		}
		*how.ms = round(took)
	}
	c.Executed, c.Identical = v.Executed, v.Identical
	return nil
}
