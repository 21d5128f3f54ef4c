package wasm_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/wasm"
	tg "github.com/mayfly-run/mayfly/wasm/internal/testguest"
	"github.com/mayfly-run/mayfly/wasm/sched"
)

var (
	forever  = ^uint32(0)
	waitFlag = tg.Instr{Op: tg.WaitT, A: flag, B: forever, C: result}
	spinFlag = tg.Instr{Op: tg.SpinUntilT, A: flag, B: 1}
	callHost = tg.Instr{Op: tg.CallT, A: message, B: seen}
)

// untilDone is a host function that takes as long as it may.
func untilDone(ctx context.Context, _ []byte) []byte {
	<-ctx.Done()
	return nil
}

// A call ends when one of its threads fails, whatever the others are at. There is no time limit that would end it as well.
func TestFailureEndsAll(t *testing.T) {
	im := threadImage(t)
	tests := []struct {
		name          string
		first, second tg.Instr
		handle        func(context.Context, []byte) []byte
		want          string
	}{
		{"trap beside a host call", callHost, tg.Instr{Op: tg.TrapT}, untilDone, "unreachable"},
		{"trap beside a sleep", tg.Instr{Op: tg.SleepT, A: 1 << 30}, tg.Instr{Op: tg.TrapT}, nil, "unreachable"},
		{"trap beside a wait", waitFlag, tg.Instr{Op: tg.TrapT}, nil, "unreachable"},
		{"panic of a host function beside a loop", spinFlag, callHost, func(context.Context, []byte) []byte { panic("oh no") }, "oh no"},
		{"panic of the first thread's host function beside a loop", callHost, spinFlag, func(context.Context, []byte) []byte { panic("oh no") }, "oh no"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := threadBox(t, im, tg.Program(tg.Instr{Op: tg.YieldT}, tt.second))
			b.store(message, append(wasm.Frame{}.Append(nil), 0))
			b.o.Timeout, b.o.Handle = 0, tt.handle
			err := b.program(start1, tg.Instr{Op: tg.YieldT}, tt.first, tg.Instr{Op: tg.AddT, A: sum, B: 1})
			if !errors.As(err, new(*wasm.TrapError)) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want a trap with %q", err, tt.want)
			}
			b.restore(nil)
			b.wantCount(0, tg.Pages)
		})
	}
}

// A thread that uses up the ticks of all interrupts the first one in its host call.
func TestTickLimitEndsHostCall(t *testing.T) {
	im := threadImage(t)
	for name, first := range map[string]tg.Instr{"host call": callHost, "sleep": {Op: tg.SleepT, A: 1 << 30}} {
		t.Run(name, func(t *testing.T) {
			b := threadBox(t, im, tg.Program(spinFlag))
			b.store(message, append(wasm.Frame{}.Append(nil), 0))
			b.o.Timeout, b.o.Grace, b.o.MaxTicks, b.o.Handle = 0, time.Minute, 20, untilDone
			_, u, err := b.usage(start1, first, tg.Instr{Op: tg.CopyT, A: seen2, B: tg.Control}, tg.Instr{Op: tg.ClearT})
			if err != nil || u.Interrupted != wasm.TickLimit {
				t.Errorf("%v, %+v", err, u)
			}
			b.o.MaxTicks = 0
			b.wantWord("interrupt", seen2, uint32(wasm.TickLimit))
		})
	}
}

// After an interrupt a thread's next host calls and sleeps take their time again.
func TestInterruptIsForOnce(t *testing.T) {
	im := threadImage(t)
	b := threadBox(t, im, tg.Program(callHost, callHost,
		tg.Instr{Op: tg.SleepT, A: 10}, tg.Instr{Op: tg.AddT, A: flag, B: 1}, tg.Instr{Op: tg.WakeT, A: flag, B: 1}))
	b.store(message, append(wasm.Frame{}.Append(nil), 0))
	calls, late := 0, time.Time{}
	b.o.Handle = func(ctx context.Context, _ []byte) []byte {
		if calls++; calls == 1 {
			return untilDone(ctx, nil)
		}
		late = time.Now()
		if ctx.Err() != nil {
			t.Error("the second host call is interrupted before it begins")
		}
		return nil
	}
	b.mustRun(start1, tg.Instr{Op: tg.YieldT}, tg.Instr{Op: tg.InterruptT}, waitFlag)
	if d := time.Since(late); calls != 2 || d < 10*time.Millisecond {
		t.Errorf("%d host calls, and a sleep of 10 ms that took %v at most", calls, d)
	}
	b.wantWord("the thread's word", flag, 1)
}

// Native stacks of threads that are dropped do not count for long.
func TestDroppedStacks(t *testing.T) {
	im := threadImage(t)
	b := threadBox(t, im, tg.Program(tg.Instr{Op: tg.DeepT, A: 100_000}, waitFlag))
	round := []tg.Instr{start1, {Op: tg.YieldT}, {Op: tg.YieldT}, {Op: tg.DropT}, {Op: tg.SleepT, A: 2}, {Op: tg.AddT, A: sum, B: 1},
		{Op: tg.JumpUnless, A: sum, B: 1, C: 6}}
	one := b.mustRun(round...).StackPeak
	b.o.MaxStacks = int(3 * one)
	b.call(tg.Poke, sum, 0)
	round[len(round)-1].B = 12
	u := b.mustRun(round...)
	if b.wantWord("errno of the last start", tg.Errno, 0); u.ThreadsStarted != 12 {
		t.Errorf("%d threads started, want 12", u.ThreadsStarted)
	}
	if one < 1<<20 || u.StackPeak > 3*one {
		t.Errorf("peak of stacks %d, with one thread %d", u.StackPeak, one)
	}
}

// Recursion without loops has no ticks; the stacks are seen at switches.
func TestStacksWithoutTicks(t *testing.T) {
	im := threadImage(t)
	b := threadBox(t, im, tg.Program(tg.Instr{Op: tg.DeepWaitT, A: 200_000, B: flag}))
	one := b.mustRun(start1, tg.Instr{Op: tg.YieldT}).StackPeak
	if one < 1<<20 {
		t.Fatalf("peak of stacks %d: they are not seen", one)
	}
	b.o.MaxStacks = int(4 * one)
	var code []tg.Instr
	for range 8 {
		code = append(code, start1, tg.Instr{Op: tg.YieldT})
	}
	if err := b.program(code...); !errors.Is(err, wasm.ErrStacks) {
		t.Errorf("eight deep threads: %v, want ErrStacks", err)
	}
}

// Threads that have ended leave nothing on the host, however many there are in one call.
func TestManyThreads(t *testing.T) {
	n := uint32(20_000)
	if testing.Short() || raceEnabled {
		n = 5_000
	}
	tests := []struct {
		name   string
		thread []tg.Instr
		round  []tg.Instr
	}{
		{"that end", []tg.Instr{{Op: tg.AddT, A: sum, B: 1}}, []tg.Instr{start1, {Op: tg.YieldT}}},
		{"that exit", []tg.Instr{{Op: tg.AddT, A: sum, B: 1}, {Op: tg.ExitT}}, []tg.Instr{start1, {Op: tg.YieldT}}},
		{"that wait and are dropped", []tg.Instr{{Op: tg.AddT, A: sum, B: 1}, waitFlag}, []tg.Instr{start1, {Op: tg.YieldT}, {Op: tg.DropT}}},
		{"that are dropped at once", nil, []tg.Instr{start1, {Op: tg.AddT, A: sum, B: 1}, {Op: tg.DropT}}},
		{"in host calls", []tg.Instr{{Op: tg.AddT, A: sum, B: 1}, callHost}, []tg.Instr{start1, {Op: tg.YieldT}, {Op: tg.DropT}}},
	}
	im := threadImage(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := threadBox(t, im, tg.Program(tt.thread...))
			b.o.Timeout = 0
			b.store(message, append(wasm.Frame{}.Append(nil), 0))
			b.store(message+16, append(wasm.Frame{Code: 1}.Append(nil), 0))
			var peak atomic.Int64
			var used []uint64
			b.o.Handle = func(ctx context.Context, q []byte) []byte {
				if q[0] == 0 {
					peak.Store(max(peak.Load(), int64(runtime.NumGoroutine())))
					<-ctx.Done()
					return nil
				}
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				used = append(used, m.HeapInuse+m.StackInuse)
				return nil
			}
			measure := tg.Instr{Op: tg.CallT, A: message + 16, B: seen}
			code := append([]tg.Instr{measure}, tt.round...)
			code = append(code, tg.Instr{Op: tg.JumpUnless, A: sum, B: n, C: uint32(len(tt.round))})
			u := b.mustRun(append(code, measure)...)
			// Of those that are dropped at once, only so many are let in as have gone.
			if u.ThreadsStarted != int(n) && tt.thread != nil || u.Threads != 2 || len(u.ThreadTicks) > sched.MaxCounted+1 {
				t.Errorf("%d threads, %d at the same time, %d counted", u.ThreadsStarted, u.Threads, len(u.ThreadTicks))
			}
			grown := int64(used[1]) - int64(used[0])
			t.Logf("%d KiB more in use after %d threads, at most %d goroutines", grown>>10, n, peak.Load())
			if peak.Load() > 3*sched.DefaultMaxThreads {
				t.Errorf("%d goroutines at the same time", peak.Load())
			}
			if grown > 8<<20 {
				t.Errorf("%d bytes more are in use after %d threads", grown, n)
			}
		})
	}
}
