package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
)

// StartupOptions of Startup; nil and the zero value are the good defaults.
type StartupOptions struct {
	// Quick takes a tenth of the samples and leaves the first-ever run out: seconds instead of a minute or two, and
	// p99 of little worth. The sample sizes below that are set explicitly stay.
	Quick bool
	// CacheDir is engine.Options.CacheDir, also for the processes that are started.
	CacheDir string
	// Command runs `1+1` in a process of its own and prints 2, for example {"mayfly", "run", "-c", "1+1"}. Default:
	// none; then starting a process is not measured.
	Command []string
	// Native is the path of the native python3 to compare with. Default: none; then ratios are not measured.
	Native string
	// Forks is the number of samples of a fork, of its warm executions, and of the loop that counts forks per CPU
	// second. Default: 1000, quick 100.
	Forks int
	// Processes is the number of processes started. Default: 20, quick 5.
	Processes int
	// Sessions is the number of sessions held open at once. Default: 1000, also when quick.
	Sessions int
	// Rounds is how often each workload runs on each side; the best counts. Default: 9, quick 3.
	Rounds int
	// Mayfly and Wazero are the versions to put into the report.
	Mayfly, Wazero string
	// Progress is told what is being measured. Default: nobody.
	Progress func(string)
	// EngineProgress is engine.Options.Progress. Default: nobody.
	EngineProgress func(engine.Progress)
}

var onePlusOne = engine.Request{Code: "1+1"}

// run is a benchmark in progress.
type run struct {
	opts   StartupOptions
	guest  python.Guest
	report *Report
}

func (b *run) progress(format string, args ...any) { b.opts.Progress(fmt.Sprintf(format, args...)) }

func (b *run) note(format string, args ...any) {
	b.report.Notes = append(b.report.Notes, fmt.Sprintf(format, args...))
}

func (o *StartupOptions) withDefaults() StartupOptions {
	var d StartupOptions
	if o != nil {
		d = *o
	}
	set := func(v *int, full, quick int) {
		if *v == 0 && d.Quick {
			*v = quick
		} else if *v == 0 {
			*v = full
		}
	}
	set(&d.Forks, 1000, 100)
	set(&d.Processes, 20, 5)
	set(&d.Sessions, 1000, 1000)
	set(&d.Rounds, 9, 3)
	if d.Progress == nil {
		d.Progress = func(string) {}
	}
	return d
}

// Startup measures what a sandbox costs on this machine. It takes a minute or two, mostly of one core, and the memory of
// the sessions that it holds open.
func Startup(ctx context.Context, o *StartupOptions) (*Report, error) {
	b := &run{opts: o.withDefaults(), guest: python.New()}
	b.report = &Report{Machine: machine(), opts: b.opts}
	b.report.Versions = versions(b.opts.Mayfly, b.opts.Wazero, b.guest.Version())
	e, err := engine.New(ctx, &engine.Options{
		Guests: []engine.Guest{b.guest}, CacheDir: b.opts.CacheDir, Progress: b.opts.EngineProgress,
	})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if err := e.Warm(ctx, ""); err != nil {
		return nil, err
	}
	for _, measure := range []func(context.Context, *engine.Engine) error{
		b.measureMemory, b.measureForks, b.measureWarm, b.measureThroughput, b.measureWorkloads,
	} {
		if err := measure(ctx, e); err != nil {
			return nil, err
		}
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	for _, measure := range []func(context.Context) error{b.measureIdleForks, b.measureProcesses, b.measureFirstRun} {
		if err := measure(ctx); err != nil {
			return nil, err
		}
	}
	return b.report, nil
}

// check tells whether an execution went well and had the value.
func check(r *engine.Result, err error, repr string) error {
	switch {
	case err != nil:
		return err
	case r.Status != engine.StatusOK && r.Error != nil:
		return fmt.Errorf("status %s: %s", r.Status, r.Error.Message)
	case r.ResultRepr != repr:
		return fmt.Errorf("result %q instead of %q", r.ResultRepr, repr)
	}
	return nil
}

// forkOnce takes a sandbox through its whole life.
func forkOnce(ctx context.Context, e *engine.Engine) error {
	s, err := e.NewSession(ctx, nil)
	if err != nil {
		return err
	}
	r, err := s.Exec(ctx, onePlusOne)
	return errors.Join(check(r, err, "2"), s.Close())
}

// repeat times n calls of f.
func repeat(ctx context.Context, n int, f func() error) ([]time.Duration, error) {
	d := make([]time.Duration, 0, n)
	for range n {
		start := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		d = append(d, time.Since(start))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// measureForks times fork, 1+1 and release.
func (b *run) measureForks(ctx context.Context, e *engine.Engine) error {
	b.progress("fork, 1+1, release: %d times", b.opts.Forks)
	f := func() error { return forkOnce(ctx, e) }
	if _, err := repeat(ctx, 10, f); err != nil {
		return err
	}
	d, err := repeat(ctx, b.opts.Forks, f)
	b.report.ForkFirstResultUS = quantiles(d, time.Microsecond)
	return err
}

// measureWarm times executions in a session that has run code before.
func (b *run) measureWarm(ctx context.Context, e *engine.Engine) error {
	b.progress("warm executions: %d times", b.opts.Forks)
	s, err := e.NewSession(ctx, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	f := func() error {
		r, err := s.Exec(ctx, onePlusOne)
		return check(r, err, "2")
	}
	if _, err := repeat(ctx, 20, f); err != nil {
		return err
	}
	d, err := repeat(ctx, b.opts.Forks, f)
	b.report.WarmExecUS = quantiles(d, time.Microsecond)
	return err
}

// measureThroughput counts whole lives of sandboxes against the CPU time of everything that this process does meanwhile:
// preparing ready sandboxes and collecting garbage are part of the price.
func (b *run) measureThroughput(ctx context.Context, e *engine.Engine) error {
	b.progress("forks per CPU second: %d forks", b.opts.Forks)
	start, ok := cpuTime()
	if !ok {
		b.note("forks_per_cpu_second was not measured: this system does not tell a process its CPU time")
		return nil
	}
	for range b.opts.Forks {
		if err := forkOnce(ctx, e); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	end, _ := cpuTime()
	b.report.ForksPerCPUSecond = new(round(float64(b.opts.Forks) / (end - start).Seconds()))
	return nil
}

// measureProcesses times whole processes from start to exit.
func (b *run) measureProcesses(ctx context.Context) error {
	if len(b.opts.Command) == 0 {
		b.note("process_start_ms was not measured: no command was given")
		return nil
	}
	b.progress("process start: %d processes", b.opts.Processes)
	f := func() error { return b.process(ctx, b.opts.CacheDir) }
	if _, err := repeat(ctx, 1, f); err != nil { // brings the files into the page cache
		return err
	}
	d, err := repeat(ctx, b.opts.Processes, f)
	b.report.ProcessStartMS = new(quantiles(d, time.Millisecond))
	return err
}

// measureFirstRun times one process that finds an empty cache.
func (b *run) measureFirstRun(ctx context.Context) error {
	if b.opts.Quick || len(b.opts.Command) == 0 {
		return nil
	}
	b.progress("first-ever run: one process with an empty cache, some ten seconds")
	dir, err := os.MkdirTemp("", "mayfly-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	start := time.Now()
	if err := b.process(ctx, dir); err != nil {
		return err
	}
	b.report.FirstRunMS = new(round(ms(time.Since(start))))
	return nil
}

// process runs the command once.
func (b *run) process(ctx context.Context, cache string) error {
	cmd := exec.CommandContext(ctx, b.opts.Command[0], b.opts.Command[1:]...)
	cmd.Env = os.Environ()
	if cache != "" {
		cmd.Env = append(cmd.Env, "MAYFLY_CACHE="+cache)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(b.opts.Command, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	if got := strings.TrimSpace(stdout.String()); got != "2" {
		return fmt.Errorf("%s printed %q instead of 2", strings.Join(b.opts.Command, " "), got)
	}
	return nil
}
