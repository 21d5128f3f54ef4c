package wasm_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/internal/testgc"
	"github.com/mayfly-run/mayfly/wasm"
	tg "github.com/mayfly-run/mayfly/wasm/internal/testguest"
	"github.com/mayfly-run/mayfly/wasm/wasi"
)

// crowd is a request with a program for the first thread and those of the threads that it starts, which are in its body
// as well, so that nothing has to be stored beforehand.
type crowd struct {
	r       *rand.Rand
	threads uint32
	code    []byte // after the first thread's program, see request
	first   []tg.Instr
	sum     uint32 // what the threads add up to if all come to their end
}

// Where a crowd has its words and stacks, in memory that the guest has from the beginning.
const (
	crowdSum    = tg.Scratch + 4*iota
	crowdDone                        // the number of threads that have come to their end
	crowdUnused                      // result of waits
	crowdWait                        // and the next three words: waited on
	crowdLocals = tg.Scratch + 0x100 // the thread-local words that threads have seen at the end
	crowdAnswer = tg.Scratch + 0x200 // what host calls were answered
	crowdStacks = tg.Scratch + 0x1000
	crowdSize   = 24 // threads at most
	bodyStart   = tg.Heap + 10
)

// random appends n steps of a thread. None of them takes long or ends it.
func (c *crowd) random(code []tg.Instr, n int) []tg.Instr {
	for range n {
		addr := crowdWait + 4*c.r.Uint32N(4)
		switch c.r.IntN(14) {
		case 0, 1:
			code = append(code, tg.Instr{Op: tg.YieldT})
		case 2:
			code = append(code, tg.Instr{Op: tg.WaitT, A: addr, B: c.r.Uint32N(3), C: crowdUnused})
		case 3, 4:
			code = append(code, tg.Instr{Op: tg.WakeT, A: addr, B: c.r.Uint32N(3)})
		case 5:
			code = append(code, tg.Instr{Op: tg.SleepT, A: c.r.Uint32N(2)})
		case 6:
			code = append(code, tg.Instr{Op: tg.SchedYieldT})
		case 7:
			code = append(code, tg.Instr{Op: tg.SpinT, A: 1 + c.r.Uint32N(100_000)})
		case 8:
			code = append(code, tg.Instr{Op: tg.StackT, A: 1 + c.r.Uint32N(3)})
		case 9:
			code = append(code, tg.Instr{Op: tg.DeepT, A: c.r.Uint32N(2000)})
		case 10:
			if c.r.IntN(4) == 0 {
				code = append(code, tg.Instr{Op: tg.GrowT, A: 1})
			}
		case 11:
			code = append(code, tg.Instr{Op: tg.InterruptT})
		default:
			code = append(code, tg.Instr{Op: tg.AddT, A: crowdSum, B: 1})
			c.sum++
		}
	}
	return code
}

// add makes the program of one more thread, which does mishap in between. It calls the host and compares what it gets.
func (c *crowd) add(mishap ...tg.Instr) {
	n := c.threads
	c.threads++
	frame := append(wasm.Frame{}.Append(nil), byte('a'+n))
	mail := bodyStart + uint32(len(c.code))
	c.code = append(c.code, append(frame, 0, 0, 0)...)
	at := bodyStart + uint32(len(c.code))
	code := []tg.Instr{{Op: tg.LocalT, A: 1000 + n}}
	code = append(c.random(code, c.r.IntN(8)), tg.Instr{Op: tg.CallT, A: mail, B: crowdAnswer + 4*n})
	code = append(c.random(code, c.r.IntN(8)), mishap...)
	code = append(c.random(code, 2), tg.Instr{Op: tg.CopyT, A: crowdLocals + 4*n, B: tg.ThreadLocal},
		tg.Instr{Op: tg.AddT, A: crowdDone, B: 1}, tg.Instr{Op: tg.WakeT, A: crowdDone, B: 1})
	c.code = append(c.code, tg.Program(code...)...)
	low := crowdStacks + n*page4k
	c.first = append(c.random(c.first, c.r.IntN(2)), tg.Instr{Op: tg.StartT, A: at, B: low, C: low + page4k})
}

// request ends the program of the first thread with last. That program stands behind the others, which have to stay where
// they are, so the body begins with a jump to it: one that goes back by a negative number.
func (c *crowd) request(last ...tg.Instr) []byte {
	c.code = append(c.code, make([]byte, -len(c.code)&15)...)
	back := -uint32(len(c.code) / 16)
	copy(c.code, tg.Program(tg.Instr{Op: tg.JumpUnless, A: crowdSum, B: ^uint32(0), C: back})[:16])
	return tg.RequestBytes(tg.RunProgram, append(c.code, tg.Program(append(c.first, last...)...)...))
}

func newCrowd(r *rand.Rand) *crowd { return &crowd{r: r, code: make([]byte, 16)} }

// untilAllDone waits for the ends of n threads.
func untilAllDone(n uint32) []tg.Instr {
	return []tg.Instr{{Op: tg.WaitT, A: crowdDone, B: 5, C: crowdUnused}, {Op: tg.JumpUnless, A: crowdDone, B: n, C: 1}}
}

// TestThreadHammer runs many sandboxes with many threads each, which wait, wake, sleep, compute, recurse, call the host and
// grow the memory, are dropped, killed and trap, while the garbage collector runs. Threads that come to their end must
// have had their own stack, thread-local word and answers all the time.
func TestThreadHammer(t *testing.T) {
	sandboxes, rounds := 200, 4
	if testing.Short() || raceEnabled {
		sandboxes, rounds = 60, 3
	}
	im := threadImage(t)
	stopGC := testgc.Every(t, 0)
	var wg sync.WaitGroup
	var started, killed atomic.Int64
	inFlight := make(chan struct{}, 16)
	for i := range sandboxes {
		inFlight <- struct{}{}
		wg.Go(func() {
			defer func() { <-inFlight }()
			s := hammerThreads(t, im, rand.New(rand.NewPCG(3, uint64(i))), rounds)
			started.Add(int64(s.started))
			killed.Add(int64(s.killed))
		})
	}
	wg.Wait()
	stopGC()
	t.Logf("%d sandboxes, %d threads started, %d calls killed", sandboxes, started.Load(), killed.Load())
	newBox(t, im, nil).wantCount(0, tg.Pages)
}

type hammered struct{ started, killed int }

func hammerThreads(t *testing.T, im *wasm.Image, r *rand.Rand, rounds int) (done hammered) {
	m, err := im.NewMemory(&wasm.MemoryOptions{Limit: guest + 64*pageSize})
	if err != nil {
		t.Error(err)
		return done
	}
	process := wasi.NewProcess(&wasi.Options{Block: wasm.Block, Shared: wasm.Shared})
	defer process.Close()
	defer m.Close()
	b := &box{t: t, im: im, m: m}
	b.o.Process = process
	clean, err := m.Snapshot()
	if err != nil {
		t.Error(err)
		return done
	}
	echo := func(_ context.Context, q []byte) []byte {
		runtime.Gosched()
		return []byte{q[8] - 'a' + 'A', 0, 0, 0}
	}
	for range rounds {
		c := newCrowd(r)
		o := wasm.CallOptions{Process: process, Handle: echo, Timeout: time.Minute}
		var want func(error) bool
		threads := 1 + r.Uint32N(crowdSize)
		mishap, at := []tg.Instr(nil), r.Uint32N(threads)
		last := untilAllDone(threads)
		switch r.IntN(8) {
		case 0, 1, 2: // all come to their end
		case 3: // one does not
			mishap, want = []tg.Instr{{Op: tg.TrapT}}, func(err error) bool { return errors.As(err, new(*wasm.TrapError)) }
		case 4:
			mishap, want = []tg.Instr{{Op: tg.StackT, A: 5}}, func(err error) bool { return errors.As(err, new(*wasm.StackError)) }
		case 5: // the first ends before them
			last, want = c.random(nil, 3), func(err error) bool { return err == nil }
		case 6: // it drops them, and does without
			last, want = []tg.Instr{{Op: tg.YieldT}, {Op: tg.DropT}, {Op: tg.SleepT, A: 1}}, func(err error) bool { return err == nil }
		case 7: // all are killed, if they are not faster
			o.Timeout, o.Grace = time.Duration(1+r.IntN(4000))*time.Microsecond, -1
			mishap = []tg.Instr{{Op: tg.SpinUntilT, A: crowdSum, B: ^uint32(0)}}
			want = func(err error) bool { return errors.As(err, new(*wasm.KilledError)) }
		}
		for i := range threads {
			if i == at {
				c.add(mishap...)
			} else {
				c.add()
			}
		}
		_, u, err := im.Call(t.Context(), m, c.request(last...), &o)
		done.started += u.ThreadsStarted
		switch {
		case want != nil && !want(err):
			t.Errorf("%d threads, mishap %v: got %v", threads, mishap, err)
		case want == nil && (err != nil || u.ThreadsStarted != int(threads)):
			t.Errorf("%d threads: %v, %+v", threads, err, u)
		case want == nil:
			b.wantWord("sum", crowdSum, c.sum)
			for n := range threads {
				b.wantWord("thread-local word", crowdLocals+4*n, 1000+n)
				b.wantWord("answer", crowdAnswer+4*n, 'A'+n)
			}
		case err != nil:
			done.killed++
		}
		if err := m.Restore(clean); err != nil {
			t.Error(err)
		}
		b.wantCount(0, tg.Pages)
	}
	return done
}
