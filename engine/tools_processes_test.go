package engine_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// TestToolBudgetOfProcesses: what a program starts by multiprocessing calls tools as well, within the budget of the program.
func TestToolBudgetOfProcesses(t *testing.T) {
	var calls atomic.Int64
	tools := hostfns.NewTools("t")
	hostfns.AddTool(tools, hostfns.Tool{Name: "double"}, func(_ context.Context, in struct {
		N int `json:"n"`
	}) (int, error) {
		calls.Add(1)
		return 2 * in.N, nil
	})
	host, err := hostfns.New(&hostfns.Options{Providers: []hostfns.Provider{tools}})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	d := newDurable(t, func(o *engine.Options) { o.Host = host })
	s := d.session("demo", nil)
	r := execRequest(t, s, engine.Request{Code: `
import asyncio, multiprocessing
from tools.t import double
def f(n):
    async def both():
        return await asyncio.gather(double.aio(n=n), double.aio(n=n + 1))
    return double(n=n), asyncio.run(both())
before = double(n=100)
with multiprocessing.Pool(3) as pool:
    found = pool.map(f, range(4))
[before, found, double(n=7)]`})
	if r.Status != engine.StatusOK || string(r.Result) != "[200, [[0, [0, 2]], [2, [2, 4]], [4, [4, 6]], [6, [6, 8]]], 14]" {
		t.Errorf("%s %s", describe(r), r.Result)
	}
	if len(r.HostCalls) != 14 || calls.Load() != 14 {
		t.Errorf("%d calls, %d told", calls.Load(), len(r.HostCalls))
	}
	r = execRequest(t, s, engine.Request{Policy: &hostfns.Policy{MaxCalls: 5}, Code: `
with multiprocessing.Pool(3) as pool:
    pool.map(f, range(4))`})
	if r.Status != engine.StatusError || calls.Load() > 14+5 {
		t.Errorf("%s, %d calls", describe(r), calls.Load()-14)
	}
	// Run again, nothing is called.
	before := calls.Load()
	if v := d.verify("demo"); v.Divergence != nil || calls.Load() != before {
		t.Errorf("%+v, %d calls more", v, calls.Load()-before)
	}
}
