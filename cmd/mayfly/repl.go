package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

func newRepl() *cobra.Command {
	f := newRunFlags()
	c := &cobra.Command{
		Use:   "repl",
		Short: "Type Python into a sandbox that keeps its state from line to line",
		Long: `Reads statements and runs them in one session. A block ends with an empty line.
Ctrl-C interrupts what runs or is typed, Ctrl-D ends the session. Without a
terminal, the lines of standard input are taken. The exit code is the one that the
program gave to sys.exit, else 0. With --session, the session lasts: each statement
is a step that is stored before the next prompt.`,
		Example: `  mayfly repl
  mayfly repl --mount ./data:/data
  mayfly repl --session demo
  printf 'x = 20\nx + 1\n' | mayfly repl`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.repl(c) },
	}
	addSandboxFlags(c, f)
	addSessionFlags(c, &f.session)
	addHostFlags(c, &f.host)
	addQuestionFlags(c, &f.host)
	return c
}

// conversation is a session that statements are typed into.
type conversation interface {
	Exec(context.Context, engine.Request) (*engine.Result, error)
	Incomplete(ctx context.Context, code string) (bool, error)
}

func (f *runFlags) repl(c *cobra.Command) error {
	if err := f.session.check(c); err != nil {
		return err
	}
	env, err := f.environment()
	if err != nil {
		return err
	}
	offer, err := f.host.offer(c, f.session.name != "")
	if err != nil {
		return err
	}
	t := &typed{env: env, policy: offer.policy, printer: printer{verbose: f.host.verbose}}
	if f.session.name != "" {
		return f.replInSession(c, t, offer)
	}
	sb, err := f.sandbox()
	if err != nil {
		return err
	}
	host, err := offer.host(c.Context())
	if err != nil {
		return err
	}
	defer closeHost(host)
	e, err := openEngine(c.Context(), engine.Options{ReadySandboxes: -1, Host: host, Questions: true})
	if err != nil {
		return err
	}
	defer e.Close()
	if err := e.Warm(c.Context(), ""); err != nil { // before the first prompt, not after the first line
		return engineError(err)
	}
	s, err := e.NewSession(c.Context(), sb)
	if err != nil {
		return engineError(err)
	}
	defer f.host.answer(c, &t.printer, e.Reply).close()
	return f.converse(c, s, t, "in a sandbox. Ctrl-D ends the session.")
}

// typed is what the statements of a conversation have in common.
type typed struct {
	env     map[string]string
	policy  *hostfns.Policy
	printer printer
}

func (f *runFlags) replInSession(c *cobra.Command, t *typed, offer *offer) error {
	o, err := f.session.options(c, f)
	if err != nil {
		return err
	}
	s, err := openSessions(c.Context(), &f.session.store, engine.Options{ReadySandboxes: -1})
	if err != nil {
		return engineError(err)
	}
	warnRemote(c, s)
	d := &durableSession{s, f.session.name, offer}
	asker := f.host.answer(c, &t.printer, s.Reply)
	info, err := s.Open(c.Context(), d.name, o)
	if err == nil {
		_, err = d.Incomplete(c.Context(), "") // brings it into memory, before the first prompt
	}
	if err == nil {
		err = f.converse(c, d, t, fmt.Sprintf("in session %s after step %d. Ctrl-D leaves it.", info.ID, info.Step))
	}
	asker.close()
	return finish(err, s.close(c.Context()))
}

// converse reads statements and runs them until the input or the program ends.
func (f *runFlags) converse(c *cobra.Command, s conversation, t *typed, where string) error {
	in, closeInput := openLines()
	defer closeInput()
	if in.interactive {
		fmt.Printf("%s %s\n", pythonInfo().Version, where)
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
		res, err := f.step(context.WithoutCancel(c.Context()), s, code, t)
		if err != nil {
			return engineError(err)
		}
		if res.Error != nil && res.Error.Kind == "exit" {
			return &exitError{code: res.ExitCode}
		}
		t.env = nil // it stays as the first step set it
	}
}

// step runs one statement; only failures of mayfly end the loop.
func (f *runFlags) step(ctx context.Context, s conversation, code string, t *typed) (*engine.Result, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	p := &t.printer
	p.begin(stop)
	res, err := s.Exec(ctx, engine.Request{
		Code: code, Env: t.env, Timeout: f.timeout, MaxOutput: int(f.output), Policy: t.policy, OnEvent: p.event,
		NoQuestions: f.host.onQuestion == questionsDeny,
	})
	if err != nil {
		return nil, err
	}
	if !brokenPipe(p.failure()) {
		p.report(res, true)
	}
	if err := p.failure(); err != nil {
		return nil, fmt.Errorf("output is lost: %w", err)
	}
	if res.Error != nil && res.Error.Restored && res.Error.Kind != "exit" {
		fmt.Fprintln(os.Stderr, "mayfly: the session is back where it was before this step")
	}
	return res, nil
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
	tty := &console{}
	t := term.NewTerminal(tty, "")
	return &lines{interactive: true, next: func(prompt string) (string, error) {
		// Raw only while a line is edited: programs print with plain newlines, and Ctrl-C is a signal to them.
		state, err := term.MakeRaw(fd)
		if err != nil {
			return "", err
		}
		defer term.Restore(fd, state)
		t.SetPrompt(prompt)
		line, err := t.ReadLine()
		if errors.Is(err, io.EOF) && tty.interrupted {
			tty.interrupted = false
			history := t.History
			t = term.NewTerminal(tty, "") // the old one still has the half-typed line
			t.History = history
			fmt.Print("^C\r\n")
			return "", errInterrupted
		}
		return line, err
	}}, func() {}
}

// errInterrupted: Ctrl-C was typed at the prompt, which gives up what was typed so far.
var errInterrupted = errors.New("interrupted")

// console is the terminal in raw mode, where Ctrl-C is no signal but a byte. term.Terminal takes it for the end of input.
type console struct{ interrupted bool }

func (c *console) Read(p []byte) (int, error) {
	n, err := os.Stdin.Read(p)
	c.interrupted = c.interrupted || bytes.IndexByte(p[:n], 3) >= 0
	return n, err
}

func (c *console) Write(p []byte) (int, error) { return os.Stdout.Write(p) }

// statement reads lines until the language takes them for a whole statement.
func (l *lines) statement(ctx context.Context, s conversation) (string, error) {
	code := ""
	for prompt := ">>> "; ; prompt = "... " {
		line, err := l.next(prompt)
		switch {
		case errors.Is(err, errInterrupted):
			return l.statement(ctx, s)
		case errors.Is(err, io.EOF) && code != "":
			return code, nil
		case err != nil:
			return "", err
		}
		if code == "" && line == "" {
			continue
		}
		// The question goes without the line's end: with it, a block would be taken for whole after its first line.
		code += line
		more, err := s.Incomplete(ctx, code)
		if err != nil {
			return "", err
		}
		code += "\n"
		if !more {
			return code, nil
		}
	}
}
