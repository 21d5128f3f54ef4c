package wasm_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/wasm"
	tg "github.com/mayfly-run/mayfly/wasm/internal/testguest"
	"github.com/mayfly-run/mayfly/wasm/wasi"
)

// FuzzThreads has threads run whatever the input says, a list of instructions: an operation, and for each of its three
// arguments a byte that says what kind of number it is, and one with the number. A thread may start anywhere in the list.
// Nothing may panic or take longer than it may, and what a call leaves is either suspect or to be called again.
func FuzzThreads(f *testing.F) {
	const word, instr, stack, small, ones = 1, 2, 3, 4, 6
	step := func(op tg.ThreadOp, args ...byte) []byte {
		return append(append([]byte{byte(op)}, args...), make([]byte, 6-len(args))...)
	}
	join := func(steps ...[]byte) (all []byte) {
		for _, s := range steps {
			all = append(all, s...)
		}
		return all
	}
	start := step(tg.StartT, instr, 3, stack, 1, stack, 2)
	for op := range tg.ThreadOp(40) { // each operation in a first and in a second thread
		f.Add(join(start, step(tg.YieldT), step(op, word, 1, small, 2, word, 3), step(op, word, 1, small, 2, word, 3), step(tg.End)))
		f.Add(join(start, step(tg.WaitT, word, 1, ones, 32, word, 2), step(tg.End), step(op, ones, 31, ones, 32, word, 0)))
	}
	f.Add(join(start, step(tg.JumpUnless, word, 0, small, 1, small, 1), step(tg.End), step(tg.StartT, instr, 3, stack, 4, stack, 5), step(tg.WaitT, word, 1, small, 1)))

	im := threadImage(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 1024 {
			return
		}
		b := newBox(t, im, &wasm.MemoryOptions{Limit: guest + 64*pageSize})
		clean := b.snapshot()
		b.process(wasi.Options{})
		b.o.Timeout, b.o.Grace, b.o.MaxThreads, b.o.MaxStacks = 5*time.Millisecond, time.Millisecond, 8, 32<<20
		b.o.Handle = func(ctx context.Context, q []byte) []byte {
			switch q[0] % 3 {
			case 0:
				<-ctx.Done()
			case 1:
				return q
			}
			return nil
		}
		began := time.Now()
		_, u, err := b.try(tg.RequestBytes(tg.RunProgram, wildProgram(in)))
		// Nothing but the scheduler of a busy machine may add to the limit.
		if d := time.Since(began); d > 10*time.Second {
			t.Errorf("took %v", d)
		}
		if u.Threads > b.o.MaxThreads || u.ThreadsStarted < u.Threads-1 {
			t.Errorf("usage %+v", u)
		}
		b.o.Timeout = 0
		if _, _, again := b.try(tg.Request(tg.Echo)); errors.Is(again, wasm.ErrSuspect) != (err != nil) {
			t.Errorf("a call ended with %v, the next with %v", err, again)
		}
		b.restore(clean)
		b.wantCount(0, tg.Pages)
	})
}

// wildProgram turns any bytes into a program whose threads may do anything.
func wildProgram(in []byte) []byte {
	n := uint32(len(in)/7 + 1)
	var code []tg.Instr
	for len(in) > 0 {
		in = append(in[:len(in):len(in)], make([]byte, max(0, 7-len(in)))...)
		code = append(code, tg.Instr{
			Op: tg.ThreadOp(in[0]), A: wildArg(in[1], in[2], n), B: wildArg(in[3], in[4], n), C: wildArg(in[5], in[6], n),
		})
		in = in[7:]
	}
	return tg.Program(code...)
}

func wildArg(kind, b byte, n uint32) uint32 {
	x := uint32(b)
	switch kind % 9 {
	case 1: // a word
		return tg.Scratch + 4*(x%8)
	case 2: // an instruction
		return bodyStart + 16*(x%n)
	case 3: // a stack's end
		return tg.Scratch + page4k*(x%64)
	case 4:
		return x
	case 5: // near the end of the memory
		return guest + 8 - x
	case 6: // numbers at the borders of types
		return uint32(uint64(1)<<(x%33) - 1)
	case 7: // what host and guest agree on
		return []uint32{tg.Control, tg.Control + 4, tg.Breaker, tg.Record, tg.ThreadLocal, tg.Preempted, tg.AllocMode, tg.Heap}[x%8]
	case 8:
		return binary.LittleEndian.Uint32([]byte{b, ^b, b, ^b})
	}
	return 0
}
