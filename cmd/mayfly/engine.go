package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
	"github.com/mayfly-run/mayfly/internal/httpapi"
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
		o.Logger = newLogger()
	}
	e, err := engine.New(ctx, &o)
	if err != nil {
		return nil, engineError(err)
	}
	return e, nil
}

// newLogger writes what an operator wants to know to stderr.
func newLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

// mistakes are the errors of what was asked for, as opposed to those of doing it.
var mistakes = []error{
	engine.ErrRequest, engine.ErrNoSession, engine.ErrNoStep, engine.ErrSessionExists, engine.ErrTooManySessions,
	engine.ErrArchive, fs.ErrNotExist, fs.ErrExist, httpapi.ErrTooLarge,
}

// engineError turns an error of the engine into one with an exit code.
func engineError(err error) *exitError {
	var coded *exitError
	if errors.As(err, &coded) {
		return coded
	}
	code := exitFailure
	if errors.Is(err, context.Canceled) {
		code = engine.ExitCancelled
	}
	var e *engine.Error
	if !errors.As(err, &e) {
		return &exitError{code, err.Error(), ""}
	}
	for _, m := range mistakes {
		if errors.Is(err, m) {
			code = exitUsage
		}
	}
	return &exitError{code, e.Err.Error(), e.Hint}
}

// commandError is engineError for an error that may be nil.
func commandError(err error) error {
	if err == nil {
		return nil
	}
	return engineError(err)
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
