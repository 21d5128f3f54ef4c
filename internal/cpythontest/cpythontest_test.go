package cpythontest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mayfly-run/mayfly/internal/nativepython"
)

func TestLists(t *testing.T) {
	all, fast := Modules(), Fast()
	if len(all) < 190 {
		t.Errorf("%d modules, want at least 190", len(all))
	}
	if len(fast) < 60 {
		t.Errorf("%d fast modules, want at least 60", len(fast))
	}
	for _, names := range [][]string{all, fast} {
		if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Error("a list is not sorted, or has a name twice")
		}
	}
	for _, name := range fast {
		if _, found := slices.BinarySearch(all, name); !found {
			t.Errorf("%s is in fast.txt, not in modules.txt", name)
		}
	}
}

func TestParse(t *testing.T) {
	out := `noise
half a line{"module": "test_a", "status": "failed", "run": 3, "passed": 1, "failures": 1, "errors": 1, "skipped": 0, "reason": "x", "seconds": 0.5, "failed_tests": [{"test": "t", "kind": "error", "message": "m"}]}
{"module": "test_b", "status": "skipped", "run": 1, "passed": 0, "failures": 0, "errors": 0, "skipped": 1, "reason": "no", "skip_reasons": {"no": 1}}
{"other": 1}
`
	got, err := Parse([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	want := []Result{
		{Module: "test_a", Status: Failed, Run: 3, Passed: 1, Failed: 1, Errors: 1, Reason: "x", Seconds: 0.5, FailedTests: []FailedTest{{"t", "error", "m"}}},
		{Module: "test_b", Status: Skipped, Run: 1, Skipped: 1, Reason: "no", SkipReasons: map[string]int{"no": 1}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if _, err := Parse([]byte(`{"module": "test_a", "sta`)); err == nil {
		t.Error("a cut line was accepted")
	}
	if _, err := One([]byte("Killed\n")); !errors.Is(err, ErrNoResult) {
		t.Errorf("got %v, want ErrNoResult", err)
	}
}

func TestRun(t *testing.T) {
	var modules []string
	for i := range 50 {
		modules = append(modules, fmt.Sprint("m", i))
	}
	var running, most atomic.Int32
	results, err := Run(context.Background(), modules, 4, func(_ context.Context, module string) (Result, error) {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer running.Add(-1)
		if module == "m7" {
			return Result{Passed: 3}, errors.New("guest trapped")
		}
		return Result{Status: Passed}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if most.Load() > 4 {
		t.Errorf("%d ran at once, want at most 4", most.Load())
	}
	for i, r := range results {
		want := Result{Module: modules[i], Status: Passed}
		if i == 7 {
			want = Result{Module: "m7", Status: Error, Reason: "guest trapped"}
		}
		if !reflect.DeepEqual(r, want) {
			t.Errorf("result %d: got %+v, want %+v", i, r, want)
		}
	}
}

func TestRunCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var calls atomic.Int32
	_, err := Run(ctx, make([]string, 100), 2, func(ctx context.Context, _ string) (Result, error) {
		calls.Add(1)
		cancel()
		<-ctx.Done()
		return Result{}, ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if calls.Load() > 50 {
		t.Errorf("%d modules were started after the end", calls.Load())
	}
}

func TestBaselineRoundTrip(t *testing.T) {
	results := []Result{
		{Module: "test_b", Status: Failed, Passed: 8, Failed: 1, Errors: 1, Skipped: 2, Reason: "AttributeError: module 'os' has no attribute 'pipe'",
			FailedTests: []FailedTest{{"b.one", "failure", "AssertionError: 1 != 2"}, {"b.two", "error", "AttributeError: module 'os' has no attribute 'pipe'"}},
			SkipReasons: map[string]int{"requires subprocess support": 1, "Windows only": 1}},
		{Module: "test_a", Status: Passed, Passed: 5},
	}
	b := NewBaseline("3.13.5", results)
	path := filepath.Join(t.TempDir(), "baseline.json")
	if err := b.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, b) {
		t.Errorf("got %+v, want %+v", got, b)
	}
	e := got.Modules["test_b"]
	if e.Class != NoSubprocess || e.FailedTests["b.one"] != Other || e.SkipClasses[NoSubprocess] != 1 || e.SkipClasses[Platform] != 1 {
		t.Errorf("classes: %+v", e)
	}
	want := Totals{Modules: 2, Passed: 1, Failed: 1, TestsPassed: 13, TestsFailed: 2, TestsSkipped: 2}
	if got := b.Totals(); got != want {
		t.Errorf("totals: %v", got)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestCompare(t *testing.T) {
	base := NewBaseline("", []Result{
		{Module: "same", Status: Passed, Passed: 5},
		{Module: "fails", Status: Failed, Passed: 5, Failed: 1, FailedTests: []FailedTest{{"old", "failure", ""}}},
		{Module: "not run", Status: Passed, Passed: 5},
		{Module: "broken", Status: Error},
	})
	tests := []struct {
		name          string
		result        Result
		worse, better []string
	}{
		{"same", Result{Module: "same", Status: Passed, Passed: 5}, nil, nil},
		{"one more", Result{Module: "same", Status: Passed, Passed: 6}, nil, []string{"same: 6 tests passed, before 5"}},
		{"new failure", Result{Module: "same", Status: Failed, Passed: 4, Failed: 1, FailedTests: []FailedTest{{"new", "error", "KeyError: 1"}}},
			[]string{"same: new: error: KeyError: 1"}, nil},
		{"now skipped", Result{Module: "same", Status: Skipped, Skipped: 5}, []string{"same: 0 tests passed, before 5 (skipped 5, before 0)"}, nil},
		{"crash", Result{Module: "fails", Status: Error, Reason: "trap"}, []string{"fails: did not run to its end: trap"}, nil},
		{"fails as before", Result{Module: "fails", Status: Failed, Passed: 5, Failed: 1, FailedTests: []FailedTest{{"old", "error", ""}}}, nil, nil},
		{"fixed", Result{Module: "fails", Status: Passed, Passed: 6}, nil,
			[]string{"fails: 6 tests passed, before 5", "fails: old: does not fail any more"}},
		{"another one", Result{Module: "fails", Status: Failed, Passed: 5, Failed: 1, FailedTests: []FailedTest{{"new", "failure", "x"}}},
			[]string{"fails: new: failure: x"}, []string{"fails: old: does not fail any more"}},
		{"still broken", Result{Module: "broken", Status: Error, Reason: "trap"}, nil, nil},
		{"unknown", Result{Module: "unknown", Status: Passed, Passed: 1}, []string{"unknown: not in the baseline"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			worse, better := Compare(base, []Result{test.result})
			if got := texts(worse); !slices.Equal(got, test.worse) {
				t.Errorf("regressions %q, want %q", got, test.worse)
			}
			if got := texts(better); !slices.Equal(got, test.better) {
				t.Errorf("improvements %q, want %q", got, test.better)
			}
		})
	}
}

func texts(changes []Change) []string {
	var all []string
	for _, c := range changes {
		all = append(all, c.String())
	}
	return all
}

func TestClassify(t *testing.T) {
	for message, want := range map[string]Class{
		"requires subprocess support":                                 NoSubprocess,
		"OSError: [Errno 58] wasi does not support processes.":        NoSubprocess,
		"AttributeError: module 'os' has no attribute 'fork'":         NoSubprocess,
		"RuntimeError: can't start new thread":                        NoThreads,
		"requires threading support":                                  NoThreads,
		"requires socket support":                                     NoSockets,
		"IPv6 not supported or enabled":                               NoSockets,
		"ProcessPoolExecutor unavailable on this system":              NoSubprocess,
		"AttributeError: module 'signal' has no attribute 'alarm'":    NoSignals,
		"No module named '_testcapi'":                                 NoModule,
		"need _testcapi module":                                       NoModule,
		"requires the C _uuid module":                                 NoModule,
		"OSError: could not get source code":                          Frozen,
		"tzset required":                                              Platform,
		"RuntimeError: os.kill: there are no processes":               NoSignals,
		"deadlock after: RuntimeError: os.kill: no processes":         NoSignals,
		"deadlock: every thread waits, and no thread is left":         Other,
		"OSError: could not bind on any address out of []":            NoSockets,
		"FileNotFoundError: [Errno 44] No such file or directory":     Filesystem,
		"Requires functional symlink implementation":                  Filesystem,
		"resource 'cpu' is not enabled":                               Resource,
		"not enough memory: 4.9G minimum needed":                      Resource,
		"Windows specific":                                            Platform,
		"RecursionError: maximum recursion depth exceeded":            Recursion,
		"guest: TimeoutError: the time limit of 30000 ms was reached": Timeout,
		"AssertionError: 1 != 2":                                      Other,
	} {
		if got := Classify(message); got != want {
			t.Errorf("%q: got %s, want %s", message, got, want)
		}
	}
}

// The runner itself is tested natively, with a tree of tests made up for the purpose.
func TestRunner(t *testing.T) {
	python, ok := nativepython.Find()
	if !ok {
		t.Skip("no native python3.13: run .ci/debian-python and set " + nativepython.PathVariable)
	}
	lib, ok := nativepython.Lib()
	if !ok {
		t.Skip("no Lib/test of CPython: run .ci/debian-python and set " + nativepython.LibVariable)
	}
	root := t.TempDir()
	// The test package's support modules are CPython's, the rest is ours.
	if err := os.Mkdir(filepath.Join(root, "test"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(lib, "test", "support"), filepath.Join(root, "test", "support")); err != nil {
		t.Fatal(err)
	}
	for name, source := range map[string]string{
		"__init__.py": "",
		"test_mixed.py": `
import os, sys, unittest
from test.support import requires_resource
class T(unittest.TestCase):
    def test_ok(self): os.write(1, b"straight to the descriptor"); print("swallowed")
    def test_stderr(self): print("swallowed", file=sys.stderr)
    def test_fail(self): self.assertEqual(1, 2)
    def test_error(self): {}["key"]
    def test_skip(self): self.skipTest("not today")
    @requires_resource("cpu")
    def test_resource(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.expectedFailure
    def test_unexpected(self): pass
    def test_sub(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertNotEqual(n, 1)
                if n == 2: raise KeyError(n)
    def test_subskip(self):
        for n in range(3):
            with self.subTest(n=n): self.skipTest("sub")
`,
		"test_good.py":     "import unittest\nclass T(unittest.TestCase):\n  def test(self): pass\n",
		"test_syntax.py":   "x = = 1\n",
		"test_missing.py":  "import nothing_of_this_name\n",
		"test_skipped.py":  "import unittest\nraise unittest.SkipTest('no floppy disk')\n",
		"test_setup.py":    "import unittest\ndef setUpModule(): raise unittest.SkipTest('no printer')\nclass T(unittest.TestCase):\n  def test(self): pass\n",
		"test_exits.py":    "import sys\nsys.exit(5)\n",
		"test_fixture.py":  "import unittest\nclass T(unittest.TestCase):\n  @classmethod\n  def setUpClass(cls): raise OSError('disk on fire')\n  def test(self): pass\n",
		"test_nothing.py":  "",
		"test_hijacks.py":  "import sys\nsys.stdout.close(); sys.stdout = None\nimport unittest\nclass T(unittest.TestCase):\n  def test(self): pass\n",
		"test_loadlist.py": "import unittest\nclass T(unittest.TestCase):\n  def test(self): pass\ndef load_tests(loader, tests, pattern): tests.addTest(T('test')); return tests\n",
	} {
		if err := os.WriteFile(filepath.Join(root, "test", name), []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	modules := []string{
		"test_mixed", "test_good", "test_syntax", "test_missing", "test_skipped", "test_setup", "test_exits",
		"test_fixture", "test_nothing", "test_hijacks", "test_loadlist", "test_absent",
	}
	runner := filepath.Join(t.TempDir(), "runner.py")
	if err := os.WriteFile(runner, []byte(Runner), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, append([]string{runner, "--root", root}, modules...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderr.String())
	}
	if strings.Contains(string(out)+stderr.String(), "swallowed") {
		t.Error("what tests print is not swallowed")
	}
	results, err := Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != len(modules) {
		t.Fatalf("%d results, want %d:\n%s", len(results), len(modules), out)
	}
	got := map[string]Result{}
	for _, r := range results {
		got[r.Module] = r
	}
	for module, want := range map[string]Result{
		"test_mixed":    {Status: Failed, Run: 10, Passed: 3, Failed: 2, Errors: 2, Skipped: 2, Reason: "KeyError: 'key'"},
		"test_good":     {Status: Passed, Run: 1, Passed: 1},
		"test_syntax":   {Status: Error, Reason: "SyntaxError: invalid syntax"},
		"test_missing":  {Status: Error, Reason: "ModuleNotFoundError: No module named 'nothing_of_this_name'"},
		"test_skipped":  {Status: Skipped, Reason: "no floppy disk"},
		"test_setup":    {Status: Skipped, Skipped: 1, Reason: "no printer"},
		"test_exits":    {Status: Error, Reason: "SystemExit: 5"},
		"test_fixture":  {Status: Failed, Errors: 1, Reason: "OSError: disk on fire"},
		"test_nothing":  {Status: Skipped, Reason: "no tests"},
		"test_hijacks":  {Status: Passed, Run: 1, Passed: 1},
		"test_loadlist": {Status: Passed, Run: 2, Passed: 2},
		"test_absent":   {Status: Error, Reason: "ModuleNotFoundError: No module named 'test.test_absent'"},
	} {
		r := got[module]
		have := Result{Status: r.Status, Run: r.Run, Passed: r.Passed, Failed: r.Failed, Errors: r.Errors, Skipped: r.Skipped, Reason: r.Reason}
		if !reflect.DeepEqual(have, want) {
			t.Errorf("%s: got %+v, want %+v", module, have, want)
		}
	}
	if n := len(got["test_mixed"].FailedTests); n != 4 {
		t.Errorf("%d failed tests in test_mixed, want 4", n)
	}
}
