package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

// TestThreadsEndWithStep: what becomes of the threads that a step leaves, and what the next one finds.
func TestThreadsEndWithStep(t *testing.T) {
	s := newSession(t, nil)
	exec(t, s, "import threading, time, queue")
	t.Run("joined", func(t *testing.T) {
		r := exec(t, s, "def work():\n    global made\n    time.sleep(0.05)\n    made = 42\n    print('done')\n"+
			"threading.Thread(target=work).start()\n'value'")
		if r.Stdout != "done\n" || r.ResultRepr != "'value'" || r.ThreadsEnded != 0 || r.Usage.Threads != 2 {
			t.Errorf("%s: %q, %s, %d ended, %d threads", describe(r), r.Stdout, r.ResultRepr, r.ThreadsEnded, r.Usage.Threads)
		}
		want(t, s, "made", "42")
	})
	t.Run("chain", func(t *testing.T) {
		r := exec(t, s, "def chain(n):\n    time.sleep(0.005)\n    print(n)\n    if n: threading.Thread(target=chain, args=(n - 1,)).start()\n"+
			"threading.Thread(target=chain, args=(3,)).start()")
		if r.Stdout != "3\n2\n1\n0\n" || r.ThreadsEnded != 0 {
			t.Errorf("%s: %q", describe(r), r.Stdout)
		}
	})
	t.Run("joined after an exception", func(t *testing.T) {
		r := exec(t, s, "threading.Timer(0.05, print, ('late',)).start()\n1 / 0")
		if r.Error == nil || r.Error.Type != "ZeroDivisionError" || r.Error.Line != 2 || r.Stdout != "late\n" {
			t.Errorf("%s: %q", describe(r), r.Stdout)
		}
	})
	t.Run("joined after an exit", func(t *testing.T) {
		r := exec(t, s, "import sys\nthreading.Timer(0.05, print, ('late',)).start()\nsys.exit(3)")
		if r.ExitCode != 3 || r.Stdout != "late\n" {
			t.Errorf("%s: %q", describe(r), r.Stdout)
		}
	})
	t.Run("daemon", func(t *testing.T) {
		r := exec(t, s, "log = []\ndef beat():\n    try:\n        while True: time.sleep(0.001)\n    except BaseException as e:\n        log.append(type(e).__name__)\n        raise\n"+
			"    finally:\n        log.append('cleaned'); print('cleaned')\nd = threading.Thread(target=beat, daemon=True); d.start()\ntime.sleep(0.01)")
		if r.Status != engine.StatusOK || r.Stdout != "cleaned\n" || r.Stderr != "" || r.ThreadsEnded != 1 {
			t.Errorf("%s: %q, %q, %d ended", describe(r), r.Stdout, r.Stderr, r.ThreadsEnded)
		}
		want(t, s, "log, d.is_alive(), threading.active_count()", "(['SystemExit', 'cleaned'], False, 1)")
	})
	t.Run("daemons that wait", func(t *testing.T) {
		r := exec(t, s, `
log = []
def guarded(f):
    try: f()
    finally: log.append(1)
taken = threading.Lock(); taken.acquire()
cond = threading.Condition()
def wait_cond():
    with cond: cond.wait()
for f in (taken.acquire, threading.Event().wait, queue.Queue().get, queue.SimpleQueue().get, wait_cond,
        lambda: time.sleep(1000), threading.Semaphore(0).acquire, threading.Barrier(2).wait, lambda: [None for _ in iter(int, 1)]):
    threading.Thread(target=guarded, args=(f,), daemon=True).start()`)
		if r.Status != engine.StatusOK || r.ThreadsEnded != 9 {
			t.Errorf("%s, %d ended, %q", describe(r), r.ThreadsEnded, r.Stderr)
		}
		want(t, s, "len(log), threading.active_count()", "(9, 1)")
	})
	t.Run("threads of the step before", func(t *testing.T) {
		exec(t, s, "t = threading.Thread(target=int); t.start(); ident = t.ident")
		want(t, s, "t.is_alive(), t.join(), t.ident == ident", "(False, None, True)")
		want(t, s, "t2 = threading.Thread(target=int); t2.start(); t2.join(); t2.ident != ident", "True")
	})
}

// TestPoolsLive: a pool goes on in the next step, with new threads.
func TestPoolsLive(t *testing.T) {
	s := newSession(t, nil)
	exec(t, s, "from concurrent.futures import ThreadPoolExecutor, as_completed, wait\nimport asyncio, threading, time\n"+
		"pool = ThreadPoolExecutor(3, 'mine')\nf = pool.submit(time.sleep, 0.03)\nlate = pool.submit(lambda: (time.sleep(0.05), 'late')[1])")
	want(t, s, "f.done(), late.result(0), threading.active_count()", "(True, 'late', 1)")
	for range 3 {
		want(t, s, "list(pool.map(lambda x: x * x, range(5)))", "[0, 1, 4, 9, 16]")
		want(t, s, "sorted(x.result() for x in as_completed([pool.submit(abs, -i) for i in range(4)]))", "[0, 1, 2, 3]")
	}
	// With much in the queue, all of it runs.
	exec(t, s, "done = []\nfor i in range(200): pool.submit(lambda i=i: (time.sleep(0.0005), done.append(i)))")
	want(t, s, "sorted(done) == list(range(200))", "True")
	// Tasks that submit others while the step ends.
	exec(t, s, "done.clear()\ndef again(n):\n    time.sleep(0.002)\n    done.append(n)\n    if n: pool.submit(again, n - 1)\npool.submit(again, 5)")
	want(t, s, "done", "[5, 4, 3, 2, 1, 0]")
	// After an exception, too.
	exec(t, s, "pool.submit(done.append, 'x')\n1 / 0")
	want(t, s, "done[-1], pool.submit(int).result()", "('x', 0)")
	// One that was shut down stays so.
	exec(t, s, "pool.shutdown()")
	if r := exec(t, s, "pool.submit(int)"); r.Error == nil || r.Error.Type != "RuntimeError" {
		t.Error(describe(r))
	}
	// The default executor of the loop that top-level await uses.
	want(t, s, "await asyncio.to_thread(lambda: 1)", "1")
	want(t, s, "await asyncio.gather(*[asyncio.to_thread(lambda i=i: i) for i in range(5)])", "[0, 1, 2, 3, 4]")
	want(t, s, "asyncio.run(asyncio.to_thread(lambda: 3))", "3")
}

// TestPoolInterrupted: a pool whose threads had to be ended is of use again.
func TestPoolInterrupted(t *testing.T) {
	s := newSession(t, nil)
	exec(t, s, "from concurrent.futures import ThreadPoolExecutor\nimport time, threading\npool = ThreadPoolExecutor(2)")
	r := execRequest(t, s, engine.Request{
		Code: "fs = [pool.submit(time.sleep, 1000) for _ in range(6)]\nfs[0].result()", Timeout: 200 * time.Millisecond,
	})
	if r.Status != engine.StatusTimeout || r.Error.Line != 2 || r.Error.Restored || r.ThreadsEnded != 2 {
		t.Fatalf("%s at line %d, %d ended", describe(r), r.Error.Line, r.ThreadsEnded)
	}
	want(t, s, "pool.submit(int).result()", "0")
	want(t, s, "[f.done() for f in fs]", "[True, True, True, True, True, True]")
}

// TestThreadPoolNextStep: a pool of multiprocessing says that it has ended.
func TestThreadPoolNextStep(t *testing.T) {
	s := newSession(t, nil)
	want(t, s, "from multiprocessing.pool import ThreadPool\npool = ThreadPool(2)\npool.map(abs, [-1, -2])", "[1, 2]")
	for _, use := range []string{"pool.map(abs, [-1])", "pool.apply_async(abs, (-1,)).get()", "list(pool.imap(abs, [-1]))"} {
		if r := exec(t, s, use); r.Error == nil || r.Error.Type != "ValueError" || !strings.Contains(r.Error.Message, "not running") {
			t.Errorf("%s: %s", use, describe(r))
		}
	}
	for _, code := range []string{"pool.close(); pool.join()", "pool.terminate()", "del pool", "import gc; gc.collect(); None"} {
		if r := exec(t, s, code); r.Status != engine.StatusOK || r.Stderr != "" {
			t.Errorf("%s: %s %s", code, describe(r), r.Stderr)
		}
	}
	want(t, s, "with ThreadPool(3) as pool: r = pool.map(abs, [-3])\nr", "[3]")
}

// TestThreadKill: a main thread that does not listen is killed, with all threads, and the session restored.

func TestThreadKill(t *testing.T) {
	s := newSession(t, nil)
	exec(t, s, "import threading, time\nx = 1\npool = __import__('concurrent.futures').futures.ThreadPoolExecutor(2)\npool.submit(int).result()")
	r := execRequest(t, s, engine.Request{Timeout: 200 * time.Millisecond, Code: `
x = 2
def stubborn():
    while True:
        try:
            while True: time.sleep(0.01)
        except BaseException: pass
for _ in range(5): threading.Thread(target=stubborn).start()
stubborn()`})
	if r.Status != engine.StatusTimeout || !r.Error.Restored {
		t.Fatalf("%s, restored %v", describe(r), r.Error.Restored)
	}
	want(t, s, "x, threading.active_count(), pool.submit(abs, -1).result()", "(1, 1, 1)")
}

// TestThreadMemory: the memory limit is met in a thread.
func TestThreadMemory(t *testing.T) {
	s := newSession(t, &engine.Sandbox{Memory: 128 << 20})
	r := exec(t, s, "import threading\ndef hog():\n    global x\n    x = [bytearray(1 << 20) for _ in range(1000)]\nt = threading.Thread(target=hog, name='Hog'); t.start(); t.join()\n'alive'")
	if r.Status != engine.StatusOK || !strings.Contains(r.Stderr, "MemoryError") || !strings.Contains(r.Stderr, "in thread Hog") {
		t.Errorf("%s, stderr %q", describe(r), r.Stderr)
	}
	want(t, s, "t.is_alive()", "False")
	r = exec(t, s, "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(1) as p: p.submit(hog).result()")
	if r.Status != engine.StatusMemoryLimit {
		t.Error(describe(r))
	}
	want(t, s, "1 + 1", "2")
}

// TestThreadExits: what ends a thread, and what ends the program.
func TestThreadExits(t *testing.T) {
	s := newSession(t, nil)
	exec(t, s, "import os, sys, threading, _thread, time\ndef run(f, *a):\n    t = threading.Thread(target=f, args=a, name='Worker'); t.start(); t.join()\nx = 1")
	for _, code := range []string{"run(sys.exit, 3)", "run(_thread.exit)", "run(exit)", "def f(): raise SystemExit(4)\nrun(f)"} {
		if r := exec(t, s, code); r.Status != engine.StatusOK || r.Stderr != "" {
			t.Errorf("%s: %s %s", code, describe(r), r.Stderr)
		}
	}
	r := exec(t, s, "x = 2\nrun(os._exit, 7)")
	if r.ExitCode != 7 || r.Error == nil || !r.Error.Restored {
		t.Errorf("os._exit in a thread: %s, exit code %d", describe(r), r.ExitCode)
	}
	want(t, s, "x", "1")
	r = exec(t, s, "run(_thread.interrupt_main); time.sleep(1)")
	if r.Error == nil || r.Error.Type != "KeyboardInterrupt" {
		t.Errorf("interrupt_main: %s", describe(r))
	}
	r = exec(t, s, "def bad():\n    raise ValueError('no')\nrun(bad)")
	for _, part := range []string{"Exception in thread Worker:", "in bad\n    raise ValueError('no')", "ValueError: no"} {
		if r.Status != engine.StatusOK || !strings.Contains(r.Stderr, part) {
			t.Errorf("%s, no %q in %q", describe(r), part, r.Stderr)
		}
	}
	if strings.Contains(r.Stderr, "<mayfly>") || strings.Contains(r.Stderr, "threading.py") || strings.Contains(r.Stderr, "_bootstrap") {
		t.Errorf("not trimmed: %s", r.Stderr)
	}
}

// TestThreadLimit: the error says what to do.
func TestThreadLimit(t *testing.T) {
	s := newSession(t, &engine.Sandbox{Threads: 10})
	r := exec(t, s, "import threading\ngo = threading.Event()\nfor n in range(20):\n    threading.Thread(target=go.wait, daemon=True).start()")
	if r.Status != engine.StatusError || r.Error.Type != "RuntimeError" || !strings.Contains(r.Error.Hint, "--threads") {
		t.Errorf("%s, hint %q", describe(r), r.Error.Hint)
	}
	want(t, s, "n, threading.active_count()", "(9, 1)")
	want(t, s, "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(9) as p: r = list(p.map(abs, range(50)))\nlen(r)", "50")
	one := newSession(t, &engine.Sandbox{Threads: 1})
	if r := exec(t, one, "import threading; threading.Thread(target=int).start()"); r.Status != engine.StatusError {
		t.Error(describe(r))
	}
	for _, sb := range []engine.Sandbox{{Threads: -1}, {Stacks: 1}} {
		if _, err := testEngine(t).NewSession(t.Context(), &sb); err == nil {
			t.Errorf("%+v was accepted", sb)
		}
	}
}

// TestThreadFields: what the result tells of threads, as JSON.
func TestThreadFields(t *testing.T) {
	s := newSession(t, nil)
	fields := func(code string) string {
		r := exec(t, s, code)
		b, err := json.Marshal(r)
		if err != nil || r.Status != engine.StatusOK {
			t.Fatalf("%v, %s", err, describe(r))
		}
		var m struct {
			Ended *int `json:"threads_ended"`
			Usage struct {
				Threads int      `json:"threads"`
				Ticks   []uint64 `json:"thread_ticks"`
				Stacks  int64    `json:"stacks_peak_bytes"`
			} `json:"usage"`
		}
		if err := json.NewDecoder(bytes.NewReader(b)).Decode(&m); err != nil {
			t.Fatal(err)
		}
		ended := "none"
		if m.Ended != nil {
			ended = fmt.Sprint(*m.Ended)
		}
		return fmt.Sprintf("%s ended, %d threads, %d counted", ended, m.Usage.Threads, len(m.Usage.Ticks))
	}
	for code, w := range map[string]string{
		"1": "none ended, 1 threads, 0 counted",
		"import threading\nt = threading.Thread(target=lambda: sum(range(3000000))); t.start(); t.join()":           "none ended, 2 threads, 2 counted",
		"import threading\nfor _ in range(3): threading.Thread(target=threading.Event().wait, daemon=True).start()": "3 ended, 4 threads, 4 counted",
	} {
		if got := fields(code); got != w {
			t.Errorf("%s: %s, want %s", code, got, w)
		}
	}
	r := exec(t, s, "import threading\nt = threading.Thread(target=lambda: sum(range(3000000))); t.start(); t.join()")
	if n := r.Usage.ThreadTicks; n[1] < 5*n[0] || n[0]+n[1] > r.Usage.CPUTicks {
		t.Errorf("ticks %v of %d", n, r.Usage.CPUTicks)
	}
}

// TestThreadsOfOneRun: the same in Engine.Run, where nothing comes after.
func TestThreadsOfOneRun(t *testing.T) {
	r, err := testEngine(t).Run(t.Context(), engine.Request{Code: `
import asyncio, atexit, threading, time
from concurrent.futures import ThreadPoolExecutor
def late(text):
    time.sleep(0.02); print(text)
atexit.register(print, 'at exit')
atexit.register(lambda: print(threading.active_count(), 'left'))
threading.Thread(target=late, args=('thread',)).start()
ThreadPoolExecutor(1).submit(late, 'pool')
def daemon():
    try: time.sleep(1000)
    finally: print('daemon')
threading.Thread(target=daemon, daemon=True).start()
print('main')`})
	if err != nil || r.Status != engine.StatusOK || r.ThreadsEnded != 1 {
		t.Fatalf("%v, %s, %d ended", err, describe(r), r.ThreadsEnded)
	}
	lines := strings.Split(r.Stdout, "\n")
	if len(lines) != 7 || lines[0] != "main" || strings.Join(lines[3:], "|") != "daemon|1 left|at exit|" {
		t.Errorf("%q", r.Stdout)
	}
}
