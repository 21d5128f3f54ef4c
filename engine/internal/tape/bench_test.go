package tape_test

import (
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine/internal/tape"
)

// BenchmarkSources measures the sources while a step is recorded.
func BenchmarkSources(b *testing.B) {
	tp := tape.New()
	var now time.Time
	defer func() { _ = now }()
	for name, f := range map[string]func(){
		"walltime": func() { tp.Walltime() },
		"filetime": func() { tp.FileTime() },
		"now":      func() { now = time.Now() }, // for comparison
	} {
		b.Run(name, func(b *testing.B) {
			tp.Record(seed, began, tape.Limits{Clock: 1 << 30})
			for b.Loop() {
				f()
			}
			tp.Off()
		})
	}
	b.Run("rand32", func(b *testing.B) {
		tp.Record(seed, began, tape.Limits{})
		r, p := tp.Rand(), make([]byte, 32)
		for b.Loop() {
			_, _ = r.Read(p)
		}
		tp.Off()
	})
}

// BenchmarkStep measures a step that learns nothing.
func BenchmarkStep(b *testing.B) {
	tp := tape.New()
	n := 0
	for b.Loop() {
		tp.Record(seed, began, tape.Limits{})
		r, _ := tp.End()
		n = len(r.Encode())
	}
	b.ReportMetric(float64(n), "log-B")
}

// BenchmarkLog measures the bytes of 1,000 readings, with about that much time between them.
func BenchmarkLog(b *testing.B) {
	for _, pause := range []time.Duration{0, time.Microsecond, 2 * time.Microsecond, 10 * time.Microsecond, 300 * time.Microsecond} {
		b.Run(pause.String(), func(b *testing.B) {
			tp := tape.New()
			n := 0
			for b.Loop() {
				tp.Record(seed, began, tape.Limits{})
				for range 1000 {
					tp.Walltime()
					for t := time.Now(); time.Since(t) < pause; {
					}
				}
				r, _ := tp.End()
				n = len(r.Encode())
			}
			b.ReportMetric(float64(n), "log-B")
		})
	}
}
