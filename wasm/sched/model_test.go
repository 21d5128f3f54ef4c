package sched_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/wasm/sched"
)

// model runs threads that do random things, and knows what must come of it. Only the thread that runs touches it.
type model struct {
	*world
	alive map[int]standing // what is known of each thread besides the first, by ID
	lines map[uint32][]int // threads that wait without a time limit, in order
	woken []int            // of those, the ones that are to go on, in order

	started, ended, dropped int
	ticks                   uint64
}

type standing uint8

const (
	goesOn standing = iota // sooner or later, by itself
	waits                  // for ever, if nobody wakes it
)

// TestModel is random. A deadlock that the scheduler does not notice ends the bubble with a panic.
func TestModel(t *testing.T) {
	seeds := 150
	if testing.Short() {
		seeds = 30
	}
	var started, dropped, deadlocks, kills int
	for seed := range uint64(seeds) {
		bubble(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t, sched.Options{MaxThreads: 2 + r.IntN(40)})
			m := &model{world: w, alive: map[int]standing{}, lines: map[uint32][]int{}}
			kill := seed%3 == 0
			if kill {
				time.AfterFunc(time.Duration(1+r.IntN(100))*time.Millisecond, func() { w.Kill(errTest) })
			}
			panicked, err := w.run(func(first *sched.Thread) {
				for range 200 {
					m.act(first, r)
					deadlocks += m.settle(first, r)
				}
			})
			switch {
			case panicked == nil && err == nil:
			case errors.Is(panicked, sched.ErrEnded) && errors.Is(err, errTest) && kill:
				kills++
			default:
				t.Errorf("seed %d: first thread: %v, finish: %v", seed, panicked, err)
			}
			s := w.Stats()
			total := uint64(0)
			for _, n := range s.Ticks {
				total += n
			}
			if w.Alive() != 1 || s.Started != m.started || s.Peak > m.started+1 || err == nil && total != m.ticks {
				t.Errorf("seed %d: %d alive at the end, %+v, want %d started and %d ticks", seed, w.Alive(), s, m.started, m.ticks)
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
			started += m.started
			dropped += m.dropped
		})
	}
	t.Logf("%d threads, %d of them dropped, %d deadlocks, %d kills", started, dropped, deadlocks, kills)
	if started == 0 || dropped == 0 || deadlocks == 0 || kills == 0 {
		t.Error("that is not much of a test")
	}
}

// settle has the first thread wait for ever, now and then, and checks what ends it.
func (m *model) settle(first *sched.Thread, r *rand.Rand) (deadlocks int) {
	if r.IntN(10) > 0 {
		return 0
	}
	alarm := make(chan struct{})
	timer := time.AfterFunc(time.Duration(r.IntN(20))*time.Millisecond, func() { close(alarm) })
	defer timer.Stop()
	first.SetAlarm(alarm)
	defer first.SetAlarm(nil)
	why := first.Wait(99, -1)
	m.m.compute(first)
	if why != sched.Deadlocked {
		return 0
	}
	for id, s := range m.alive {
		if s != waits {
			m.t.Errorf("deadlock, but thread %d would go on", id)
		}
	}
	if len(m.woken) > 0 {
		m.t.Errorf("deadlock, but %d have been woken", m.woken)
	}
	m.wake(r.Uint32N(4), 3)
	return 1
}

// act does something random.
func (m *model) act(t *sched.Thread, r *rand.Rand) {
	m.m.compute(t)
	addr := r.Uint32N(4)
	d := time.Duration(r.IntN(3000)) * time.Microsecond
	switch r.IntN(16) {
	case 0, 1, 2:
		m.spawn(r)
	case 3, 4:
		t.Yield()
	case 5, 6:
		m.waitForever(t, addr)
	case 7:
		t.Wait(10+addr, d)
	case 8, 9:
		m.wake(addr, r.IntN(4)-1)
		m.Wake(10+addr, r.IntN(3))
	case 10:
		t.Block(func() { time.Sleep(d) })
	case 11:
		t.Block(func() {
			select {
			case <-t.Context().Done():
			case <-time.After(10 * d):
			}
		})
	case 12:
		time.Sleep(d / 4) // computes
		m.ticks++
		t.Tick()
	case 13:
		if r.IntN(10) == 0 {
			m.drop(t)
		}
	case 14:
		if r.IntN(4) == 0 {
			m.interrupt(t)
		}
	case 15:
		m.Rouse()
	}
	m.m.compute(t)
}

func (m *model) spawn(r *rand.Rand) {
	seed, full := r.Uint64(), len(m.alive)
	err := m.try(func(t *sched.Thread) {
		r := rand.New(rand.NewPCG(seed, 2))
		for range r.IntN(12) {
			m.act(t, r)
		}
		delete(m.alive, t.ID)
		m.ended++
	})
	switch {
	case err == nil:
		m.started++
		m.alive[m.started+1] = goesOn // IDs count
	case m.Err() == nil && full+1 != m.Alive():
		m.t.Errorf("%v with %d alive, the model has %d", err, m.Alive(), full+1)
	case !errors.Is(err, sched.ErrThreads):
		m.t.Error(err)
	}
}

// waitForever waits until it is woken, and checks that it was and that its turn is now.
func (m *model) waitForever(t *sched.Thread, addr uint32) {
	if t == m.first {
		return // see settle
	}
	m.alive[t.ID] = waits
	m.lines[addr] = append(m.lines[addr], t.ID)
	if why := t.Wait(addr, -1); why != sched.Woken {
		m.t.Errorf("thread %d: wait ended as %d", t.ID, why)
	}
	if len(m.woken) == 0 || m.woken[0] != t.ID {
		m.t.Errorf("thread %d goes on, but those to go on are %d", t.ID, m.woken)
		return
	}
	m.woken = m.woken[1:]
}

func (m *model) wake(addr uint32, n int) {
	m.Wake(addr, n)
	line := m.lines[addr]
	n = max(0, min(n, len(line)))
	m.goOn(line[:n])
	m.lines[addr] = slices.Clone(line[n:])
}

func (m *model) goOn(ids []int) {
	for _, id := range ids {
		m.alive[id] = goesOn
		m.woken = append(m.woken, id)
	}
}

func (m *model) interrupt(t *sched.Thread) {
	m.Interrupt(t)
	all := slices.Concat(slices.Collect(maps.Values(m.lines))...)
	slices.Sort(all)
	m.goOn(all)
	clear(m.lines)
}

func (m *model) drop(t *sched.Thread) {
	m.Drop(t)
	s, self := m.alive[t.ID]
	m.dropped += len(m.alive)
	clear(m.alive)
	clear(m.lines)
	m.woken = nil
	if self {
		m.alive[t.ID] = s
		m.dropped--
	}
	if m.Alive() != 1+len(m.alive) {
		m.t.Errorf("%d alive after a drop by thread %d", m.Alive(), t.ID)
	}
}
