package bench

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
	"github.com/mayfly-run/mayfly/internal/testcache"
)

// TestThreadGroupsMatch keeps the names here and in threads.py together.
func TestThreadGroupsMatch(t *testing.T) {
	s, err := openEngine(t).NewSession(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := define(t.Context(), s, "threads.py", threadSource); err != nil {
		t.Fatal(err)
	}
	r, err := s.Exec(t.Context(), engine.Request{Code: "' '.join(MEASURES)"})
	if want := strings.Join(threadGroups, " "); err != nil || string(r.Result) != `"`+want+`"` {
		t.Errorf("threads.py has %s, want %q, %v", r.Result, want, err)
	}
	var m map[string]float64
	if err := guestMeasure(t.Context(), s, "nothing", &m); err == nil {
		t.Error("something unknown was measured")
	}
}

// TestThreads measures everything once, natively too where that is possible, and looks at the shape of the report.
func TestThreads(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	native := os.Getenv("MAYFLY_NATIVE_PYTHON")
	var steps []string
	r, err := Threads(t.Context(), &ThreadsOptions{
		Repeat: 1, CacheDir: testcache.Dir(), Native: native, Mayfly: "test", Wazero: "v0",
		Progress: func(s string) { steps = append(steps, s) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(steps) < len(threadGroups) {
		t.Errorf("told of %q only", steps)
	}
	_, linux := readMemory()
	checkFigures(t, "sandbox", r.Sandbox, linux)
	if native != "" {
		checkFigures(t, "native", r.Native, linux)
	} else if r.Native != nil || !strings.Contains(strings.Join(r.Notes, "\n"), "no native python3 was found") {
		t.Errorf("without a native interpreter: %v, notes %q", r.Native, r.Notes)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var fields struct {
		Sandbox  map[string]float64
		Machine  map[string]any
		Versions map[string]any
	}
	if err := json.Unmarshal(b, &fields); err != nil || fields.Sandbox["thread_start_join_us"] <= 0 || len(fields.Machine) == 0 || len(fields.Versions) == 0 {
		t.Errorf("%v in %s", err, b)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"switch by a Lock", "µs", "medians of 1", "mayfly test", python.New().Version()} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text does not say %q:\n%s", want, text.String())
		}
	}
}

// checkFigures sees that all figures are there and nothing else. Of their values it says nothing, but that what takes time
// takes some.
func checkFigures(t *testing.T, where string, got map[string]float64, linux bool) {
	t.Helper()
	for _, f := range threadFigures {
		x, ok := got[f.name]
		switch memory := f.unit == "KiB"; {
		case !ok && (linux || !memory):
			t.Errorf("%s: no %s", where, f.name)
		case x <= 0 && !memory && !strings.HasPrefix(f.name, "late_"):
			t.Errorf("%s: %s is %v", where, f.name, x)
		}
	}
	if len(got) > len(threadFigures) {
		t.Errorf("%s: %d figures, of which %d are printed", where, len(got), len(threadFigures))
	}
}

func TestThreadsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Threads(ctx, &ThreadsOptions{Repeat: 1, CacheDir: testcache.Dir()}); err == nil {
		t.Error("no error")
	}
}

func TestMedians(t *testing.T) {
	s := samples{}
	for _, x := range []float64{3, 1, 2} {
		s.add(map[string]float64{"a_us": x, "a_max_ms": x})
	}
	if m := s.medians(); m["a_us"] != 2 || m["a_max_ms"] != 3 || len(m) != 2 {
		t.Errorf("got %v", m)
	}
	if m := (samples{}).medians(); m != nil {
		t.Errorf("of nothing: %v", m)
	}
}

func TestFigureNames(t *testing.T) {
	units := map[string]string{"us": "µs", "ms": "ms", "kib": "KiB", "ratio": "times"}
	var names []string
	for _, f := range threadFigures {
		if unit := units[f.name[strings.LastIndex(f.name, "_")+1:]]; unit != f.unit {
			t.Errorf("%s is in %s", f.name, f.unit)
		}
		names = append(names, f.name)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(threadFigures) {
		t.Error("a name is there twice")
	}
}

// TestThreadsText covers what a report of one machine need not have.
func TestThreadsText(t *testing.T) {
	r := &ThreadsReport{
		Sandbox: map[string]float64{"lock_switch_us": 2.5, "process_start_join_ms": 3}, Native: map[string]float64{"lock_switch_us": 1.25},
		Versions: Versions{Native: "CPython 3.13.5", NativePath: "/usr/bin/python3"}, Notes: []string{"something"},
		opts: ThreadsOptions{Repeat: 7},
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2.50     1.25    µs", "3.00             ms", "medians of 7; native is CPython 3.13.5 at /usr/bin/python3", "note: something"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text does not say %q:\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "queue") {
		t.Errorf("a figure that was not measured is printed:\n%s", text.String())
	}
}
