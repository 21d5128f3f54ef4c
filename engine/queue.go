package engine

import (
	"context"
	"slices"
	"sync"
)

// queue bounds the executions that run. Those that wait for a place get it in order; those that had one, and waited for
// something else meanwhile, come first.
type queue struct {
	mu      sync.Mutex
	max     int // places
	running int
	back    []chan struct{} // had a place
	fresh   []chan struct{}
	waiting int // for a place or a session, save for those that come back
	most    int // of waiting
	paused  int
	// mostPaused bounds the executions that have given up their place for a while: they hold memory.
	mostPaused int
	// keeping are those that would give up theirs as well, if there were not too many already; the oldest first.
	keeping []*place
}

func newQueue(inFlight, waiting, paused int) *queue {
	return &queue{max: max(inFlight, 1), most: max(waiting, 0), mostPaused: max(paused, 0)}
}

// enter waits for a place; the place has to be given back.
func (q *queue) enter(ctx context.Context) (*place, error) {
	q.mu.Lock()
	if q.running < q.max && len(q.back)+len(q.fresh) == 0 {
		q.running++
		q.mu.Unlock()
		return &place{q: q}, nil
	}
	if q.waiting >= q.most {
		q.mu.Unlock()
		return nil, ErrBusy
	}
	q.waiting++
	turn := make(chan struct{})
	q.fresh = append(q.fresh, turn)
	q.mu.Unlock()
	granted := q.wait(ctx, turn)
	q.mu.Lock()
	q.waiting--
	q.mu.Unlock()
	if !granted {
		return nil, ctx.Err()
	}
	return &place{q: q}, nil
}

// wait is false when ctx ended before the turn came.
func (q *queue) wait(ctx context.Context, turn chan struct{}) bool {
	select {
	case <-turn:
		return true
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	is := func(c chan struct{}) bool { return c == turn }
	n := len(q.back) + len(q.fresh)
	q.back, q.fresh = slices.DeleteFunc(q.back, is), slices.DeleteFunc(q.fresh, is)
	if len(q.back)+len(q.fresh) == n { // it came at the same time
		q.give()
	}
	return false
}

// give takes a place back, and hands it on.
func (q *queue) give() {
	q.running--
	for _, list := range []*[]chan struct{}{&q.back, &q.fresh} {
		if q.running < q.max && len(*list) > 0 {
			q.running++
			close((*list)[0])
			*list = (*list)[1:]
		}
	}
}

// acquire waits until it can put a token into ch. It counts among those that wait for a place.
func (q *queue) acquire(ctx context.Context, ch chan struct{}) error {
	select {
	case ch <- struct{}{}:
		return nil
	default:
	}
	q.mu.Lock()
	if q.waiting >= q.most {
		q.mu.Unlock()
		return ErrBusy
	}
	q.waiting++
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		q.waiting--
		q.mu.Unlock()
	}()
	select {
	case ch <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// place is the right to run.
type place struct {
	q *queue
	// paused tells that the place was given up for a while, keeping that it would have been. The queue's lock guards both.
	paused, keeping bool
}

// idle tells that the execution waits for something and needs no place meanwhile, or that it goes on, for which it waits
// until there is one. When ctx ends it goes on without: it has to come to its end.
func (p *place) idle(ctx context.Context, idle bool) {
	q := p.q
	q.mu.Lock()
	if idle {
		if !p.paused && !p.keeping {
			p.keeping = true
			q.keeping = append(q.keeping, p)
			q.pause()
		}
		q.mu.Unlock()
		return
	}
	if !p.paused {
		p.keep()
		q.mu.Unlock()
		return
	}
	p.paused = false
	q.paused--
	if q.running < q.max && len(q.back) == 0 {
		q.running++
		q.pause()
		q.mu.Unlock()
		return
	}
	turn := make(chan struct{})
	q.back = append(q.back, turn)
	q.pause()
	q.mu.Unlock()
	if !q.wait(ctx, turn) {
		q.mu.Lock()
		q.running++
		q.mu.Unlock()
	}
}

// leave gives the place back.
func (p *place) leave() {
	q := p.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if p.paused {
		p.paused = false
		q.paused--
		q.pause()
		return
	}
	p.keep()
	q.give()
}

// pause has those give up their places that may. The lock is held.
func (q *queue) pause() {
	for q.paused < q.mostPaused && len(q.keeping) > 0 {
		p := q.keeping[0]
		p.keep()
		p.paused = true
		q.paused++
		q.give()
	}
}

// keep ends that p would give up its place. The lock is held.
func (p *place) keep() {
	if p.keeping {
		p.keeping = false
		p.q.keeping = slices.DeleteFunc(p.q.keeping, func(k *place) bool { return k == p })
	}
}
