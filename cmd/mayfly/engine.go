package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
)

// openEngine returns an engine with every guest of this command. Slow first-run work is told on stderr.
func openEngine(ctx context.Context, o engine.Options) (*engine.Engine, error) {
	o.Guests = []engine.Guest{python.New()}
	if o.CacheDir == "" {
		o.CacheDir = os.Getenv("MAYFLY_CACHE")
	}
	if o.Progress == nil {
		o.Progress = (&progress{w: os.Stderr}).step
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{
			Level: slog.LevelWarn,
			ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			},
		}))
	}
	e, err := engine.New(ctx, &o)
	if err != nil {
		return nil, engineError(err)
	}
	return e, nil
}

// engineError turns an error of the engine into one with an exit code.
func engineError(err error) *exitError {
	var e *engine.Error
	if !errors.As(err, &e) {
		return &exitError{exitFailure, err.Error(), ""}
	}
	code := exitFailure
	if errors.Is(err, engine.ErrRequest) {
		code = exitUsage
	}
	if errors.Is(err, context.Canceled) {
		code = engine.ExitCancelled
	}
	return &exitError{code, e.Err.Error(), e.Hint}
}

// progress tells of the first run's compilation, the only thing here that takes seconds.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	start time.Time
}

func (p *progress) step(s engine.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case s.Step == "compile" && !s.Done:
		p.start = time.Now()
		fmt.Fprintf(p.w, "mayfly: first run: compiling the %s guest, about 10 seconds ...\n", s.Guest)
	case s.Step == "initialise" && s.Done:
		fmt.Fprintf(p.w, "mayfly: ready after %.1f s\n", time.Since(p.start).Seconds())
	}
}
