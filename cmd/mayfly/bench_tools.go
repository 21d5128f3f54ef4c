package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/bench"
)

func newBenchTools() *cobra.Command {
	var o bench.ToolsOptions
	var asJSON bool
	c := &cobra.Command{
		Use:   "tools",
		Short: "Measure what it costs to call tools from Python",
		Long: `Measures the round trip of a call to a function of this process, series of calls one
after the other and all at once, the same calls of a stdio server against an MCP
client that makes them one by one, the import of a server with a thousand tools,
and hundreds of sessions that wait for a tool at the same time. It takes about half
a minute.`,
		Example: `  mayfly bench tools
  mayfly bench tools --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			v := version()
			o.Mayfly, o.Wazero = v.Version, v.Wazero
			o.Server = []string{self, "bench", "tool-server"}
			o.CacheDir = os.Getenv("MAYFLY_CACHE")
			o.Progress = benchProgress
			o.EngineProgress = (&progress{w: os.Stderr}).step
			r, err := bench.Tools(c.Context(), &o)
			if err != nil {
				return engineError(err)
			}
			return writeReport(r, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().IntVar(&o.Waiting, "sessions", 0, "sessions that wait at once (default 500)")
	return c
}

// newBenchToolServer is the server of mayfly bench tools.
func newBenchToolServer() *cobra.Command {
	return &cobra.Command{
		Use: "tool-server", Short: "Serve the tools of the benchmark on standard input and output", Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return bench.ServeTools(c.Context()) },
	}
}
