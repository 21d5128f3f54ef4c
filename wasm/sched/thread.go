package sched

import (
	"context"
	"math"
	"time"
)

type state uint8

const (
	ready   state = iota // in the queue
	running              // has the baton
	waiting              // on an address
	blocked              // in Block
	ended                // from outside
)

// Wake is why a wait ended.
type Wake uint8

// Reasons for the end of a wait.
const (
	Woken Wake = iota
	TimedOut
	Alarmed    // see SetAlarm
	Deadlocked // every thread waits, without a time limit; only the first thread is told
)

// Thread is one of a scheduler's threads. Its methods may only be called by itself, while it has the baton; those that give
// the baton away panic with ErrEnded when the thread has been ended meanwhile.
type Thread struct {
	// ID counts from 1, the first thread.
	ID int
	// State is the machine's.
	State any

	s      *Scheduler
	parent context.Context
	ctx    context.Context
	cancel context.CancelFunc
	turn   chan struct{} // the baton comes here
	end    chan struct{} // closed when the thread has to end
	alarm  <-chan struct{}
	timer  *time.Timer
	ticks  uint64

	state state
	addr  uint32 // what it waits on
	timed bool
	due   time.Duration // end of a timed wait, with NoWait
	wake  Wake
	told  bool // end is closed

	interrupted bool // ctx is done, but what the thread blocks in next gets another one
}

// Context is done when the thread is ended, or interrupted in Block, after which there is a new one. The first thread's is
// not of use.
func (t *Thread) Context() context.Context { return t.ctx }

// SetAlarm sets a channel that, when it is closed, ends the waits that begin from now on; nil is never.
func (t *Thread) SetAlarm(c <-chan struct{}) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.alarm = c
}

// Ticks returns how often Tick was called.
func (t *Thread) Ticks() uint64 { return t.ticks }

// Tick is to be called now and then by the running thread. It has the machine ask for a Yield when the thread's time is
// over and others are ready, and panics with ErrEnded when the thread has been killed.
func (t *Thread) Tick() {
	t.ticks++
	s := t.s
	if s.killed.Load() {
		panic(ErrEnded)
	}
	n := s.ready.Load()
	if n > 0 && time.Since(s.since) >= max(s.opts.Slice/time.Duration(n), MinSlice) {
		s.machine.Preempt(t)
	}
}

// Wait gives the baton away until Wake is called with the address, or the timeout is over; a negative one is none.
func (t *Thread) Wait(addr uint32, timeout time.Duration) Wake {
	s := t.s
	if timeout == 0 {
		t.Yield()
		return TimedOut
	}
	s.machine.Save(t)
	var expired <-chan time.Time
	if timeout > 0 {
		expired = t.after(timeout)
		defer t.timer.Stop()
	}
	s.mu.Lock()
	alarm := t.alarm
	t.state, t.addr = waiting, addr
	s.waiters[addr] = append(s.waiters[addr], t)
	if timeout > 0 {
		t.timed, t.due = true, s.skipped+min(timeout, math.MaxInt64-s.skipped)
		s.pending++
	}
	s.pass()
	s.mu.Unlock()
	for {
		select {
		case <-t.turn:
			t.resume()
			return t.wake
		case <-t.end:
			panic(ErrEnded)
		case <-expired:
			t.unpark(TimedOut)
			expired = nil
		case <-alarm:
			t.unpark(Alarmed)
			alarm = nil
		}
	}
}

func (t *Thread) after(d time.Duration) <-chan time.Time {
	if t.timer == nil {
		t.timer = time.NewTimer(d)
	} else {
		t.timer.Reset(d)
	}
	return t.timer.C
}

func (t *Thread) unpark(why Wake) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.unpark(t, why)
}

// Yield lets the threads run that are ready.
func (t *Thread) Yield() {
	s := t.s
	if s.ready.Load() == 0 {
		return
	}
	s.machine.Save(t)
	s.mu.Lock()
	t.state = ready
	s.queue = append(s.queue, t)
	s.pass()
	s.mu.Unlock()
	t.await()
}

// Block runs f without the baton, so that other threads run meanwhile. f must not touch what belongs to the machine, and has
// to return when the thread's context is done.
func (t *Thread) Block(f func()) {
	s := t.s
	if s.Alive() == 1 {
		// Nobody else is there, and only this thread could change that.
		s.setIdle()
		f()
		s.endIdle()
		return
	}
	s.machine.Save(t)
	s.mu.Lock()
	t.state = blocked
	s.pending++
	s.pass()
	s.mu.Unlock()
	defer t.unblock() // if f panics as well: what unwinds the thread may only do so with the baton
	f()
}

func (t *Thread) unblock() {
	s := t.s
	s.mu.Lock()
	if t.state == blocked {
		s.pending--
		s.makeReady(t)
	}
	if t.interrupted && !t.told {
		t.interrupted = false
		t.ctx, t.cancel = context.WithCancel(t.parent)
	}
	s.mu.Unlock()
	t.await()
}

func (t *Thread) await() {
	select {
	case <-t.turn:
		t.resume()
	case <-t.end:
		panic(ErrEnded)
	}
}

// resume goes on with the baton, unless the thread was ended at the same time.
func (t *Thread) resume() {
	select {
	case <-t.end:
		panic(ErrEnded)
	default:
	}
	t.s.endIdle()
	t.s.machine.Load(t)
}

// begin waits for the first turn; it is false when the thread was ended before.
func (t *Thread) begin() (ok bool) {
	defer func() {
		if p := recover(); p != nil && p != any(ErrEnded) {
			panic(p)
		}
	}()
	t.await()
	return true
}
