package engine_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// newDurableTools is a durable engine with the tools of demoTools and one that counts its calls.
func newDurableTools(t *testing.T) (*durable, *atomic.Int64) {
	p, n := demoTools(), &atomic.Int64{}
	p.Add(hostfns.Tool{Name: "count"}, func(context.Context, *hostfns.ToolCall) (*hostfns.ToolResult, error) {
		return &hostfns.ToolResult{Structured: mustJSON(map[string]any{"n": n.Add(1)})}, nil
	})
	h := toolHost(t, &hostfns.Options{Providers: []hostfns.Provider{p}})
	return newDurable(t, func(o *engine.Options) { o.Host = h }), n
}

// TestVerifyTools: a session that used tools in all ways is run again, with the answers of the journal.
func TestVerifyTools(t *testing.T) {
	d, n := newDurableTools(t)
	s := d.session("demo", nil)
	for _, code := range []string{
		"import asyncio, threading, tools\nfrom tools import demo\nfrom tools.demo import count, pause, meet, get_sum",
		"a = [count()['n'] for _ in range(3)]",
		"b = await asyncio.gather(*[count.aio() for _ in range(20)])",
		"c = await asyncio.gather(pause.aio(ms=20), pause.aio(ms=1), asyncio.sleep(0.005, 'slept'), meet.aio(2), meet.aio(2))",
		"try:\n    async with asyncio.timeout(0.01): await demo.wait.aio()\nexcept TimeoutError: e = 'timeout'",
		"try: get_sum('x', 1)\nexcept tools.ToolError as exc: f = str(exc)",
		"task = asyncio.create_task(demo.wait.aio())\nawait asyncio.sleep(0); x = 1",
		"try: await task\nexcept tools.ToolError as exc: g = exc.code\ng",
		"big = demo.large_text(n=100_000)\nlines = sum(1 for _ in big.lines()); lines",
		"media = demo.media()",
	} {
		if r := exec(t, s, code); r.Error != nil {
			t.Fatalf("%s\n%s", code, r.Error.Traceback)
		}
	}
	// Threads take turns as they like, so such a step is not compared; but its calls are not made again either.
	exec(t, s, "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(3) as pool: list(pool.map(lambda _: count(), range(9)))")
	before := n.Load()
	v := d.verify("demo")
	if !v.OK || v.Identical < v.Executed-1 || n.Load() != before {
		t.Errorf("%+v, %v, %d calls", v, v.Divergence, n.Load()-before)
	}
	want(t, s, "len(a), len(b), c[:3], e, g, lines", "(3, 20, [20, 1, 'slept'], 'timeout', 'cancelled', 100000)")
}

// TestToolsInDurableSessions: functions outlive a restart; forks and rewinds make calls of their own.
func TestToolsInDurableSessions(t *testing.T) {
	d, _ := newDurableTools(t)
	s := d.session("demo", nil)
	exec(t, s, "import asyncio, tools\nfrom tools import demo\nfrom tools.demo import count\nfirst = count()['n']\nbig = demo.large_text(n=100_000)")
	exec(t, s, "task = asyncio.create_task(demo.wait.aio())\nawait asyncio.sleep(0); x = 1")
	d.restart()
	s = d.session("demo", nil)
	want(t, s, "count()['n'] - first, demo.get_sum(1, 2), await demo.get_sum.aio(1, 2)", "(1, 3, 3)")
	want(t, s, "try: big[0]\nexcept tools.ToolError.__mro__[1] as exc: code = exc.code\ncode", "'handle'")
	want(t, s, "try: await task\nexcept tools.ToolError as exc: code = exc.code\ncode", "'cancelled'")
	if _, err := s.Rewind(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	want(t, s, "count()['n'] - first, (await asyncio.gather(task, return_exceptions=True))[0].code", "(2, 'cancelled')")
	f, err := d.Fork(t.Context(), "demo", 2, "fork")
	if err != nil {
		t.Fatal(err)
	}
	want(t, f, "(await asyncio.gather(task, count.aio(), return_exceptions=True))[1]['n'] - first", "3")
	for _, name := range []string{"demo", "fork"} {
		if v := d.verify(name); !v.OK || v.Identical != v.Executed {
			t.Errorf("%s: %+v, %v", name, v, v.Divergence)
		}
	}
}
