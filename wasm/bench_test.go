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

// threadBench runs a program whose last instruction, which goes back by as many as there are behind the first ones, is
// repeated until a word has the value of the number of rounds.
func threadBench(b *testing.B, thread []tg.Instr, before []tg.Instr, round ...tg.Instr) {
	x := threadBox(b, threadImage(b), tg.Program(thread...))
	x.o.Timeout = 0
	round = append(round, tg.Instr{Op: tg.AddT, A: sum, B: 1})
	round = append(round, tg.Instr{Op: tg.JumpUnless, A: sum, B: uint32(b.N), C: uint32(len(round))})
	b.ResetTimer()
	u := x.mustRun(append(before, round...)...)
	b.ReportMetric(float64(u.Switches)/float64(b.N), "switches/op")
}

// BenchmarkThread starts a thread that ends at once.
func BenchmarkThread(b *testing.B) {
	b.ReportAllocs()
	threadBench(b, []tg.Instr{{Op: tg.End}}, nil, start1, tg.Instr{Op: tg.YieldT})
}

// BenchmarkPingPong has two threads wake each other in turn.
func BenchmarkPingPong(b *testing.B) {
	b.ReportAllocs()
	threadBench(b,
		[]tg.Instr{{Op: tg.WakeT, A: flag2, B: 1}, {Op: tg.WaitT, A: flag, B: ^uint32(0), C: result}, {Op: tg.JumpUnless, A: 0, B: 1, C: 2}},
		[]tg.Instr{start1},
		tg.Instr{Op: tg.WakeT, A: flag, B: 1}, tg.Instr{Op: tg.WaitT, A: flag2, B: ^uint32(0), C: result})
}

// BenchmarkYield has two threads yield to each other.
func BenchmarkYield(b *testing.B) {
	b.ReportAllocs()
	threadBench(b, []tg.Instr{{Op: tg.YieldT}, {Op: tg.JumpUnless, A: 0, B: 1, C: 1}}, []tg.Instr{start1}, tg.Instr{Op: tg.YieldT})
}

// BenchmarkBlock has a thread leave and come back, while another one waits, computes nothing and does not leave.
func BenchmarkBlock(b *testing.B) {
	b.ReportAllocs()
	threadBench(b, []tg.Instr{{Op: tg.WaitT, A: flag, B: ^uint32(0), C: result}},
		[]tg.Instr{start1, {Op: tg.YieldT}}, tg.Instr{Op: tg.SchedYieldT})
}

// BenchmarkTick has a thread compute from tick to tick, alone and with others that wait or are ready.
func BenchmarkTick(b *testing.B) {
	spin := tg.Instr{Op: tg.SpinT, A: 50_000} // rewrite.DefaultInterval: one tick
	for name, before := range map[string][]tg.Instr{
		"alone":          nil,
		"others waiting": {start1, start1, start1, {Op: tg.YieldT}},
		"others ready":   {start1, start1, start1},
	} {
		b.Run(name, func(b *testing.B) {
			threadBench(b, []tg.Instr{{Op: tg.WaitT, A: flag, B: ^uint32(0), C: result}}, before, spin)
		})
	}
}
