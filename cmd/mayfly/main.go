// Command mayfly runs code of AI agents in sandboxes.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run(os.Args[1:])) }

// Exit codes besides the program's own, see the table in help.go.
const (
	exitUsage   = 2
	exitFailure = 125
	exitPipe    = 141
)

// exitError carries an exit code to main. An empty message says that everything was said already.
type exitError struct {
	code int
	msg  string
	hint string
}

func (e *exitError) Error() string { return e.msg }

// tell prints the error, parts of which may come from a program or from another process.
func (e *exitError) tell() {
	if e.msg == "" {
		return
	}
	fmt.Fprintln(os.Stderr, "mayfly:", printableLines(e.msg))
	if e.hint != "" {
		fmt.Fprintln(os.Stderr, "  hint:", printableLines(e.hint))
	}
}

func usageError(hint, format string, args ...any) error {
	return &exitError{exitUsage, fmt.Sprintf(format, args...), hint}
}

func run(args []string) int {
	// The first signal cancels what runs, so that it can end cleanly; the second has its usual effect.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	// When nobody reads the output any more, that is an error of the write: dying of it would take down what other
	// processes do with the store that this one has.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	e := engineError(err)
	e.tell()
	return e.code
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "mayfly",
		Short: "Run code of AI agents in sandboxes that start in microseconds",
		Long: `Mayfly runs untrusted Python in sandboxes inside its own process: full CPython,
compiled to WebAssembly, each sandbox a copy-on-write fork of an interpreter that
is already initialised. By default a sandbox has no network, none of your files,
and bounded memory, time and output. With --session it lasts: its variables and files
are there in the next run, and every step of it can be gone back to.`,
		Example: `  mayfly run script.py
  mayfly run -c 'sum(range(10))'
  mayfly run --session demo -c 'x = 1'     # x is there in the next run
  mayfly run --tools mcp.json report.py    # tools of MCP servers are Python modules
  mayfly repl`,
		Args:                       cobra.ArbitraryArgs, // so that unknownCommand has the say, and not cobra
		RunE:                       unknownCommand,
		SuggestionsMinimumDistance: 2,
		SilenceErrors:              true,
		SilenceUsage:               true,
		CompletionOptions:          cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError("see: "+c.CommandPath()+" --help", "%v", err)
	})
	root.SetHelpCommand(newHelp())
	root.AddCommand(newRun(), newRepl(), newSessions(), newReplay(), newRewind(), newFork(), newExport(), newImport(),
		newServe(), newTools(), newQuestions(), newDoctor(), newVersion(), newGuest(), newConfig(), newBench())
	for _, c := range root.Commands() {
		wrapArgs(c)
	}
	return root
}

// unknownCommand runs when the first argument names no command, or when there is none.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	hint := "see: mayfly --help"
	if s := c.SuggestionsFor(args[0]); len(s) > 0 {
		hint = "did you mean: mayfly " + s[0]
	}
	if _, err := os.Stat(args[0]); err == nil {
		hint = "to run a program: mayfly run " + args[0]
	}
	return usageError(hint, "unknown command %q", args[0])
}

// wrapArgs turns cobra's errors about arguments into usage errors, for the exit code.
func wrapArgs(c *cobra.Command) {
	check := c.Args
	if check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				usage := c.Parent().CommandPath() + " " + c.Use
				return usageError(fmt.Sprintf("usage: %s; see: %s --help", usage, c.CommandPath()), "%v", err)
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
}
