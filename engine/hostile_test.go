package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

// TestHostile runs every program of testdata/hostile. Its first line says which statuses are right. Whatever it does, the
// session answers afterwards, and so does the engine.
func TestHostile(t *testing.T) {
	files, err := filepath.Glob("testdata/hostile/*.py")
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
			allowed := expected(t, string(code))
			timeout := time.Minute // on a machine that is busy with something else
			if slices.Contains(allowed, "timeout") {
				timeout = 2 * time.Second
			}
			s := newSession(t, &engine.Sandbox{Memory: 192 << 20, Workspace: 8 << 20, Files: 2000})
			exec(t, s, "before = 'kept'")
			r, err := s.Exec(context.Background(), engine.Request{
				Code: string(code), Timeout: timeout, Stdin: strings.NewReader("input\n"),
			})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(allowed, string(r.Status)) {
				t.Errorf("%s, want %v\n%.2000s", describe(r), allowed, traceback(r))
			}
			t.Logf("%s in %.0f ms, %d ticks", describe(r), r.Usage.WallMS, r.Usage.CPUTicks)
			if len(r.Stdout) > engine.DefaultOutput || len(r.Stderr) > engine.DefaultOutput {
				t.Errorf("output of %d and %d bytes", len(r.Stdout), len(r.Stderr))
			}
			if r.Error != nil && r.Error.Restored {
				want(t, s, "before", "'kept'")
			} else if a := exec(t, s, "1 + 1"); a.Status == engine.StatusOK && a.ResultRepr != "2" {
				// The program may have spoilt its own session for good, but not silently.
				t.Errorf("1 + 1 gave %s %q afterwards", describe(a), a.ResultRepr)
			}
		})
	}
	t.Cleanup(func() {
		r, err := testEngine(t).Run(context.Background(), engine.Request{Code: "1 + 1"})
		if err != nil || r.ResultRepr != "2" {
			t.Errorf("the engine is damaged: %v, %+v", err, r)
		}
	})
}

func expected(t *testing.T, code string) []string {
	t.Helper()
	line, _, _ := strings.Cut(code, "\n")
	list, ok := strings.CutPrefix(line, "# expect: ")
	if !ok {
		t.Fatalf("first line is %q", line)
	}
	return strings.Split(strings.TrimSpace(list), ",")
}

func traceback(r *engine.Result) string {
	if r.Error == nil {
		return ""
	}
	return r.Error.Traceback
}

// TestMemoryReturns sees that a session that used much gives it back when it is closed.
func TestMemoryReturns(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	use := func() {
		s := newSession(t, nil)
		if r := exec(t, s, "data = bytearray(200 << 20)\nlen(data)"); r.Status != engine.StatusOK {
			t.Fatal(describe(r))
		}
		s.Close()
	}
	use()
	before := resident(t)
	for range 5 {
		use()
	}
	if after := resident(t); after > before+200<<20 {
		t.Errorf("%d MiB resident, %d before", after>>20, before>>20)
	}
}

// resident returns the process's resident memory in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, pages int64
	if n, err := fmt.Sscan(string(b), &size, &pages); n != 2 || err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
