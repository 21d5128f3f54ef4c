package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

// TestDroppedThreads: daemons that do not listen are dropped, again and again, wherever they are.
func TestDroppedThreads(t *testing.T) {
	s := newSession(t, nil)
	exec(t, s, `
import io, logging, os, queue, sys, threading, time
n = 0
def stubborn(work):
    global n
    while True:
        try:
            while True:
                n += 1
                work()
        except BaseException: pass
def log():
    with logging._lock: time.sleep(0.001)
handler = logging.StreamHandler(io.StringIO()); logging.getLogger().addHandler(handler)
def handle():
    with handler.lock: logging.warning('x')
def import_new():
    sys.modules.pop('colorsys', None)
    import colorsys
q = queue.Queue()
works = [lambda: None, lambda: time.sleep(0.0001), log, handle, import_new, lambda: print('x' * 50, file=sys.stderr),
    lambda: sys.stdout.write('y\n'), lambda: open('f', 'w').write('z' * 1000), lambda: time.strptime('2001', '%Y'),
    lambda: [[] for _ in range(1000)], lambda: q.put(1) or q.get(), lambda: threading.Thread(target=int).start(),
    lambda: sorted(range(1000)), lambda: os.listdir('/')]
def go(i):
    for k in range(3):
        threading.Thread(target=stubborn, args=(works[(i + k) % len(works)],), daemon=True).start()
    time.sleep(0.005)`)
	var first, last int64
	for i := range 50 {
		r := exec(t, s, fmt.Sprintf("go(%d)", i))
		if r.Status != engine.StatusOK || r.ThreadsEnded < 3 {
			t.Fatalf("step %d: %s, %d ended", i, describe(r), r.ThreadsEnded)
		}
		r = exec(t, s, `
import colorsys
logging.warning('next'); print('out'); print('err', file=sys.stderr)
t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()
time.strptime('2001', '%Y'), threading.active_count()`)
		if r.Status != engine.StatusOK || r.Stderr != "err\n" || !strings.HasSuffix(r.Stdout, "out\nthread\n") {
			t.Fatalf("after step %d: %s, %q, %q", i, describe(r), r.Stdout, r.Stderr)
		}
		if last = r.Usage.MemoryPeakBytes; i == 4 {
			first = last
		}
	}
	t.Logf("memory grew from %d to %d MiB", first>>20, last>>20)
	if last > first+64<<20 {
		t.Errorf("memory grew from %d to %d MiB", first>>20, last>>20)
	}
	want(t, s, "q2 = queue.Queue(); q2.put(1); q2.get(), n > 100", "(1, True)")
}

// TestDroppedInside: a thread was dropped in the middle of a statement of SQL, a collection, a write. What it held for good
// is a deadlock for the next that wants it, and the session goes on.
func TestDroppedInside(t *testing.T) {
	s := newSession(t, nil)
	exec(t, s, `
import gc, sqlite3, sys, threading, time
def for_ever(*_):
    while True:
        try: time.sleep(0.001)
        except BaseException: pass
class Garbage:
    def __init__(self): self.me = self
    __del__ = for_ever
class Writer:
    write = for_ever
db = sqlite3.connect(':memory:', check_same_thread=False)
db.create_function('f', 1, for_ever)
lock = threading.Lock()
def hold():
    with lock: for_ever()
def collect():
    Garbage(); gc.collect()`)
	for name, c := range map[string]struct{ start, then, kind string }{
		"statement":  {"db.execute, ('select f(1)',)", "db.execute('select 1').fetchall()", "deadlock"},
		"collection": {"collect, ()", "a = []; a.append(a); del a; gc.collect() >= 1", ""},
		"write":      {"lambda: print('x', file=Writer()), ()", "print('x')", ""},
		"own lock":   {"hold, ()", "lock.acquire()", "deadlock"},
		"sort":       {"lambda: sorted([1, 2], key=for_ever), ()", "sorted([2, 1])", ""},
		"import":     {"lambda: exec('import colorsys'), ()", "import colorsys", ""},
	} {
		r := exec(t, s, fmt.Sprintf("threading.Thread(target=%s, daemon=True).start()\ntime.sleep(0.01)", strings.Replace(c.start, ", (", ", args=(", 1)))
		if r.Status != engine.StatusOK {
			t.Errorf("%s: %s", name, describe(r))
		}
		r = exec(t, s, c.then)
		if (r.Error == nil) != (c.kind == "") || r.Error != nil && r.Error.Kind != c.kind {
			t.Errorf("after %s: %s", name, describe(r))
		}
		want(t, s, "t = threading.Thread(target=int); t.start(); t.join(); sqlite3.connect(':memory:').execute('select 1').fetchall()", "[(1,)]")
	}
}

// TestThreadHammer: sessions whose threads are stopped at any moment by time limits, contexts and Close.
func TestThreadHammer(t *testing.T) {
	const setUp = `
import asyncio, queue, random, threading, time
from concurrent.futures import ThreadPoolExecutor
pool, q, lock, steps = ThreadPoolExecutor(4), queue.Queue(), threading.Lock(), 0
def spin():
    while True: sum(range(1000))
def stubborn():
    while True:
        try: time.sleep(0.001)
        except BaseException: pass
def write():
    while True: open('f%d' % threading.get_ident(), 'w').write('x' * 5000)
def locks():
    while True:
        with lock: time.sleep(0)
def start():
    while True: threading.Thread(target=int).start()
async def loop():
    await asyncio.gather(*[asyncio.to_thread(time.sleep, 0.001) for _ in range(10)])
works = [spin, stubborn, write, locks, start, q.get, input, lambda: asyncio.run(loop()), lambda: time.sleep(0.01), lambda: 1 / 0,
    lambda: pool.submit(time.sleep, 0.01).result(), lambda: list(pool.map(abs, range(100))), lambda: print('x' * 1000)]`
	const step = `
steps += 1
for w in random.choices(works, k=random.randrange(1, 8)):
    threading.Thread(target=w, daemon=random.random() < 0.7).start()
random.choice(works)()`
	deadline := time.Now().Add(3 * time.Second)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for time.Now().Before(deadline) {
				s, err := testEngine(t).NewSession(context.Background(), &engine.Sandbox{Memory: 256 << 20, Threads: 64})
				if err != nil {
					t.Error(err)
					return
				}
				for i := range 10 {
					if err := stopStep(s, map[bool]string{true: setUp, false: step}[i == 0], i); err != nil {
						t.Error(err)
					}
				}
				s.Close()
			}
		})
	}
	wg.Wait()
}

// stopStep runs one step and stops it in one way or another.
func stopStep(s *engine.Session, code string, i int) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	limit := 20 * time.Second
	if i > 0 {
		limit = time.Duration(1+rand.IntN(150)) * time.Millisecond
	}
	switch {
	case i > 0 && rand.IntN(3) == 0:
		time.AfterFunc(limit, cancel)
		limit = time.Minute
	case i == 9:
		time.AfterFunc(limit, func() { s.Close() })
	}
	start := time.Now()
	in := &blockingReader{done: make(chan struct{})}
	defer close(in.done)
	r, err := s.Exec(ctx, engine.Request{Code: code, Timeout: limit, Stdin: in})
	if took := time.Since(start); took > 30*time.Second {
		return fmt.Errorf("step took %v: %s", took, describe(r))
	}
	if err != nil && r.Status != engine.StatusNotStarted {
		return fmt.Errorf("%s: %w", describe(r), err)
	}
	if r.Error != nil && r.Error.Kind == "crash" {
		return fmt.Errorf("%s\n%s", describe(r), r.Stderr)
	}
	return nil
}
