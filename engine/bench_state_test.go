package engine_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/engine/store"
)

// stateSetups are what sessions of the benchmarks hold, and what a step of them does.
var stateSetups = []struct{ name, setup, step string }{
	{"variable", "x = 0", "x += 1"},
	{"append", "open('log.txt', 'w').close()", "with open('log.txt', 'a') as f: f.write('a line of a log\\n')"},
	{"bytes20MB", `
import random
data = bytearray(20_000_000)
for i in range(0, len(data), 65536):
    data[i:i + 65536] = random.randbytes(min(65536, len(data) - i))
table = bytes((i + 1) % 256 for i in range(256))
def change():
    for i in range(0, len(data), 65536):
        data[i:i + 65536] = data[i:i + 65536].translate(table)
`, "change()"},
}

// benchDurable is an engine with a store of the given durability.
func benchDurable(b *testing.B, level store.Durability) *durable {
	b.Helper()
	d := &durable{t: b, dir: filepath.Join(b.TempDir(), "store"), o: options()}
	var err error
	if d.store, err = store.Open(d.dir, &store.Options{Durability: level}); err != nil {
		b.Fatal(err)
	}
	d.o.Store = d.store
	if d.Engine, err = engine.New(b.Context(), d.o); err != nil {
		b.Fatal(errors.Join(err, d.store.Close()))
	}
	b.Cleanup(d.close)
	return d
}

// BenchmarkDurableStep is a step with its commit; memory is the same step in a session in memory.
func BenchmarkDurableStep(b *testing.B) {
	for _, c := range stateSetups {
		for _, d := range []store.Durability{store.Sync, store.Async, store.None} {
			b.Run(c.name+"/"+d.String(), func(b *testing.B) {
				e := benchDurable(b, d)
				s := e.session("bench", nil)
				exec(b, s, c.setup)
				exec(b, s, c.step)
				stored := 0.0
				for b.Loop() {
					stored += exec(b, s, c.step).Usage.StoreMS
				}
				b.ReportMetric(stored/float64(b.N), "store-ms")
			})
		}
		b.Run(c.name+"/memory", func(b *testing.B) {
			s := newSession(b, nil)
			exec(b, s, c.setup)
			exec(b, s, c.step)
			for b.Loop() {
				exec(b, s, c.step)
			}
		})
	}
}

// BenchmarkFork forks a live session and runs code in the fork.
func BenchmarkFork(b *testing.B) {
	for _, c := range stateSetups {
		b.Run(c.name, func(b *testing.B) {
			e := benchDurable(b, store.Sync)
			s := e.session("bench", nil)
			exec(b, s, c.setup)
			for b.Loop() {
				f, err := e.Fork(b.Context(), "bench", engine.Latest, "")
				if err != nil {
					b.Fatal(err)
				}
				exec(b, f, "1 + 1")
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRestore opens a session that is in the store only and runs code in it. Each time it is a step longer.
func BenchmarkRestore(b *testing.B) {
	for _, c := range stateSetups {
		b.Run(c.name, func(b *testing.B) {
			e := benchDurable(b, store.Sync)
			s := e.session("bench", nil)
			exec(b, s, c.setup)
			for b.Loop() {
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				s = e.session("bench", &engine.SessionOptions{Existing: true})
				exec(b, s, "1 + 1")
			}
		})
	}
}

// BenchmarkOpenStore opens a store in which a session made 200 steps.
func BenchmarkOpenStore(b *testing.B) {
	e := benchDurable(b, store.Sync)
	s := e.session("bench", nil)
	exec(b, s, "x = 0")
	for range 200 {
		exec(b, s, "x += 1")
	}
	e.close()
	for b.Loop() {
		s, err := store.Open(e.dir, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		_, err = s.Head(context.Background(), "bench")
		if err := errors.Join(err, s.Close()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkRewind goes back to the first step, over and over.
func BenchmarkRewind(b *testing.B) {
	for _, c := range stateSetups {
		b.Run(c.name, func(b *testing.B) {
			e := benchDurable(b, store.Sync)
			s := e.session("bench", nil)
			exec(b, s, c.setup)
			exec(b, s, c.step)
			for b.Loop() {
				if _, err := s.Rewind(b.Context(), 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
