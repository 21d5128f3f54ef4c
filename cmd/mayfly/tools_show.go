package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/schema"
)

func newToolsShow() *cobra.Command {
	var asJSON bool
	c := toolsCommand(&cobra.Command{
		Use:   "show SERVER[.TOOL]",
		Short: "Describe a server or a tool, as programs see it",
		Example: `  mayfly tools show filesystem --tools mcp.json
  mayfly tools show filesystem.read_text_file --json`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, h *hostfns.Host, args []string) error {
		if asJSON {
			return showJSON(ctx, h, args[0])
		}
		text, err := h.Describe(ctx, args[0])
		if err != nil {
			return err
		}
		_, err = fmt.Println(strings.TrimRight(printableLines(text), "\n"))
		return err
	})
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: the tool as its server describes it, and its signature in Python")
	return c
}

// shownTool is a tool as tools show --json has it.
type shownTool struct {
	Server string `json:"server"`
	*hostfns.Tool
	Python *schema.Signature `json:"python"`
}

func showJSON(ctx context.Context, h *hostfns.Host, ref string) error {
	server, tool := splitRef(h, ref)
	servers, err := selectServers(h, []string{server})
	if err != nil {
		return err
	}
	if tool == "" {
		all := listServers(ctx, h, servers, false)
		if all[0].err != nil {
			return all[0].err
		}
		return writeJSON(os.Stdout, all[0])
	}
	listing, err := h.Listing(ctx, servers[0].Name, false)
	if err != nil {
		return err
	}
	signatures, err := h.Signatures(ctx, servers[0].Name)
	if err != nil {
		return err
	}
	for _, s := range signatures {
		if s.Tool != tool && s.Name != tool {
			continue
		}
		for _, t := range listing.Tools {
			if t.Name == s.Tool {
				return writeJSON(os.Stdout, shownTool{servers[0].Name, t, s})
			}
		}
	}
	return usageError("mayfly tools list "+servers[0].Name+" shows those that it has", "%s has no tool %q", servers[0].Name, tool)
}

// splitRef splits SERVER.TOOL. Both may have dots: the longest server that there is counts.
func splitRef(h *hostfns.Host, ref string) (server, tool string) {
	best := ""
	for _, s := range h.Servers() {
		for _, name := range []string{s.Name, s.Module} {
			if ref == name {
				return name, ""
			}
			if strings.HasPrefix(ref, name+".") && len(name) > len(best) {
				best = name
			}
		}
	}
	if best == "" {
		server, tool, _ = strings.Cut(ref, ".")
		return server, tool
	}
	return best, ref[len(best)+1:]
}
