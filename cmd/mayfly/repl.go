package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/mayfly-run/mayfly/engine"
)

func newRepl() *cobra.Command {
	f := &runFlags{memory: engine.DefaultMemory, output: engine.DefaultOutput, timeout: engine.DefaultTimeout}
	c := &cobra.Command{
		Use:   "repl",
		Short: "Type Python into a sandbox that keeps its state from line to line",
		Long: `Reads statements and runs them in one session. A block ends with an empty line.
Ctrl-C interrupts what runs, Ctrl-D ends the session. Without a terminal, the
lines of standard input are taken.`,
		Example: `  mayfly repl
  mayfly repl --mount ./data:/data`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.repl(c) },
	}
	addSandboxFlags(c, f)
	return c
}

func (f *runFlags) repl(c *cobra.Command) error {
	env, err := f.environment()
	if err != nil {
		return err
	}
	sb, err := f.sandbox()
	if err != nil {
		return err
	}
	e, err := openEngine(c.Context(), engine.Options{MaxOutput: int(f.output), ReadySandboxes: -1})
	if err != nil {
		return err
	}
	defer e.Close()
	s, err := e.NewSession(c.Context(), sb)
	if err != nil {
		return engineError(err)
	}
	in, closeInput := openLines()
	defer closeInput()
	if in.interactive {
		fmt.Printf("%s in a sandbox. Ctrl-D ends the session.\n", pythonInfo().Version)
	}
	// From here on a signal interrupts one execution and not the session.
	signal.Reset(os.Interrupt)
	for {
		code, err := in.statement(c.Context(), s)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return engineError(err)
		}
		if err := f.step(context.WithoutCancel(c.Context()), s, code, env); err != nil {
			return engineError(err)
		}
		env = nil // it stays as the first step set it
	}
}

// step runs one statement; only failures of mayfly end the loop.
func (f *runFlags) step(ctx context.Context, s *engine.Session, code string, env map[string]string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	res, err := s.Exec(ctx, engine.Request{Code: code, Env: env, Timeout: f.timeout, OnEvent: func(ev engine.Event) {
		w := os.Stdout
		if ev.Kind == engine.EventStderr {
			w = os.Stderr
		}
		w.Write(ev.Data)
	}})
	if err != nil {
		return err
	}
	report(res, true)
	if res.Error != nil && res.Error.Restored {
		fmt.Fprintln(os.Stderr, "mayfly: the session is back where it was before this step")
	}
	return nil
}

// lines reads statements from a terminal or from a pipe.
type lines struct {
	interactive bool
	next        func(prompt string) (string, error)
}

func openLines() (*lines, func()) {
	fd := int(os.Stdin.Fd())
	if !term.IsTerminal(fd) || !term.IsTerminal(int(os.Stdout.Fd())) {
		sc := bufio.NewScanner(os.Stdin)
		sc.Buffer(nil, engine.DefaultCode)
		return &lines{next: func(string) (string, error) {
			if sc.Scan() {
				return sc.Text(), nil
			}
			if err := sc.Err(); err != nil {
				return "", err
			}
			return "", io.EOF
		}}, func() {}
	}
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{os.Stdin, os.Stdout}, "")
	return &lines{interactive: true, next: func(prompt string) (string, error) {
		// Raw only while a line is edited: programs print with plain newlines, and Ctrl-C is a signal to them.
		state, err := term.MakeRaw(fd)
		if err != nil {
			return "", err
		}
		defer term.Restore(fd, state)
		t.SetPrompt(prompt)
		return t.ReadLine()
	}}, func() {}
}

// statement reads lines until the language takes them for a whole statement.
func (l *lines) statement(ctx context.Context, s *engine.Session) (string, error) {
	code := ""
	for prompt := ">>> "; ; prompt = "... " {
		line, err := l.next(prompt)
		if errors.Is(err, io.EOF) && code != "" {
			return code, nil
		}
		if err != nil {
			return "", err
		}
		if code == "" && line == "" {
			continue
		}
		code += line + "\n"
		more, err := s.Incomplete(ctx, code)
		if err != nil {
			return "", err
		}
		if !more {
			return code, nil
		}
	}
}
