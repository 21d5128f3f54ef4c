package main

import (
	"bytes"
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/hostfns"
)

func newToolsStubs() *cobra.Command {
	return toolsCommand(&cobra.Command{
		Use:     "stubs",
		Short:   "Write Python type stubs of all tools",
		Long:    `Writes to standard output, nothing when a server cannot be listed.`,
		Example: `  mayfly tools stubs --tools mcp.json > tools.pyi`,
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, h *hostfns.Host, _ []string) error {
		var all bytes.Buffer
		if err := h.Stubs(ctx, &all); err != nil {
			return err
		}
		text := all.String()
		if isTerminal(os.Stdout) {
			text = printableLines(text)
		}
		_, err := os.Stdout.WriteString(text)
		return err
	})
}
