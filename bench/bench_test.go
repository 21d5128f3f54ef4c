package bench

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
	"github.com/mayfly-run/mayfly/internal/testcache"
)

func openEngine(tb testing.TB) *engine.Engine {
	tb.Helper()
	e, err := engine.New(tb.Context(), &engine.Options{Guests: []engine.Guest{python.New()}, CacheDir: testcache.Dir()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { e.Close() })
	if err := e.Warm(tb.Context(), ""); err != nil {
		tb.Fatal(err)
	}
	return e
}

// reportQuantiles adds p50 and p99 to the mean that Go prints.
func reportQuantiles(b *testing.B, d []time.Duration) {
	q := quantiles(d, time.Microsecond)
	b.ReportMetric(q.P50, "p50-µs")
	b.ReportMetric(q.P99, "p99-µs")
}

func BenchmarkForkFirstResult(b *testing.B) {
	e := openEngine(b)
	var d []time.Duration
	for b.Loop() {
		start := time.Now()
		if err := forkOnce(b.Context(), e); err != nil {
			b.Fatal(err)
		}
		d = append(d, time.Since(start))
	}
	reportQuantiles(b, d)
}

func BenchmarkWarmExec(b *testing.B) {
	s, err := openEngine(b).NewSession(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var d []time.Duration
	for b.Loop() {
		start := time.Now()
		r, err := s.Exec(b.Context(), onePlusOne)
		if err := check(r, err, "2"); err != nil {
			b.Fatal(err)
		}
		d = append(d, time.Since(start))
	}
	reportQuantiles(b, d)
}

func BenchmarkWorkloads(b *testing.B) {
	s, err := openEngine(b).NewSession(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	measure, err := guestTimer(b.Context(), s)
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range workloads {
		b.Run(name, func(b *testing.B) {
			best := time.Duration(1 << 62)
			for b.Loop() {
				d, err := measure(b.Context(), name)
				if err != nil {
					b.Fatal(err)
				}
				best = min(best, d)
			}
			b.ReportMetric(ms(best), "best-ms")
		})
	}
}

// TestWorkloadsMatch keeps the names here and in workloads.py together, and checks that the workloads return in the
// guest what they have to.
func TestWorkloadsMatch(t *testing.T) {
	if testing.Short() {
		t.Skip("runs all workloads")
	}
	s, err := openEngine(t).NewSession(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	measure, err := guestTimer(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range workloads {
		if d, err := measure(t.Context(), name); err != nil || d <= 0 {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
	r, err := s.Exec(t.Context(), engine.Request{Code: "' '.join(WORKLOADS)"})
	if want := strings.Join(workloads, " "); err != nil || string(r.Result) != `"`+want+`"` {
		t.Errorf("workloads.py has %s, want %q, %v", r.Result, want, err)
	}
	if _, err := measure(t.Context(), "nothing"); err == nil {
		t.Error("an unknown workload was measured")
	}
}

// TestStartup takes few samples of everything that needs no other process, and looks at the shape of the report.
func TestStartup(t *testing.T) {
	if testing.Short() {
		t.Skip("opens sessions by the dozen")
	}
	var steps []string
	r, err := Startup(t.Context(), &StartupOptions{
		Quick: true, Forks: 5, Sessions: 20, CacheDir: testcache.Dir(), Mayfly: "test", Wazero: "v0",
		Progress: func(s string) { steps = append(steps, s) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(steps) == 0 {
		t.Error("no progress was told")
	}
	for name, q := range map[string]Quantiles{"fork": r.ForkFirstResultUS, "warm": r.WarmExecUS} {
		if q.P50 <= 0 || q.P99 < q.P50 {
			t.Errorf("%s: %+v", name, q)
		}
	}
	for name, x := range map[string]*float64{"forks": r.ForksPerCPUSecond, "used": r.PrivateKiBPerUsedSession, "rss": r.RSSMiB1000Sessions} {
		if x != nil && *x <= 0 {
			t.Errorf("%s: %v", name, *x)
		}
	}
	if r.CPURatioVsNative != nil || r.ProcessStartMS != nil || r.FirstRunMS != nil {
		t.Errorf("there are numbers of processes that never ran: %+v", r)
	}
	notes := strings.Join(r.Notes, "\n")
	for _, want := range []string{"no native python3 was found", "no command was given"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes do not say %q:\n%s", want, notes)
		}
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(b, &fields); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"fork_first_result_us", "warm_exec_us", "machine", "versions", "notes"} {
		if _, ok := fields[key]; !ok {
			t.Errorf("no %s in %s", key, b)
		}
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"fork, 1+1, release", "µs", "mayfly test", python.New().Version()} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text does not say %q:\n%s", want, text.String())
		}
	}
}

func TestStartupCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Startup(ctx, &StartupOptions{Quick: true, CacheDir: testcache.Dir()}); err == nil {
		t.Error("no error")
	}
}

func TestNativeThatIsNone(t *testing.T) {
	for _, path := range []string{"/nonexistent/python3", "false"} {
		if n, err := startNative(t.Context(), path, workloadSource+nativeDriver); err == nil {
			n.close()
			t.Errorf("%s was taken for Python", path)
		}
	}
}

// TestReportText covers the lines that TestStartup has no numbers for.
func TestReportText(t *testing.T) {
	o := (&StartupOptions{}).withDefaults()
	r := &Report{
		ProcessStartMS: &Quantiles{200, 300}, FirstRunMS: new(9876.5), CPURatioVsNative: map[string]float64{"fib": 4, "geomean": 4},
		Workloads: []Workload{{"fib", 40 * time.Millisecond, 10 * time.Millisecond}},
		Versions:  Versions{Native: "CPython 3.13.5", NativePath: "/usr/bin/python3"}, opts: o,
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"200   300   ms", "9876", "40.0", "10.0", "4.00", "CPython 3.13.5 at /usr/bin/python3"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text does not say %q:\n%s", want, text.String())
		}
	}
}

// TestNative: the workloads return natively what they return in the guest, and errors come with what Python said.
func TestNative(t *testing.T) {
	path := os.Getenv("MAYFLY_NATIVE_PYTHON")
	if path == "" {
		t.Skip("MAYFLY_NATIVE_PYTHON names no native python3 to compare with")
	}
	n, err := startNative(t.Context(), path, workloadSource+nativeDriver)
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	if !strings.HasPrefix(n.version, "CPython 3.") {
		t.Errorf("version %q", n.version)
	}
	for _, name := range workloads {
		if d, err := n.measure(t.Context(), name); err != nil || d <= 0 {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
	if _, err := n.measure(t.Context(), "nothing"); err == nil || !strings.Contains(err.Error(), "KeyError: 'nothing'") {
		t.Errorf("an unknown workload gave %v", err)
	}
}
