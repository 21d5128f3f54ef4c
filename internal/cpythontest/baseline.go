package cpythontest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Baseline is the committed record of what the test suite does in the guest.
type Baseline struct {
	// Python is the guest's version, for people.
	Python  string           `json:"python"`
	Modules map[string]Entry `json:"modules"`
}

// Entry is one module's line in a Baseline. It holds nothing that differs from run to run, such as times.
type Entry struct {
	Status  Status `json:"status"`
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"` // failures and errors
	Skipped int    `json:"skipped"`
	// Class says in a word why the module did not pass; empty if it did.
	Class Class `json:"class,omitempty"`
	// FailedTests gives each failed test's class.
	FailedTests map[string]Class `json:"failed_tests,omitempty"`
	// SkipClasses counts skipped tests by class.
	SkipClasses map[Class]int `json:"skip_classes,omitempty"`
}

// EntryOf reduces a result to what a baseline keeps.
func EntryOf(r Result) Entry {
	e := Entry{Status: r.Status, Passed: r.Passed, Failed: r.Failed + r.Errors, Skipped: r.Skipped}
	if r.Status != Passed {
		e.Class = Classify(r.Reason)
	}
	for _, f := range r.FailedTests {
		if e.FailedTests == nil {
			e.FailedTests = map[string]Class{}
		}
		e.FailedTests[f.Test] = Classify(f.Message)
	}
	for reason, n := range r.SkipReasons {
		if e.SkipClasses == nil {
			e.SkipClasses = map[Class]int{}
		}
		e.SkipClasses[Classify(reason)] += n
	}
	return e
}

// NewBaseline records results.
func NewBaseline(python string, results []Result) Baseline {
	b := Baseline{Python: python, Modules: map[string]Entry{}}
	for _, r := range results {
		b.Modules[r.Module] = EntryOf(r)
	}
	return b
}

// Load reads a baseline file.
func Load(path string) (Baseline, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Baseline{}, fmt.Errorf("baseline: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var b Baseline
	if err := dec.Decode(&b); err != nil {
		return Baseline{}, fmt.Errorf("baseline %s: %w", path, err)
	}
	return b, nil
}

// Save writes a baseline file. The same baseline always makes the same bytes.
func (b Baseline) Save(path string) error {
	data, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	return nil
}

// Totals sums a baseline up.
type Totals struct {
	Modules, Passed, Failed, Skipped, Errors int // modules by status
	TestsPassed, TestsFailed, TestsSkipped   int
}

// Totals counts modules and tests.
func (b Baseline) Totals() Totals {
	var t Totals
	for _, e := range b.Modules {
		t.Modules++
		switch e.Status {
		case Passed:
			t.Passed++
		case Failed:
			t.Failed++
		case Skipped:
			t.Skipped++
		case Error:
			t.Errors++
		}
		t.TestsPassed += e.Passed
		t.TestsFailed += e.Failed
		t.TestsSkipped += e.Skipped
	}
	return t
}

func (t Totals) String() string {
	return fmt.Sprintf("%d modules: %d passed, %d failed, %d skipped, %d errors; %d tests passed, %d failed, %d skipped",
		t.Modules, t.Passed, t.Failed, t.Skipped, t.Errors, t.TestsPassed, t.TestsFailed, t.TestsSkipped)
}

// Change is a difference between a baseline and a run.
type Change struct {
	Module string
	Test   string // empty if it concerns the module as a whole
	Detail string
}

func (c Change) String() string {
	if c.Test == "" {
		return c.Module + ": " + c.Detail
	}
	return c.Module + ": " + c.Test + ": " + c.Detail
}

// Compare looks for what got worse and what got better, both sorted. Modules of the baseline that were not run are
// left out of it; a module that the baseline does not know counts as a regression, so that the file is kept complete.
func Compare(b Baseline, results []Result) (regressions, improvements []Change) {
	for _, r := range results {
		want, known := b.Modules[r.Module]
		if !known {
			regressions = append(regressions, Change{r.Module, "", "not in the baseline"})
			continue
		}
		got := EntryOf(r)
		worse := func(test, format string, args ...any) {
			regressions = append(regressions, Change{r.Module, test, fmt.Sprintf(format, args...)})
		}
		better := func(test, format string, args ...any) {
			improvements = append(improvements, Change{r.Module, test, fmt.Sprintf(format, args...)})
		}
		newFailures := 0
		for _, f := range r.FailedTests {
			if _, before := want.FailedTests[f.Test]; !before {
				newFailures++
				worse(f.Test, "%s: %s", f.Kind, f.Message)
			}
		}
		// Fewer passed tests than before, beyond those named above, have become skipped or have vanished.
		switch {
		case got.Status == Error && want.Status != Error:
			worse("", "did not run to its end: %s", r.Reason)
		case got.Passed+newFailures < want.Passed:
			worse("", "%d tests passed, before %d (skipped %d, before %d)", got.Passed, want.Passed, got.Skipped, want.Skipped)
		case got.Passed > want.Passed:
			better("", "%d tests passed, before %d", got.Passed, want.Passed)
		}
		if got.Status == Error {
			continue // what is missing from its list of failures proves nothing
		}
		for test := range want.FailedTests {
			if _, still := got.FailedTests[test]; !still {
				better(test, "does not fail any more")
			}
		}
	}
	order := func(a, b Change) int {
		return cmp.Or(strings.Compare(a.Module, b.Module), strings.Compare(a.Test, b.Test), strings.Compare(a.Detail, b.Detail))
	}
	slices.SortFunc(regressions, order)
	slices.SortFunc(improvements, order)
	return regressions, improvements
}
