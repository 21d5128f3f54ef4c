package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
)

func newDoctor() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check what works on this machine, and say what to do about what does not",
		Long: `Checks how sandboxes are forked, whether compiled guests are kept, the limits of
the system, and runs a program. The exit code is 1 when something does not work.`,
		Example: `  mayfly doctor
  mayfly doctor --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			e, err := openEngine(c.Context(), engine.Options{})
			if err != nil {
				return err
			}
			defer e.Close()
			checks := e.Diagnose(c.Context())
			if asJSON {
				if err := writeJSON(os.Stdout, checks); err != nil {
					return err
				}
			}
			failed := false
			for _, k := range checks {
				failed = failed || k.Level == engine.CheckFailed
				if asJSON {
					continue
				}
				fmt.Printf("%-7s %-16s %s\n", k.Level, k.Name, k.Detail)
				if k.Advice != "" {
					fmt.Printf("%-7s %-16s -> %s\n", "", "", k.Advice)
				}
			}
			if failed {
				return &exitError{code: 1}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
