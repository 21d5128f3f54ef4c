package wasm_test

import (
	"testing"

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

// changed returns a memory with a number of changed bytes in 64 MiB.
func changed(b *testing.B, n uint32) *box {
	x := newBox(b, newImage(b), nil)
	x.call(tg.Grow, 64<<20/pageSize)
	x.call(tg.Touch, 16<<20, n, 1)
	b.SetBytes(int64(n))
	return x
}

// BenchmarkSnapshot saves 1 MiB of changed pages.
func BenchmarkSnapshot(b *testing.B) {
	x := changed(b, 1<<20)
	for b.Loop() {
		if _, err := x.m.Snapshot(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRestore brings 1 MiB of changed pages back.
func BenchmarkRestore(b *testing.B) {
	x := changed(b, 1<<20)
	s, err := x.m.Snapshot()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := x.m.Restore(s); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCheckpoint is what every step of a session costs, with little and with much data in the memory.
func BenchmarkCheckpoint(b *testing.B) {
	for name, n := range map[string]uint32{"256KiB": 256 << 10, "32MiB": 32 << 20} {
		b.Run(name, func(b *testing.B) {
			x := changed(b, n)
			for b.Loop() {
				x.call(tg.Touch, 16<<20, 256<<10, 2) // a step
				c, err := x.m.Checkpoint()
				if err != nil {
					b.Fatal(err)
				}
				c.Release()
			}
		})
	}
}
