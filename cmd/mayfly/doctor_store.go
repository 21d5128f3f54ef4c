package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/engine/store"
)

// checkStore looks through a store, and mends it when it is told to.
func checkStore(ctx context.Context, f *storeFlags, repair, asJSON bool) error {
	dir, err := f.directory()
	if err != nil {
		return err
	}
	o := &store.CheckOptions{
		Repair: repair, Logger: newLogger(), Verify: engine.CheckRecords, HeadStep: engine.HeadStep, Rehead: engine.Rehead,
	}
	done := func() {}
	if isTerminal(os.Stderr) {
		o.Progress = func(p store.Progress) { fmt.Fprintf(os.Stderr, "\rmayfly: %s: %d \x1b[K", p.Phase, p.Done) }
		done = func() { fmt.Fprint(os.Stderr, "\r\x1b[K") }
	}
	r, err := store.Check(ctx, dir, o)
	done()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usageError("mayfly run --session NAME makes a store", "no store in %s", dir)
	case errors.Is(err, store.ErrLocked):
		return &exitError{exitFailure, err.Error(), "a store can be checked when nobody has it open"}
	case err != nil:
		return engineError(err)
	}
	if asJSON {
		err = writeJSON(os.Stdout, r)
	} else {
		showReport(r, repair)
	}
	if err == nil && !r.OK {
		return &exitError{code: 1}
	}
	return err
}

func showReport(r *store.Report, repair bool) {
	for _, f := range r.Findings {
		fmt.Println(printable(f.String()))
	}
	if r.More > 0 {
		fmt.Printf("and %s more\n", count(r.More, "finding"))
	}
	for _, did := range r.Repaired {
		fmt.Println("repaired:", printable(did))
	}
	if r.Saved != "" {
		fmt.Println("the damaged database is kept in", r.Saved)
	}
	what := fmt.Sprintf("%s, %s, %s, %s", count(r.Stats.Sessions, "session"), count(r.Stats.Steps, "step"),
		count(r.Stats.Objects, "object"), bytesText(r.Stats.Disk))
	switch {
	case r.OK:
		fmt.Printf("%s is in order: %s\n", r.Dir, what)
	case repair:
		fmt.Printf("%s could not be repaired: %s\n", r.Dir, what)
	default:
		fmt.Printf("%s is damaged: %s\n", r.Dir, what)
		fmt.Println("-> copy the directory, then run: mayfly doctor --store", r.Dir, "--repair")
	}
}
