package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// maxToolArgs bounds the arguments of a call, in bytes.
const maxToolArgs = 64 << 20

func newToolsCall() *cobra.Command {
	var text, output string
	var raw, verbose bool
	c := toolsCommand(&cobra.Command{
		Use:   "call SERVER.TOOL [--json ARGS]",
		Short: "Call a tool and print its result",
		Long: `Calls a tool once, as a program would. Its arguments are checked against the tool's
schema first. Text goes to standard output, structured results as JSON; images and
other data are saved with --output. What the server asks meanwhile is asked at the
terminal.`,
		Example: `  mayfly tools call everything.get-sum --json '{"a": 1, "b": 2}' --tools mcp.json
  mayfly tools call everything.get-tiny-image --output tiny.png
  mayfly tools call github.create_issue --json @issue.json`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, h *hostfns.Host, args []string) error {
		call, err := toolCall(h, args[0], text)
		if err != nil {
			return err
		}
		call.Emit = func(e hostfns.Event) {
			if verbose {
				tellEvent(engine.Event{Kind: engine.EventKind(e.Kind), Data: e.Data})
			}
		}
		call.Ask = askOnce
		v, err := h.CallTool(ctx, call)
		if err != nil {
			return err
		}
		return (&valueWriter{w: os.Stdout, output: output, raw: raw, terminal: isTerminal(os.Stdout)}).write(v)
	})
	fl := c.Flags()
	fl.StringVar(&text, "json", "", "the arguments, a JSON object: `ARGS` itself, @FILE, or - for standard input; default: none")
	fl.StringVarP(&output, "output", "o", "",
		"write the result to `FILE`; of several images or the like the second goes to FILE.2, and so on")
	fl.BoolVar(&raw, "raw", false, "print all of the result as JSON, data in base64")
	fl.BoolVarP(&verbose, "verbose", "v", false, "show on stderr what the server logs, writes and tells of its progress")
	return c
}

// toolCall makes the call that the command line describes.
func toolCall(h *hostfns.Host, ref, text string) (*hostfns.ToolCall, error) {
	server, tool := splitRef(h, ref)
	if tool == "" {
		return nil, usageError("write for example github.create_issue", "%q names no tool", ref)
	}
	if _, err := selectServers(h, []string{server}); err != nil {
		return nil, err
	}
	args := []byte(text)
	var err error
	switch {
	case text == "":
		args = []byte("{}")
	case text == "-":
		args, err = readArgs(os.Stdin)
	case text[0] == '@':
		var f *os.File
		if f, err = os.Open(text[1:]); err == nil {
			args, err = readArgs(f)
			f.Close()
		}
	}
	if err != nil {
		return nil, usageError("", "--json: %v", err)
	}
	if first := bytes.TrimSpace(args); len(first) == 0 || first[0] != '{' || !json.Valid(args) {
		return nil, usageError(`write for example --json '{"a": 1}'`, "--json: the arguments are no JSON object")
	}
	return &hostfns.ToolCall{Server: server, Tool: tool, Args: args}, nil
}

func readArgs(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxToolArgs+1))
	if err == nil && len(b) > maxToolArgs {
		err = fmt.Errorf("more than %d MiB", maxToolArgs>>20)
	}
	return b, err
}

// askOnce asks what a server wants to know at the terminal.
func askOnce(ctx context.Context, q *hostfns.Question) (*hostfns.Reply, error) {
	t, err := openTerminalLines()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mayfly: declined, since there is no terminal to ask at:", headline(q))
		return &hostfns.Reply{Action: hostfns.ActionDecline}, nil
	}
	defer t.close()
	return t.ask(ctx, q)
}

// valueWriter writes the result of a call.
type valueWriter struct {
	w        io.Writer
	output   string // a file for it
	files    int    // written so far
	raw      bool
	terminal bool // w is one
}

func (o *valueWriter) write(v *hostfns.Value) error {
	switch {
	case v == nil:
		return nil
	case o.raw:
		return writeJSON(o.w, rawValue(v))
	}
	switch v.Kind {
	case hostfns.ValueNone:
		return nil
	case hostfns.ValueJSON:
		var b bytes.Buffer
		if json.Indent(&b, v.Data, "", "  ") != nil {
			b.Reset()
			b.Write(v.Data)
		}
		return o.text(b.String())
	case hostfns.ValueText:
		return o.text(string(v.Data))
	case hostfns.ValueBlocks:
		for i := range v.Blocks {
			if err := o.block(&v.Blocks[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return o.data(v.Data, "data")
}

// text writes text, with a newline at its end.
func (o *valueWriter) text(s string) error {
	if o.output != "" {
		return o.file([]byte(s))
	}
	if o.terminal {
		s = printableLines(s)
	}
	if !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	_, err := io.WriteString(o.w, s)
	return err
}

func (o *valueWriter) block(b *hostfns.Block) error {
	switch {
	case b.Type == hostfns.BlockLink:
		return o.text(strings.TrimSpace(b.Name + " " + b.URI))
	case b.Data != nil:
		return o.data(b.Data, strings.TrimSpace(string(b.Type)+" "+b.MIMEType))
	case o.output != "" && b.Type == hostfns.BlockText:
		// Text beside an image says what it is; the file is for the image.
		_, err := fmt.Fprintln(os.Stderr, printableLines(b.Text))
		return err
	}
	return o.text(b.Text)
}

// data writes what is no text: to the file, or it tells that it is there.
func (o *valueWriter) data(b []byte, what string) error {
	if o.output != "" {
		return o.file(b)
	}
	_, err := fmt.Fprintln(o.w, printable(fmt.Sprintf("[%s, %s; --output FILE saves it]", what, bytesText(int64(len(b))))))
	return err
}

func (o *valueWriter) file(b []byte) error {
	o.files++
	name := o.output
	if o.files > 1 {
		name = fmt.Sprintf("%s.%d", name, o.files)
	}
	if err := os.WriteFile(name, b, 0o666); err != nil {
		return &exitError{exitFailure, err.Error(), ""}
	}
	fmt.Fprintf(os.Stderr, "mayfly: %s are in %s\n", bytesText(int64(len(b))), name)
	return nil
}

// rawValue is a value as --raw prints it.
func rawValue(v *hostfns.Value) any {
	switch v.Kind {
	case hostfns.ValueJSON:
		return map[string]any{"kind": v.Kind, "value": json.RawMessage(v.Data)}
	case hostfns.ValueText:
		return map[string]any{"kind": v.Kind, "value": string(v.Data)}
	case hostfns.ValueBytes:
		return map[string]any{"kind": v.Kind, "value": v.Data}
	case hostfns.ValueBlocks:
		blocks := []any{}
		for _, b := range v.Blocks {
			m := map[string]any{"type": b.Type}
			for name, s := range map[string]string{"text": b.Text, "mime": b.MIMEType, "uri": b.URI, "name": b.Name, "title": b.Title} {
				if s != "" {
					m[name] = s
				}
			}
			if b.Data != nil {
				m["data"] = b.Data
			}
			blocks = append(blocks, m)
		}
		return map[string]any{"kind": v.Kind, "value": blocks}
	}
	return map[string]any{"kind": v.Kind}
}
