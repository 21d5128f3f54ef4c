// Command rollouts shows what durable sessions are for besides surviving a crash: an agent has prepared a session, and several
// ways to go on are tried from the same point, each in a fork of its own. The best one is kept, the others are removed.
//
//	go run ./examples/rollouts
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/engine/store"
	"github.com/mayfly-run/mayfly/guests/python"
)

// prepare is the work that is not to be done again for each try.
const prepare = `
import random, statistics
random.seed(7)
samples = [random.gauss(50, 12) for _ in range(20_000)] + [1e6] * 40
open("samples.csv", "w").write("\n".join(map(str, samples)))
`

// tries are what the agent came up with: estimates of where the samples are centred.
var tries = []struct{ name, code string }{
	{"mean", "score = abs(statistics.fmean(samples) - 50)"},
	{"median", "score = abs(statistics.median(samples) - 50)"},
	{"fails", "score = statistics.mean(sample)"},
	{"trimmed", "samples.sort(); cut = len(samples) // 10\nscore = abs(statistics.fmean(samples[cut:-cut]) - 50)"},
}

func main() {
	dir, err := os.MkdirTemp("", "rollouts-")
	if err == nil {
		err = errors.Join(run(context.Background(), dir, os.Stdout), os.RemoveAll(dir))
	}
	if err != nil {
		log.New(os.Stderr, "", 0).Fatal(err)
	}
}

func run(ctx context.Context, dir string, w io.Writer) (err error) {
	st, err := store.Open(dir+"/store", nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	e, err := engine.New(ctx, &engine.Options{Guests: []engine.Guest{python.New()}, Store: st})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()

	s, err := e.Open(ctx, "study", nil)
	if err != nil {
		return err
	}
	r, err := s.Exec(ctx, engine.Request{Code: prepare})
	if err != nil {
		return err
	}
	if r.Error != nil {
		return errors.New(r.Error.Traceback)
	}
	best, bestScore := "", 1e300
	for _, t := range tries {
		score, err := rollout(ctx, e, r.Step, t.name, t.code, w)
		if err != nil {
			return err
		}
		if score < bestScore {
			best, bestScore = t.name, score
		}
	}
	for _, t := range tries {
		if t.name != best {
			if err := e.Remove(ctx, t.name); err != nil {
				return err
			}
		}
	}
	left, err := e.Sessions(ctx, nil)
	if err != nil {
		return err
	}
	for _, i := range left {
		fmt.Fprintf(w, "kept: %s, step %d\n", i.ID, i.Step)
	}
	return s.Close()
}

// rollout runs code in a fork of the session and returns its score; what fails scores badly.
func rollout(ctx context.Context, e *engine.Engine, step int, name, code string, w io.Writer) (float64, error) {
	f, err := e.Fork(ctx, "study", step, name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r, err := f.Exec(ctx, engine.Request{Code: code})
	if err != nil {
		return 0, err
	}
	if r.Error != nil {
		fmt.Fprintf(w, "%s: %s\n", name, r.Error.Message)
		return 1e300, nil
	}
	var score float64
	if _, err := fmt.Sscan(string(r.Result), &score); err != nil {
		return 0, err
	}
	fmt.Fprintf(w, "%s: off by %.2f\n", name, score)
	return score, nil
}
