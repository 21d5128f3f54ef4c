// Package cpythontest measures a Python guest with CPython's own test suite: it holds the list of test modules, the
// program that runs them inside the guest, and the comparison of results with a recorded baseline. How a module gets
// run is the caller's business (RunFunc), so the package knows nothing of engines.
package cpythontest

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Runner is the program to run in the guest: `runner.py [--root DIR] MODULE...`, with CPython's Lib/test mounted at
// DIR/test (DIR is /cpython by default). It prints one line of JSON for each module, which Parse reads.
//
//go:embed runner.py
var Runner string

//go:embed modules.txt
var modulesText string

//go:embed fast.txt
var fastText string

// Modules returns the names of all test modules worth running, sorted.
func Modules() []string { return list(modulesText) }

// Fast returns the part of Modules that is run on every change, sorted.
func Fast() []string { return list(fastText) }

func list(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			names = append(names, line)
		}
	}
	return names
}

// Status is the outcome of one module.
type Status string

// A module passed when at least one test passed and none failed, and was skipped when no test passed or failed.
// Error means that the module could not be loaded, or did not run to its end.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
	Error   Status = "error"
)

// Result is what one module did.
type Result struct {
	Module  string  `json:"module"`
	Status  Status  `json:"status"`
	Run     int     `json:"run"`
	Passed  int     `json:"passed"`
	Failed  int     `json:"failures"` // tests with a failed assertion
	Errors  int     `json:"errors"`   // tests with any other exception
	Skipped int     `json:"skipped"`
	Reason  string  `json:"reason"` // why it did not pass, in one line
	Seconds float64 `json:"seconds"`
	// FailedTests has at most 200 entries.
	FailedTests []FailedTest `json:"failed_tests,omitempty"`
	// SkipReasons counts skipped tests and subtests by the reason that the test gave.
	SkipReasons map[string]int `json:"skip_reasons,omitempty"`
}

// FailedTest is one test that did not pass.
type FailedTest struct {
	Test    string `json:"test"`    // its unittest id
	Kind    string `json:"kind"`    // "failure" or "error"
	Message string `json:"message"` // the exception's line
}

// Parse reads what Runner wrote to its standard output. Lines that are not results are ignored, since tests can write
// to file descriptor 1 behind Python's back.
func Parse(stdout []byte) ([]Result, error) {
	var results []Result
	lines := bufio.NewScanner(bytes.NewReader(stdout))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		// A test may also have left an unfinished line before the result.
		at := bytes.Index(lines.Bytes(), []byte(`{"module": "`))
		if at < 0 {
			continue
		}
		var r Result
		if err := json.Unmarshal(lines.Bytes()[at:], &r); err != nil {
			return results, fmt.Errorf("result of a test module: %w", err)
		}
		results = append(results, r)
	}
	if err := lines.Err(); err != nil {
		return results, fmt.Errorf("results of test modules: %w", err)
	}
	return results, nil
}

// RunFunc runs one module in a fresh guest. It is called from several goroutines. An error means that there is no
// result: the guest trapped, timed out, or printed none.
type RunFunc func(ctx context.Context, module string) (Result, error)

// Run runs modules, up to workers at a time, and returns their results in the order of modules. An error of f becomes
// a Result with status Error. Run returns an error only if ctx ends first.
func Run(ctx context.Context, modules []string, workers int, f RunFunc) ([]Result, error) {
	results := make([]Result, len(modules))
	next := make(chan int)
	var group sync.WaitGroup
	for range max(1, min(workers, len(modules))) {
		group.Go(func() {
			for i := range next {
				r, err := f(ctx, modules[i])
				if err != nil {
					r = Result{Status: Error, Reason: err.Error()}
				}
				r.Module = modules[i]
				results[i] = r
			}
		})
	}
feed:
	for i := range modules {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	group.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("running CPython's tests: %w", err)
	}
	return results, nil
}

// ErrNoResult is what a RunFunc returns when the guest ended without printing a result.
var ErrNoResult = errors.New("the runner printed no result")

// One returns the only result in stdout; it helps to write a RunFunc.
func One(stdout []byte) (Result, error) {
	results, err := Parse(stdout)
	switch {
	case err != nil:
		return Result{}, err
	case len(results) == 0:
		return Result{}, ErrNoResult
	}
	return results[len(results)-1], nil
}
