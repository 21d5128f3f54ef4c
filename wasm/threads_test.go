package wasm_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/wasm"
	tg "github.com/mayfly-run/mayfly/wasm/internal/testguest"
	"github.com/mayfly-run/mayfly/wasm/wasi"
)

// Where the programs of these tests have their things.
const (
	flag    = tg.Scratch + 4*iota // a word to wait on
	flag2                         //
	result                        // of a wait
	result2                       //
	sum                           // counts
	turns                         //
	seen                          // copies of thread-local words
	seen2
	stack1   = tg.Scratch + 0x1000 // shadow stacks of 4 KiB
	stack2   = tg.Scratch + 0x2000
	stack3   = tg.Scratch + 0x3000
	program1 = tg.Scratch + 0x8000 // programs of threads
	program2 = tg.Scratch + 0x9000
	program3 = tg.Scratch + 0xa000
	message  = tg.Scratch + 0xb000
	page4k   = 0x1000
)

var (
	start1 = tg.Instr{Op: tg.StartT, A: program1, B: stack1, C: stack1 + page4k}
	start2 = tg.Instr{Op: tg.StartT, A: program2, B: stack2, C: stack2 + page4k}
)

func threadImage(t testing.TB) *wasm.Image {
	t.Helper()
	g := newGuest(&tg.Options{Threads: true})
	g.ID = "threads"
	im, err := newRuntime(t, "").Image(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// threadBox is a box with programs in its memory; timeouts end what hangs.
func threadBox(t testing.TB, im *wasm.Image, programs ...[]byte) *box {
	t.Helper()
	b := newBox(t, im, nil)
	b.call(tg.Grow, 8)
	for i, p := range programs {
		b.store(program1+uint32(i)*page4k, p)
	}
	b.o.Timeout = 20 * time.Second
	b.process(wasi.Options{})
	return b
}

// store puts bytes into the memory, a word at a time.
func (b *box) store(addr uint32, data []byte) {
	b.t.Helper()
	data = append(bytes.Clone(data), 0, 0, 0)
	for i, w := range words(data[:len(data)/4*4]) {
		b.call(tg.Poke, addr+4*uint32(i), w)
	}
}

func (b *box) word(addr uint32) uint32 { b.t.Helper(); return words(b.call(tg.Load, addr))[0] }

func (b *box) wantWord(name string, addr, want uint32) {
	b.t.Helper()
	if got := b.word(addr); got != want {
		b.t.Errorf("%s is %d, want %d", name, int32(got), int32(want))
	}
}

func (b *box) program(code ...tg.Instr) error {
	_, _, err := b.usage(code...)
	return err
}

func (b *box) usage(code ...tg.Instr) ([]byte, wasm.Usage, error) {
	return b.try(tg.RequestBytes(tg.RunProgram, tg.Program(code...)))
}

func (b *box) mustRun(code ...tg.Instr) wasm.Usage {
	b.t.Helper()
	_, u, err := b.usage(code...)
	if err != nil {
		b.t.Fatal(err)
	}
	return u
}

// join waits until a thread has set a word.
func join(addr uint32) []tg.Instr {
	return []tg.Instr{{Op: tg.YieldT}, {Op: tg.JumpUnless, A: addr, B: 1, C: 1}}
}

func TestThreadsShareMemory(t *testing.T) {
	im := threadImage(t)
	b := threadBox(t, im,
		tg.Program(tg.Instr{Op: tg.AddT, A: sum, B: 5}, tg.Instr{Op: tg.AddT, A: flag, B: 1}, tg.Instr{Op: tg.WakeT, A: flag, B: 1}))
	u := b.mustRun(start1, tg.Instr{Op: tg.WaitT, A: flag, B: 5000, C: result}, tg.Instr{Op: tg.AddT, A: sum, B: 2})
	b.wantWord("errno", tg.Errno, 0)
	b.wantWord("sum", sum, 7)
	b.wantWord("result of wait", result, 0)
	if u.Threads != 2 || u.ThreadsStarted != 1 || u.Switches < 2 {
		t.Errorf("usage %+v", u)
	}
	b.wantCount(0, tg.Pages+8)
}

// Each thread has its own stack pointer and thread-local words; what a switch exchanges is put back.
func TestThreadState(t *testing.T) {
	im := threadImage(t)
	b := threadBox(t, im, tg.Program(
		tg.Instr{Op: tg.CopyT, A: seen, B: tg.ThreadLocal}, // starts as zero
		tg.Instr{Op: tg.LocalT, A: 22}, tg.Instr{Op: tg.StackT, A: 3}, tg.Instr{Op: tg.YieldT}, tg.Instr{Op: tg.StackT, A: 4},
		tg.Instr{Op: tg.CopyT, A: seen2, B: tg.ThreadLocal}, tg.Instr{Op: tg.AddT, A: flag, B: 1}))
	code := []tg.Instr{{Op: tg.AddT, A: seen, B: 99}, {Op: tg.LocalT, A: 11}, start1, {Op: tg.YieldT}, {Op: tg.CopyT, A: result, B: tg.ThreadLocal}}
	b.mustRun(append(append(code, join(flag)...), tg.Instr{Op: tg.CopyT, A: result2, B: tg.ThreadLocal}, tg.Instr{Op: tg.StackT, A: 20})...)
	b.wantWord("new thread's local", seen, 0)
	b.wantWord("thread's local", seen2, 22)
	b.wantWord("first thread's local", result, 11)
	b.wantWord("first thread's local at the end", result2, 11)
	b.wantWord("thread-local word after the call", tg.ThreadLocal, 11)
}

func TestThreadStackOverflow(t *testing.T) {
	im := threadImage(t)
	b := threadBox(t, im, tg.Program(tg.Instr{Op: tg.StackT, A: 5}, tg.Instr{Op: tg.AddT, A: flag, B: 1}))
	err := b.program(append([]tg.Instr{start1}, join(flag)...)...)
	var overflow *wasm.StackError
	if !errors.As(err, &overflow) || overflow.Thread != 2 || overflow.Size != page4k {
		t.Fatalf("got %v, want a StackError of thread 2", err)
	}
	if _, _, err := b.try(tg.Request(tg.Status)); !errors.Is(err, wasm.ErrSuspect) {
		t.Errorf("memory is %v after an overflow, want suspect", err)
	}
}

func TestThreadFails(t *testing.T) {
	im := threadImage(t)
	tests := []struct {
		name string
		code []tg.Instr
		want string
	}{
		{"trap", []tg.Instr{{Op: tg.TrapT}}, "unreachable"},
		{"out of bounds", []tg.Instr{{Op: tg.AddT, A: 0xf0000000}}, "out of bounds"},
		{"native stack", []tg.Instr{{Op: tg.DeepT, A: 0xffffffff}}, "stack"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := threadBox(t, im, tg.Program(test.code...), tg.Program(tg.Instr{Op: tg.WaitT, A: flag2, B: ^uint32(0), C: result}))
			s, err := b.m.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			err = b.program(start2, start1, tg.Instr{Op: tg.WaitT, A: flag, B: ^uint32(0), C: result})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want something about %q", err, test.want)
			}
			if err := b.m.Restore(s); err != nil {
				t.Fatal(err)
			}
			b.wantCount(0, tg.Pages+8)
		})
	}
}

func TestThreadExits(t *testing.T) {
	im := threadImage(t)
	b := threadBox(t, im, tg.Program(tg.Instr{Op: tg.AddT, A: flag, B: 1}, tg.Instr{Op: tg.ExitT}))
	b.mustRun(append([]tg.Instr{start1}, join(flag)...)...)
}

func TestThreadLimits(t *testing.T) {
	im := threadImage(t)
	b := threadBox(t, im, tg.Program(tg.Instr{Op: tg.WaitT, A: flag, B: ^uint32(0), C: result}))
	b.o.MaxThreads = 2
	for _, bad := range []tg.Instr{
		{Op: tg.StartT, A: program1, B: stack1, C: stack1},
		{Op: tg.StartT, A: program1, B: stack1 + 16, C: stack1},
		{Op: tg.StartT, A: program1, B: stack1, C: 0xfffffff0},
	} {
		b.mustRun(bad)
		b.wantWord("errno of a bad stack", tg.Errno, 28)
	}
	b.mustRun(start1, start1)
	b.wantWord("errno of the third thread", tg.Errno, 6)
	b.mustRun(start1)
	b.wantWord("errno after the others were dropped", tg.Errno, 0)
}

// The recursion of many threads is bounded together, whatever each of them may do.
func TestThreadNativeStacks(t *testing.T) {
	im := threadImage(t)
	deep := tg.Program(tg.Instr{Op: tg.DeepT, A: 200_000}, tg.Instr{Op: tg.AddT, A: flag, B: 1})
	b := threadBox(t, im, deep)
	u := b.mustRun(append([]tg.Instr{start1}, join(flag)...)...)
	if u.StackPeak < 1<<20 {
		t.Fatalf("peak of the native stacks is %d: the runtime's stacks are not seen", u.StackPeak)
	}
	b = threadBox(t, im, deep)
	b.o.MaxStacks = 1 << 20
	if err := b.program(append([]tg.Instr{start1}, join(flag)...)...); !errors.Is(err, wasm.ErrStacks) {
		t.Errorf("got %v, want ErrStacks", err)
	}
}

func TestDeadlock(t *testing.T) {
	im := threadImage(t)
	forever := tg.Instr{Op: tg.WaitT, A: flag, B: ^uint32(0), C: result}
	b := threadBox(t, im, tg.Program(forever))
	b.mustRun(start1, tg.Instr{Op: tg.WaitT, A: flag2, B: ^uint32(0), C: result2},
		tg.Instr{Op: tg.CopyT, A: seen, B: tg.Control}, tg.Instr{Op: tg.ClearT})
	b.wantWord("interrupt", seen, 4)
	// A guest that does not care is ended.
	if err := b.program(start1, forever, forever); !errors.Is(err, wasm.ErrDeadlock) {
		t.Errorf("got %v, want ErrDeadlock", err)
	}
	// A thread that sleeps will go on: no deadlock.
	b = threadBox(t, im, tg.Program(tg.Instr{Op: tg.SleepT, A: 5}, tg.Instr{Op: tg.WakeT, A: flag, B: 1}))
	b.mustRun(start1, forever)
	b.wantWord("result", result, 0)
}

func TestWaitTimesOut(t *testing.T) {
	im := threadImage(t)
	b := threadBox(t, im)
	b.mustRun(tg.Instr{Op: tg.WaitT, A: flag, B: 1, C: result}, tg.Instr{Op: tg.WaitT, A: flag, B: 0, C: result2})
	b.wantWord("result", result, 1)
	b.wantWord("result of no time", result2, 1)
}

// An interrupt reaches the first thread wherever it waits, and the kill that follows ends all.
func TestThreadTimeout(t *testing.T) {
	im := threadImage(t)
	forever := tg.Instr{Op: tg.WaitT, A: flag, B: ^uint32(0), C: result}
	long := tg.Instr{Op: tg.SleepT, A: 100_000}
	spin := tg.Instr{Op: tg.SpinUntilT, A: flag, B: 1}
	dull := tg.Instr{Op: tg.SpinT, A: ^uint32(0)} // about 4 s, without a yield
	tests := []struct {
		name   string
		first  tg.Instr
		second tg.Instr
	}{
		{"wait beside a spinning thread", forever, spin},
		{"wait beside a sleeping thread", forever, long},
		{"timed wait beside a waiting thread", tg.Instr{Op: tg.WaitT, A: flag2, B: 100_000, C: result}, forever},
		{"sleep beside a waiting thread", long, forever},
		{"sleep beside a spinning thread", long, spin},
		{"spin beside a spinning thread", spin, spin},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := threadBox(t, im, tg.Program(test.second))
			b.o.Timeout, b.o.Grace = 20*time.Millisecond, 10*time.Second
			if test.first.Op != tg.SpinUntilT { // which does not look at the interrupt
				_, u, err := b.usage(start1, test.first, tg.Instr{Op: tg.CopyT, A: seen, B: tg.Control}, tg.Instr{Op: tg.ClearT})
				if err != nil || u.Interrupted != wasm.TimeLimit {
					t.Fatalf("%v, %+v", err, u)
				}
				b.wantWord("interrupt", seen, 1)
			}
			b.o.Grace = 20 * time.Millisecond
			err := b.program(start1, test.first, forever, forever)
			if killed := new(wasm.KilledError); !errors.As(err, &killed) || killed.Reason != wasm.TimeLimit {
				t.Errorf("got %v, want a kill", err)
			}
		})
	}
	t.Run("thread that never yields", func(t *testing.T) {
		b := threadBox(t, im, tg.Program(dull))
		b.o.Timeout, b.o.Grace = 20*time.Millisecond, 20*time.Millisecond
		err := b.program(start1, forever, forever)
		if killed := new(wasm.KilledError); !errors.As(err, &killed) {
			t.Errorf("got %v, want a kill", err)
		}
	})
}

func TestThreadCancel(t *testing.T) {
	im := threadImage(t)
	b := threadBox(t, im, tg.Program(tg.Instr{Op: tg.AddT, A: sum, B: 1}, tg.Instr{Op: tg.SleepT, A: 100_000}))
	ctx, cancel := context.WithCancel(t.Context())
	b.o.Handle = func(context.Context, []byte) []byte { cancel(); return nil }
	b.store(message, append(wasm.Frame{}.Append(nil), 'x'))
	_, u, err := im.Call(ctx, b.m, tg.RequestBytes(tg.RunProgram, tg.Program(start1, tg.Instr{Op: tg.YieldT},
		tg.Instr{Op: tg.CallT, A: message, B: seen2}, tg.Instr{Op: tg.ClearT})), &b.o)
	if err != nil || u.Interrupted != wasm.Cancelled {
		t.Errorf("%v, %+v", err, u)
	}
	b.wantWord("thread's word", sum, 1)
}

// Host calls of several threads run at the same time, and each gets its own answer.
func TestThreadHostCalls(t *testing.T) {
	im := threadImage(t)
	caller := func(n uint32) []byte {
		return tg.Program(tg.Instr{Op: tg.CallT, A: message + 16*n, B: seen + 4*n}, tg.Instr{Op: tg.AddT, A: sum, B: 1})
	}
	b := threadBox(t, im, caller(1), caller(2))
	for n := range uint32(3) {
		b.store(message+16*n, append(wasm.Frame{}.Append(nil), byte('a'+n)))
	}
	inside := make(chan struct{}, 3)
	all := make(chan struct{})
	go func() {
		for range 3 {
			<-inside
		}
		close(all)
	}()
	b.o.Handle = func(_ context.Context, q []byte) []byte {
		inside <- struct{}{}
		<-all // only when all three are here
		return []byte{q[8] - 'a' + 'A', 0, 0, 0}
	}
	code := []tg.Instr{start1, start2, {Op: tg.CallT, A: message, B: seen}, {Op: tg.AddT, A: sum, B: 1}}
	b.mustRun(append(code, tg.Instr{Op: tg.YieldT}, tg.Instr{Op: tg.JumpUnless, A: sum, B: 3, C: 1})...)
	for n := range uint32(3) {
		b.wantWord("answer", seen+4*n, 'A'+n)
	}
}

// A thread that computes gives way to others when the host asks for it; ticks are what the host is asked by.
func TestThreadsTakeTurns(t *testing.T) {
	im := threadImage(t)
	b := threadBox(t, im,
		tg.Program(tg.Instr{Op: tg.SpinUntilT, A: flag, B: 1}, tg.Instr{Op: tg.AddT, A: sum, B: 1}),
		tg.Program(tg.Instr{Op: tg.SleepT, A: 1}, tg.Instr{Op: tg.AddT, A: flag, B: 1}))
	b.mustRun(start1, start2, tg.Instr{Op: tg.SpinUntilT, A: sum, B: 1})
}

// Interrupting ends the waits of others, dropping ends the others themselves.
func TestInterruptAndDrop(t *testing.T) {
	im := threadImage(t)
	b := threadBox(t, im,
		tg.Program(tg.Instr{Op: tg.WaitT, A: flag, B: ^uint32(0), C: result}, tg.Instr{Op: tg.AddT, A: sum, B: 1}),
		tg.Program(tg.Instr{Op: tg.SleepT, A: 100_000}, tg.Instr{Op: tg.AddT, A: sum, B: 1}))
	b.mustRun(start1, start2, tg.Instr{Op: tg.YieldT}, tg.Instr{Op: tg.InterruptT},
		tg.Instr{Op: tg.YieldT}, tg.Instr{Op: tg.JumpUnless, A: sum, B: 2, C: 1})
	b.wantWord("result of the wait", result, 0)
	b.mustRun(start1, start2, tg.Instr{Op: tg.YieldT}, tg.Instr{Op: tg.DropT}, tg.Instr{Op: tg.WaitT, A: flag2, B: 1, C: result2})
	b.wantWord("sum after the drop", sum, 2)
	// What is alive at the end is dropped as well.
	b.mustRun(start1, start2, tg.Instr{Op: tg.YieldT})
	b.wantWord("sum after the call", sum, 2)
}

// Memory grows under a thread that waits.
func TestGrowthUnderThreads(t *testing.T) {
	im := threadImage(t)
	b := threadBox(t, im, tg.Program(tg.Instr{Op: tg.StackT, A: 2}, tg.Instr{Op: tg.WaitT, A: flag, B: 5000, C: result},
		tg.Instr{Op: tg.AddT, A: 30 * pageSize, B: 7}, tg.Instr{Op: tg.StackT, A: 3}, tg.Instr{Op: tg.AddT, A: flag2, B: 1}))
	b.mustRun(append([]tg.Instr{start1, {Op: tg.YieldT}, {Op: tg.GrowT, A: 40}, {Op: tg.WakeT, A: flag, B: 1}}, join(flag2)...)...)
	b.wantWord("word beyond the old end", 30*pageSize, 7)
}

// With NoWait a program's time limits are over at once, in their order.
func TestThreadsNoWait(t *testing.T) {
	b := threadBox(t, threadImage(t), tg.Program(
		tg.Instr{Op: tg.WaitT, A: flag2, B: 1_000_000_000, C: result2}, tg.Instr{Op: tg.AddT, A: flag, B: 1}))
	b.o.NoWait = true
	b.mustRun(start1, tg.Instr{Op: tg.WaitT, A: flag, B: 2_000_000_000, C: result}, tg.Instr{Op: tg.CopyT, A: seen, B: flag})
	b.wantWord("wait of the thread", result2, 1)
	b.wantWord("wait of the first one", result, 1)
	b.wantWord("threads that were done before", seen, 1)
}
