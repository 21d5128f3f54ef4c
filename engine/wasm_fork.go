package engine

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/mayfly-run/mayfly/engine/internal/guest"
	"github.com/mayfly-run/mayfly/wasm"
)

// forks bounds the forks that programs make of themselves (multiprocessing) and that run at the same time, in all
// sandboxes together: more than the cores, since some of them wait.
type forks chan struct{}

func newForks() forks { return make(forks, 2*runtime.GOMAXPROCS(0)) }

// forked counts what the forks of one execution took.
type forked struct {
	ticks atomic.Uint64
	count atomic.Int64
}

// fork returns the wasm.CallOptions.Fork of an execution: each fork is a call with the same limits, files and output, but
// without standard input.
func (s *wasmSandbox) fork(x *Execution, used *forked) func(*wasm.Memory) func(context.Context, []byte) []byte {
	return func(m *wasm.Memory) func(context.Context, []byte) []byte {
		used.count.Add(1)
		p := s.process.Fork()
		handle := noHost
		if x.HandleProcess != nil {
			handle = x.HandleProcess()
		}
		return func(ctx context.Context, request []byte) []byte {
			defer m.Close()
			defer p.Close()
			select {
			case s.forks <- struct{}{}:
				defer func() { <-s.forks }()
			case <-ctx.Done():
				return forkFailed(ctx.Err())
			}
			// The time limit comes with the context. A fork that is told to stop has nothing to clean up.
			o := wasm.CallOptions{Process: p, Handle: handle, Grace: -1, MaxThreads: s.spec.Threads, MaxStacks: int(s.spec.Stacks)}
			if x.Limit != nil {
				// While it runs the limit does not stand still, whatever anybody is asked.
				var rests bool
				o.Idle = func(_ context.Context, idle bool) {
					if rests = idle; idle {
						x.Limit.Rest()
					} else {
						x.Limit.Work()
					}
				}
				x.Limit.Work()
				defer func() {
					if !rests {
						x.Limit.Rest()
					}
				}()
			}
			if x.MaxTicks > 0 {
				o.MaxTicks = max(1, x.MaxTicks-min(x.MaxTicks, used.ticks.Load()))
			}
			answer, usage, err := s.im.Call(ctx, m, request, &o)
			used.ticks.Add(usage.Ticks)
			if err != nil {
				return forkFailed(err)
			}
			return answer
		}
	}
}

// forkFailed is the answer of a fork that has none itself.
func forkFailed(err error) []byte {
	kind, message := "crash", firstLine(err.Error())
	var killed *wasm.KilledError
	switch {
	case errors.As(err, &killed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		kind, message = "ended", "it was ended"
	case errors.Is(err, wasm.ErrNoMemory):
		kind = "memory"
	}
	return wasm.Frame{Code: guest.Failed, Head: failure(kind, message)}.Append(nil)
}

// failure is the head of an answer that is an error.
func failure(kind, message string) []byte {
	head, err := json.Marshal(map[string]string{"type": kind, "message": message})
	if err != nil {
		panic(err) // of strings
	}
	return head
}
