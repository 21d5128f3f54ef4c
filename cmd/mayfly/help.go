package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// newHelp is cobra's help command, but for the exit code when there is no such command.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usageError("see: mayfly --help", "no help for %q: unknown command", strings.Join(args, " "))
			}
			return about.Help()
		},
	}
}

// exitCodes is part of the help of commands that run programs.
const exitCodes = `Exit codes:
  0-255  the program's own; 1 when an exception was not caught
  2      the command line is wrong, or names what is not there (nothing was run)
  124    the time limit was reached
  125    mayfly itself failed
  130    interrupted
  137    the memory limit was reached
  141    nobody reads the output any more: the program was interrupted`
