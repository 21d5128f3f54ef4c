package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/tools"
)

// toolsPatience is how long a command for tools may take. It is more than a server has to start (npx may have to download it
// first), so that one that does not start ends with an error that says so.
const toolsPatience = tools.DefaultStartTimeout + 30*time.Second

func newTools() *cobra.Command {
	c := &cobra.Command{
		Use:   "tools",
		Short: "List, search, describe and call the tools that programs can import",
		Long: `Tools come from tool servers (MCP), which --tools or the configuration names, and from
Extism plug-ins. Programs import them: from tools.SERVER import TOOL. The commands
here are for people: they start the servers that they need, and end them again.
What a server has is cached, so that listing is instant the next time.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newToolsList(), newToolsSearch(), newToolsShow(), newToolsCall(), newToolsRefresh(), newToolsStubs())
	return c
}

const toolsExitCodes = `Exit codes:
  1      a tool failed, or a server could not be listed
  2      the command line or the configuration is wrong, or names what is not there
  124    the time limit was reached
  125    mayfly itself failed
  130    interrupted`

// toolsCommand is a command that does one thing with the tool servers.
func toolsCommand(c *cobra.Command, f func(ctx context.Context, h *hostfns.Host, args []string) error) *cobra.Command {
	hf := &hostFlags{}
	addServerFlags(c, hf)
	var patience time.Duration
	c.Flags().DurationVar(&patience, "timeout", toolsPatience, "limit of all that the command does")
	if c.Long == "" {
		c.Long = c.Short + "."
	}
	c.Long += "\n\n" + toolsExitCodes
	c.RunE = func(c *cobra.Command, args []string) error {
		if patience <= 0 {
			return usageError("write for example --timeout 90s", "--timeout %v is not positive", patience)
		}
		cfg, err := hf.load(c)
		if err != nil {
			return err
		}
		spec, err := specOf(cfg)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(c.Context(), patience)
		defer cancel()
		verbose, _ := c.Flags().GetBool("verbose") // not all have the flag
		o := hostOptions(verbose)
		o.Started = tellServer
		h, err := spec.Host(ctx, o)
		if err != nil {
			return configError(err)
		}
		defer closeHost(h)
		if len(h.Servers()) == 0 {
			return usageError("name a file with --tools, or \"mcpServers\" in the configuration", "there are no tool servers")
		}
		return toolError(f(ctx, h, args))
	}
	return c
}

// tellServer tells that a server is started.
func tellServer(server string) {
	fmt.Fprintf(os.Stderr, "mayfly: starting the tool server %s ...\n", printable(server))
}

// toolError gives an error of a host its exit code.
func toolError(err error) error {
	var coded *exitError
	var e *hostfns.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &coded):
		return coded
	case errors.Is(err, context.DeadlineExceeded):
		return &exitError{engine.ExitTimeout, "the time is over", "give it more with --timeout"}
	case errors.As(err, &e):
		return &exitError{toolExitCode(e), toolMessage(e), e.Hint}
	case errors.Is(err, fs.ErrNotExist):
		return usageError("", "%v", err)
	}
	return engineError(err)
}

func toolExitCode(e *hostfns.Error) int {
	switch e.Code {
	case hostfns.CodeUnavailable, hostfns.CodeUnknownTool, hostfns.CodeInvalidArguments, hostfns.CodeRequest:
		return exitUsage
	case hostfns.CodeTimeout:
		return engine.ExitTimeout
	case hostfns.CodeCancelled:
		return engine.ExitCancelled
	}
	return 1
}

func toolMessage(e *hostfns.Error) string {
	switch {
	case e.Tool != "":
		return fmt.Sprintf("%s.%s: %s: %s", e.Server, e.Tool, e.Code, e.Message)
	case e.Server != "":
		return fmt.Sprintf("%s: %s: %s", e.Server, e.Code, e.Message)
	}
	return e.Error()
}
