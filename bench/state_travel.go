package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/engine/store"
)

// kind is a sort of session that is forked, rewound and restored.
type kind struct {
	name, label string
	setup, step string
	steps       int
	large       bool
}

var kinds = []kind{
	{name: "small", label: "small", setup: "x = 0", step: stepSmall, steps: 5},
	{name: "steps_200", label: "200 steps", setup: "x = 0", step: stepSmall, steps: 200},
	{name: "bytes_20mb", label: "20 MB", setup: setupBytes, step: "change()", steps: 3, large: true},
}

// TravelCost is what it costs to fork a live session and to rewind it.
type TravelCost struct {
	// Session is small (5 steps), steps_200 or bytes_20mb.
	Session string `json:"session"`
	Samples int    `json:"samples"`
	// ForkMS is the time of Engine.Fork of the latest step, ForkExecMS the same until a first execution has returned, which
	// is a durable step itself.
	ForkMS     Quantiles `json:"fork_ms"`
	ForkExecMS Quantiles `json:"fork_exec_ms"`
	// RewindMS is the time of Session.Rewind to step 2, and RewindExecMS the same until a first execution has returned.
	RewindMS     Quantiles `json:"rewind_ms"`
	RewindExecMS Quantiles `json:"rewind_exec_ms"`
}

// make makes a session with its steps.
func (k *kind) make(ctx context.Context, s *stateStore) (*engine.Session, error) {
	session, err := s.Open(ctx, k.name, &engine.SessionOptions{New: true})
	if err != nil {
		return nil, err
	}
	_, err = runCode(ctx, session, k.setup)
	for i := 1; i < k.steps && err == nil; i++ {
		_, err = runCode(ctx, session, k.step)
	}
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return session, nil
}

func (b *stateRun) measureTravel(ctx context.Context) (err error) {
	s, err := b.open(ctx, "travel", store.Sync)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	for _, k := range kinds {
		n := max(b.opts.Small/3, 2)
		if k.large {
			n = b.opts.Large
		}
		b.progress("forks and rewinds: %s, %d times", k.label, n)
		session, err := k.make(ctx, s)
		if err != nil {
			return err
		}
		cost, err := travel(ctx, s, session, k, n)
		if err = errors.Join(err, session.Close()); err != nil {
			return fmt.Errorf("forks and rewinds, %s: %w", k.name, err)
		}
		b.report.Travel = append(b.report.Travel, *cost)
	}
	return nil
}

// travel forks a session and rewinds it, by turns.
func travel(ctx context.Context, s *stateStore, session *engine.Session, k kind, n int) (*TravelCost, error) {
	var fork, forkExec, rewind, rewindExec []float64
	for i := range n + 1 + n/10 {
		if i == 1+n/10 { // what came before was the warm-up
			fork, forkExec, rewind, rewindExec = nil, nil, nil, nil
		}
		start := time.Now()
		f, err := s.Fork(ctx, k.name, engine.Latest, "")
		if err != nil {
			return nil, err
		}
		fork = append(fork, since(start))
		_, err = runCode(ctx, f, "1 + 1")
		forkExec = append(forkExec, since(start))
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		// A step in between, so that the session has something to lose.
		if _, err := runCode(ctx, session, k.step); err != nil {
			return nil, err
		}
		start = time.Now()
		if _, err := session.Rewind(ctx, 2); err != nil {
			return nil, err
		}
		rewind = append(rewind, since(start))
		if _, err := runCode(ctx, session, "1 + 1"); err != nil {
			return nil, err
		}
		rewindExec = append(rewindExec, since(start))
	}
	return &TravelCost{
		Session: k.name, Samples: n, ForkMS: summary(fork), ForkExecMS: summary(forkExec), RewindMS: summary(rewind),
		RewindExecMS: summary(rewindExec),
	}, nil
}

// timed returns the milliseconds that f takes.
func timed(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return since(start), err
}
