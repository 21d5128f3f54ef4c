package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/hostfns"
)

func newToolsSearch() *cobra.Command {
	var asJSON bool
	var limit int
	var server string
	c := toolsCommand(&cobra.Command{
		Use:   "search QUERY...",
		Short: "Find tools by what they do",
		Example: `  mayfly tools search add two numbers --tools mcp.json
  mayfly tools search "create issue" --server github --json`,
		Args: cobra.MinimumNArgs(1),
	}, func(ctx context.Context, h *hostfns.Host, args []string) error {
		if limit < 1 {
			return usageError("write for example --limit 5", "--limit %d is not positive", limit)
		}
		found, err := h.Search(ctx, strings.Join(args, " "), server, limit)
		if err != nil {
			return err
		}
		if asJSON {
			if found == nil {
				found = []hostfns.Match{}
			}
			return writeJSON(os.Stdout, found)
		}
		if len(found) == 0 {
			fmt.Fprintln(os.Stderr, "no tool was found; mayfly tools list shows all")
			return nil
		}
		t := newToolsTable()
		for _, m := range found {
			t.tool(m.Server+"."+m.Tool, m.Signature, m.Summary)
		}
		return t.flush()
	})
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().IntVar(&limit, "limit", 10, "how many at most")
	c.Flags().StringVar(&server, "server", "", "look in this `SERVER` only")
	return c
}
