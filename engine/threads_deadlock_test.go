package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

// TestDeadlock: every thread waits. The message names them, what they wait for and where; the session goes on.
func TestDeadlock(t *testing.T) {
	for name, c := range map[string]struct {
		code  string
		parts []string
	}{
		"twice": {"lock.acquire()\nlock.acquire()", []string{"MainThread waits for a lock at <step 2>:2: lock.acquire()"}},
		"with":  {"with lock:\n    with lock: pass", []string{"MainThread waits for a lock at <step 2>:2: with lock: pass"}},
		"ABBA": {`
a, b = threading.Lock(), threading.Lock()
def take(x, y):
    with x:
        time.sleep(0.01)
        y.acquire()
for n, l in (('First', (a, b)), ('Second', (b, a))):
    threading.Thread(target=take, args=l, name=n).start()`,
			[]string{"MainThread is at its end", "First waits for a lock at <step 2>:6: y.acquire()", "Second waits for a lock at <step 2>:6"}},
		"queue":       {"import queue\nqueue.Queue().get()", []string{"MainThread waits for Queue.get at <step 2>:2: queue.Queue().get()"}},
		"full queue":  {"import queue\nq = queue.Queue(1)\nq.put(1); q.put(2)", []string{"waits for Queue.put at <step 2>:3"}},
		"simple":      {"import queue\nqueue.SimpleQueue().get()", []string{"at <step 2>:2: queue.SimpleQueue().get()"}},
		"queue join":  {"import queue\nq = queue.Queue(); q.put(1)\nq.join()", []string{"waits for Queue.join at <step 2>:3"}},
		"event":       {"threading.Event().wait()", []string{"waits for Event.wait at <step 2>:1"}},
		"condition":   {"c = threading.Condition()\nwith c: c.wait()", []string{"waits for Condition.wait at <step 2>:2"}},
		"semaphore":   {"threading.Semaphore(0).acquire()", []string{"waits for Semaphore.acquire at <step 2>:1"}},
		"barrier":     {"threading.Barrier(2).wait()", []string{"waits for Barrier.wait at <step 2>:1"}},
		"future":      {"from concurrent.futures import Future\nFuture().result()", []string{"waits for Future.result at <step 2>:2"}},
		"join":        {"t = threading.Thread(target=lock2.acquire, name='Stuck'); t.start()\nt.join()", []string{"MainThread waits for Thread.join of Stuck at <step 2>:2", "\n  Stuck waits"}},
		"join by two": {"t = threading.Thread(target=lock2.acquire, name='Stuck'); t.start()\nu = threading.Thread(target=t.join, name='Other'); u.start()\nu.join()", []string{"of Other at <step 2>:3", "Other waits for Thread.join of Stuck"}},
		"raw":         {"import _thread\ndef f(): lock2.acquire()\n_thread.start_new_thread(f, ())\ntime.sleep(0.01)\nthreading.Event().wait()", []string{"\n  thread ", "lock at <step 2>:2"}},
		"await":       {"import asyncio\nawait asyncio.Event().wait()", []string{"asyncio"}},
		"await, pool": {"import asyncio\nawait asyncio.to_thread(int)\nawait asyncio.Event().wait()", []string{"MainThread waits for", "asyncio_0 waits"}},
		"run, pool":   {"import asyncio\nasync def main():\n    await asyncio.to_thread(int)\n    await asyncio.Event().wait()\nasyncio.run(main())", []string{"MainThread waits for", "<step 2>:5: asyncio.run(main())"}},
		"pool":        {"from concurrent.futures import ThreadPoolExecutor\np = ThreadPoolExecutor(1)\np.submit(lambda: p.submit(int).result()).result()", []string{"MainThread waits for Future.result at <step 2>:3", "_0 waits for Future.result at <step 2>:3"}},
		"pool at end": {"from concurrent.futures import ThreadPoolExecutor\np = ThreadPoolExecutor(1)\np.submit(lambda: p.submit(int).result())", []string{"MainThread is at its end", "_0 waits for Future.result at <step 2>:3"}},
		"many":        {"for _ in range(50): threading.Thread(target=lock2.acquire).start()", []string{"and 31 more"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, nil)
			exec(t, s, "import threading, time\nlock, lock2 = threading.Lock(), threading.Lock()\nlock2.acquire(); x = 1")
			r := exec(t, s, c.code)
			if r.Status != engine.StatusError || r.Error.Kind != "deadlock" || r.Error.Type != "mayfly.DeadlockError" || r.Error.Restored {
				t.Fatalf("%s, restored %v\n%s", describe(r), r.Error != nil && r.Error.Restored, r.Stderr)
			}
			for _, part := range c.parts {
				if !strings.Contains(r.Error.Message, part) {
					t.Errorf("no %q in %s", part, r.Error.Message)
				}
			}
			if strings.Contains(r.Error.Message, "<mayfly>") {
				t.Errorf("names our own files: %s", r.Error.Message)
			}
			want(t, s, "x, threading.active_count()", "(1, 1)")
			want(t, s, "t = threading.Thread(target=print); t.start(); t.join()\nfrom concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor(1).submit(int).result()", "0")
		})
	}
}

// TestDeadlockCaught: a program may go on after a deadlock, which it can catch as a RuntimeError.
func TestDeadlockCaught(t *testing.T) {
	s := newSession(t, nil)
	want(t, s, `
import mayfly, threading
lock, caught = threading.Lock(), 0
lock.acquire()
t = threading.Thread(target=lock.acquire)
t.start()
for _ in range(5):
    try: t.join()
    except mayfly.DeadlockError: caught += 1
try: threading.Event().wait()
except RuntimeError: caught += 1
lock.release()
t.join()
caught`, "6")
}

// TestNoDeadlock: somebody may still come.
func TestNoDeadlock(t *testing.T) {
	s := newSession(t, nil)
	r := execRequest(t, s, engine.Request{Stdin: &slowReader{text: "Ada\n", wait: 200 * time.Millisecond}, Code: `
import threading
got = threading.Event()
t = threading.Thread(target=got.wait)
t.start()
name = input()
got.set()
t.join()
name`})
	if r.ResultRepr != "'Ada'" {
		t.Errorf("main in input(): %s", describe(r))
	}
	r = execRequest(t, s, engine.Request{Stdin: &slowReader{text: "Ada\n", wait: 200 * time.Millisecond}, Code: `
names = []
t = threading.Thread(target=lambda: names.append(input()))
t.start()
t.join()
names`})
	if r.ResultRepr != "['Ada']" {
		t.Errorf("another in input(): %s", describe(r))
	}
	for _, code := range []string{
		"e = threading.Event(); threading.Timer(0.2, e.set).start(); e.wait()",
		"import time\ne = threading.Event(); threading.Thread(target=lambda: (time.sleep(0.2), e.set())).start(); e.wait()",
		"import asyncio\nawait asyncio.sleep(0)\ne = asyncio.Event(); l = asyncio.get_running_loop()\nthreading.Timer(0.2, l.call_soon_threadsafe, (e.set,)).start()\nawait e.wait()",
	} {
		if r := exec(t, s, code); r.Status != engine.StatusOK {
			t.Errorf("%s: %s", code, describe(r))
		}
	}
}

// slowReader delivers its text after some time.
type slowReader struct {
	text string
	wait time.Duration
}

func (r *slowReader) Read(b []byte) (int, error) {
	time.Sleep(r.wait)
	n := copy(b, r.text)
	r.text = r.text[n:]
	if n == 0 {
		return 0, fmt.Errorf("no more")
	}
	return n, nil
}
