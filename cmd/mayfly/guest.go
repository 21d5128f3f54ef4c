package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
)

func newGuest() *cobra.Command {
	c := &cobra.Command{
		Use:   "guest",
		Short: "Tell about the embedded interpreters",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newGuestPython())
	return c
}

func newGuestPython() *cobra.Command {
	var modules, asJSON bool
	c := &cobra.Command{
		Use:   "python",
		Short: "Tell where the CPython guest comes from and what is in it",
		Example: `  mayfly guest python              where it was built from
  mayfly guest python --modules    which modules of the standard library it has`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !modules {
				_, err := os.Stdout.Write(python.New().Provenance())
				return err
			}
			e, err := openEngine(c.Context(), engine.Options{ReadySandboxes: -1})
			if err != nil {
				return err
			}
			defer e.Close()
			m, err := e.Modules(c.Context(), "python")
			if err != nil {
				return engineError(err)
			}
			if asJSON {
				return writeJSON(os.Stdout, m)
			}
			fmt.Printf("%s\n\nin (%d):\n%s\nout (%d):\n%s", m.Version, len(m.In), wrap(m.In), len(m.Out), wrap(m.Out))
			return nil
		},
	}
	c.Flags().BoolVar(&modules, "modules", false, "list the modules that are in and out, as the guest itself sees them")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// wrap lays words out in lines.
func wrap(words []string) string {
	var b strings.Builder
	line := ""
	for _, w := range words {
		if len(line)+len(w) > 76 {
			b.WriteString(" " + line + "\n")
			line = ""
		}
		line += " " + w
	}
	return b.String() + " " + line + "\n"
}
