package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/internal/testgc"
)

func TestForksShareNothing(t *testing.T) {
	a, b := newSession(t, nil), newSession(t, nil)
	exec(t, a, "import os, sys, builtins\nsecret = 'a'\nbuiltins.leak = 1\nsys.leak = 1\nos.environ['LEAK'] = '1'\nopen('leak', 'w').write('a')\nf = open('leak')\nprint('a')")
	r := exec(t, b, `import os, sys, builtins
found = [n for n, x in [("name", "secret" in globals()), ("builtins", hasattr(builtins, "leak")), ("sys", hasattr(sys, "leak")),
         ("environ", "LEAK" in os.environ), ("file", os.path.exists("leak")), ("argv", sys.argv != ["<step 1>"])] if x]
for fd in range(3, 64):
    try:
        os.fstat(fd)
        if fd != 3: found.append(f"fd {fd}")
    except OSError:
        pass
found`)
	if r.ResultRepr != "[]" || r.Stdout != "" {
		t.Errorf("%s found %s, printed %q", describe(r), r.ResultRepr, r.Stdout)
	}
}

func TestForksAreRandom(t *testing.T) {
	const code = `import random, uuid, secrets, os, tempfile
for x in random.random(), uuid.uuid4(), secrets.token_hex(8), os.urandom(8).hex(), tempfile.mktemp(), random.Random().random():
    print(x)`
	seen := map[string]bool{}
	for range 20 {
		r, err := testEngine(t).Run(t.Context(), engine.Request{Code: code})
		if err != nil || r.Status != engine.StatusOK {
			t.Fatalf("%v, %s", err, describe(r))
		}
		for line := range strings.Lines(r.Stdout) {
			if seen[line] {
				t.Errorf("%s twice", line)
			}
			seen[line] = true
		}
	}
}

// TestHammer runs hundreds of sessions at once that compute, grow, trap, time out, are cancelled and closed in the middle,
// while the garbage collector runs. Every session checks that its state is its own.
func TestHammer(t *testing.T) {
	e := testEngine(t)
	sessions := 300
	if testing.Short() {
		sessions = 60
	}
	stopGC := testgc.Every(t, 0)
	var wg sync.WaitGroup
	var steps atomic.Int64
	for i := range sessions {
		wg.Go(func() {
			s, err := e.NewSession(t.Context(), &engine.Sandbox{Memory: 128 << 20})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			h := hammer{t: t, s: s, id: i, rnd: rand.New(rand.NewPCG(1, uint64(i)))}
			for range 6 {
				h.step()
				steps.Add(1)
			}
		})
	}
	wg.Wait()
	stopGC()
	t.Logf("%d sessions, %d steps", sessions, steps.Load())
}

type hammer struct {
	t   *testing.T
	s   *engine.Session
	id  int
	n   int
	rnd *rand.Rand
}

// step adds one to the session's counter, or does something that must not change it.
func (h *hammer) step() {
	r := engine.Request{Timeout: time.Minute}
	var status engine.Status
	switch h.rnd.IntN(6) {
	case 0:
		r.Code, status = "big = [str(i) for i in range(50_000)]; del big", engine.StatusOK
	case 1:
		r.Code, status = "bytearray(1 << 30)", engine.StatusMemoryLimit
	case 2:
		r.Code, status, r.Timeout = "while True: pass", engine.StatusTimeout, 20*time.Millisecond
	case 3:
		r.Code, status = "import os; me = -1; os._exit(0)", engine.StatusOK
	case 4:
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		r.Code, status = "print(1)\nwhile True: pass", engine.StatusCancelled
		r.OnEvent = func(engine.Event) { cancel() }
		h.exec(ctx, r, status)
		return
	default:
		h.n++
		r.Code = fmt.Sprintf("n = globals().get('n', 0) + 1; me = globals().get('me', %d)\nassert (n, me) == (%d, %d), (n, me)", h.id, h.n, h.id)
		status = engine.StatusOK
	}
	h.exec(context.Background(), r, status)
}

func (h *hammer) exec(ctx context.Context, r engine.Request, status engine.Status) {
	res, err := h.s.Exec(ctx, r)
	if err != nil || res.Status != status {
		h.t.Errorf("session %d: %.40q: %v, %s, want %s", h.id, r.Code, err, describe(res), status)
	}
}

// TestCollectorDoesNotWait: with guests computing on every core and the collector forced every 50 ms, other goroutines
// are not held up. Compiled WebAssembly cannot be preempted, so without ticks this would hang.
//
// On a busy machine everything is held up, so the same is measured with plain Go in the place of the guests.
func TestCollectorDoesNotWait(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector slows everything down")
	}
	const limit, tries = 20 * time.Millisecond, 6
	for range tries {
		worst := worstStall(t, computeInGuest)
		if worst < limit {
			t.Logf("worst stall of a heartbeat: %v", worst)
			return
		}
		plain := worstStall(t, computeInGo)
		t.Logf("worst stall %v; %v with plain Go", worst, plain)
		if worst < plain+plain/2 {
			t.Log("the machine is too busy to tell more")
			return
		}
	}
	t.Errorf("other goroutines were held up for %v and longer in each of %d tries", limit, tries)
}

// computeInGuest runs program i until ctx is done; it calls started when it is about to compute.
func computeInGuest(ctx context.Context, t *testing.T, i int, started func()) {
	programs := []string{"while True: pass", "import re\nre.match(r'(a+)+$', 'a' * 80 + 'b')", "x = bytearray(100 << 20)\nwhile True: x[:] = bytes(100 << 20)"}
	code := "print(1)\n" + programs[i%len(programs)]
	testEngine(t).Run(ctx, engine.Request{Code: code, OnEvent: func(engine.Event) { started() }})
}

func computeInGo(ctx context.Context, _ *testing.T, _ int, started func()) {
	started()
	for ctx.Err() == nil {
	}
}

// worstStall runs compute on every core, and twice more, and returns by how much a millisecond's sleep was late at most.
func worstStall(t *testing.T, compute func(context.Context, *testing.T, int, func())) time.Duration {
	ctx, cancel := context.WithCancel(t.Context())
	var wg, started sync.WaitGroup
	for i := range runtime.GOMAXPROCS(0) + 2 {
		started.Add(1)
		wg.Go(func() { compute(ctx, t, i, started.Done) })
	}
	started.Wait()
	stopGC := testgc.Every(t, 50*time.Millisecond)
	worst := time.Duration(0)
	last := time.Now()
	for end := last.Add(time.Second); last.Before(end); {
		time.Sleep(time.Millisecond)
		now := time.Now()
		worst = max(worst, now.Sub(last)-time.Millisecond)
		last = now
	}
	cancel()
	stopGC()
	wg.Wait()
	return worst
}
