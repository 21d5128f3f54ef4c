package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// manyTools is a server of n tools that look like real ones.
func manyTools(server string, n int) *hostfns.Tools {
	p := hostfns.NewTools(server)
	for i := range n {
		p.Add(hostfns.Tool{
			Name: fmt.Sprintf("tool-%d", i), Description: fmt.Sprintf("Does what number %d does, to all rows of a table.", i),
			InputSchema: []byte(`{"type":"object","properties":{"path":{"type":"string","description":"where the table is"},` +
				`"limit":{"type":"integer","default":10},"columns":{"type":"array","items":{"type":"string"}}},"required":["path"]}`),
		}, func(_ context.Context, c *hostfns.ToolCall) (*hostfns.ToolResult, error) {
			return &hostfns.ToolResult{Content: []hostfns.Block{{Type: hostfns.BlockText, Text: c.Tool}}}, nil
		})
	}
	return p
}

// benchTools runs code in a session with the tools of demoTools once, and then step in each iteration.
func benchTools(b *testing.B, setup string) *toolSession {
	b.Helper()
	// Budgets are not what is measured.
	s := newToolSession(b, &hostfns.Options{Policy: &hostfns.Policy{MaxCalls: 1 << 30, MaxBytes: 1 << 40}})
	if r := s.exec("import tools, asyncio, time\nfrom tools.demo import get_sum, echo\nget_sum(a=1, b=2); await get_sum.aio(a=1, b=2)\n" + setup); r.Error != nil {
		b.Fatal(describe(r))
	}
	return s
}

// BenchmarkToolCall is the round trip of get_sum(a=1, b=2) as the program sees it, with a tool in Go.
func BenchmarkToolCall(b *testing.B) {
	for _, c := range []struct{ name, call string }{
		{"sync", "get_sum(a=1, b=2)"},
		{"async", "await get_sum.aio(a=1, b=2)"},
		{"json10KB", "echo(rows=rows)"},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := benchTools(b, "rows = [{'id': i, 'name': 'row %d' % i, 'value': i / 7} for i in range(200)]\nall = []")
			code := strings.ReplaceAll(`
t, now = [], time.perf_counter_ns
for _ in range(1000):
    start = now()
    CALL
    t.append(now() - start)
all += t
`, "CALL", c.call)
			n := 0
			for b.Loop() {
				if r := s.exec(code); r.Error != nil {
					b.Fatal(r.Error.Traceback)
				}
				n++
			}
			r := s.exec("all.sort(); [all[len(all) // 2] / 1000, all[len(all) * 99 // 100] / 1000]")
			var p50, p99 float64
			if _, err := fmt.Sscanf(string(r.Result), "[%f, %f]", &p50, &p99); err != nil {
				b.Fatal(string(r.Result), err)
			}
			b.ReportMetric(p50, "p50-µs")
			b.ReportMetric(p99, "p99-µs")
		})
	}
}

// BenchmarkThousandCalls is a step with 1,000 calls of a tool in Go.
func BenchmarkThousandCalls(b *testing.B) {
	for _, c := range []struct{ name, code string }{
		{"sequential", "for i in range(1000): get_sum(a=i, b=1)"},
		{"gathered", "await asyncio.gather(*[get_sum.aio(a=i, b=1) for i in range(1000)]); None"},
		{"threads8", "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(8) as p: list(p.map(lambda i: get_sum(a=i, b=1), range(1000)))"},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := benchTools(b, "")
			for b.Loop() {
				if r := s.exec(c.code); r.Error != nil {
					b.Fatal(r.Error.Traceback)
				}
			}
		})
	}
}

// BenchmarkImportTools is the import of a server with 1,000 tools in a new sandbox, its listing known, as the program sees it.
func BenchmarkImportTools(b *testing.B) {
	h := toolHost(b, &hostfns.Options{Providers: []hostfns.Provider{manyTools("big", 1000)}})
	for _, c := range []struct{ name, code string }{
		{"module", "import tools.big"},
		{"names", "from tools.big import tool_1, tool_500, tool_999"},
		{"star", "from tools.big import *"},
		{"first call", "from tools.big import tool_1; tool_1('x')"},
	} {
		b.Run(c.name, func(b *testing.B) {
			var inside float64
			for b.Loop() {
				r, err := testEngine(b).Run(b.Context(), engine.Request{
					Host: h, Timeout: time.Minute, Code: "import time\nt = time.perf_counter()\n" + c.code + "\n1e3 * (time.perf_counter() - t)",
				})
				if err != nil || r.Error != nil {
					b.Fatal(err, describe(r))
				}
				var ms float64
				if _, err := fmt.Sscan(string(r.Result), &ms); err != nil {
					b.Fatal(err)
				}
				inside += ms
			}
			b.ReportMetric(inside/float64(b.N), "import-ms")
		})
	}
}
