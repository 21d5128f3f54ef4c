package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

// TestProcesses runs the programs of testdata/processes, which check themselves.
func TestProcesses(t *testing.T) {
	runPrograms(t, "testdata/processes", func(t *testing.T, r *engine.Result) {
		if r.Usage.Forks == 0 {
			t.Error("no forks are counted")
		}
	})
}

// What is left of processes ends with the execution, however that ends, and the session goes on.
func TestProcessesEnd(t *testing.T) {
	const prelude = "import multiprocessing, time\ndef loop():\n    while True: pass\n"
	tests := []struct {
		name, code string
		status     engine.Status
		want       string // in the error
	}{
		{"daemon", "multiprocessing.Process(target=loop, daemon=True).start()", engine.StatusOK, ""},
		{"waited for", "multiprocessing.Process(target=time.sleep, args=(0.01,)).start()", engine.StatusOK, ""},
		{"never ends", "multiprocessing.Process(target=loop).start()", engine.StatusTimeout, ""},
		{"join", "p = multiprocessing.Process(target=loop)\np.start()\np.join()", engine.StatusTimeout, ""},
		{"pool", "multiprocessing.Pool(2).map(lambda n: loop(), range(4))", engine.StatusTimeout, ""},
		{"exception", "multiprocessing.Process(target=loop, daemon=True).start()\n1 / 0", engine.StatusError, "division"},
		{"memory", "multiprocessing.Pool(1).apply(lambda: bytearray(1 << 30))", engine.StatusMemoryLimit, ""},
		{"bomb", "ps = [multiprocessing.Process(target=loop, daemon=True) for _ in range(1000)]\nfor p in ps: p.start()",
			engine.StatusError, "temporarily unavailable"},
		{"copies", "big = b'x' * (150 << 20)\nps = [multiprocessing.Process(target=loop, daemon=True) for _ in range(10)]\n" +
			"for p in ps: p.start()", engine.StatusError, "temporarily unavailable"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, nil)
			exec(t, s, prelude+"x = 7")
			limit := time.Minute
			if test.status == engine.StatusTimeout {
				limit = 200 * time.Millisecond
			}
			r := execRequest(t, s, engine.Request{Code: test.code, Timeout: limit})
			if r.Status != test.status || r.Error != nil && !strings.Contains(r.Error.Message, test.want) {
				t.Errorf("%s\n%s%s", describe(r), traceback(r), r.Stderr)
			}
			if r := exec(t, s, "multiprocessing.active_children(), x"); r.ResultRepr != "([], 7)" {
				t.Errorf("after it: %s", describe(r))
			}
		})
	}
}

// Cancelling ends the forks, too.
func TestProcessesCancelled(t *testing.T) {
	s := newSession(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := s.Exec(ctx, engine.Request{
		Code:    "import multiprocessing\nprint('started')\nmultiprocessing.Pool(2).map(lambda n: exec('while True: pass'), range(4))",
		OnEvent: func(engine.Event) { cancel() },
	})
	if err != nil || r.Status != engine.StatusCancelled {
		t.Fatalf("%v, %s", err, describe(r))
	}
}
