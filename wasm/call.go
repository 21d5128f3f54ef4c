package wasm

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mayfly-run/mayfly/wasm/sched"
	"github.com/mayfly-run/mayfly/wasm/wasi"
)

// Reason says why a call was interrupted. The numbers are those of the control block in guests/README.md.
type Reason uint32

// Reasons of an interruption.
const (
	NotInterrupted Reason = iota
	TimeLimit
	Cancelled
	TickLimit
)

// interruptDeadlock is one more number of the control block. It does not end a call.
const interruptDeadlock = 4

func (r Reason) String() string {
	return [...]string{"not interrupted", "time limit", "cancelled", "CPU limit"}[r&3]
}

// DefaultGrace is the time that a guest has, after it was told to stop, to run its cleanup code before it is killed.
const DefaultGrace = time.Second

// CallOptions of Image.Call; nil means no process, no host functions and no limits.
type CallOptions struct {
	// Process serves the guest's WASI calls. It has to be made with Block as its option of that name.
	Process *wasi.Process
	// Handle serves mayfly.call: it gets the bytes of a request frame and returns those of an answer. Its context is
	// done when the call is to stop.
	Handle func(ctx context.Context, request []byte) []byte
	// Timeout is the wall-clock limit; 0: none. When it is over, the guest gets an interrupt, and is killed if it still
	// runs after Grace. The same happens when the context of the call is done.
	Timeout time.Duration
	// WallLimit takes the place of Timeout, for a limit that can be paused. The call tells it when it is idle.
	WallLimit *WallLimit
	// Idle is told when every thread of the guest waits (true), and before one goes on (false), in turns. In the second case
	// it may wait, for a place among those that run say, until ctx is done. A call can end while it is idle. Default: nobody.
	Idle func(ctx context.Context, idle bool)
	// Grace defaults to DefaultGrace; negative: kill at once.
	Grace time.Duration
	// MaxTicks limits CPU time in ticks of at most about a millisecond; 0: no limit. The same program on the same input takes
	// the same number of ticks, up to what depends on time.
	MaxTicks uint64
	// MaxThreads limits the threads of the guest that are alive at the same time, the first one included. Default:
	// sched.DefaultMaxThreads.
	MaxThreads int
	// MaxStacks limits the bytes of the native stacks of all threads together. Default: DefaultStacks. A recursion that
	// goes beyond ends the call with ErrStacks.
	MaxStacks int
	// Fork prepares a fork that the guest makes of itself, while the guest stands still. The function that it returns runs
	// in a goroutine of its own: it calls Image.Call on the memory, with the frame, and closes the memory; what it returns is
	// the answer for the guest. Its context is done when the call ends. Default: guests cannot fork.
	Fork func(m *Memory) func(ctx context.Context, request []byte) []byte
	// MaxForks limits the forks at the same time. Default: DefaultMaxForks.
	MaxForks int
	// NoWait lets no thread wait for a time limit while no other one can run: the one that is due first is over at once.
	// For a program that is run again to see whether it does the same. Default: false. See wasi.Options.NoWait as well.
	NoWait bool
}

// Usage is what a call took.
type Usage struct {
	Ticks uint64
	// Threads is the largest number of threads that were alive at the same time.
	Threads int
	// ThreadsStarted counts the threads that were started, Switches how often one went on after another.
	ThreadsStarted int
	Switches       uint64
	// ThreadTicks are the ticks of each thread by ID, see sched.Stats.Ticks; nil when there was one thread only.
	ThreadTicks []uint64
	// StackPeak is the largest size in bytes that the native stacks had together, as far as was seen at ticks and switches.
	StackPeak int64
	// MemoryPeak is the largest size in bytes that the memory had since it was forked or restored.
	MemoryPeak int64
	// MemoryDenied tells that the guest asked for more memory than its limit during this call.
	MemoryDenied bool
	// Interrupted is the reason of the interrupt that the guest got.
	Interrupted Reason
}

// Errors of Image.Call. After a *TrapError, a *KilledError or a *wasi.ExitError the guest stopped half-way, and after an
// answer that is an ErrFrame it is not to be trusted: its memory is suspect, and Call refuses it with ErrSuspect until it
// is restored.
var (
	ErrSuspect  = errors.New("memory of a guest that stopped half-way")
	ErrNoMemory = errors.New("guest has no memory for the request or its answer")
	ErrGuest    = errors.New("guest could not handle the request")
)

// TrapError is a fault of the guest: an access out of bounds, unreachable code, a stack overflow.
type TrapError struct{ Err error }

func (e *TrapError) Error() string { return "guest trapped: " + e.Err.Error() }

// Unwrap returns the runtime's error.
func (e *TrapError) Unwrap() error { return e.Err }

// KilledError means that the guest did not stop in time after an interrupt.
type KilledError struct{ Reason Reason }

func (e *KilledError) Error() string { return "guest killed: " + e.Reason.String() }

// call is one run of guest code: the state that host functions share. Whichever thread of the guest runs owns it.
type call struct {
	mem     *Memory
	worker  *worker
	control uint32
	process *wasi.Process
	handle  func(ctx context.Context, request []byte) []byte
	caller  context.Context // of Image.Call
	ops     context.Context // done when blocking host functions have to return
	stop    func()          // ends ops

	sched *sched.Scheduler // nil until threads come into play
	first thread

	start  time.Time
	opts   CallOptions
	ticks  uint64
	reason Reason
	sentAt time.Time
	grace  *time.Timer

	native     atomic.Int64 // bytes of native stacks; those of threads that were dropped count until they are gone
	peakStacks int64

	forks    []*child // by handle
	forking  sync.WaitGroup
	forked   atomic.Int64 // bytes that were copied for those that run
	forkCtx  context.Context
	endForks context.CancelFunc
}

// Call runs one request on m and returns the guest's answer. Only one call at a time runs on a memory; others wait.
func (im *Image) Call(ctx context.Context, m *Memory, request []byte, o *CallOptions) ([]byte, Usage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return nil, Usage{}, ErrClosed
	case m.im != im:
		return nil, Usage{}, ErrImage
	case m.suspect:
		return nil, Usage{}, ErrSuspect
	case len(request) > MaxFrame:
		return nil, Usage{}, fmt.Errorf("%w: request of %d bytes", ErrFrame, len(request))
	}
	w, err := im.takeWorker(ctx, m)
	if err != nil {
		return nil, Usage{}, err
	}
	entry := w.entry(m)
	if entry == nil {
		im.putWorker(ctx, w, false)
		return nil, Usage{}, ErrGuest
	}
	c := im.newCall(m, w, entry, o)
	m.fresh, m.denied = false, false
	// An interrupt that came too late for the last call is not meant for this one.
	if late, ok := m.u32(im.control); ok && late != 0 {
		m.putU32(im.control, 0)
	}
	var answer []byte
	answer, err = c.run(ctx, func(ctx context.Context) ([]byte, error) { return w.request(ctx, entry, request) })
	w.saveGlobals(m)
	m.suspect = isSuspect(err)
	im.putWorker(ctx, w, m.suspect)
	return answer, c.usage(), err
}

// newCall returns a call whose first thread runs on entry's native stack.
func (im *Image) newCall(m *Memory, w *worker, entry *function, o *CallOptions) *call {
	c := &call{mem: m, worker: w, control: im.control}
	c.first.function = entry
	entry.size = 0
	if o != nil {
		c.opts, c.process, c.handle = *o, o.Process, o.Handle
	}
	if c.opts.WallLimit == nil {
		c.opts.WallLimit = NewWallLimit(c.opts.Timeout)
	} else {
		c.opts.Idle = c.opts.WallLimit.whileIdle(c.opts.Idle)
	}
	if c.opts.Grace == 0 {
		c.opts.Grace = DefaultGrace
	}
	return c
}

var errTimeLimit = errors.New("time limit")

// run sets up the context of host functions, runs f with it and sorts out its error.
func (c *call) run(ctx context.Context, f func(context.Context) ([]byte, error)) ([]byte, error) {
	c.start = time.Now()
	ops, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.caller, c.ops, c.stop = ctx, ops, func() { cancel(nil) }
	limit := c.opts.WallLimit
	limit.start(func() { cancel(errTimeLimit) })
	defer limit.stop()
	answer, err := f(&callContext{Context: ops, call: c})
	return answer, c.finish(classify(err))
}

// finish ends the threads that are left, and returns the error of the thread that failed first.
func (c *call) finish(err error) error {
	if c.grace != nil {
		c.grace.Stop()
	}
	defer c.finishForks()
	if c.sched == nil {
		return err
	}
	if failed := c.sched.Finish(); failed != nil {
		return failed
	}
	return err
}

func (c *call) usage() Usage {
	u := Usage{
		Ticks: c.ticks, Threads: 1, StackPeak: c.peakStacks, MemoryPeak: int64(c.mem.peak - guardSize),
		MemoryDenied: c.mem.denied, Interrupted: c.reason,
	}
	if c.sched != nil {
		s := c.sched.Stats()
		u.Threads, u.ThreadsStarted, u.Switches = s.Peak, s.Started, s.Switches
		if s.Started > 0 {
			u.ThreadTicks = s.Ticks
		}
	}
	return u
}

// classify turns what the runtime returns into the errors of this package.
func classify(err error) error {
	var killed *KilledError
	var exit *wasi.ExitError
	switch {
	case err == nil, errors.Is(err, ErrGuest), errors.Is(err, ErrNoMemory), errors.Is(err, ErrFrame):
		return err
	case errors.Is(err, ErrDeadlock):
		return ErrDeadlock
	case errors.Is(err, ErrStacks):
		return ErrStacks
	case errors.As(err, &killed):
		return killed
	case errors.As(err, &exit):
		return exit
	}
	return &TrapError{err}
}

func isSuspect(err error) bool {
	return err != nil && !errors.Is(err, ErrGuest) && !errors.Is(err, ErrNoMemory)
}

// request copies a frame into the guest, runs it and copies the answer out.
func (w *worker) request(ctx context.Context, entry *function, request []byte) ([]byte, error) {
	s := entry.args[:]
	s[0] = uint64(len(request))
	if err := w.alloc.CallWithStack(ctx, s); err != nil {
		return nil, err
	}
	ptr := uint32(s[0])
	if ptr == 0 {
		return nil, ErrNoMemory
	}
	if !w.mod.Memory().Write(ptr, request) {
		return nil, fmt.Errorf("guest_alloc returned %#x, outside of the memory", ptr)
	}
	s[0], s[1] = uint64(ptr), uint64(len(request))
	if err := entry.CallWithStack(ctx, s); err != nil {
		return nil, err
	}
	switch r := int64(s[0]); {
	case r == -1:
		return nil, ErrNoMemory
	case r < 0 && r >= -16:
		return nil, ErrGuest
	default:
		n := uint32(r)
		if n > MaxFrame {
			return nil, fmt.Errorf("%w: answer of %d bytes", ErrFrame, n)
		}
		b, ok := w.mod.Memory().Read(uint32(uint64(r)>>32), n)
		if !ok {
			return nil, fmt.Errorf("%w: answer outside of the memory", ErrFrame)
		}
		return append([]byte(nil), b...), nil
	}
}

// tick is the safepoint: the guest calls it about once a millisecond.
func (c *call) tick(x *callContext) {
	c.ticks++
	// Compiled WebAssembly cannot be preempted; here other goroutines get their turn, the garbage collector included.
	runtime.Gosched()
	if x.thread != nil {
		x.thread.Tick()
	} else if c.sched != nil {
		c.sched.First().Tick()
	}
	c.boundStacks(x.state())
	c.checkpoint()
}

// checkpoint looks whether the call is to stop. It runs in the goroutine of the guest, which stands still, so that guest
// memory may be written; it does not return when the guest is killed.
func (c *call) checkpoint() {
	if c.reason == NotInterrupted {
		switch {
		case c.opts.WallLimit.reached(), c.ops.Err() != nil && errors.Is(context.Cause(c.ops), errTimeLimit):
			c.interrupt(TimeLimit)
		case c.caller.Err() != nil, c.ops.Err() != nil:
			// A host function may know of the caller's end, and return for that reason, before ops does.
			c.interrupt(Cancelled)
		case c.opts.MaxTicks > 0 && c.ticks > c.opts.MaxTicks:
			c.interrupt(TickLimit)
		}
		if c.reason == NotInterrupted || c.opts.Grace >= 0 {
			return
		}
	}
	if c.opts.Grace < 0 || time.Since(c.sentAt) >= c.opts.Grace {
		panic(&KilledError{c.reason})
	}
}

// interrupt asks the guest to raise an exception in its first thread.
func (c *call) interrupt(r Reason) {
	c.reason, c.sentAt = r, time.Now()
	if c.sched != nil {
		c.setAlarm()
	}
	limit := c.opts.WallLimit.limit
	if r == TickLimit {
		limit = time.Duration(c.opts.MaxTicks) * time.Millisecond
	}
	c.signal(uint32(r), limit)
	if c.sched != nil && c.sched.Rouse() {
		c.stop() // another thread has used up the ticks
	}
}

// signal writes the control block.
func (c *call) signal(interrupt uint32, limit time.Duration) {
	m := c.mem
	breaker, ok := m.u32(c.control + 4)
	bits, ok2 := m.u32(c.control + 8)
	if c.control == 0 || !ok || !ok2 {
		return
	}
	if interrupt != interruptDeadlock {
		m.putU32(c.control+12, uint32(min(max(limit.Milliseconds(), 1), 1<<31)))
	}
	m.putU32(c.control, interrupt)
	if breaker != 0 {
		if old, ok := m.u32(breaker); ok {
			m.putU32(breaker, old|bits)
		}
	}
}
