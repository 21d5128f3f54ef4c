package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/internal/httpapi"
)

// runFlags are the flags that describe a sandbox and an execution.
type runFlags struct {
	code    string
	hasCode bool // -c was given, be it with an empty program
	stdin   string
	env     []string
	mounts  []string
	memory  byteSize
	output  byteSize
	timeout time.Duration
	threads int
	json    bool
	session sessionFlags
	host    hostFlags
}

func newRunFlags() *runFlags {
	return &runFlags{
		memory: engine.DefaultMemory, output: engine.DefaultOutput, timeout: engine.DefaultTimeout,
		threads: engine.DefaultThreads,
	}
}

func newRun() *cobra.Command {
	f := newRunFlags()
	c := &cobra.Command{
		Use:   "run [flags] (FILE | -c CODE | -) [-- ARG ...]",
		Short: "Run a Python program in a fresh sandbox, or in a session that lasts",
		Long: `Runs a program in a sandbox that is made for it and gone afterwards. Output is
shown while the program runs. FILE is read by mayfly, the sandbox does not see
it; "-" reads the program from standard input. With -c, the value of a last
expression is printed.

With --session, the program runs in a durable session: variables, imported modules
and files are there in the next run. When mayfly has ended, the step is stored.

With --tools, the program can import the tools of MCP servers: from tools.SERVER
import TOOL. What else it may ask its host for, and how often, is up to the flags
below and to the configuration (mayfly config --help).

` + exitCodes,
		Example: `  mayfly run script.py -- --verbose input.csv
  mayfly run -c 'import math; math.tau'
  mayfly run --mount ./data:/data script.py
  mayfly run --mount ./out:/out:rw --timeout 2m --memory 1GiB --threads 500 script.py
  echo 'print(6 * 7)' | mayfly run -
  mayfly run --json -c '[n * n for n in range(5)]'
  mayfly run --tools mcp.json --approve 'github.create_*' report.py
  mayfly run --llm-model gpt-4.1-mini -c 'from mayfly import ask_llm; ask_llm("Say hello.")'
  mayfly run --allow-http api.example.com -c 'import requests; requests.get("https://api.example.com/v1").json()'
  mayfly run --session demo -c 'x = [1, 2, 3]; open("notes.txt", "w").write("hi")'
  mayfly run --session demo -c 'x.append(4); x'`,
		Args: func(c *cobra.Command, args []string) error {
			f.hasCode = c.Flags().Changed("code")
			n := len(args)
			if d := c.ArgsLenAtDash(); d >= 0 {
				n = d
			}
			switch {
			case f.hasCode && n > 0:
				return errors.New("both -c and a file; give the program's arguments after --")
			case !f.hasCode && n == 0:
				return errors.New("no program: give a file, -c CODE, or - for standard input")
			case !f.hasCode && n > 1:
				return errors.New("more than one file; give the program's arguments after --")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	fl := c.Flags()
	fl.StringVarP(&f.code, "code", "c", "", "run `CODE` instead of a file")
	fl.StringVar(&f.stdin, "stdin", "", "take the program's input from `FILE` instead of standard input")
	fl.BoolVar(&f.json, "json", false, "print the result as JSON when the program has ended, and nothing before")
	addSandboxFlags(c, f)
	addSessionFlags(c, &f.session)
	addHostFlags(c, &f.host)
	addQuestionFlags(c, &f.host)
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if strings.HasPrefix(err.Error(), "unknown") {
			return usageError("flags of the program go after --; for those of mayfly see: mayfly run --help", "%v", err)
		}
		return usageError("see: mayfly run --help", "%v", err)
	})
	return c
}

// addSandboxFlags adds the flags that run and repl share.
func addSandboxFlags(c *cobra.Command, f *runFlags) {
	fl := c.Flags()
	fl.DurationVar(&f.timeout, "timeout", f.timeout,
		"wall-clock limit, without the time that it waits for a person; the program gets a TimeoutError, and a second to clean up")
	fl.Var(&f.memory, "memory", "limit of the interpreter's memory")
	fl.IntVar(&f.threads, "threads", f.threads, "threads that the program may have at once, the main thread included")
	fl.Var(&f.output, "max-output", "bytes kept of each of stdout and stderr; the rest is dropped and counted")
	fl.StringArrayVar(&f.mounts, "mount", nil,
		"show the directory `HOST:GUEST[:rw]` to the program, read-only without rw; may be repeated")
	fl.StringArrayVar(&f.env, "env", nil, "set the environment variable `NAME=VALUE`; may be repeated")
}

func (f *runFlags) run(c *cobra.Command, args []string) error {
	if err := f.session.check(c); err != nil {
		return err
	}
	req, err := f.request(c, args)
	if err != nil {
		return err
	}
	offer, err := f.host.offer(c, f.session.name != "")
	if err != nil {
		return err
	}
	req.Policy, req.NoQuestions = offer.policy, f.host.onQuestion == questionsDeny
	ctx, stop := context.WithCancel(c.Context())
	defer stop()
	p := &printer{stop: stop, quiet: f.json, verbose: f.host.verbose}
	req.OnEvent = p.event
	if f.session.name != "" {
		return f.runInSession(ctx, c, p, req, offer)
	}
	host, err := offer.host(ctx)
	if err != nil {
		return err
	}
	defer closeHost(host)
	e, err := openEngine(ctx, engine.Options{ReadySandboxes: -1, Host: host, Questions: true})
	if err != nil {
		return err
	}
	defer e.Close()
	defer f.host.answer(c, p, e.Reply).close()
	res, err := e.Run(ctx, req)
	return f.outcome(p, res, err)
}

// runInSession runs the program in the session that was named. ctx is that of the program.
func (f *runFlags) runInSession(ctx context.Context, c *cobra.Command, p *printer, req engine.Request, offer *offer) error {
	req.Sandbox = nil
	o, err := f.session.options(c, f)
	if err != nil {
		return err
	}
	s, err := openSessions(ctx, &f.session.store, engine.Options{ReadySandboxes: -1})
	if err != nil {
		return engineError(err)
	}
	warnRemote(c, s)
	asker := f.host.answer(c, p, s.Reply)
	res, err := s.Exec(ctx, f.session.name, &httpapi.Exec{
		Request: req, Session: o, HostConfig: offer.config, HostIfNone: offer.ifNone, OnNote: printNote,
	})
	asker.close()
	return finish(f.outcome(p, res, err), s.close(c.Context()))
}

// warnRemote tells that another process has the store, which decides on some things.
func warnRemote(c *cobra.Command, s *sessions) {
	if s.remote() && c.Flags().Changed("durability") {
		printNote("--durability is up to the process that has the store open, and has no effect")
	}
}

// outcome tells what came of an execution, and returns the error that has its exit code.
func (f *runFlags) outcome(p *printer, res *engine.Result, err error) error {
	if f.json && res != nil {
		if err := writeJSON(os.Stdout, res); err != nil {
			return err
		}
		if err != nil {
			e := engineError(err)
			e.msg = "" // the result tells it
			return e
		}
	}
	if err != nil {
		return engineError(err)
	}
	if !f.json && !brokenPipe(p.failure()) {
		p.report(res, f.hasCode)
	}
	if brokenPipe(p.failure()) {
		return engineError(p.failure())
	}
	if err := p.failure(); err != nil {
		return &exitError{exitFailure, fmt.Sprintf("output is lost: %v", err), ""}
	}
	if res.ExitCode != 0 {
		return &exitError{code: res.ExitCode}
	}
	return nil
}

// request builds the request, reading the program.
func (f *runFlags) request(c *cobra.Command, args []string) (r engine.Request, err error) {
	n := len(args)
	if d := c.ArgsLenAtDash(); d >= 0 {
		n = d
	}
	r.Args, args = args[n:], args[:n]
	r.Stdin = os.Stdin
	switch {
	case f.hasCode:
		r.Code, r.Filename = f.code, "<string>"
	case args[0] == "-":
		r.Stdin = nil
		r.Filename = "<stdin>"
		r.Code, err = readProgram(os.Stdin, "standard input")
	default:
		r.Filename = args[0]
		r.NoResult = !f.json
		r.Code, err = readFile(args[0])
	}
	if err != nil {
		return r, err
	}
	if f.stdin != "" {
		in, err := os.Open(f.stdin)
		if err != nil {
			return r, usageError("", "--stdin: %v", err)
		}
		r.Stdin = in
	}
	if r.Env, err = f.environment(); err != nil {
		return r, err
	}
	r.Timeout, r.MaxOutput = f.timeout, int(f.output)
	r.Sandbox, err = f.sandbox()
	return r, err
}

func readFile(name string) (string, error) {
	in, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", usageError("for code on the command line use -c", "%s: no such file", name)
	}
	if err != nil {
		return "", usageError("", "%v", err)
	}
	defer in.Close()
	return readProgram(in, name)
}

func readProgram(r io.Reader, name string) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, engine.DefaultCode+1))
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return "", usageError("", "read %s: %v", name, err)
	}
	return string(b), nil
}

func (f *runFlags) environment() (map[string]string, error) {
	env := map[string]string{}
	for _, e := range f.env {
		k, v, ok := strings.Cut(e, "=")
		if !ok || k == "" {
			return nil, usageError("write --env NAME=VALUE", "--env %q is not a name and its value", e)
		}
		env[k] = v
	}
	return env, nil
}

func (f *runFlags) sandbox() (*engine.Sandbox, error) {
	if f.timeout <= 0 {
		return nil, usageError("write for example --timeout 45s", "--timeout %v is not positive", f.timeout)
	}
	if f.threads <= 0 {
		return nil, usageError("1 is the main thread alone", "--threads %d is not positive", f.threads)
	}
	sb := &engine.Sandbox{Memory: int64(f.memory), Threads: f.threads}
	for _, m := range f.mounts {
		mount, err := parseMount(m)
		if err != nil {
			return nil, err
		}
		sb.Mounts = append(sb.Mounts, mount)
	}
	return sb, nil
}

// parseMount reads HOST:GUEST[:rw]. The guest path is the last part that starts with a slash, since paths of Windows
// have colons too.
func parseMount(s string) (engine.Mount, error) {
	rest, writable := strings.CutSuffix(s, ":rw")
	if !writable {
		rest = strings.TrimSuffix(rest, ":ro")
	}
	i := strings.LastIndex(rest, ":/")
	if i <= 0 {
		return engine.Mount{}, usageError("write --mount ./data:/data, with :rw at the end to allow changes",
			"--mount %q has no absolute path for the sandbox", s)
	}
	host, err := filepath.Abs(rest[:i])
	if err != nil {
		return engine.Mount{}, usageError("", "--mount %q: %v", s, err)
	}
	return engine.Mount{Host: host, Guest: rest[i+1:], Writable: writable}, nil
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
