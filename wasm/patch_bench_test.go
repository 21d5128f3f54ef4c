package wasm_test

import (
	"testing"

	"github.com/mayfly-run/mayfly/wasm"
	tg "github.com/mayfly-run/mayfly/wasm/internal/testguest"
)

// step is what a step of a session is like: it changes some hundred bytes in each of a number of pages.
func (b *box) step(pages, value uint32) {
	const at = 16 << 20
	b.call(tg.Touch, at, pages*4096, value)
	b.call(tg.Touch, at+1000, pages*4096, value)
	if pages > 1000 {
		for off := uint32(0); off < pages*4096; off += 1 << 20 {
			b.call(tg.Fill, at+off, value+off>>20, 1<<20)
		}
		return
	}
	for page := range min(pages, 20) {
		b.call(tg.Fill, at+page*4096+2000, value, 1200)
	}
}

// BenchmarkPatch is what a step of a session adds: with 100 changed pages in a memory with little and with much data, 20
// MiB of changed data, and the whole of 20 MiB.
func BenchmarkPatch(b *testing.B) {
	for _, bb := range []struct {
		name  string
		held  uint32 // bytes of data in the memory
		pages uint32 // changed since the checkpoint
		whole bool
	}{
		{"100pages", 64 << 10, 100, false}, {"100pages-layer", 20 << 20, 100, false},
		{"20MiB", 64 << 10, 20 << 20 >> 12, false}, {"20MiB-layer", 8 << 20, 20 << 20 >> 12, false},
		{"keyframe", 512 << 10, 0, true}, {"keyframe-20MiB", 20 << 20, 0, true},
	} {
		b.Run(bb.name, func(b *testing.B) {
			x := changed(b, 0)
			x.step(bb.held>>12, 1)
			x.step(bb.pages, 1)
			c := x.checkpoint()
			x.step(bb.pages, 2)
			if bb.whole {
				c = nil
			}
			b.SetBytes(0)
			var p *wasm.Patch
			for b.Loop() {
				p = x.patch(c)
				p.Parts(512 << 10)
			}
			b.ReportMetric(float64(p.Bytes()), "bytes")
		})
	}
}

// BenchmarkApply restores a session from a keyframe of 200 pages and 100 steps.
func BenchmarkApply(b *testing.B) {
	x := changed(b, 0)
	x.step(200, 99)
	chain := []wasm.PatchData{data(x.patch(nil))}
	for i := range uint32(100) {
		c := x.checkpoint()
		x.step(100, i)
		chain = append(chain, data(x.patch(c)))
		c.Release()
	}
	b.SetBytes(0)
	for b.Loop() {
		x.apply(chain...)
	}
}

// BenchmarkApply20MiB restores a session with much data.
func BenchmarkApply20MiB(b *testing.B) {
	x := changed(b, 0)
	for at := uint32(16 << 20); at < 36<<20; at += 1 << 20 {
		x.call(tg.Fill, at, at>>20, 1<<20)
	}
	p := x.patch(nil)
	chain := wasm.PatchData{Head: p.Head(), Parts: p.Parts(512 << 10)}
	for b.Loop() {
		x.apply(chain)
	}
}

// BenchmarkMemoryFork copies a session with little and with much data.
func BenchmarkMemoryFork(b *testing.B) {
	for name, n := range map[string]uint32{"256KiB": 256 << 10, "20MiB-layer": 20 << 20} {
		b.Run(name, func(b *testing.B) {
			x := changed(b, n)
			x.checkpoint().Release()
			b.SetBytes(0)
			for b.Loop() {
				m, err := x.m.Fork()
				if err != nil {
					b.Fatal(err)
				}
				m.Close()
			}
		})
	}
}
