package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/internal/httpapi"
)

// sessionFlags describe the durable session that run and repl use.
type sessionFlags struct {
	store         storeFlags
	name          string
	labels        []string
	snapshotEvery string
	keep          int
	idleTTL       time.Duration
	maxAge        time.Duration
}

// addSessionFlags adds them. They do nothing without --session.
func addSessionFlags(c *cobra.Command, f *sessionFlags) {
	addStoreFlag(c, &f.store)
	addDurabilityFlag(c, &f.store)
	fl := c.Flags()
	fl.StringVar(&f.name, "session", "", "use the durable session `NAME`; it is made when there is none")
	fl.StringArrayVar(&f.labels, "label", nil,
		"label the session with `KEY=VALUE`; may be repeated, and replaces the labels that it has")
	fl.StringVar(&f.snapshotEvery, "snapshot-every", "1",
		"store the interpreter's memory every `N` steps, or \"off\": steps without are run again when they are needed")
	fl.IntVar(&f.keep, "keep", 0, "steps whose state is kept, the latest ones; 0 is all (the journal always is)")
	fl.DurationVar(&f.idleTTL, "idle-ttl", 0,
		"remove the session when nobody used it for so long; negative: never (default never)")
	fl.DurationVar(&f.maxAge, "max-age", 0, "remove the session at this age; negative: never (default never)")
}

// needSession are the flags that do nothing without --session.
var needSession = []string{"store", "durability", "label", "snapshot-every", "keep", "idle-ttl", "max-age"}

// check finds what is wrong before anything is opened.
func (f *sessionFlags) check(c *cobra.Command) error {
	if c.Flags().Changed("session") {
		return commandError(engine.CheckSessionName(f.name))
	}
	for _, name := range needSession {
		if c.Flags().Changed(name) {
			return usageError("name one with --session", "--%s without a session", name)
		}
	}
	return nil
}

// options are what the command line says of the session; what it does not say stays as the session has it.
func (f *sessionFlags) options(c *cobra.Command, run *runFlags) (*engine.SessionOptions, error) {
	o := &engine.SessionOptions{IdleTTL: f.idleTTL, MaxAge: f.maxAge}
	for _, l := range f.labels {
		k, v, ok := strings.Cut(l, "=")
		if !ok || k == "" {
			return nil, usageError("write --label KEY=VALUE", "--label %q is not a key and its value", l)
		}
		if o.Labels == nil {
			o.Labels = map[string]string{}
		}
		o.Labels[k] = v
	}
	fl := c.Flags()
	if fl.Changed("snapshot-every") || fl.Changed("keep") {
		every := -1
		if f.snapshotEvery != "off" {
			n, err := strconv.Atoi(f.snapshotEvery)
			if err != nil || n < 1 {
				return nil, usageError("write for example --snapshot-every 10, or off",
					"--snapshot-every %q is not a positive number", f.snapshotEvery)
			}
			every = n
		}
		if f.keep < 0 {
			return nil, usageError("0 keeps all", "--keep %d is negative", f.keep)
		}
		o.Snapshots = &engine.SnapshotPolicy{Every: every, Keep: f.keep}
	}
	sb, err := run.sandbox()
	if err != nil {
		return nil, err
	}
	given := &engine.Sandbox{Mounts: sb.Mounts}
	if fl.Changed("memory") {
		given.Memory = sb.Memory
	}
	if fl.Changed("threads") {
		given.Threads = sb.Threads
	}
	if given.Memory != 0 || given.Threads != 0 || given.Mounts != nil {
		o.Sandbox = given
	}
	return o, nil
}

// durableSession is a session of a store as repl uses it.
type durableSession struct {
	s     *sessions
	name  string
	offer *offer
}

func (d *durableSession) Exec(ctx context.Context, r engine.Request) (*engine.Result, error) {
	return d.s.Exec(ctx, d.name, &httpapi.Exec{
		Request: r, HostConfig: d.offer.config, HostIfNone: d.offer.ifNone, OnNote: printNote,
	})
}

func (d *durableSession) Incomplete(ctx context.Context, code string) (bool, error) {
	return d.s.Incomplete(ctx, d.name, code)
}
