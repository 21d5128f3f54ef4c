package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
)

type setting struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Reason  string `json:"reason"`
}

func newConfig() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "config",
		Short: "Show every default and its reason",
		Example: `  mayfly config
  mayfly config --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all := settings()
			if asJSON {
				return writeJSON(os.Stdout, all)
			}
			w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
			for _, s := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, s.Default, s.Reason)
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func settings() []setting {
	var all []setting
	for _, d := range engine.Defaults() {
		all = append(all, setting{d.Name, d.Value, d.Reason})
	}
	return append(all, setting{"MAYFLY_CACHE", "the user's cache directory", "compiled guests are kept there; \"off\" disables it"})
}
