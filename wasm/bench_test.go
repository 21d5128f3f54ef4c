package wasm_test

import (
	"testing"

	"github.com/mayfly-run/mayfly/wasm"
	tg "github.com/mayfly-run/mayfly/wasm/internal/testguest"
)

// BenchmarkFork makes a memory and frees it.
func BenchmarkFork(b *testing.B) {
	im := newImage(b)
	for b.Loop() {
		m, err := im.NewMemory(nil)
		if err != nil {
			b.Fatal(err)
		}
		m.Close()
	}
}

// BenchmarkForkCall makes a memory, runs a small request on it and frees it.
func BenchmarkForkCall(b *testing.B) {
	im := newImage(b)
	request := tg.Request(tg.Count, 1)
	for b.Loop() {
		m, err := im.NewMemory(nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := im.Call(b.Context(), m, request, nil); err != nil {
			b.Fatal(err)
		}
		m.Close()
	}
}

// BenchmarkWarmCall runs a small request on the same memory.
func BenchmarkWarmCall(b *testing.B) {
	x := newBox(b, newImage(b), nil)
	request := tg.Request(tg.Count, 1)
	for b.Loop() {
		if _, _, err := x.im.Call(b.Context(), x.m, request, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkSnapshot gives f a memory with 1 MiB of changes in 32 MiB.
func benchmarkSnapshot(b *testing.B, f func(m *wasm.Memory, s *wasm.Snapshot) error) {
	x := newBox(b, newImage(b), nil)
	x.call(tg.Grow, 32<<20/pageSize)
	x.call(tg.Touch, 16<<20, 1<<20, 1)
	var s wasm.Snapshot
	if err := x.m.SnapshotInto(&s); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(s.Bytes())
	for b.Loop() {
		if err := f(x.m, &s); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSnapshot saves 1 MiB of changed pages.
func BenchmarkSnapshot(b *testing.B) {
	benchmarkSnapshot(b, func(m *wasm.Memory, s *wasm.Snapshot) error { return m.SnapshotInto(s) })
}

// BenchmarkRestore brings 1 MiB of changed pages back.
func BenchmarkRestore(b *testing.B) {
	benchmarkSnapshot(b, func(m *wasm.Memory, s *wasm.Snapshot) error { return m.Restore(s) })
}
