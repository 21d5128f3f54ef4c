package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/engine/store"
	"github.com/mayfly-run/mayfly/guests/python"
)

// RestoreTimes are the milliseconds that a process takes to use a session of a store, one after the other.
type RestoreTimes struct {
	// StoreOpenMS opens the store, ImageMS makes the engine and loads the guest, SessionOpenMS is Engine.Open.
	StoreOpenMS   float64 `json:"store_open_ms"`
	ImageMS       float64 `json:"image_ms"`
	SessionOpenMS float64 `json:"session_open_ms"`
	// RestoreMS brings memory and files back, ExecMS is the rest of the first execution, with the commit of its step.
	RestoreMS float64 `json:"restore_ms"`
	ExecMS    float64 `json:"exec_ms"`
	// CloseMS closes engine and store.
	CloseMS float64 `json:"close_ms"`
}

// Restore opens a session in a store and runs `1+1` in it. With an empty name it does so in a session in memory, without
// a store. It is for a process of its own.
func Restore(ctx context.Context, cacheDir, dir, session string) (_ *RestoreTimes, err error) {
	t := &RestoreTimes{}
	var st *store.Store
	// As mayfly run has it: one session needs no forks prepared ahead.
	o := &engine.Options{Guests: []engine.Guest{python.New()}, CacheDir: cacheDir, ReadySandboxes: -1}
	closers := []func() error{}
	closeAll := func() error {
		var errs []error
		for i := len(closers) - 1; i >= 0; i-- {
			errs = append(errs, closers[i]())
		}
		closers = nil
		return errors.Join(errs...)
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	if session != "" {
		t.StoreOpenMS, err = timed(func() error {
			st, err = store.Open(dir, nil)
			return err
		})
		if err != nil {
			return nil, err
		}
		closers = append(closers, st.Close)
		o.Store = st
	}
	var e *engine.Engine
	t.ImageMS, err = timed(func() error {
		if e, err = engine.New(ctx, o); err != nil {
			return err
		}
		closers = append(closers, e.Close)
		return e.Warm(ctx, "")
	})
	if err != nil {
		return nil, err
	}
	var s *engine.Session
	t.SessionOpenMS, err = timed(func() error {
		if session == "" {
			s, err = e.NewSession(ctx, nil)
		} else {
			s, err = e.Open(ctx, session, &engine.SessionOptions{Existing: true})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var r *engine.Result
	took, err := timed(func() error {
		r, err = s.Exec(ctx, onePlusOne)
		return check(r, err, "2")
	})
	if err != nil {
		return nil, err
	}
	t.RestoreMS = r.Usage.ForkUS / 1000
	t.ExecMS = took - t.RestoreMS
	t.CloseMS, err = timed(closeAll)
	return t, err
}

// RestoreCost is what it costs to go on with a session in another process.
type RestoreCost struct {
	// Session is memory (one without a store, for comparison), small (5 steps), steps_200 or bytes_20mb.
	Session string `json:"session"`
	Samples int    `json:"samples"`
	// ProcessMS is the whole process, from start to end.
	ProcessMS Quantiles `json:"process_ms"`
	// TotalMS is the sum of what has to do with the session: StoreOpenMS, SessionOpenMS, RestoreMS and ExecMS. The others are
	// as in RestoreTimes.
	TotalMS       Quantiles `json:"total_ms"`
	StoreOpenMS   Quantiles `json:"store_open_ms"`
	ImageMS       Quantiles `json:"image_ms"`
	SessionOpenMS Quantiles `json:"session_open_ms"`
	RestoreMS     Quantiles `json:"restore_ms"`
	ExecMS        Quantiles `json:"exec_ms"`
	CloseMS       Quantiles `json:"close_ms"`
}

const memorySession = "memory"

// measureRestores starts processes, by turns for each kind of session. Each has a store of its own.
func (b *stateRun) measureRestores(ctx context.Context) error {
	if len(b.opts.Command) == 0 {
		b.note("restore was not measured: no command was given")
		return nil
	}
	type series struct {
		name, dir, session string
		process            []float64
		times              []*RestoreTimes
	}
	all := []*series{{name: memorySession}}
	for _, k := range kinds {
		b.progress("restore: a session of %s", k.label)
		s, err := b.open(ctx, "restore-"+k.name, store.Sync)
		if err != nil {
			return err
		}
		session, err := k.make(ctx, s)
		if err == nil {
			err = session.Close()
		}
		if err = errors.Join(err, s.close()); err != nil {
			return err
		}
		all = append(all, &series{name: k.name, dir: s.dir, session: k.name})
	}
	b.progress("restore: %d processes for each session", b.opts.Processes)
	for i := range b.opts.Processes + 1 {
		for _, x := range all {
			var t *RestoreTimes
			took, err := timed(func() (err error) {
				t, err = b.restoreProcess(ctx, x.dir, x.session)
				return err
			})
			if err != nil {
				return fmt.Errorf("restore, %s: %w", x.name, err)
			}
			if i > 0 { // the first one brings files into the page cache
				x.process, x.times = append(x.process, took), append(x.times, t)
			}
		}
	}
	for _, x := range all {
		b.report.Restore = append(b.report.Restore, restoreCost(x.name, x.process, x.times))
	}
	for _, x := range all[1:] {
		if err := os.RemoveAll(x.dir); err != nil {
			return err
		}
	}
	return nil
}

func (b *stateRun) restoreProcess(ctx context.Context, dir, session string) (*RestoreTimes, error) {
	args := append([]string{}, b.opts.Command[1:]...)
	if session != "" {
		args = append(args, dir, session)
	}
	cmd := exec.CommandContext(ctx, b.opts.Command[0], args...)
	cmd.Env = os.Environ()
	if b.opts.CacheDir != "" {
		cmd.Env = append(cmd.Env, "MAYFLY_CACHE="+b.opts.CacheDir)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(b.opts.Command, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	t := &RestoreTimes{}
	if err := json.Unmarshal(stdout.Bytes(), t); err != nil {
		return nil, fmt.Errorf("%s printed %.200q: %w", strings.Join(b.opts.Command, " "), stdout.String(), err)
	}
	return t, nil
}

func restoreCost(name string, process []float64, times []*RestoreTimes) RestoreCost {
	of := func(f func(*RestoreTimes) float64) Quantiles {
		var v []float64
		for _, t := range times {
			v = append(v, f(t))
		}
		return summary(v)
	}
	return RestoreCost{
		Session: name, Samples: len(times), ProcessMS: summary(process),
		TotalMS:       of(func(t *RestoreTimes) float64 { return t.StoreOpenMS + t.SessionOpenMS + t.RestoreMS + t.ExecMS }),
		StoreOpenMS:   of(func(t *RestoreTimes) float64 { return t.StoreOpenMS }),
		ImageMS:       of(func(t *RestoreTimes) float64 { return t.ImageMS }),
		SessionOpenMS: of(func(t *RestoreTimes) float64 { return t.SessionOpenMS }),
		RestoreMS:     of(func(t *RestoreTimes) float64 { return t.RestoreMS }),
		ExecMS:        of(func(t *RestoreTimes) float64 { return t.ExecMS }),
		CloseMS:       of(func(t *RestoreTimes) float64 { return t.CloseMS }),
	}
}
