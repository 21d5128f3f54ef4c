package bench

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

//go:embed workloads.py
var workloadSource string

// workloads are the names that measure() in workloads.py knows.
var workloads = []string{"fib", "loop", "json", "sort", "regex", "objects"}

// Workload is the best time of a workload on both sides.
type Workload struct {
	Name          string
	Guest, Native time.Duration
}

// timer runs a workload once and returns how long it took by the interpreter's own clock.
type timer func(ctx context.Context, workload string) (time.Duration, error)

// guestTimer returns a timer that runs workloads in a session.
func guestTimer(ctx context.Context, s *engine.Session) (timer, error) {
	if err := define(ctx, s, "workloads.py", workloadSource); err != nil {
		return nil, err
	}
	return func(ctx context.Context, workload string) (time.Duration, error) {
		var seconds float64
		err := guestMeasure(ctx, s, workload, &seconds)
		return time.Duration(seconds * float64(time.Second)), err
	}, nil
}

// define runs a source in a session.
func define(ctx context.Context, s *engine.Session, name, source string) error {
	r, err := s.Exec(ctx, engine.Request{Code: source, Filename: name, NoResult: true})
	return check(r, err, "")
}

// guestMeasure calls measure() of the source that the session has, and decodes what it returns.
func guestMeasure(ctx context.Context, s *engine.Session, what string, to any) error {
	r, err := s.Exec(ctx, engine.Request{Code: fmt.Sprintf("measure(%q)", what), Timeout: time.Minute})
	if err != nil {
		return err
	}
	if r.Status != engine.StatusOK {
		return fmt.Errorf("%s in the guest: %s: %+v", what, r.Status, r.Error)
	}
	if err := json.Unmarshal(r.Result, to); err != nil {
		return fmt.Errorf("%s in the guest gave %s: %w", what, r.ResultRepr, err)
	}
	return nil
}

// native is a running native interpreter that measures what each line of its input names.
type native struct {
	version string
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	stderr  strings.Builder
}

// nativeVersion and nativeDriver come before and after the source in the native interpreter.
const (
	nativeVersion = `
import sys
print("CPython", sys.version.split()[0], flush=True)
`
	nativeDriver = `
import json
for line in sys.stdin:
    print(json.dumps(measure(line.strip())), flush=True)
`
)

// startNative starts the interpreter at path, isolated from the user's environment and packages, with a source that
// defines measure() or, if it is to be called otherwise, does all itself.
func startNative(ctx context.Context, path, source string) (*native, error) {
	n := &native{cmd: exec.CommandContext(ctx, path, "-I", "-S", "-c", nativeVersion+source)}
	n.cmd.Stderr = &n.stderr
	var err error
	if n.in, err = n.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	n.out = bufio.NewScanner(out)
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	if n.version, err = n.line(); err != nil || !strings.HasPrefix(n.version, "CPython ") {
		return nil, fmt.Errorf("%s does not run Python: %q, %w", path, n.version, n.fail(err))
	}
	return n, nil
}

func (n *native) line() (string, error) {
	if n.out.Scan() {
		return n.out.Text(), nil
	}
	if err := n.out.Err(); err != nil {
		return "", err
	}
	return "", io.ErrUnexpectedEOF
}

// fail ends the interpreter and returns what it complained about.
func (n *native) fail(err error) error {
	n.close()
	return fmt.Errorf("%w\n%s", err, strings.TrimSpace(n.stderr.String()))
}

func (n *native) close() {
	n.in.Close()
	for n.out.Scan() {
	}
	_ = n.cmd.Wait() // how it ends says nothing about what it measured
}

// ask has the interpreter measure something, and decodes what it prints.
func (n *native) ask(what string, to any) error {
	if _, err := io.WriteString(n.in, what+"\n"); err != nil {
		return n.fail(err)
	}
	line, err := n.line()
	if err != nil {
		return n.fail(err)
	}
	if err := json.Unmarshal([]byte(line), to); err != nil {
		return fmt.Errorf("%s in the native interpreter gave %q: %w", what, line, err)
	}
	return nil
}

func (n *native) measure(_ context.Context, workload string) (time.Duration, error) {
	var seconds float64
	err := n.ask(workload, &seconds)
	return time.Duration(seconds * float64(time.Second)), err
}

// measureWorkloads runs each workload in the guest and natively by turns, so that what else happens on the machine hits
// both, and compares the best times of each.
func (b *run) measureWorkloads(ctx context.Context, e *engine.Engine) error {
	if b.opts.Native == "" {
		b.note("cpu_ratio_vs_native was not measured: no native python3 was found; name one with --native or MAYFLY_NATIVE_PYTHON")
		return nil
	}
	n, err := startNative(ctx, b.opts.Native, workloadSource+nativeDriver)
	if err != nil {
		return err
	}
	defer n.close()
	b.report.Versions.Native, b.report.Versions.NativePath = n.version, b.opts.Native
	s, err := e.NewSession(ctx, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	guest, err := guestTimer(ctx, s)
	if err != nil {
		return err
	}
	ratios := map[string]float64{}
	var all []float64
	for _, name := range workloads {
		b.progress("workload %s: guest and native by turns, %d times", name, b.opts.Rounds)
		w := Workload{Name: name, Guest: 1 << 62, Native: 1 << 62}
		for range b.opts.Rounds {
			g, err := guest(ctx, name)
			if err != nil {
				return err
			}
			d, err := n.measure(ctx, name)
			if err != nil {
				return err
			}
			w.Guest, w.Native = min(w.Guest, g), min(w.Native, d)
		}
		b.report.Workloads = append(b.report.Workloads, w)
		ratios[name] = round(float64(w.Guest) / float64(w.Native))
		all = append(all, ratios[name])
	}
	ratios["geomean"] = round(geomean(all))
	b.report.CPURatioVsNative = ratios
	return nil
}
