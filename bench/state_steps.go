package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/engine/store"
)

// change is something that steps do.
type change struct {
	name, label string
	setup, step string
	large       bool
	syncOnly    bool
}

// bigBytes and bigFloats hold 20 MB, which each step changes in place: random bytes that cannot be compressed, and numbers
// as programs have them.
const (
	setupBytes = `
import random
data = bytearray(20_000_000)
for i in range(0, len(data), 65536):
    data[i:i + 65536] = random.randbytes(min(65536, len(data) - i))
table = bytes((i + 1) % 256 for i in range(256))

def change():
    for i in range(0, len(data), 65536):
        data[i:i + 65536] = data[i:i + 65536].translate(table)
`
	setupFloats = `
values = [i * 1.1 for i in range(1_000_000)]

def change():
    for i, v in enumerate(values):
        values[i] = v * 1.0001
`
	stepSmall = "x += 1"
)

var changes = []change{
	{name: "variable", label: "1 variable", setup: "x = 0", step: stepSmall},
	{
		name: "append", label: "append to a file", setup: "open('log.txt', 'w').close()",
		step: "with open('log.txt', 'a') as f: f.write('a line of a log as programs write them\\n')",
	},
	{name: "bytes_20mb", label: "20 MB, random bytes", setup: setupBytes, step: "change()", large: true},
	{name: "floats_20mb", label: "20 MB, 1M floats", setup: setupFloats, step: "change()", large: true, syncOnly: true},
}

// mode is how steps are stored.
type mode struct {
	name       string
	durability store.Durability
	snapshots  engine.SnapshotPolicy
}

var modes = []mode{
	{"sync", store.Sync, engine.SnapshotPolicy{}},
	{"async", store.Async, engine.SnapshotPolicy{}},
	{"none", store.None, engine.SnapshotPolicy{}},
	{"sync_no_snapshots", store.Sync, engine.SnapshotPolicy{Every: -1}},
}

// StepCost is what a durable step costs. Bytes are means per step.
type StepCost struct {
	// Mode is sync, async, none (the durability, with a snapshot after each step), or sync_no_snapshots.
	Mode string `json:"mode"`
	// Change is what the step does: variable, append, bytes_20mb or floats_20mb.
	Change  string `json:"change"`
	Samples int    `json:"samples"`
	// StepMS is the time of the step, MemoryMS that of the same one in a session in memory, which runs by turns with it, and
	// OverheadMS that of the differences of each pair.
	StepMS     Quantiles `json:"step_ms"`
	MemoryMS   Quantiles `json:"memory_ms"`
	OverheadMS Quantiles `json:"overhead_ms"`
	// StoreMS is the part of StepMS that comes after the code has run, and CommitMS what Store.Commit takes of that.
	StoreMS  Quantiles `json:"store_ms"`
	CommitMS Quantiles `json:"commit_ms"`
	// RecordBytes are the bytes of the record and of the session's head, and ObjectBytes those of the objects, before
	// compression.
	RecordBytes float64 `json:"record_bytes"`
	ObjectBytes float64 `json:"object_bytes"`
	Objects     float64 `json:"objects"`
	// KeptBytes is what the store has more of afterwards: new objects and the record, compressed.
	KeptBytes float64 `json:"kept_bytes"`
	// DiskBytes is what the files of the open store grew by; part of it is a log that is dropped later.
	DiskBytes float64 `json:"disk_bytes"`
}

func (b *stateRun) measureSteps(ctx context.Context) error {
	for _, m := range modes {
		if err := b.measureMode(ctx, m); err != nil {
			return fmt.Errorf("steps, %s: %w", m.name, err)
		}
	}
	return nil
}

func (b *stateRun) measureMode(ctx context.Context, m mode) (err error) {
	s, err := b.open(ctx, "steps-"+m.name, m.durability)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	for _, c := range changes {
		if c.syncOnly && m.name != "sync" {
			continue
		}
		n := b.opts.Small
		if c.large {
			n = b.opts.Large
		}
		b.progress("steps, %s: %s, %d times", m.name, c.label, n)
		cost, err := b.measureStep(ctx, s, m, c, n)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		b.report.Steps = append(b.report.Steps, *cost)
	}
	return nil
}

// measureStep runs n steps in a durable session and in one in memory by turns.
func (b *stateRun) measureStep(ctx context.Context, s *stateStore, m mode, c change, n int) (*StepCost, error) {
	durable, err := s.Open(ctx, c.name, &engine.SessionOptions{New: true, Snapshots: &m.snapshots})
	if err != nil {
		return nil, err
	}
	defer durable.Close()
	memory, err := s.NewSession(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer memory.Close()
	warmUp := 1 + n/10
	for _, session := range []*engine.Session{durable, memory} {
		if _, err := runCode(ctx, session, c.setup); err != nil {
			return nil, err
		}
		for range warmUp {
			if _, err := runCode(ctx, session, c.step); err != nil {
				return nil, err
			}
		}
	}
	before, err := s.store.Stats(ctx)
	if err != nil {
		return nil, err
	}
	s.meter.take()
	var kept, plain, over, stored []float64
	for range n {
		p, err := timeCode(ctx, memory, c.step)
		if err != nil {
			return nil, err
		}
		k, storeMS, err := timeStep(ctx, durable, c.step)
		if err != nil {
			return nil, err
		}
		kept, plain, over, stored = append(kept, k), append(plain, p), append(over, k-p), append(stored, storeMS)
	}
	steps := s.meter.take()
	after, err := s.store.Stats(ctx)
	if err != nil {
		return nil, err
	}
	cost := &StepCost{
		Mode: m.name, Change: c.name, Samples: n,
		StepMS: summary(kept), MemoryMS: summary(plain), OverheadMS: summary(over), StoreMS: summary(stored),
		KeptBytes: round(float64(after.Compressed-before.Compressed) / float64(n)),
		DiskBytes: round(float64(after.Disk-before.Disk) / float64(n)),
	}
	cost.commits(steps)
	return cost, nil
}

func timeStep(ctx context.Context, s *engine.Session, code string) (took, stored float64, err error) {
	var r *engine.Result
	took, err = timed(func() error {
		r, err = runCode(ctx, s, code)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	return took, r.Usage.StoreMS, nil
}

// commits fills in what the store was given.
func (c *StepCost) commits(steps []metered) {
	var commit []float64
	for _, s := range steps {
		commit = append(commit, s.ms)
		c.RecordBytes += s.record
		c.ObjectBytes += s.object
		c.Objects += float64(s.objects)
	}
	n := float64(len(steps))
	c.CommitMS = summary(commit)
	c.RecordBytes, c.ObjectBytes, c.Objects = round(c.RecordBytes/n), round(c.ObjectBytes/n), round(c.Objects/n)
}
