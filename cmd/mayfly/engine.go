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
	"syscall"
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
	engine.ErrArchive, engine.ErrNoQuestion, fs.ErrNotExist, fs.ErrExist, httpapi.ErrTooLarge,
}

// engineError turns an error of the engine into one with an exit code.
func engineError(err error) *exitError {
	var coded *exitError
	if errors.As(err, &coded) {
		return coded
	}
	var e *engine.Error
	hint := ""
	if errors.As(err, &e) {
		hint = e.Hint
	}
	switch {
	case brokenPipe(err):
		return &exitError{code: exitPipe} // whoever ended the pipe knows
	case errors.Is(err, context.Canceled):
		return &exitError{engine.ExitCancelled, "interrupted", hint}
	case errors.Is(err, httpapi.ErrStranger):
		return &exitError{exitFailure, err.Error(), "do not share a store between users; name another --store"}
	case e == nil:
		return &exitError{exitFailure, err.Error(), ""}
	case errors.Is(err, engine.ErrClosed) && hint == "":
		return &exitError{exitFailure, "the session was closed meanwhile",
			"it was removed, or the process that has the store is ending; mayfly sessions list shows those that there are"}
	}
	for _, m := range mistakes {
		if errors.Is(err, m) || errors.Is(err, engine.ErrSuspended) && e.Phase == engine.PhaseRequest {
			return &exitError{exitUsage, e.Err.Error(), hint}
		}
	}
	return &exitError{exitFailure, e.Err.Error(), hint}
}

// brokenPipe tells whether nobody reads the output any more.
func brokenPipe(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p) && p.Path == os.Stdout.Name() && errors.Is(p.Err, syscall.EPIPE)
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
