package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// watched is a server with a tool that waits until it is cancelled, and tells of its beginning and end.
func watched(begun, ended chan struct{}) *hostfns.Tools {
	p := hostfns.NewTools("watched")
	p.Add(hostfns.Tool{Name: "wait"}, func(ctx context.Context, _ *hostfns.ToolCall) (*hostfns.ToolResult, error) {
		begun <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return nil, ctx.Err()
	})
	return p
}

func newWatched(t *testing.T) (s *toolSession, begun, ended chan struct{}) {
	begun, ended = make(chan struct{}, 100), make(chan struct{}, 100)
	s = newToolSession(t, &hostfns.Options{Providers: []hostfns.Provider{demoTools(), watched(begun, ended)}})
	s.ok("import asyncio, threading, time, mayfly\nfrom tools.demo import get_sum, meet, pause, fail\nfrom tools.watched import wait")
	return s, begun, ended
}

// TestToolsConcurrently: calls of tasks and threads are under way at the same time, and timers, tasks and threads go on
// meanwhile. meet returns when so many calls are there, so what waits for its turn here hangs.
func TestToolsConcurrently(t *testing.T) {
	s, _, _ := newWatched(t)
	for name, c := range map[string]struct{ code, repr string }{
		"gather":  {"await asyncio.gather(*[meet.aio(n=10) for _ in range(10)])", "[10, 10, 10, 10, 10, 10, 10, 10, 10, 10]"},
		"run":     {"async def main(): return await asyncio.gather(meet.aio(2), meet.aio(2))\nasync def nothing(): pass\nasyncio.run(nothing()) if False else await main()", "[2, 2]"},
		"group":   {"async with asyncio.TaskGroup() as g: a, b = [g.create_task(meet.aio(2)) for _ in 'ab']\na.result() + b.result()", "4"},
		"threads": {"from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(5) as p: r = list(p.map(meet, [5] * 5))\nr", "[5, 5, 5, 5, 5]"},
		"both":    {"r = await asyncio.gather(meet.aio(3), asyncio.to_thread(meet, 3), meet.aio(3)); r", "[3, 3, 3]"},
		"timers": {`
order = []
async def tick(n):
    await asyncio.sleep(0.002 * n)
    order.append(n)
    if n == 3: order.append(await meet.aio(n=2))
await asyncio.gather(tick(1), tick(2), tick(3), meet.aio(n=2)); order`, "[1, 2, 3, 2]"},
		"thread wakes loop": {`
event, loop = asyncio.Event(), asyncio.get_running_loop()
waiting = asyncio.create_task(wait.aio())
await asyncio.sleep(0)
threading.Timer(0.01, lambda: loop.call_soon_threadsafe(event.set)).start()
await event.wait()
waiting.cancel()
try: await waiting
except asyncio.CancelledError: got = 'cancelled'
got`, "'cancelled'"},
		"loops of their own": {`
def run(n):
    async def main():
        return sum(await asyncio.gather(*[meet.aio(n=8), meet.aio(n=8)]))
    return asyncio.run(main())
r = await asyncio.gather(*[asyncio.to_thread(run, i) for i in range(4)]); r`, "[16, 16, 16, 16]"},
		"threads wake loop again and again": {`
loop = asyncio.get_running_loop()
def work(): return sum(asyncio.run_coroutine_threadsafe(get_sum.aio(i, 1), loop).result() for i in range(50))
r = await asyncio.gather(*[asyncio.to_thread(work) for _ in range(4)], pause.aio(ms=50)); r`, "[1275, 1275, 1275, 1275, 50]"},
		"busy loop": {`
task = asyncio.create_task(pause.aio(ms=5))
n = 0
await asyncio.sleep(0)
while not task.done():
    n += 1
    await asyncio.sleep(0)
[await task, n > 1]`, "[5, True]"},
		"a thousand": {"sum(await asyncio.gather(*[get_sum.aio(a=i, b=1) for i in range(500)]))", "125250"},
		"errors": {"[type(e).__name__ for e in await asyncio.gather(fail.aio(), get_sum.aio('x', 1), get_sum.aio(1, 1), return_exceptions=True)]",
			"['ToolError', 'ToolError', 'int']"},
		"as_completed": {"[await c for c in asyncio.as_completed([pause.aio(ms=3000), pause.aio(ms=1)])]", "[1, 3000]"},
		"host loop of another kind": {`
class Loop(asyncio.SelectorEventLoop): host_calls = property(lambda self: None, lambda self, v: None)
def run():
    with asyncio.Runner(loop_factory=Loop) as r: return r.run(get_sum.aio(1, 2))
await asyncio.to_thread(run)`, "3"},
	} {
		t.Run(name, func(t *testing.T) {
			s.t = t
			s.want(c.code, c.repr)
		})
	}
}

// TestToolsCancelled: what ends the waiting for a call ends the call.
func TestToolsCancelled(t *testing.T) {
	for name, c := range map[string]struct{ code, repr string }{
		"timeout": {`
try:
    async with asyncio.timeout(0.02): await wait.aio()
except TimeoutError: got = 'timeout'
got`, "'timeout'"},
		"wait_for": {"try: await asyncio.wait_for(wait.aio(), 0.02)\nexcept TimeoutError: got = 'timeout'\ngot", "'timeout'"},
		"cancel": {`
task = asyncio.create_task(wait.aio())
await asyncio.sleep(0)
task.cancel()
r = await asyncio.gather(task, return_exceptions=True); type(r[0]).__name__`, "'CancelledError'"},
		"group": {`
async with asyncio.timeout(10):
    try:
        async with asyncio.TaskGroup() as g:
            g.create_task(wait.aio())
            g.create_task(fail.aio())
    except* mayfly.ToolError as e: got = str(e.exceptions[0])
got`, "'demo.fail: no such luck'"},
		"closed loop": {`
def run():
    async def main():
        asyncio.create_task(wait.aio())
        await asyncio.sleep(0)
        return 1
    return asyncio.run(main())
await asyncio.to_thread(run)`, "1"},
		"stopped loop": {`
def run():
    loop = asyncio.new_event_loop()
    task = loop.create_task(wait.aio())
    loop.call_later(0.001, loop.stop)
    loop.run_forever()
    loop.close()
    return task.done()
await asyncio.to_thread(run)`, "False"},
	} {
		t.Run(name, func(t *testing.T) {
			s, begun, ended := newWatched(t)
			s.want(c.code, c.repr)
			<-begun
			<-ended
			s.want("await get_sum.aio(1, 2)", "3")
		})
	}
}

// TestToolsAtTimeLimit: the time limit of the execution is raised where the program waits, and ends the calls.
func TestToolsAtTimeLimit(t *testing.T) {
	s, begun, ended := newWatched(t)
	for name, c := range map[string]struct {
		code string
		line int
		part string
	}{
		"call":   {"x = 1\nwait()", 2, "wait()"},
		"await":  {"async def f():\n    await wait.aio()\n\nawait f()", 2, "await wait.aio()"},
		"gather": {"a = 0\nawait asyncio.gather(wait.aio(), wait.aio())", 2, "await asyncio.gather"},
		"run":    {"async def main():\n    await wait.aio()\nt = threading.Thread(target=lambda: asyncio.run(main()))\nt.start(); t.join()", 4, "t.join()"},
		"pool":   {"from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as p:\n    list(p.map(lambda _: wait(), range(2)))", 3, "list(p.map"},
	} {
		t.Run(name, func(t *testing.T) {
			r := execRequest(t, s.Session, engine.Request{Code: c.code, Host: s.host, Timeout: 300 * time.Millisecond})
			if r.Status != engine.StatusTimeout || r.Error.Type != "TimeoutError" || r.Error.Restored {
				t.Fatal(describe(r))
			}
			if r.Error.Line != c.line || !strings.Contains(r.Error.Traceback, c.part) || strings.Contains(r.Error.Traceback, "<mayfly>") {
				t.Errorf("line %d\n%s", r.Error.Line, r.Error.Traceback)
			}
			<-begun
			<-ended
			for len(begun) > 0 {
				<-begun
				<-ended
			}
			s.t = t
			s.want("await get_sum.aio(1, 2)", "3")
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	r, err := s.Exec(ctx, engine.Request{Code: "try: await wait.aio()\nfinally: print('cleaned')", Host: s.host})
	if err != nil || r.Status != engine.StatusCancelled || r.Stdout != "cleaned\n" {
		t.Errorf("%v, %s, %q", err, describe(r), r.Stdout)
	}
	<-ended
}

// TestToolsAndDeadlocks: who waits for a call is not in a deadlock; without one, deadlocks are found as ever.
func TestToolsAndDeadlocks(t *testing.T) {
	s, _, _ := newWatched(t)
	s.want("await asyncio.gather(pause.aio(ms=20), asyncio.to_thread(pause, 20))", "[20, 20]")
	s.fails("await asyncio.Event().wait()", "mayfly.DeadlockError", "asyncio")
	s.fails("await get_sum.aio(1, 2)\nawait asyncio.Event().wait()", "mayfly.DeadlockError", "asyncio")
	s.fails("task = asyncio.create_task(pause.aio(ms=20))\nawait asyncio.Event().wait(); x = 1", "mayfly.DeadlockError", "asyncio")
	s.fails("lock = threading.Lock(); lock.acquire()\nt = threading.Thread(target=pause, args=(20,)); t.start()\nlock.acquire()", "mayfly.DeadlockError", "lock.acquire()")
}

// TestToolsBetweenSteps: a call ends with the execution that made it. A task that still waits in the next one is told so.
func TestToolsBetweenSteps(t *testing.T) {
	s, begun, ended := newWatched(t)
	s.ok("task = asyncio.create_task(wait.aio())\nother = asyncio.create_task(asyncio.sleep(0.01, 'slept'))\nawait asyncio.sleep(0); x = 1")
	<-begun
	<-ended
	s.want("await get_sum.aio(1, 2)", "3")
	s.want("try: await task\nexcept mayfly.ToolError as e: got = [e.code, e.server, e.tool, 'has ended' in e.message]\ngot", "['cancelled', 'watched', 'wait', True]")
	s.want("await other", "'slept'")
	// A step that is undone never made its call, as far as the memory knows.
	s.ok("task = asyncio.create_task(wait.aio())\nawait asyncio.sleep(0); x = 1")
	<-ended
	r := execRequest(t, s.Session, engine.Request{
		Code: "t2 = asyncio.create_task(wait.aio())\nawait asyncio.sleep(0)\nimport os; os._exit(1)", Host: s.host,
	})
	if r.Error == nil || !r.Error.Restored {
		t.Fatal(describe(r))
	}
	<-ended
	s.want("(await asyncio.gather(task, get_sum.aio(2, 2), return_exceptions=True))[1]", "4")
	s.want("'t2' in globals(), task.exception().code", "(False, 'cancelled')")
	// The last execution of a sandbox.
	r, err := testEngine(t).Run(t.Context(), engine.Request{
		Host: s.host, Code: "import asyncio\nfrom tools.watched import wait\nasync def f():\n    try: await wait.aio()\n    finally: print('cleaned')\ntask = asyncio.create_task(f())\nawait asyncio.sleep(0); x = 1",
	})
	if err != nil || r.Stdout != "cleaned\n" {
		t.Errorf("%v, %s, %q", err, describe(r), r.Stdout)
	}
	<-ended
}
