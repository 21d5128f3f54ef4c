package cpythontest

import (
	"context"
	"flag"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
	"github.com/mayfly-run/mayfly/internal/nativepython"
	"github.com/mayfly-run/mayfly/internal/testcache"
)

var (
	full   = flag.Bool("full", false, "run all modules in the guest and not the fast ones only")
	update = flag.Bool("update", false, "record the results in baseline.json")
	only   = flag.String("module", "", "run this module only, and show what it reports")
)

const baselineFile = "baseline.json"

// moduleTimeout is for the slowest module on a slow machine.
const moduleTimeout = 10 * time.Minute

// TestGuest runs CPython's own tests in the guest and compares with the baseline.
func TestGuest(t *testing.T) {
	lib, ok := nativepython.Lib()
	if !ok {
		t.Skip("skipped: no Lib/test of CPython; set MAYFLY_CPYTHON_LIB (.ci/debian-python makes one)")
	}
	if testing.Short() {
		t.Skip("skipped: takes minutes")
	}
	e, err := engine.New(t.Context(), &engine.Options{Guests: []engine.Guest{python.New()}, CacheDir: testcache.Dir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()

	modules := Fast()
	if *full {
		modules = Modules()
	}
	if *only != "" {
		modules = []string{*only}
	}
	start := time.Now()
	results, err := Run(t.Context(), modules, runtime.GOMAXPROCS(0), func(ctx context.Context, module string) (Result, error) {
		r, err := runInGuest(ctx, e, filepath.Join(lib, "test"), module)
		t.Logf("%s: %s, %d run, %d failed, %s", module, r.Status, r.Run, r.Failed+r.Errors, r.Reason)
		return r, err
	})
	if err != nil {
		t.Fatal(err)
	}
	now := NewBaseline(python.New().Version(), results)
	t.Logf("%s in %.0f s", now.Totals(), time.Since(start).Seconds())
	if *only != "" {
		for _, f := range results[0].FailedTests {
			t.Logf("%s %s: %s", f.Kind, f.Test, f.Message)
		}
		return
	}
	if *update {
		if err := record(now); err != nil {
			t.Fatal(err)
		}
		return
	}
	base, err := Load(baselineFile)
	if err != nil {
		t.Fatal(err)
	}
	regressions, improvements := Compare(base, results)
	for _, c := range regressions {
		t.Errorf("worse: %s", c)
	}
	for _, c := range improvements {
		t.Logf("better: %s (record it with -update)", c)
	}
}

func runInGuest(ctx context.Context, e *engine.Engine, tests, module string) (Result, error) {
	r, err := e.Run(ctx, engine.Request{
		Code: Runner, Filename: "runner.py", Args: []string{module}, Timeout: moduleTimeout, NoResult: true,
		Sandbox: &engine.Sandbox{Memory: 1 << 30, Mounts: []engine.Mount{{Host: tests, Guest: "/cpython/test"}}},
	})
	if err != nil {
		return Result{}, err
	}
	res, err := One([]byte(r.Stdout))
	if err != nil {
		reason := string(r.Status)
		if r.Error != nil {
			reason = r.Error.Kind + ": " + r.Error.Message
		}
		return Result{Module: module, Status: Error, Reason: reason}, nil
	}
	return res, nil
}

// record puts results into the baseline, leaving the modules that were not run.
func record(now Baseline) error {
	old, err := Load(baselineFile)
	if err == nil {
		for m, entry := range old.Modules {
			if _, ok := now.Modules[m]; !ok {
				now.Modules[m] = entry
			}
		}
	}
	return now.Save(baselineFile)
}
