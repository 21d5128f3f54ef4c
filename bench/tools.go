package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
	"github.com/mayfly-run/mayfly/hostfns"
)

// ToolsOptions of Tools; nil and the zero value are the good defaults.
type ToolsOptions struct {
	// Samples is the number of round trips that are measured one by one. Default: 20,000.
	Samples int
	// Calls is the number of calls made one after the other and all at once. Default: 1000.
	Calls int
	// Imports is the number of sandboxes that import the large server. Default: 50.
	Imports int
	// Waiting is the number of sessions that wait for a tool at the same time, Wait for how long. Defaults: 500, two seconds.
	Waiting int
	Wait    time.Duration
	// Server is a command that runs ServeTools. Default: none; then a server in another process is not measured.
	Server []string
	// CacheDir is engine.Options.CacheDir.
	CacheDir string
	// Mayfly and Wazero are the versions to put into the report.
	Mayfly, Wazero string
	// Progress is told what is being measured. Default: nobody.
	Progress func(string)
	// EngineProgress is engine.Options.Progress. Default: nobody.
	EngineProgress func(engine.Progress)
}

func (o *ToolsOptions) withDefaults() ToolsOptions {
	var d ToolsOptions
	if o != nil {
		d = *o
	}
	for v, def := range map[*int]int{&d.Samples: 20_000, &d.Calls: 1000, &d.Imports: 50, &d.Waiting: 500} {
		if *v <= 0 {
			*v = def
		}
	}
	if d.Wait <= 0 {
		d.Wait = 2 * time.Second
	}
	if d.Progress == nil {
		d.Progress = func(string) {}
	}
	return d
}

// toolsRun is a benchmark of host calls in progress.
type toolsRun struct {
	opts   ToolsOptions
	engine *engine.Engine
	report *ToolsReport
}

// manyTools is the number of tools of the large server.
const manyTools = 1000

// Tools measures what it costs to call tools: the round trip from Python, many calls one after the other and all at once,
// against an MCP client that makes them one by one, the import of a large server, and sessions that wait.
func Tools(ctx context.Context, o *ToolsOptions) (_ *ToolsReport, err error) {
	b := &toolsRun{opts: o.withDefaults()}
	guest := python.New()
	b.report = &ToolsReport{Machine: machine()}
	b.report.Versions = versions(b.opts.Mayfly, b.opts.Wazero, guest.Version())
	host, err := hostfns.New(&hostfns.Options{
		Providers: []hostfns.Provider{localTools(), largeServer()},
		Policy:    &hostfns.Policy{MaxCalls: 1 << 30, MaxBytes: 1 << 40},
	})
	if err != nil {
		return nil, err
	}
	b.engine, err = engine.New(ctx, &engine.Options{
		Guests: []engine.Guest{guest}, CacheDir: b.opts.CacheDir, Host: host, Timeout: 10 * time.Minute, MaxQueue: 10_000,
		MaxWaiting: 10_000, Progress: b.opts.EngineProgress, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return nil, errors.Join(err, host.Close())
	}
	defer func() { err = errors.Join(err, b.engine.Close(), host.Close()) }()
	if err := b.engine.Warm(ctx, ""); err != nil {
		return nil, err
	}
	for _, measure := range []func(context.Context) error{b.measureTrips, b.measureImports, b.measureCalls, b.measureWaiting} {
		if err := measure(ctx); err != nil {
			return nil, err
		}
	}
	return b.report, nil
}

type addArgs struct {
	A int `json:"a"`
	B int `json:"b"`
}

type textArgs struct {
	Text string `json:"text"`
}

// localTools are tools that are functions of this process.
func localTools() *hostfns.Tools {
	t := hostfns.NewTools("local")
	hostfns.AddTool(t, hostfns.Tool{Name: "add"}, func(_ context.Context, a addArgs) (int, error) { return a.A + a.B, nil })
	hostfns.AddTool(t, hostfns.Tool{Name: "echo"}, func(_ context.Context, a textArgs) (string, error) { return a.Text, nil })
	hostfns.AddTool(t, hostfns.Tool{Name: "wait"}, func(ctx context.Context, a struct {
		Seconds float64 `json:"seconds"`
	}) (bool, error) {
		select {
		case <-time.After(time.Duration(a.Seconds * float64(time.Second))):
			return true, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	})
	return t
}

// largeServer has as many tools as a careless collection of servers has together.
func largeServer() *hostfns.Tools {
	t := hostfns.NewTools("large")
	schema := json.RawMessage(`{"type":"object","properties":{
		"owner":{"type":"string","description":"The account that owns the repository"},
		"repo":{"type":"string","description":"The repository's name, without the owner"},
		"labels":{"type":"array","items":{"type":"string"},"description":"Labels to put on it"},
		"page":{"type":"integer","minimum":1,"default":1}},"required":["owner","repo"]}`)
	for i := range manyTools {
		t.Add(hostfns.Tool{
			Name: fmt.Sprintf("list_things_%04d", i), InputSchema: schema,
			Description: fmt.Sprintf("List the things of kind %d in a repository, newest first, page by page.", i),
		}, func(context.Context, *hostfns.ToolCall) (*hostfns.ToolResult, error) {
			return &hostfns.ToolResult{}, nil
		})
	}
	return t
}

// value runs code and decodes its value.
func (b *toolsRun) value(ctx context.Context, e *engine.Engine, code string, v any) error {
	r, err := e.Run(ctx, engine.Request{Code: code})
	if err != nil {
		return err
	}
	if r.Error != nil {
		return fmt.Errorf("the program of the benchmark failed: %s: %s", r.Error.Message, r.Error.Traceback)
	}
	return json.Unmarshal(r.Result, v)
}

// tripProgram measures calls one by one, and returns [p50, p99] in microseconds.
const tripProgram = `
from time import perf_counter_ns as now
from tools.local import %s as tool
args = %s
for _ in range(200):
    tool(**args)
times = []
for _ in range(%d):
    start = now()
    tool(**args)
    times.append(now() - start)
times.sort()
pick = lambda p: times[max(0, -(-len(times) * p // 100) - 1)] / 1000
[pick(50), pick(99)]
`

// measureTrips times a call of a tool from the line of Python to its value.
func (b *toolsRun) measureTrips(ctx context.Context) error {
	for _, t := range []struct{ name, tool, args string }{
		{"add(a=1, b=2)", "add", "dict(a=1, b=2)"},
		{"echo of 1 KiB", "echo", "dict(text='x' * 1024)"},
		{"echo of 100 KiB", "echo", "dict(text='x' * 102400)"},
	} {
		b.opts.Progress("round trip: " + t.name)
		n := b.opts.Samples
		if t.tool == "echo" {
			n /= 10
		}
		var q []float64
		if err := b.value(ctx, b.engine, fmt.Sprintf(tripProgram, t.tool, t.args, n), &q); err != nil {
			return err
		}
		b.report.Trips = append(b.report.Trips, TripCost{t.name, Quantiles{round(q[0]), round(q[1])}, n})
	}
	return nil
}

// importProgram returns the milliseconds of the import.
const importProgram = `
from time import perf_counter_ns as now
start = now()
from tools.large import list_things_0500
(now() - start) / 1e6
`

// measureImports times the import of a tool of the large server, each in a sandbox of its own.
func (b *toolsRun) measureImports(ctx context.Context) error {
	b.opts.Progress(fmt.Sprintf("import of a server with %d tools", manyTools))
	var v []float64
	for range b.opts.Imports {
		var t float64
		if err := b.value(ctx, b.engine, importProgram, &t); err != nil {
			return err
		}
		v = append(v, t)
	}
	b.report.ImportMS, b.report.Imports = summary(v), len(v)
	return nil
}
