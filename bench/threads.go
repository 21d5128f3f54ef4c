package bench

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
)

//go:embed threads.py
var threadSource string

// threadGroups are the names that measure() in threads.py knows. The pool's argument is added.
var threadGroups = []string{
	"thread", "lock", "semaphore", "queue", "simple_queue", "executor", "to_thread", "waits", "lateness", "process", "pool",
}

const (
	parkedThreads = 100
	parkedDepth   = 100
	// parkedMemory lets a hundred threads recurse.
	parkedMemory = 1 << 30
	// settleParked is the time after which memory is read: ready sandboxes are prepared by then.
	settleParked = 300 * time.Millisecond
)

// ThreadsOptions of Threads; nil and the zero value are the good defaults.
type ThreadsOptions struct {
	// Repeat is how often everything is measured; the median counts. Default: 5.
	Repeat int
	// CacheDir is engine.Options.CacheDir.
	CacheDir string
	// Native is the path of a native python3 that runs the same. Default: none.
	Native string
	// Mayfly and Wazero are the versions to put into the report.
	Mayfly, Wazero string
	// Progress is told what is being measured. Default: nobody.
	Progress func(string)
	// EngineProgress is engine.Options.Progress. Default: nobody.
	EngineProgress func(engine.Progress)
}

// threadsRun is a benchmark of threads in progress.
type threadsRun struct {
	opts            ThreadsOptions
	guest           python.Guest
	report          *ThreadsReport
	sandbox, native samples
}

// samples are what was measured under each name.
type samples map[string][]float64

func (s samples) add(m map[string]float64) {
	for name, x := range m {
		s[name] = append(s[name], x)
	}
}

// medians returns the median of each, and the largest of those that are a maximum already.
func (s samples) medians() map[string]float64 {
	if len(s) == 0 {
		return nil
	}
	m := map[string]float64{}
	for name, v := range s {
		p := 50.0
		if strings.Contains(name, "_max_") {
			p = 100
		}
		m[name] = round(percentile(v, p))
	}
	return m
}

// Threads measures what threads and processes in a sandbox cost. It takes half a minute.
func Threads(ctx context.Context, o *ThreadsOptions) (*ThreadsReport, error) {
	b := &threadsRun{guest: python.New(), sandbox: samples{}, native: samples{}}
	if o != nil {
		b.opts = *o
	}
	if b.opts.Repeat <= 0 {
		b.opts.Repeat = 5
	}
	if b.opts.Progress == nil {
		b.opts.Progress = func(string) {}
	}
	b.report = &ThreadsReport{Machine: machine(), opts: b.opts}
	b.report.Versions = versions(b.opts.Mayfly, b.opts.Wazero, b.guest.Version())
	if b.opts.Native == "" {
		b.note("nothing was measured natively: no native python3 was found; name one with --native or MAYFLY_NATIVE_PYTHON")
	}
	// Memory comes first, so that what other measurements leave behind is not counted.
	if err := b.measureParked(ctx); err != nil {
		return nil, err
	}
	if err := b.measureTimes(ctx); err != nil {
		return nil, err
	}
	b.report.Sandbox, b.report.Native = b.sandbox.medians(), b.native.medians()
	return b.report, nil
}

func (b *threadsRun) progress(format string, args ...any) {
	b.opts.Progress(fmt.Sprintf(format, args...))
}

func (b *threadsRun) note(format string, args ...any) {
	b.report.Notes = append(b.report.Notes, fmt.Sprintf(format, args...))
}

func (b *threadsRun) engine(ctx context.Context) (*engine.Engine, error) {
	e, err := engine.New(ctx, &engine.Options{
		Guests: []engine.Guest{b.guest}, CacheDir: b.opts.CacheDir, Progress: b.opts.EngineProgress,
	})
	if err != nil {
		return nil, err
	}
	if err := e.Warm(ctx, ""); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// measureTimes measures each group in the sandbox and natively by turns, so that what else happens on the machine hits both.
func (b *threadsRun) measureTimes(ctx context.Context) error {
	e, err := b.engine(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	s, err := e.NewSession(ctx, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := define(ctx, s, "threads.py", threadSource); err != nil {
		return err
	}
	var n *native
	if b.opts.Native != "" {
		if n, err = startNative(ctx, b.opts.Native, threadSource+nativeDriver); err != nil {
			return err
		}
		defer n.close()
		b.report.Versions.Native, b.report.Versions.NativePath = n.version, b.opts.Native
	}
	for _, group := range threadGroups {
		b.progress("%s: %d times", group, b.opts.Repeat)
		if group == "pool" {
			group = fmt.Sprintf("pool %d", runtime.GOMAXPROCS(0))
		}
		for range b.opts.Repeat {
			var m map[string]float64
			if err := guestMeasure(ctx, s, group, &m); err != nil {
				return err
			}
			b.sandbox.add(m)
			if n == nil {
				continue
			}
			m = nil
			if err := n.ask(group, &m); err != nil {
				return err
			}
			b.native.add(m)
		}
	}
	return nil
}

// measureParked looks at the memory of the process before and after a program has parked its threads.
func (b *threadsRun) measureParked(ctx context.Context) error {
	if _, ok := readMemory(); !ok {
		b.note("memory was not measured: it needs /proc of Linux")
		return nil
	}
	for _, how := range []struct {
		name  string
		depth int
	}{{"parked_thread_kib", 0}, {"parked_deep_thread_kib", parkedDepth}} {
		name := how.name
		b.progress("memory: %d threads parked below %d levels of recursion, %d times", parkedThreads, how.depth, b.opts.Repeat)
		call := fmt.Sprintf("\npark(%d, %d)\n", parkedThreads, how.depth)
		for range b.opts.Repeat {
			kib, err := b.parkGuest(ctx, call)
			if err != nil {
				return err
			}
			b.sandbox.add(map[string]float64{name: kib})
			if b.opts.Native == "" {
				continue
			}
			if kib, err = parkNative(ctx, b.opts.Native, call); err != nil {
				return err
			}
			b.native.add(map[string]float64{name: kib})
		}
	}
	return nil
}

// parkGuest returns the KiB that a parked thread takes. The engine is a new one, since an engine keeps stacks for later.
func (b *threadsRun) parkGuest(ctx context.Context, call string) (float64, error) {
	e, err := b.engine(ctx)
	if err != nil {
		return 0, err
	}
	defer e.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // for a read of the onlooker that is not over
	o := &onlooker{ctx: ctx, asked: make(chan struct{}, 2)}
	r, err := e.Run(ctx, engine.Request{
		Code: threadSource + call, Filename: "threads.py", Stdin: o, OnEvent: o.event, NoResult: true, Timeout: time.Minute,
		Sandbox: &engine.Sandbox{Memory: parkedMemory},
	})
	if err := check(r, err, ""); err != nil {
		return 0, fmt.Errorf("parked threads: %w", err)
	}
	if len(o.rss) != 2 {
		return 0, fmt.Errorf("parked threads: %d looks at the memory, not 2", len(o.rss))
	}
	return (o.rss[1] - o.rss[0]) / parkedThreads, nil
}

// onlooker is the input of a program: a line for each time that the program asks to look at the process.
type onlooker struct {
	ctx   context.Context
	asked chan struct{}
	rss   []float64
}

func (o *onlooker) event(ev engine.Event) {
	for range bytes.Count(ev.Data, []byte("look\n")) {
		select {
		case o.asked <- struct{}{}:
		default: // it asks too often, which the number of looks tells
		}
	}
}

func (o *onlooker) Read(p []byte) (int, error) {
	select {
	case <-o.asked:
	case <-o.ctx.Done():
		return 0, io.EOF
	}
	if err := settle(o.ctx, settleParked); err != nil {
		return 0, io.EOF
	}
	m, _ := readMemory()
	o.rss = append(o.rss, m.rss)
	return copy(p, "\n"), nil
}

func parkNative(ctx context.Context, path, call string) (float64, error) {
	n, err := startNative(ctx, path, threadSource+call)
	if err != nil {
		return 0, err
	}
	defer n.close()
	var rss [2]float64
	for i := range rss {
		if line, err := n.line(); err != nil || line != "look" {
			return 0, fmt.Errorf("parked threads in the native interpreter: %q, %w", line, n.fail(err))
		}
		kib := strings.TrimSuffix(procValue(fmt.Sprintf("/proc/%d/status", n.cmd.Process.Pid), "VmRSS"), " kB")
		if rss[i], err = strconv.ParseFloat(kib, 64); err != nil {
			return 0, err
		}
		if _, err := io.WriteString(n.in, "\n"); err != nil {
			return 0, n.fail(err)
		}
	}
	return (rss[1] - rss[0]) / parkedThreads, nil
}
