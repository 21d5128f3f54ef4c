package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/engine/store"
	"github.com/mayfly-run/mayfly/internal/httpapi"
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
		Long: `Shows what holds when nothing else is said.

Host functions are configured by a file: --config FILE, else $MAYFLY_CONFIG, else
mayfly/config.json in the user's configuration directory. It is JSON, with comments;
paths are relative to it, and all keys are optional:

` + configExample,
		Example: `  mayfly config
  mayfly config --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all := settings()
			if asJSON {
				return writeJSON(os.Stdout, all)
			}
			t := newTable(os.Stdout)
			for _, s := range all {
				t.row(s.Name, s.Default, s.Reason)
			}
			return t.flush()
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
	dir, err := (&storeFlags{}).directory()
	if err != nil {
		dir = "none: " + err.Error()
	}
	all = append(all, hostSettings()...)
	return append(all,
		setting{"store", dir, "where durable sessions are: --store, else MAYFLY_STORE, else the user's data directory"},
		setting{"durability", store.Sync.String(), "a step is on the disk when it is told to be done"},
		setting{"snapshot-every", "1", "steps from one stored memory to the next: going back takes milliseconds"},
		setting{"keep", "all", "steps whose state is kept; the journal always is"},
		setting{"idle-ttl, max-age", "none", "sessions stay until they are removed"},
		setting{"upload", fmt.Sprintf("%d MiB", httpapi.DefaultMaxUpload>>20),
			"largest file or archive that is put into a store: twice the workspace"},
		setting{"drain", drainPatience.String(), "after a signal, for what other processes still do with the store"},
		setting{"MAYFLY_CONFIG", configFile(), "tool servers, secrets, HTTP rules, a model and policy; \"off\" for none"},
		setting{"MAYFLY_CACHE", "the user's cache directory", "compiled guests are kept there; \"off\" disables it"})
}
