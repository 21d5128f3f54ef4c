package engine_test

import "testing"

// TestTopLevelAwait: a program with await at its top level runs in one event loop from its first line to its last.
func TestTopLevelAwait(t *testing.T) {
	for name, c := range map[string]struct{ code, want string }{
		"task before await":  {"import asyncio\nasync def f(): return 7\nt = asyncio.create_task(f())\nawait t", "7"},
		"task, then a value": {"t = asyncio.create_task(f())\nx = await t\nx + 1", "8"},
		"group": {
			"async with asyncio.TaskGroup() as g:\n    t = g.create_task(f())\nt.result()", "7",
		},
		"a loop of its own first": {"x = asyncio.run(f())\ny = await f()\nx + y", "14"},
		"a loop of its own last":  {"x = await f()\ndef g(): return asyncio.run(f())\nx + g()", "14"},
		"task of the step before": {"await t", "7"},
		"no await":                {"asyncio.run(f())", "7"},
		"in a coroutine": {
			"async def h():\n    try: asyncio.run(f())\n    except RuntimeError as e: return str(e)\nawait asyncio.create_task(h())",
			"'asyncio.run() cannot be called from a running event loop'",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, nil)
			exec(t, s, "import asyncio\nasync def f(): return 7\nt = asyncio.create_task(f())\nawait asyncio.sleep(0)")
			want(t, s, c.code, c.want)
		})
	}
}
