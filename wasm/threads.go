package wasm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mayfly-run/mayfly/wasm/sched"
)

// threadBlock is where a guest with threads keeps what the host exchanges at a switch, see guests/README.md.
type threadBlock struct {
	Current uint32   `json:"current"`
	Offset  uint32   `json:"offset"`
	Bits    uint32   `json:"bits"`
	Local   []uint32 `json:"local"`
	// Pointer and Limit are the indices of the stack's globals.
	Pointer int `json:"pointer"`
	Limit   int `json:"limit"`
}

const maxThreadLocals = 16

// DefaultStacks is how many bytes the native stacks of a call's threads may take together: a hundred threads that recurse
// moderately, or one that goes as deep as it can.
const DefaultStacks = 512 << 20

// StackError means that a thread has run over the end of its stack.
type StackError struct {
	Thread int
	Size   uint32
}

func (e *StackError) Error() string {
	return fmt.Sprintf("thread %d overflowed its stack of %d KiB", e.Thread, e.Size>>10)
}

// ErrDeadlock means that all threads of the guest wait, and that it did not care when it was told.
var ErrDeadlock = errors.New("deadlock: every thread of the guest waits")

// ErrStacks means that the native stacks of the guest's threads have become too large.
var ErrStacks = errors.New("the stacks of the guest's threads need too much memory")

// thread is what the host keeps of a thread of the guest; the State of sched.Thread.
type thread struct {
	record    uint32
	low, high uint32 // its shadow stack
	pointer   uint64
	local     [maxThreadLocals]uint32
	function  *function
	answer    []byte // waits for recv
}

// readThreads takes over the thread block that the guest's guest_threads points to.
func (im *Image) readThreads(m *Memory, addr uint32) error {
	n, ok := m.u32(addr)
	if addr == 0 || !ok || n > maxThreadLocals {
		return fmt.Errorf("thread block at %#x", addr)
	}
	b := &threadBlock{Pointer: im.globalIndex(im.stackPointer), Limit: im.globalIndex(im.stackLimit)}
	if b.Pointer < 0 || b.Limit < 0 {
		return errors.New("guest_threads without the import of thread_start")
	}
	words := make([]uint32, 3+n)
	for i := range words {
		if words[i], ok = m.u32(addr + 4 + 4*uint32(i)); !ok {
			return fmt.Errorf("thread block at %#x", addr)
		}
	}
	b.Current, b.Offset, b.Bits, b.Local = words[0], words[1], words[2], words[3:]
	im.threads = b
	return nil
}

func (im *Image) globalIndex(name string) int {
	for i, g := range im.globalNames {
		if g == name {
			return i
		}
	}
	return -1
}

// scheduler returns the scheduler of the call, which most calls never need.
func (c *call) scheduler() *sched.Scheduler {
	if c.sched == nil {
		o := sched.Options{MaxThreads: c.opts.MaxThreads, NoWait: c.opts.NoWait}
		if c.opts.Idle != nil {
			o.Idle = func(idle bool) { c.opts.Idle(c.ops, idle) }
		}
		c.sched = sched.New(c, o)
		c.sched.First().State = &c.first
		c.setAlarm()
	}
	return c.sched
}

// setAlarm has the first thread woken when it has to stop: at first when the context is done, so that it gets the interrupt,
// and then again when it is to be killed. Other threads need not know.
func (c *call) setAlarm() {
	alarm := c.ops.Done()
	if c.reason != NotInterrupted && c.opts.Grace >= 0 {
		over := make(chan struct{})
		c.grace = time.AfterFunc(time.Until(c.sentAt.Add(c.opts.Grace)), func() { close(over) })
		alarm = over
	}
	c.sched.First().SetAlarm(alarm)
}

// threadOf returns the thread that a host function was called by, and its state.
func (x *callContext) threadOf() (*sched.Thread, *thread) {
	t := x.thread
	if t == nil {
		t = x.call.scheduler().First()
	}
	return t, t.State.(*thread)
}

// state is like threadOf, without the need for a scheduler.
func (x *callContext) state() *thread {
	if x.thread == nil {
		return &x.call.first
	}
	return x.thread.State.(*thread)
}

// Save implements sched.Machine.
func (c *call) Save(t *sched.Thread) {
	s, b := t.State.(*thread), c.worker.im.threads
	c.boundStacks(s)
	if b == nil {
		return
	}
	s.pointer = c.worker.globals[b.Pointer].Get()
	for i, addr := range b.Local {
		s.local[i], _ = c.mem.u32(addr)
	}
}

// Load implements sched.Machine.
func (c *call) Load(t *sched.Thread) {
	s, b := t.State.(*thread), c.worker.im.threads
	if b == nil {
		return
	}
	c.worker.globals[b.Pointer].Set(s.pointer)
	c.worker.globals[b.Limit].Set(uint64(s.low))
	for i, addr := range b.Local {
		c.mem.putU32(addr, s.local[i])
	}
}

// Preempt implements sched.Machine.
func (c *call) Preempt(*sched.Thread) {
	b := c.worker.im.threads
	if b == nil {
		return
	}
	if record, ok := c.mem.u32(b.Current); ok && record != 0 {
		if old, ok := c.mem.u32(record + b.Offset); ok {
			c.mem.putU32(record+b.Offset, old|b.Bits)
		}
	}
}

// Results of thread_start: WASI's errno.
const (
	startOK      = 0
	startAgain   = 6
	startInvalid = 28
)

// startThread is the import thread_start.
func (c *call) startThread(record, low, high uint32) uint32 {
	if c.worker.im.threads == nil || low >= high || int64(high) > int64(len(c.mem.buf)-guardSize) {
		return startInvalid
	}
	if c.native.Load() > int64(c.maxStacks()) {
		return startAgain
	}
	s := &thread{record: record, low: low, high: high, pointer: uint64(high)}
	err := c.scheduler().Start(context.WithoutCancel(c.ops), s, func(t *sched.Thread) error { return c.runThread(t, s) })
	if err != nil {
		return startAgain
	}
	return startOK
}

// errThreadExit unwinds a thread that ends itself.
var errThreadExit = errors.New("thread exit")

// runThread is the life of a thread other than the first; it begins and ends with the baton.
func (c *call) runThread(t *sched.Thread, s *thread) error {
	s.function = c.worker.takeThread()
	s.function.args[0] = uint64(s.record)
	err := s.function.CallWithStack(&callContext{Context: t.Context(), call: c, thread: t}, s.function.args[:])
	if errors.Is(err, sched.ErrEnded) {
		c.native.Add(-int64(s.function.size))
		return err // it does not have the baton, so nothing else may be touched
	}
	c.account(s)
	c.native.Add(-int64(s.function.size))
	if err == nil || errors.Is(err, errThreadExit) {
		c.worker.putThread(s.function)
		return nil
	}
	c.stop() // the first thread may be in a host call that would take its time
	return c.overflow(t, s, classify(err))
}

// overflow tells running over the end of the stack from other traps.
func (c *call) overflow(t *sched.Thread, s *thread, err error) error {
	b := c.worker.im.threads
	var trap *TrapError
	if b == nil || s.low == 0 || !errors.As(err, &trap) || c.worker.globals[b.Pointer].Get() >= uint64(s.low) {
		return err
	}
	return &TrapError{&StackError{t.ID, s.high - s.low}}
}

// account keeps count of the native stacks, which the runtime grows as the guest recurses.
func (c *call) account(s *thread) {
	if s.function == nil {
		return
	}
	n := s.function.stackSize()
	all := c.native.Add(int64(n - s.function.size))
	s.function.size = n
	c.peakStacks = max(c.peakStacks, all)
}

// boundStacks ends the call when the running thread has made the native stacks too large. Where no tick comes, as in a
// recursion without a loop, a switch is soon enough: one thread alone cannot use up much.
func (c *call) boundStacks(s *thread) {
	if c.account(s); c.native.Load() > int64(c.maxStacks()) {
		panic(ErrStacks)
	}
}

func (c *call) maxStacks() int {
	if c.opts.MaxStacks > 0 {
		return c.opts.MaxStacks
	}
	return DefaultStacks
}

// wait is the import thread_wait.
func (c *call) wait(x *callContext, addr uint32, ns int64) uint32 {
	t, _ := x.threadOf()
	timeout := time.Duration(ns)
	if ns < 0 {
		timeout = -1
	}
	why := t.Wait(addr, timeout)
	if why == sched.Deadlocked {
		c.deadlock()
	}
	c.checkpoint()
	if why == sched.TimedOut {
		return 1
	}
	return 0
}

// deadlock tells the first thread that nothing can wake it, once.
func (c *call) deadlock() {
	if pending, _ := c.mem.u32(c.control); pending != 0 {
		if c.reason != NotInterrupted {
			panic(&KilledError{c.reason}) // it would do nothing but wait for that
		}
		panic(ErrDeadlock)
	}
	c.signal(interruptDeadlock, 0)
}

// Block is the wasi.Options.Block of processes that Image.Call is used with: other threads of the guest run while f waits,
// and after it the guest gets the interrupt that may have ended the wait.
func Block(ctx context.Context, f func()) {
	x, ok := ctx.(*callContext)
	if !ok {
		f()
		return
	}
	x.block(f)
	x.call.checkpoint()
}

// block runs f, which waits and touches no guest memory, while other threads run.
func (x *callContext) block(f func()) {
	if x.call.sched == nil {
		x.call.idle(true)
		f()
		x.call.idle(false)
		return
	}
	t, _ := x.threadOf()
	t.Block(f)
	if x.thread != nil {
		x.Context = t.Context() // it was interrupted, perhaps, but what comes next is not
	}
}

// idle tells that the only thread waits, or goes on.
func (c *call) idle(idle bool) {
	if c.opts.Idle != nil {
		c.opts.Idle(c.ops, idle)
	}
}

// Shared is the wasi.Options.Shared of processes that Image.Call is used with.
func Shared(ctx context.Context) bool {
	x, ok := ctx.(*callContext)
	return ok && memoryStays && x.call.sched != nil && x.call.sched.Alive() > 1
}
