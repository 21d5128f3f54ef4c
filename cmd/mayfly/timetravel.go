package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"
)

func newRewind() *cobra.Command {
	var asJSON bool
	return storeCommand(&cobra.Command{
		Use:   "rewind NAME STEP",
		Short: "Bring back a session's state after an earlier step",
		Long: `Brings back the variables and files that a session had after a step. This is a step
itself, so nothing is lost: the steps in between can be gone back to as well.`,
		Example: `  mayfly rewind demo 1
  mayfly rewind demo 1 --json`,
		Args: cobra.ExactArgs(2),
	}, &asJSON, func(ctx context.Context, s *sessions, args []string) error {
		to, err := stepArgument(args[1])
		if err != nil {
			return err
		}
		step, err := s.Rewind(ctx, args[0], to)
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(os.Stdout, step)
		}
		if step.Note != "" {
			printNote(step.Note)
		}
		if step.Origin != nil { // "latest" is a number there
			to = step.Origin.Step
		}
		return say("%s is back at step %d; this is step %d", step.Session, to, step.Step)
	})
}

func newFork() *cobra.Command {
	var asJSON bool
	var as string
	c := storeCommand(&cobra.Command{
		Use:   "fork NAME STEP",
		Short: "Make a session of the state of another after a step",
		Long: `Makes a session that begins as a copy of another: with the variables and files that
it had after a step. It costs next to nothing, since they share what both have. The
other session may be running meanwhile.`,
		Example: `  mayfly fork demo 1 --as demo2
  mayfly fork demo latest`,
		Args: cobra.ExactArgs(2),
	}, &asJSON, func(ctx context.Context, s *sessions, args []string) error {
		from, err := stepArgument(args[1])
		if err != nil {
			return err
		}
		info, err := s.Fork(ctx, args[0], from, as)
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(os.Stdout, info)
		}
		return say("%s", info.ID)
	})
	c.Flags().StringVar(&as, "as", "", "`NAME` of the new session; default: one that is made up")
	return c
}
