package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

// TestThreadTimeout: threads that wait for something, each in its own way, do not hold up the end of the time.
func TestThreadTimeout(t *testing.T) {
	// What nobody can end is a deadlock as soon as the main thread waits as well.
	nobody := map[string]bool{"lock": true, "queue": true, "simple": true, "event": true, "condition": true}
	for name, work := range map[string]string{
		"sleep":     "time.sleep(1000)",
		"lock":      "lock.acquire()",
		"queue":     "queue.Queue().get()",
		"simple":    "queue.SimpleQueue().get()",
		"event":     "threading.Event().wait()",
		"condition": "cond.acquire(); cond.wait()",
		"input":     "input()",
		"asyncio":   "asyncio.run(asyncio.sleep(1000))",
		"loop":      "while True: pass",
		"regex":     "re.match(r'(a+)+$', 'a' * 60 + 'b')",
		"bignum":    "9 ** 9 ** 9",
		"json":      "while True: json.dumps(list(range(100000)))",
		"sqlite":    "sqlite3.connect(':memory:').execute('with recursive c(x) as (select 1 union all select x + 1 from c) select sum(x) from c').fetchall()",
		"file":      "while True: open('x', 'w').write('x' * 100000)",
		"swallow":   "while True:\n        try: time.sleep(0.001)\n        except BaseException: pass",
	} {
		for where, code := range map[string]string{
			"main joins":  "t = threading.Thread(target=work); t.start(); t.join()",
			"main sleeps": "threading.Thread(target=work, daemon=True).start(); time.sleep(1000)",
			"at the end":  "threading.Thread(target=work).start()",
			"main spins":  "threading.Thread(target=work).start()\nwhile True: pass",
		} {
			t.Run(name+"/"+where, func(t *testing.T) {
				t.Parallel()
				s := newSession(t, nil)
				exec(t, s, "import asyncio, json, queue, re, sqlite3, threading, time\nlock = threading.Lock(); lock.acquire()\ncond = threading.Condition()\nkept = 'kept'")
				in := &blockingReader{done: make(chan struct{})}
				defer close(in.done)
				start := time.Now()
				r := execRequest(t, s, engine.Request{
					Code: "def work():\n    " + work + "\n" + code, Timeout: 300 * time.Millisecond, Stdin: in,
				})
				took := time.Since(start)
				if nobody[name] && (where == "main joins" || where == "at the end") {
					if r.Error == nil || r.Error.Kind != "deadlock" {
						t.Fatalf("%s, want a deadlock", describe(r))
					}
				} else if r.Status != engine.StatusTimeout || took > 20*time.Second {
					t.Fatalf("%s after %v", describe(r), took)
				}
				t.Logf("%v, restored %v, %d ended", took, r.Error.Restored, r.ThreadsEnded)
				want(t, s, "kept, threading.active_count()", "('kept', 1)")
				want(t, s, "t = threading.Thread(target=print, args=('x',)); t.start(); t.join()\nlock.locked()", "True")
			})
		}
	}
}

// TestThreadCancel: the context ends waits of the main thread and of others.
func TestThreadCancel(t *testing.T) {
	s := newSession(t, nil)
	exec(t, s, "import threading, time\nx = 1")
	for _, code := range []string{
		"t = threading.Thread(target=time.sleep, args=(1000,)); t.start()\nprint('started', flush=True)\nt.join()",
		"threading.Thread(target=time.sleep, args=(1000,)).start()\nprint('started', flush=True)",
		"def spin():\n    print('started', flush=True)\n    while True: pass\nthreading.Thread(target=spin).start()",
	} {
		ctx, cancel := context.WithCancel(context.Background())
		r, err := s.Exec(ctx, engine.Request{Code: code, OnEvent: func(engine.Event) { cancel() }})
		cancel()
		if err != nil || r.Status != engine.StatusCancelled {
			t.Errorf("%v, %s", err, describe(r))
		}
		want(t, s, "x, threading.active_count()", "(1, 1)")
	}
}

// TestPoolTimeout: what leaves a pool when the time is over does not wait for its threads, or the program would be killed.
func TestPoolTimeout(t *testing.T) {
	for name, code := range map[string]string{
		"map":            "with ThreadPoolExecutor(2) as p: list(p.map(time.sleep, [1000] * 5))",
		"as_completed":   "with ThreadPoolExecutor(2) as p:\n    for f in as_completed([p.submit(time.sleep, 1000) for _ in range(5)]): f.result()",
		"no wait":        "with ThreadPoolExecutor(2) as p: [p.submit(time.sleep, 1000) for _ in range(5)]",
		"shared":         "p = ThreadPoolExecutor(2); [p.submit(time.sleep, 1000) for _ in range(5)]",
		"shut down":      "p = ThreadPoolExecutor(2); [p.submit(time.sleep, 1000) for _ in range(5)]; p.shutdown(wait=False)",
		"busy":           "with ThreadPoolExecutor(2) as p: list(p.map(spin, range(5)))",
		"ThreadPool":     "with ThreadPool(2) as p: p.map(time.sleep, [1000] * 5)",
		"ThreadPool end": "p = ThreadPool(2); r = p.map_async(time.sleep, [1000] * 5); p.close(); p.join()",
		"await":          "await asyncio.to_thread(time.sleep, 1000)",
		"asyncio.run":    "asyncio.run(asyncio.to_thread(time.sleep, 1000))",
		"gather":         "await asyncio.gather(*[asyncio.to_thread(spin) for _ in range(3)])",
		"executor":       "async def main():\n    with ThreadPoolExecutor(2) as p: await asyncio.get_running_loop().run_in_executor(p, time.sleep, 1000)\nasyncio.run(main())",
		"loop in thread": "l = asyncio.new_event_loop(); t = threading.Thread(target=l.run_forever); t.start()\nasyncio.run_coroutine_threadsafe(asyncio.sleep(1000), l).result()",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, nil)
			exec(t, s, "import asyncio, threading, time\nfrom concurrent.futures import ThreadPoolExecutor, as_completed\nfrom multiprocessing.pool import ThreadPool\ndef spin(*_):\n    while True: pass\nx = 1")
			r := execRequest(t, s, engine.Request{Code: code, Timeout: 300 * time.Millisecond})
			if r.Status != engine.StatusTimeout || r.Error.Type != "TimeoutError" || r.Error.Restored || r.ThreadsEnded == 0 {
				t.Errorf("%s, restored %v, %d ended after %.0f ms\n%s", describe(r), r.Error.Restored, r.ThreadsEnded, r.Usage.WallMS, r.Error.Traceback)
			}
			want(t, s, "x, threading.active_count()", "(1, 1)")
			want(t, s, "with ThreadPoolExecutor(2) as p: r = list(p.map(abs, [-1, -2]))\nr", "[1, 2]")
			want(t, s, "await asyncio.to_thread(abs, -3)", "3")
		})
	}
}

// TestThreadTimeoutAtEnd: the traceback shows where the thread is that takes so long.
func TestThreadTimeoutAtEnd(t *testing.T) {
	s := newSession(t, nil)
	r := execRequest(t, s, engine.Request{Timeout: 200 * time.Millisecond, Code: `
import threading, time
def slow():
    time.sleep(1000)
threading.Thread(target=slow, name='Slow').start()`})
	if r.Status != engine.StatusTimeout || r.Error.Line != 4 {
		t.Errorf("%s at line %d", describe(r), r.Error.Line)
	}
	for _, part := range []string{"line 4, in slow\n    time.sleep(1000)", "MainThread is at its end", "Slow is at <step 1>:4: time.sleep(1000)"} {
		if !strings.Contains(r.Error.Traceback, part) {
			t.Errorf("no %q in\n%s", part, r.Error.Traceback)
		}
	}
	r = exec(t, s, "lock = threading.Lock(); lock.acquire()\ndef stuck(): lock.acquire()\nthreading.Thread(target=stuck).start()\n1 / 0")
	if r.Error == nil || r.Error.Type != "ZeroDivisionError" || !strings.Contains(r.Stderr, "(stuck) waits for a lock at <step 2>:2") || strings.Contains(r.Stderr, "ZeroDivisionError") {
		t.Errorf("%s, stderr %s", describe(r), r.Stderr)
	}
}

// TestThreadTicks: the CPU limit counts what all threads do.
func TestThreadTicks(t *testing.T) {
	s := newSession(t, nil)
	r := execRequest(t, s, engine.Request{MaxTicks: 100, Code: `
import threading
def spin():
    while True: pass
for _ in range(3): threading.Thread(target=spin, daemon=True).start()
threading.Event().wait()`})
	if r.Status != engine.StatusTimeout || r.Error.Line < 5 || r.Usage.CPUTicks > 2000 {
		t.Errorf("%s at line %d after %d ticks", describe(r), r.Error.Line, r.Usage.CPUTicks)
	}
}

// TestThreadTimeoutInFile: files of the host are no exception.
func TestThreadTimeoutInFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "big"), make([]byte, 32<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSession(t, &engine.Sandbox{Mounts: []engine.Mount{{Host: dir, Guest: "/data"}}})
	r := execRequest(t, s, engine.Request{Timeout: 300 * time.Millisecond, Code: `
import threading
f = open('/data/big', 'rb')
def read():
    while True:
        with open('/data/big', 'rb') as own: own.read()
ts = [threading.Thread(target=read) for _ in range(4)]
for t in ts: t.start()
for t in ts: t.join()`})
	if r.Status != engine.StatusTimeout {
		t.Fatal(describe(r))
	}
	want(t, s, "len(f.read()), threading.active_count()", "(33554432, 1)")
}
