package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// listed is a server as tools list --json has it.
type listed struct {
	hostfns.ServerInfo
	Title        string       `json:"title,omitempty"`
	Instructions string       `json:"instructions,omitempty"`
	Version      string       `json:"version,omitempty"`
	Tools        []listedTool `json:"tools"`
	Error        *listedError `json:"error,omitempty"`

	err error
}

type listedTool struct {
	*hostfns.Tool
	// Python is the function's name in the module; empty: policy denies the tool, so that programs do not see it.
	Python string `json:"python,omitempty"`
	line   string
}

type listedError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func newToolsList() *cobra.Command {
	var asJSON, refresh bool
	c := toolsCommand(&cobra.Command{
		Use:   "list [SERVER...]",
		Short: "List tool servers and their tools",
		Long: `Lists what each server has: the tools' own names, and the functions that programs
import. A server that cannot be listed does not keep the others from it.`,
		Example: `  mayfly tools list --tools mcp.json
  mayfly tools list github --json`,
	}, func(ctx context.Context, h *hostfns.Host, args []string) error {
		servers, err := selectServers(h, args)
		if err != nil {
			return err
		}
		return showServers(listServers(ctx, h, servers, refresh), asJSON)
	})
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, schemas included")
	c.Flags().BoolVar(&refresh, "refresh", false, "ask the servers, and not the cache")
	return c
}

// selectServers returns those that are named, or all.
func selectServers(h *hostfns.Host, names []string) ([]hostfns.ServerInfo, error) {
	all := h.Servers()
	if len(names) == 0 {
		return all, nil
	}
	var some []hostfns.ServerInfo
	for _, name := range names {
		found := false
		for _, s := range all {
			if s.Name == name || s.Module == name {
				some, found = append(some, s), true
				break
			}
		}
		if !found {
			return nil, unknownServer(all, name)
		}
	}
	return some, nil
}

func unknownServer(all []hostfns.ServerInfo, name string) error {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	return usageError(short("there are "+strings.Join(names, ", "), 500), "there is no tool server %q", name)
}

// parallelServers is the number of servers that are started at once.
const parallelServers = 8

// listServers lists servers at the same time. What went wrong is part of the result.
func listServers(ctx context.Context, h *hostfns.Host, servers []hostfns.ServerInfo, refresh bool) []listed {
	all := make([]listed, len(servers))
	slots := make(chan struct{}, parallelServers)
	var work sync.WaitGroup
	for i, s := range servers {
		all[i].ServerInfo, all[i].Tools = s, []listedTool{}
		work.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if all[i].err = all[i].list(ctx, h, refresh); all[i].err != nil {
				all[i].Error = describeError(all[i].err)
			}
		})
	}
	work.Wait()
	return all
}

func (l *listed) list(ctx context.Context, h *hostfns.Host, refresh bool) error {
	listing, err := h.Listing(ctx, l.Name, refresh)
	if err != nil {
		return err
	}
	l.Title, l.Instructions, l.Version = listing.Title, listing.Instructions, listing.Version
	signatures, err := h.Signatures(ctx, l.Name)
	if err != nil {
		return err
	}
	lines, names := map[string]string{}, map[string]string{}
	for _, s := range signatures {
		lines[s.Tool], names[s.Tool] = s.Line(), s.Name
	}
	for _, t := range listing.Tools {
		l.Tools = append(l.Tools, listedTool{t, names[t.Name], lines[t.Name]})
	}
	return nil
}

func describeError(err error) *listedError {
	var e *hostfns.Error
	switch {
	case errors.Is(err, context.Canceled):
		return &listedError{hostfns.CodeCancelled, "it was interrupted", ""}
	case errors.Is(err, context.DeadlineExceeded):
		return &listedError{hostfns.CodeTimeout, "it did not answer in time", "give it more with --timeout"}
	case errors.As(err, &e):
		return &listedError{e.Code, e.Message, e.Hint}
	}
	return &listedError{hostfns.CodeServer, err.Error(), ""}
}

func showServers(all []listed, asJSON bool) error {
	if asJSON {
		if err := writeJSON(os.Stdout, all); err != nil {
			return err
		}
	} else {
		t := newToolsTable()
		for _, s := range all {
			for _, tool := range s.Tools {
				python := "(denied)"
				if tool.Python != "" {
					python = "tools." + s.Module + "." + tool.line
				}
				t.tool(s.Name+"."+tool.Name, python, summary(tool.Tool))
			}
			if len(s.Tools) == 0 && s.err == nil {
				t.row(s.Name, "tools."+s.Module, "(it has no tools)")
			}
		}
		if len(t.rows) > 1 {
			if err := t.flush(); err != nil {
				return err
			}
		}
	}
	return failedServers(all)
}

// toolsTable is a table of tools. At a terminal it is as wide as that.
type toolsTable struct{ *table }

func newToolsTable() toolsTable {
	t := newTable(os.Stdout, "TOOL", "IN PYTHON", "ABOUT")
	t.width = terminalWidth(os.Stdout)
	return toolsTable{t}
}

func (t toolsTable) tool(name, python, about string) {
	most := 80
	if t.width > 0 {
		most = min(most, max(40, t.width/3)) // so that the last column has some place, too
	}
	t.row(short(name, 60), short(python, most), short(about, 100))
}

// failedServers tells of the servers that could not be listed, and returns the error that has the exit code.
func failedServers(all []listed) error {
	code := 0
	for _, s := range all {
		if s.err == nil {
			continue
		}
		code = max(code, 1)
		if errors.Is(s.err, context.Canceled) {
			code = engine.ExitCancelled
		}
		(&exitError{code, fmt.Sprintf("%s: %s: %s", s.Name, s.Error.Code, s.Error.Message), s.Error.Hint}).tell()
	}
	if code != 0 {
		return &exitError{code: code}
	}
	return nil
}

// summary is the first line of a tool's description, or its title.
func summary(t *hostfns.Tool) string {
	for line := range strings.Lines(t.Description) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return t.Title
}
