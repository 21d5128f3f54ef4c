package engine_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

// TestThreads runs the programs of testdata/threads, which check themselves.
func TestThreads(t *testing.T) {
	runPrograms(t, "testdata/threads", func(*testing.T, *engine.Result) {})
}

// runPrograms runs the programs of a directory, which check themselves.
func runPrograms(t *testing.T, dir string, check func(*testing.T, *engine.Result)) {
	files, err := filepath.Glob(filepath.Join(dir, "*.py"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d programs, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".py"), func(t *testing.T) {
			t.Parallel()
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := newSession(t, nil)
			// Twice, since the second time begins with what the first one left.
			for range 2 {
				r := execRequest(t, s, engine.Request{Code: string(code), Filename: filepath.Base(file), Timeout: 2 * time.Minute})
				if r.Status != engine.StatusOK || r.Stderr != "" {
					t.Fatalf("%s\n%.3000s%.3000s", describe(r), traceback(r), r.Stderr)
				}
				checkLines(t, r.Stdout)
				check(t, r)
			}
		})
	}
}

// checkLines sees that what threads print does not tear.
func checkLines(t *testing.T, out string) {
	t.Helper()
	line := regexp.MustCompile(`^<\d:(x{60}|y{300})>$`)
	for l := range strings.Lines(out) {
		if !line.MatchString(strings.TrimSuffix(l, "\n")) {
			t.Fatalf("line %.400q", l)
		}
	}
}

// BenchmarkThreadLateness reports by how much a sleep of 5 ms is late beside a thread that computes.
func BenchmarkThreadLateness(b *testing.B) {
	for name, busy := range map[string]string{
		"python": "pass",
		"json":   "json.loads(json.dumps(data))",
		"regex":  "re.match(r'(a+)+$', 'a' * 20 + 'b')",
		"bignum": "str(big)",
		"sort":   "sorted(data)",
	} {
		b.Run(name, func(b *testing.B) {
			s, err := testEngine(b).NewSession(context.Background(), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			exec(b, s, "import json, re, threading, time\ndata = [i * 7919 % 10007 for i in range(20000)]\nbig = 3 ** 8000\n"+
				"def busy():\n    while not stop:\n        "+busy)
			var mean, worst float64
			for b.Loop() {
				r := exec(b, s, lateness)
				if r.Status != engine.StatusOK {
					b.Fatal(describe(r))
				}
				var late [2]float64
				if err := json.Unmarshal(r.Result, &late); err != nil {
					b.Fatal(err)
				}
				mean += late[0]
				worst = max(worst, late[1])
			}
			b.ReportMetric(mean/float64(b.N), "ms-late")
			b.ReportMetric(worst, "ms-worst")
		})
	}
}

const lateness = `
stop = False
t = threading.Thread(target=busy)
t.start()
late = []
for _ in range(20):
    begin = time.monotonic()
    time.sleep(0.005)
    late.append((time.monotonic() - begin - 0.005) * 1000)
stop = True
t.join()
[sum(late) / 20, max(late)]`
