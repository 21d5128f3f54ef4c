package sched

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Machine is what the threads run on. Its methods are called by the goroutine that holds the baton.
type Machine interface {
	// Save notes in the thread's State what another thread is going to overwrite.
	Save(t *Thread)
	// Load is the opposite, before the thread goes on.
	Load(t *Thread)
	// Preempt asks the thread, which is running, to call Yield soon.
	Preempt(t *Thread)
}

// Options of New. The zero value has the good defaults.
type Options struct {
	// MaxThreads is the number of threads that may be alive at the same time, the first one included. As many may have been
	// dropped and not be gone yet. Default: DefaultMaxThreads.
	MaxThreads int
	// Slice is the time that a thread runs while another one is ready. Default: DefaultSlice. It is shared by those that
	// are ready, but not below MinSlice.
	Slice time.Duration
	// NoWait has the time limit of a wait count as over when no thread can run and none is in Block: of several waits, that
	// of the one whose limit is the first. Default: time has to pass.
	NoWait bool
	// Idle is told when no thread can run (true), and before one runs again (false), in turns. In the first case it must return
	// at once, in the second it may wait. It is not told a second time when the last call was for a thread that did not come
	// to run. Default: nobody.
	Idle func(idle bool)
}

// Defaults and bounds of Options.
const (
	// DefaultMaxThreads is more than programs use to wait for slow things, and few enough to hold.
	DefaultMaxThreads = 256
	// DefaultSlice is what CPython gives its threads (sys.getswitchinterval).
	DefaultSlice = 5 * time.Millisecond
	// MinSlice is a hundred times what a switch takes.
	MinSlice = time.Millisecond
)

// Errors of a scheduler.
var (
	// ErrThreads means that there are as many threads as there may be.
	ErrThreads = errors.New("too many threads")
	// ErrEnded is the panic that unwinds a thread which was ended from outside. It is to be passed on.
	ErrEnded = errors.New("thread was ended")

	errGoexit = errors.New("a function called by a thread ended its goroutine")
)

// Stats count what threads did.
type Stats struct {
	// Started counts threads besides the first, Peak is the largest number alive at once, the first included.
	Started, Peak int
	// Switches counts how often the baton went from one thread to another.
	Switches uint64
	// Ticks are the ticks of each thread, by ID from 1. Those of threads beyond MaxCounted are added up in the last place.
	Ticks []uint64
}

// MaxCounted is the number of threads whose ticks are told one by one.
const MaxCounted = 256

// Scheduler runs threads, one at a time. The first is the goroutine that called New; it ends with Finish.
type Scheduler struct {
	machine Machine
	opts    Options
	wg      sync.WaitGroup

	// ready is the length of queue, for the running thread to look at without the lock.
	ready atomic.Int32
	// alive is the length of all.
	alive  atomic.Int32
	killed atomic.Bool
	// idle tells that Idle was told so.
	idle atomic.Bool
	// since is when the running thread got the baton. It belongs to the holder.
	since time.Time

	mu      sync.Mutex
	first   *Thread
	running *Thread // has the baton
	last    *Thread // had it before
	queue   []*Thread
	waiters map[uint32][]*Thread
	all     map[*Thread]struct{}
	pending int           // threads whose wait ends by itself: timed ones and those in Block
	skipped time.Duration // the time of NoWait, which passes only in skip
	leaving int           // threads that were dropped and are not gone yet
	nextID  int
	err     error
	stats   Stats
}

// New returns a scheduler whose first thread, the caller, has the baton.
func New(m Machine, o Options) *Scheduler {
	if o.MaxThreads <= 0 {
		o.MaxThreads = DefaultMaxThreads
	}
	if o.Slice <= 0 {
		o.Slice = DefaultSlice
	}
	s := &Scheduler{machine: m, opts: o, waiters: map[uint32][]*Thread{}, all: map[*Thread]struct{}{}, since: time.Now()}
	s.first = s.add(context.Background(), nil)
	s.first.state = running
	s.running, s.last = s.first, s.first
	return s
}

// First returns the first thread.
func (s *Scheduler) First() *Thread { return s.first }

// Alive returns the number of threads, the first one included.
func (s *Scheduler) Alive() int { return int(s.alive.Load()) }

// Stats returns the counters, after Finish.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

func (s *Scheduler) count(t *Thread) {
	i := min(t.ID, MaxCounted+1) - 1
	for len(s.stats.Ticks) <= i {
		s.stats.Ticks = append(s.stats.Ticks, 0)
	}
	s.stats.Ticks[i] += t.ticks
}

// Err returns what Kill was called with.
func (s *Scheduler) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// add makes a thread.
func (s *Scheduler) add(ctx context.Context, state any) *Thread {
	s.nextID++
	t := &Thread{ID: s.nextID, State: state, s: s, parent: ctx, turn: make(chan struct{}, 1), end: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(ctx)
	s.all[t] = struct{}{}
	s.alive.Store(int32(len(s.all)))
	s.stats.Peak = max(s.stats.Peak, len(s.all))
	return t
}

// Start adds a thread, which begins when it first gets the baton. run is the whole of it; if it returns an error other
// than one that wraps ErrEnded, all threads are ended as by Kill. Only the running thread may call it.
func (s *Scheduler) Start(ctx context.Context, state any, run func(t *Thread) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Those that were dropped need memory of the host until they are gone, which may take as long as a host call.
	if s.err != nil || len(s.all) >= s.opts.MaxThreads || s.leaving >= s.opts.MaxThreads {
		return ErrThreads
	}
	t := s.add(ctx, state)
	s.stats.Started++
	s.makeReady(t)
	s.wg.Go(func() {
		err := errGoexit
		defer func() { s.exit(t, err) }()
		if t.begin() {
			err = run(t)
		} else {
			err = ErrEnded
		}
	})
	return nil
}

// exit removes a thread whose goroutine is done, and passes on the baton that it may have.
func (s *Scheduler) exit(t *Thread, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.cancel()
	s.count(t)
	if t.state == ended {
		s.leaving--
	} else {
		s.remove(t)
	}
	if err != nil && !errors.Is(err, ErrEnded) {
		s.kill(err)
	}
	if s.running == t {
		s.pass()
	}
}

func (s *Scheduler) remove(t *Thread) {
	delete(s.all, t)
	s.alive.Store(int32(len(s.all)))
}

// Wake makes up to n threads ready that wait on the address, in the order in which they began to wait.
func (s *Scheduler) Wake(addr uint32, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; n > 0 && len(s.waiters[addr]) > 0; n-- {
		s.unpark(s.waiters[addr][0], Woken)
	}
}

// Rouse ends the wait of the first thread as its alarm would, if it does wait. It tells whether the thread is in Block
// instead, whose function it cannot end.
func (s *Scheduler) Rouse() (outside bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unpark(s.first, Alarmed)
	return s.first.state == blocked
}

// Interrupt ends what the threads besides the first and the running one, self, wait for at present: waits return Woken, and
// the contexts of those in Block are cancelled.
func (s *Scheduler) Interrupt(self *Thread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// In order, as programs are to run the same way each time.
	for _, t := range slices.SortedFunc(maps.Keys(s.all), func(a, b *Thread) int { return a.ID - b.ID }) {
		switch {
		case t == self || t == s.first:
		case t.state == waiting:
			s.unpark(t, Woken)
		case t.state == blocked:
			t.interrupted = true
			t.cancel()
		}
	}
}

// Drop ends all threads but the first and the running one, self. They do not run again: the panic that unwinds them comes
// out of where they stand.
func (s *Scheduler) Drop(self *Thread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range s.all {
		if t == self || t == s.first {
			continue
		}
		switch t.state {
		case waiting:
			s.unwait(t)
		case ready:
			s.unqueue(t)
		case blocked:
			s.pending--
		}
		t.state = ended
		s.leaving++
		s.remove(t)
		s.end(t)
	}
}

// Kill ends all threads, the first as well, because of an error. The first one that is given is kept.
func (s *Scheduler) Kill(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill(err)
}

func (s *Scheduler) kill(err error) {
	if s.err != nil {
		return
	}
	s.err = err
	s.killed.Store(true)
	for t := range s.all {
		s.end(t)
	}
}

// end tells a thread to unwind.
func (s *Scheduler) end(t *Thread) {
	if !t.told {
		t.told = true
		t.cancel()
		close(t.end)
	}
}

// Finish ends what is left when the first thread is done, waits until all goroutines are, and returns what Kill was called
// with. A thread in Block holds it up until its function returns.
func (s *Scheduler) Finish() error {
	s.Drop(s.first)
	s.wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first.cancel()
	s.count(s.first)
	return s.err
}

// ---- the baton, under the lock

// pass gives the baton, which its holder is done with, to the thread that has been ready for longest.
func (s *Scheduler) pass() {
	s.running = nil
	switch {
	case s.err != nil:
	case len(s.queue) > 0:
		t := s.queue[0]
		s.queue = s.queue[1:]
		s.ready.Store(int32(len(s.queue)))
		s.give(t)
	case s.pending == 0 && s.first.state == waiting:
		// Nobody can wake anybody any more.
		s.unpark(s.first, Deadlocked)
	case s.opts.NoWait && s.pending > 0:
		s.skip()
	}
	if s.running == nil && s.err == nil {
		s.setIdle()
	}
}

func (s *Scheduler) setIdle() {
	if s.opts.Idle != nil && s.idle.CompareAndSwap(false, true) {
		s.opts.Idle(true)
	}
}

// endIdle is called by a thread that is about to run.
func (s *Scheduler) endIdle() {
	if s.opts.Idle != nil && s.idle.CompareAndSwap(true, false) {
		s.opts.Idle(false)
	}
}

// skip ends the timed wait whose limit comes first, unless a thread in Block may end another wait before that. The time
// that is skipped counts for the waits to come.
func (s *Scheduler) skip() {
	var next *Thread
	for t := range s.all {
		switch {
		case t.state == blocked:
			return
		case t.state != waiting || !t.timed:
		case next == nil || t.due < next.due || t.due == next.due && t.ID < next.ID:
			next = t
		}
	}
	if next != nil {
		s.skipped = max(s.skipped, next.due)
		s.unpark(next, TimedOut)
	}
}

func (s *Scheduler) give(t *Thread) {
	s.running, t.state = t, running
	if t != s.last {
		s.stats.Switches++
	}
	s.last = t
	s.since = time.Now()
	t.turn <- struct{}{}
}

func (s *Scheduler) makeReady(t *Thread) {
	if s.running == nil && s.err == nil {
		s.give(t)
		return
	}
	t.state = ready
	s.queue = append(s.queue, t)
	s.ready.Store(int32(len(s.queue)))
}

// unpark ends the wait of a thread, if it does wait.
func (s *Scheduler) unpark(t *Thread, why Wake) {
	if t.state == waiting {
		s.unwait(t)
		t.wake = why
		s.makeReady(t)
	}
}

func (s *Scheduler) unwait(t *Thread) {
	s.waiters[t.addr] = without(s.waiters[t.addr], t)
	if len(s.waiters[t.addr]) == 0 {
		delete(s.waiters, t.addr)
	}
	if t.timed {
		t.timed = false
		s.pending--
	}
}

func (s *Scheduler) unqueue(t *Thread) {
	s.queue = without(s.queue, t)
	s.ready.Store(int32(len(s.queue)))
}

func without(list []*Thread, t *Thread) []*Thread {
	if i := slices.Index(list, t); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}
