package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
	"github.com/mayfly-run/mayfly/wasm"
)

// Guest is a language: a WebAssembly interpreter that speaks the ABI of guests/README.md, for example python.New().
type Guest interface {
	// Language is the name that requests use: "python".
	Language() string
	// ID identifies the module: equal IDs mean equal bytes.
	ID() string
	// Module returns the WebAssembly binary. It is called once at most, and not at all when the cache has the image.
	Module() ([]byte, error)
	// Boot returns the program that the interpreter runs once at its start, and the payload that it gets.
	Boot() (program, payload []byte)
}

// Progress tells what a slow first run is doing, see Options.Progress.
type Progress = wasm.Progress

// Options of New. At least one guest is needed; everything else has a good default.
type Options struct {
	// Guests are the languages. The first is the default of requests.
	Guests []Guest
	// CacheDir keeps compiled guests between processes. Default: "mayfly" in os.UserCacheDir; "off": none.
	CacheDir string
	// MaxInFlight is the number of executions that run at once. Default: twice GOMAXPROCS.
	MaxInFlight int
	// MaxQueue is the number of executions that may wait beyond that; more are refused with ErrBusy. Default:
	// DefaultQueue; negative: none.
	MaxQueue int
	// MaxWaiting is the number of executions that wait, for a tool or a model say, without counting as running: each keeps
	// its memory. More of them keep their places. Default: DefaultMaxWaiting; negative: none.
	MaxWaiting int
	// Timeout is the wall-clock limit of executions whose request has none. Default: DefaultTimeout; negative: none.
	Timeout time.Duration
	// Grace is how long a program may go on after its time limit to clean up. Default: DefaultGrace; negative: not at
	// all.
	Grace time.Duration
	// MaxOutput is the number of bytes kept of each of stdout and stderr when a request does not say. Default:
	// DefaultOutput.
	MaxOutput int
	// MaxResult is the size in bytes up to which a value is part of the result. Default: DefaultResult.
	MaxResult int
	// MaxCode is the largest source in bytes. Default: DefaultCode.
	MaxCode int
	// ReadySandboxes is the number of forks prepared ahead. Default: twice GOMAXPROCS; negative: none.
	ReadySandboxes int
	// Store keeps durable sessions. It stays the caller's, to close after the engine. Default: none, so that sessions live in
	// memory only.
	Store Store
	// IdleTTL is how long a durable session is kept that nobody uses, and MaxAge how long at all. Default: for ever.
	IdleTTL, MaxAge time.Duration
	// MaxSessions is the number of durable sessions that a tenant may have. Default: no limit.
	MaxSessions int
	// UnloadAfter is how long a durable session has to be idle before what it holds in memory is given up; the next execution
	// has it from the store again. Default: DefaultUnload; negative: never.
	UnloadAfter time.Duration
	// Host has what code may ask for besides files: tools, models, HTTP, secrets. It stays the caller's, to close after the
	// engine. Default: nothing.
	Host *hostfns.Host
	// Questions lets executions wait for replies: to tools that a person has to approve, and to what tool servers ask.
	// Questions lists what is asked, Reply answers. Default: such tools are denied, and servers are told that nobody answers.
	// It is on when OnQuestion is set.
	Questions bool
	// OnQuestion is asked when an execution waits for a reply, in a goroutine of its own. No reply and no error leaves the
	// question to Engine.Reply; an error denies. ctx is done when nobody needs the reply any more. Default: nobody.
	OnQuestion func(ctx context.Context, q hostfns.Question) (*hostfns.Reply, error)
	// Audit is told of each operation on the files of a sandbox, mounts of the host aside. It is called in the middle of it,
	// and must not use the session. Default: nobody.
	Audit func(session string, o vfs.Operation)
	// Progress is told what a slow first run is doing. Default: nobody.
	Progress func(Progress)
	// Logger gets what an operator may want to know. Default: slog.Default().
	Logger *slog.Logger
}

// withDefaults returns a copy with every default filled in.
func (o *Options) withDefaults() (Options, error) {
	if o == nil || len(o.Guests) == 0 {
		return Options{}, errors.New("engine: no guests in the options")
	}
	d := *o
	seen := map[string]bool{}
	for _, g := range d.Guests {
		if seen[g.Language()] {
			return d, fmt.Errorf("engine: two guests for %s", g.Language())
		}
		seen[g.Language()] = true
	}
	setDefault(&d.MaxInFlight, defaultInFlight())
	setDefault(&d.MaxQueue, DefaultQueue)
	setDefault(&d.MaxWaiting, DefaultMaxWaiting)
	setDefault(&d.Timeout, DefaultTimeout)
	setDefault(&d.Grace, DefaultGrace)
	setDefault(&d.MaxOutput, DefaultOutput)
	setDefault(&d.MaxResult, DefaultResult)
	setDefault(&d.MaxCode, DefaultCode)
	setDefault(&d.UnloadAfter, DefaultUnload)
	for name, v := range map[string]int{
		"MaxInFlight": d.MaxInFlight, "MaxOutput": d.MaxOutput, "MaxResult": d.MaxResult, "MaxCode": d.MaxCode,
	} {
		if v < 0 {
			return d, requestError("zero stands for the default", "Options.%s is %d", name, v)
		}
	}
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	return d, nil
}

func setDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}
