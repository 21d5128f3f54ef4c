package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/hostfns"
)

func newToolsRefresh() *cobra.Command {
	var asJSON bool
	c := toolsCommand(&cobra.Command{
		Use:   "refresh [SERVER...]",
		Short: "List tool servers anew, past the cache",
		Example: `  mayfly tools refresh --tools mcp.json
  mayfly tools refresh github`,
	}, func(ctx context.Context, h *hostfns.Host, args []string) error {
		servers, err := selectServers(h, args)
		if err != nil {
			return err
		}
		all := listServers(ctx, h, servers, true)
		if asJSON {
			return showServers(all, true)
		}
		for _, s := range all {
			if s.err == nil {
				if err := say("%s: %s", s.Name, count(len(s.Tools), "tool")); err != nil {
					return err
				}
			}
		}
		return failedServers(all)
	})
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, as tools list does")
	return c
}
