package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/tools"
)

// callsProgram returns the milliseconds of calls one after the other and all at once.
const callsProgram = `
import asyncio
from time import perf_counter_ns as now
from tools.%s import %s as tool
calls = [dict(%s) for i in range(%d)]
tool(**calls[0])

start = now()
one = [tool(**c) for c in calls]
sequential = now() - start

async def main():
    return await asyncio.gather(*(tool.aio(**c) for c in calls))

start = now()
two = await main()
gathered = now() - start
assert one == two
[sequential / 1e6, gathered / 1e6]
`

// rounds is how often series of calls are repeated; the medians count.
const rounds = 5

// measureCalls times many calls of a tool in this process, and of one in another process, against a client of MCP that
// makes the same calls one by one.
func (b *toolsRun) measureCalls(ctx context.Context) error {
	add, n := "a=i, b=1", b.opts.Calls
	b.opts.Progress(fmt.Sprintf("%d calls of a tool in this process", n))
	if err := b.series(ctx, b.engine, "in this process", "local", "add", add, n); err != nil {
		return err
	}
	if len(b.opts.Server) == 0 {
		b.report.Notes = append(b.report.Notes, "servers in another process were not measured: no command was given")
		return nil
	}
	e, closeAll, err := b.withServer(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	b.opts.Progress(fmt.Sprintf("%d calls of a stdio server", n))
	if err := b.series(ctx, e, "stdio server", "other", "add", add, n); err != nil {
		return err
	}
	if err := b.plainClient(ctx, "add", n, func(i int) any { return addArgs{i, 1} }); err != nil {
		return err
	}
	slow := max(n/10, 1)
	b.opts.Progress(fmt.Sprintf("%d calls of a stdio server that takes 10 ms for each", slow))
	if err := b.series(ctx, e, "stdio server, 10 ms a call", "other", "nap", "ms=10+0*i", slow); err != nil {
		return err
	}
	return b.plainClient(ctx, "nap", slow, func(int) any { return map[string]int{"ms": 10} })
}

func (b *toolsRun) series(ctx context.Context, e *engine.Engine, where, server, tool, args string, n int) error {
	var sequential, gathered []float64
	for range rounds {
		var v []float64
		if err := b.value(ctx, e, fmt.Sprintf(callsProgram, server, tool, args, n), &v); err != nil {
			return err
		}
		sequential, gathered = append(sequential, v[0]), append(gathered, v[1])
	}
	b.report.Calls = append(b.report.Calls, CallsCost{
		Where: where, Calls: n, SequentialMS: round(percentile(sequential, 50)), GatheredMS: round(percentile(gathered, 50)),
	})
	return nil
}

// withServer returns an engine whose tools are those of the command.
func (b *toolsRun) withServer(ctx context.Context) (*engine.Engine, func() error, error) {
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"other": map[string]any{"command": b.opts.Server[0], "args": b.opts.Server[1:]},
	}})
	if err != nil {
		return nil, nil, err
	}
	c, err := tools.Parse(config, "mcp.json")
	if err != nil {
		return nil, nil, err
	}
	servers, err := tools.New(c, nil)
	if err != nil {
		return nil, nil, err
	}
	host, err := hostfns.New(&hostfns.Options{
		Providers: []hostfns.Provider{servers}, Policy: &hostfns.Policy{MaxCalls: 1 << 30, MaxBytes: 1 << 40},
	})
	if err != nil {
		return nil, nil, errors.Join(err, servers.Close())
	}
	e, err := engine.New(ctx, &engine.Options{
		Guests: []engine.Guest{python.New()}, CacheDir: b.opts.CacheDir, Host: host, Timeout: 10 * time.Minute,
	})
	if err != nil {
		return nil, nil, errors.Join(err, host.Close())
	}
	return e, func() error { return errors.Join(e.Close(), host.Close()) }, nil
}

// plainClient makes the same calls as a client of MCP does without Mayfly: one by one.
func (b *toolsRun) plainClient(ctx context.Context, tool string, n int, args func(i int) any) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	cmd := exec.Command(b.opts.Server[0], b.opts.Server[1:]...)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	var took []float64
	for range rounds {
		start := time.Now()
		for i := range n {
			r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args(i)})
			if err != nil {
				return err
			}
			if r.IsError {
				return fmt.Errorf("the tool %s failed", tool)
			}
		}
		took = append(took, since(start))
	}
	last := &b.report.Calls[len(b.report.Calls)-1]
	last.ClientMS = new(round(percentile(took, 50)))
	return nil
}

// ServeTools is an MCP server on standard input and output, for the benchmark: add(a, b), and nap(ms).
func ServeTools(ctx context.Context) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Adds two numbers."},
		func(_ context.Context, _ *mcp.CallToolRequest, a addArgs) (*mcp.CallToolResult, map[string]int, error) {
			return nil, map[string]int{"result": a.A + a.B}, nil
		})
	type napArgs struct {
		MS int `json:"ms"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "nap", Description: "Takes a while."},
		func(ctx context.Context, _ *mcp.CallToolRequest, a napArgs) (*mcp.CallToolResult, map[string]int, error) {
			select {
			case <-time.After(time.Duration(a.MS) * time.Millisecond):
			case <-ctx.Done():
			}
			return nil, map[string]int{"result": a.MS}, nil
		})
	return s.Run(ctx, &mcp.StdioTransport{})
}
