package wasm_test

import (
	"context"
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/wasm"
	tg "github.com/mayfly-run/mayfly/wasm/internal/testguest"
)

// forkBox is a box whose guest may fork; each fork runs what it is asked with the options.
func forkBox(t *testing.T, im *wasm.Image, o *wasm.CallOptions, programs ...[]byte) (b *box, forks *atomic.Int32) {
	b = threadBox(t, im, programs...)
	forks = new(atomic.Int32)
	b.o.Fork = func(m *wasm.Memory) func(context.Context, []byte) []byte {
		return func(ctx context.Context, request []byte) []byte {
			defer m.Close()
			forks.Add(1)
			answer, _, err := im.Call(ctx, m, request, o)
			if err != nil {
				return []byte("died")
			}
			return answer
		}
	}
	return b, forks
}

// loadRequest is a request of 12 bytes: the word at an address.
func loadRequest(addr uint32) []byte {
	b := tg.Request(tg.Load, addr)
	copy(b[4:], []byte{0, 0, 0, 0}) // a head of no bytes, instead of {}
	return append(b[:8], b[10:]...)
}

func TestFork(t *testing.T) {
	im := threadImage(t)
	b, forks := forkBox(t, im, nil)
	b.store(message, loadRequest(sum))
	b.mustRun(
		tg.Instr{Op: tg.AddT, A: sum, B: 5},
		tg.Instr{Op: tg.ForkT, A: message, B: seen},
		tg.Instr{Op: tg.AddT, A: sum, B: 1}, // the fork does not see it
		tg.Instr{Op: tg.ForkT, A: message, B: seen2},
		tg.Instr{Op: tg.ForkWaitT, A: seen, B: ^uint32(0), C: stack1},
		tg.Instr{Op: tg.ForkWaitT, A: seen2, B: ^uint32(0), C: stack2},
		tg.Instr{Op: tg.ForkWaitT, A: seen2, B: ^uint32(0), C: result}, // the handle is gone
	)
	b.wantWord("length of the first answer", stack1, 4)
	b.wantWord("first answer", stack1+4, 5)
	b.wantWord("second answer", stack2+4, 6)
	b.wantWord("answer of a handle that is gone", result, ^uint32(0))
	if n := forks.Load(); n != 2 {
		t.Errorf("%d forks", n)
	}
	b.wantCount(0, tg.Pages+8)
}

// A fork made by another thread goes on in the first one's place.
func TestForkOfThread(t *testing.T) {
	im := threadImage(t)
	b, _ := forkBox(t, im, nil, tg.Program(
		tg.Instr{Op: tg.LocalT, A: 22}, tg.Instr{Op: tg.ForkT, A: message, B: seen},
		tg.Instr{Op: tg.ForkWaitT, A: seen, B: ^uint32(0), C: stack2}, tg.Instr{Op: tg.AddT, A: flag, B: 1}))
	b.store(message, loadRequest(tg.ThreadLocal))
	b.mustRun(append([]tg.Instr{{Op: tg.LocalT, A: 11}, start1}, join(flag)...)...)
	b.wantWord("thread-local word in the fork", stack2+4, 11)
}

func TestForkLimits(t *testing.T) {
	im := threadImage(t)
	b := threadBox(t, im)
	b.store(message, loadRequest(sum))
	b.mustRun(tg.Instr{Op: tg.ForkT, A: message, B: seen})
	b.wantWord("handle where forks are refused", seen, ^uint32(2))

	b, _ = forkBox(t, im, nil)
	b.o.MaxForks = 1
	b.store(message, loadRequest(sum))
	b.mustRun(tg.Instr{Op: tg.ForkT, A: message, B: seen}, tg.Instr{Op: tg.ForkT, A: message, B: seen2},
		tg.Instr{Op: tg.ForkT, A: 0xfffffff0, B: result})
	b.wantWord("second handle", seen2, ^uint32(3))
	b.wantWord("handle of no frame", result, ^uint32(0))
}

// The native stack of a fork counts as that of any call.
func TestForkStacks(t *testing.T) {
	im := threadImage(t)
	b, _ := forkBox(t, im, &wasm.CallOptions{MaxStacks: 1 << 20})
	r := tg.Request(tg.Deep, 200_000)
	copy(r[4:], []byte{0, 0, 0, 0})
	b.store(message, append(r[:8], r[10:]...))
	b.mustRun(tg.Instr{Op: tg.ForkT, A: message, B: seen}, tg.Instr{Op: tg.ForkWaitT, A: seen, B: ^uint32(0), C: stack2})
	b.wantWord("answer of a fork that recursed", stack2+4, binary.LittleEndian.Uint32([]byte("died")))
}

func TestForkEnds(t *testing.T) {
	im := threadImage(t)
	spin := func(b *box) {
		r := tg.Request(tg.Spin, 0)
		copy(r[4:], []byte{0, 0, 0, 0})
		b.store(message, append(r[:8], r[10:]...))
	}
	b, _ := forkBox(t, im, &wasm.CallOptions{Grace: -1})
	spin(b)
	b.mustRun(tg.Instr{Op: tg.ForkT, A: message, B: seen},
		tg.Instr{Op: tg.ForkWaitT, A: seen, B: 1, C: result}, // the time is over
		tg.Instr{Op: tg.ForkEndT, A: seen},
		tg.Instr{Op: tg.ForkWaitT, A: seen, B: ^uint32(0), C: stack2})
	b.wantWord("wait for too short", result, ^uint32(1))
	b.wantWord("answer of an ended fork", stack2+4, binary.LittleEndian.Uint32([]byte("died")))

	// What is left when the call ends is ended with it.
	b.mustRun(tg.Instr{Op: tg.ForkT, A: message, B: seen})

	// The time limit of the call holds for its forks.
	b.o.Timeout = 20 * time.Millisecond
	if _, u, err := b.usage(tg.Instr{Op: tg.ForkT, A: message, B: seen},
		tg.Instr{Op: tg.ForkWaitT, A: seen, B: ^uint32(0), C: stack2}, tg.Instr{Op: tg.ClearT}); err != nil || u.Interrupted != wasm.TimeLimit {
		t.Errorf("%v, %+v", err, u)
	}
}
