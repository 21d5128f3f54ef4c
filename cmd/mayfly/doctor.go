package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
)

func newDoctor() *cobra.Command {
	var asJSON, repair bool
	var sf storeFlags
	var hf hostFlags
	var start bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check what works on this machine, and say what to do about what does not",
		Long: `Checks how sandboxes are forked, whether compiled guests are kept, the limits of
the system, runs a program, and reads the configuration of tool servers, secrets and
models. With --start-servers, it starts the servers and lists their tools.

With --store, checks a store of durable sessions instead: all files, objects, journals
and counts. With --repair, what can be mended is, and what was damaged is set aside,
not deleted.

The exit code is 1 when something does not work, or is damaged and was not repaired.`,
		Example: `  mayfly doctor
  mayfly doctor --json
  mayfly doctor --tools mcp.json --start-servers
  mayfly doctor --store ./store
  mayfly doctor --store ./store --repair`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("store") {
				return checkStore(c.Context(), &sf, repair, asJSON)
			}
			if repair {
				return usageError("name the store with --store", "--repair without a store")
			}
			e, err := openEngine(c.Context(), engine.Options{})
			if err != nil {
				return err
			}
			defer e.Close()
			checks := append(e.Diagnose(c.Context()), hf.diagnoseHost(c, start, toolsPatience)...)
			return showChecks(checks, asJSON)
		},
	}
	addServerFlags(c, &hf)
	c.Flags().BoolVar(&start, "start-servers", false, "start each tool server and list its tools")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().StringVar(&sf.dir, "store", "",
		"check the store in `DIR` instead; an empty one stands for the default store")
	c.Flags().BoolVar(&repair, "repair", false, "mend the store; nothing else may have it open")
	return c
}

func showChecks(checks []engine.Check, asJSON bool) error {
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
}
