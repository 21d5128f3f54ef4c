package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
)

func newReplayDiff() *cobra.Command {
	var asJSON bool
	return storeCommand(&cobra.Command{
		Use:   "diff NAME A B",
		Short: "Show which files and variables differ between two steps",
		Example: `  mayfly replay diff demo 1 2
  mayfly replay diff demo 1 latest --json`,
		Args: cobra.ExactArgs(3),
	}, &asJSON, func(ctx context.Context, s *sessions, args []string) error {
		from, err := stepArgument(args[1])
		if err != nil {
			return err
		}
		to, err := stepArgument(args[2])
		if err != nil {
			return err
		}
		d, err := s.Diff(ctx, args[0], from, to)
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(os.Stdout, d)
		}
		return showDiff(d)
	})
}

// signs are those that other programs use for the same.
var signs = map[string]string{"created": "+", "modified": "~", "deleted": "-"}

func showDiff(d *engine.Diff) error {
	if len(d.Files)+len(d.Variables) == 0 {
		fmt.Fprintf(os.Stderr, "no differences between step %d and step %d\n", d.From, d.To)
		return nil
	}
	t := newTable(os.Stdout)
	for _, f := range d.Files {
		size := bytesText(f.Size)
		switch f.Op {
		case "modified":
			size = bytesText(f.OldSize) + " -> " + size
		case "deleted":
			size = bytesText(f.OldSize)
		}
		t.row(signs[f.Op], "file", f.Path, size)
	}
	for _, v := range d.Variables {
		text := ""
		switch {
		case v.Old != nil && v.New != nil:
			text = short(v.Old.Repr, 60) + " -> " + short(v.New.Repr, 60)
		case v.New != nil:
			text = short(v.New.Repr, 120)
		case v.Old != nil:
			text = short(v.Old.Repr, 120)
		}
		t.row(signs[v.Op], "variable", v.Name, text)
	}
	return t.flush()
}

func newReplayVerify() *cobra.Command {
	var asJSON, chainOnly bool
	c := storeCommand(&cobra.Command{
		Use:   "verify NAME",
		Short: "Check that a journal is whole, and that running it again gives the same",
		Long: `Checks the chain of records and everything that they name against their hashes, then
runs the session again from its beginning, with the random numbers, clocks and input
that were recorded, and points at the first step that went another way. The exit code
is 1 when there is damage or a divergence.`,
		Example: `  mayfly replay verify demo
  mayfly replay verify demo --chain
  mayfly replay verify demo --json`,
		Args: cobra.ExactArgs(1),
	}, &asJSON, func(ctx context.Context, s *sessions, args []string) error {
		o := &engine.VerifyOptions{ChainOnly: chainOnly}
		done := func() {}
		if isTerminal(os.Stderr) {
			o.Progress = func(step, last int) { fmt.Fprintf(os.Stderr, "\rmayfly: step %d of %d ", step, last) }
			done = func() { fmt.Fprint(os.Stderr, "\r\x1b[K") }
		}
		v, err := s.Verify(ctx, args[0], o)
		done()
		if errors.Is(err, engine.ErrStoreDamaged) {
			e := engineError(err)
			e.code = 1
			return e
		}
		if err != nil {
			return err
		}
		if asJSON {
			err = writeJSON(os.Stdout, v)
		} else {
			showVerification(v, chainOnly)
		}
		if err == nil && !v.OK {
			return &exitError{code: 1}
		}
		return err
	})
	c.Flags().BoolVar(&chainOnly, "chain", false, "check records and hashes only, and run nothing")
	return c
}

func showVerification(v *engine.Verification, chainOnly bool) {
	for _, d := range v.Damage {
		fmt.Printf("damaged   step %d: %s\n", d.Step, printable(d.Reason))
	}
	for _, n := range v.Skipped {
		fmt.Printf("not told  step %d: %s\n", n.Step, printable(n.Reason))
	}
	if d := v.Divergence; d != nil {
		fmt.Printf("diverged  step %d: %s\n", d.Step, printable(d.Field))
		indented(os.Stdout, "  recorded", d.Want)
		indented(os.Stdout, "  now", d.Got)
	}
	fmt.Printf("%s and %s checked", count(v.Records, "record"), count(v.Objects, "object"))
	if !chainOnly && len(v.Damage) == 0 {
		fmt.Printf(", %s run again", count(v.Executed, "step"))
	}
	if v.OK {
		fmt.Printf(": %s is as it was recorded\n", printable(v.Session))
	} else {
		fmt.Printf(": %s is NOT as it was recorded\n", printable(v.Session))
	}
}
