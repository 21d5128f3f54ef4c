package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/schema"
)

func newToolsStubs() *cobra.Command {
	var dir string
	c := toolsCommand(&cobra.Command{
		Use:   "stubs",
		Short: "Write Python type stubs of all tools",
		Long: `Writes one file to standard output, for people and models to read. With --dir, writes
what type checkers need for programs that say "from tools.SERVER import TOOL": a file
for each server. Nothing is written when a server cannot be listed.`,
		Example: `  mayfly tools stubs --tools mcp.json > tools.pyi
  mayfly tools stubs --tools mcp.json --dir typings; pyright program.py`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, h *hostfns.Host, _ []string) error {
		if dir != "" {
			return writeStubs(ctx, h, filepath.Join(dir, "tools"))
		}
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
	c.Flags().StringVar(&dir, "dir", "",
		"write `DIR`/tools/__init__.pyi and DIR/tools/SERVER.pyi; stubs of servers that are gone are removed there")
	return c
}

// writeStubs writes the stubs of the package "tools" into a directory.
func writeStubs(ctx context.Context, h *hostfns.Host, dir string) error {
	modules, err := h.Modules(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	write := func(name string, stubs func(io.Writer) error) error {
		var b bytes.Buffer
		if err := stubs(&b); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name+".pyi"), b.Bytes(), 0o666)
	}
	there := map[string]bool{}
	for i := range modules {
		m := &modules[i]
		there[m.Name+".pyi"] = true
		if err := write(m.Name, func(w io.Writer) error { return schema.WriteModuleStubs(w, m) }); err != nil {
			return err
		}
	}
	if err := write("__init__", func(w io.Writer) error { return schema.WritePackageStubs(w, modules) }); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "mayfly: %s: stubs of %s\n", printable(dir), count(len(modules), "tool server"))
	return removeStubs(dir, there)
}

// removeStubs removes those of servers that are not there any more. Files of others stay.
func removeStubs(dir string, there map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		file := filepath.Join(dir, entry.Name())
		if there[entry.Name()] || filepath.Ext(file) != ".pyi" || !entry.Type().IsRegular() {
			continue
		}
		b, err := os.ReadFile(file)
		if err == nil && bytes.HasPrefix(b, []byte(schema.StubsMark)) {
			err = os.Remove(file)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
