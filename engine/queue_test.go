package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// enterAll has n callers wait for a place, in order, and returns where each is told that it got one.
func enterAll(t *testing.T, ctx context.Context, q *queue, n int) []chan *place {
	t.Helper()
	got := make([]chan *place, n)
	for i := range n {
		got[i] = make(chan *place, 1)
		before := q.waitersNow()
		go func() {
			p, err := q.enter(ctx)
			if err != nil {
				t.Error(err)
			}
			got[i] <- p
		}()
		for q.waitersNow() == before {
		}
	}
	return got
}

func (q *queue) waitersNow() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.back) + len(q.fresh)
}

func TestQueueInOrder(t *testing.T) {
	ctx := context.Background()
	q := newQueue(1, 10, 10)
	first, err := q.enter(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := enterAll(t, ctx, q, 3)
	first.leave()
	for i, c := range got {
		p := <-c
		for _, later := range got[i+1:] {
			if len(later) > 0 {
				t.Error("two have the only place")
			}
		}
		p.leave()
	}
	if q.running != 0 {
		t.Errorf("%d run", q.running)
	}
}

func TestQueuePlaceWhileWaiting(t *testing.T) {
	ctx := context.Background()
	q := newQueue(1, 10, 1)
	first, _ := q.enter(ctx)
	got := enterAll(t, ctx, q, 2)
	first.idle(ctx, true)
	second := <-got[0]
	// One is paused, which is as many as may be.
	second.idle(ctx, true)
	if len(got[1]) > 0 || q.running != 1 {
		t.Error("a second one gave up its place")
	}
	second.idle(ctx, false)
	// Who had a place comes before those who did not.
	back := make(chan struct{})
	go func() {
		first.idle(ctx, false)
		close(back)
	}()
	for q.waitersNow() < 2 {
	}
	second.leave()
	<-back
	if len(got[1]) > 0 {
		t.Error("a new one came first")
	}
	first.leave()
	(<-got[1]).leave()
	if q.running != 0 || q.paused != 0 || q.waiting != 0 {
		t.Errorf("running %d, paused %d, waiting %d", q.running, q.paused, q.waiting)
	}
}

func TestQueueEnds(t *testing.T) {
	q := newQueue(1, 1, 10)
	first, _ := q.enter(context.Background())
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() {
		_, err := q.enter(ctx)
		failed <- err
	}()
	for q.waitersNow() == 0 {
	}
	if _, err := q.enter(context.Background()); !errors.Is(err, ErrBusy) {
		t.Errorf("beyond the limit: %v", err)
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// An execution that is cancelled while it waits goes on without a place, to come to its end.
	first.idle(ctx, true)
	second, err := q.enter(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	first.idle(ctx, false)
	if q.running != 2 {
		t.Errorf("%d run", q.running)
	}
	first.leave()
	second.idle(context.Background(), true)
	second.leave() // while it is paused
	if q.running != 0 || q.paused != 0 {
		t.Errorf("running %d, paused %d", q.running, q.paused)
	}
}

func TestQueueHammer(t *testing.T) {
	q := newQueue(3, 1000, 50)
	var most, now atomic.Int64
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			p, err := q.enter(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			for range 20 {
				n := now.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				now.Add(-1)
				p.idle(ctx, true)
				p.idle(ctx, false)
			}
			if i%3 == 0 {
				p.idle(ctx, true)
			}
			p.leave()
		})
	}
	wg.Wait()
	if most.Load() > 3 || q.running != 0 || q.paused != 0 || q.waiting != 0 {
		t.Errorf("at most %d ran; left: running %d, paused %d, waiting %d", most.Load(), q.running, q.paused, q.waiting)
	}
}

// TestQueueKeptPlaceIsGivenUpLater: one that had to keep its place, since too many waited, gives it up when another goes on.
func TestQueueKeptPlaceIsGivenUpLater(t *testing.T) {
	ctx := context.Background()
	q := newQueue(2, 10, 1)
	a, b := must(q.enter(ctx)), must(q.enter(ctx))
	a.idle(ctx, true)
	b.idle(ctx, true) // keeps its place
	c := must(q.enter(ctx))
	// Both places are taken, b's for nothing: it is b's that a gets.
	a.idle(ctx, false)
	d := enterAll(t, ctx, q, 1)[0]
	c.leave()
	(<-d).leave()
	b.leave() // in the middle of its wait
	if a.leave(); q.running != 0 || q.paused != 0 || len(q.keeping) != 0 {
		t.Errorf("%d run, %d are paused, %d keep places", q.running, q.paused, len(q.keeping))
	}
	a, b = must(q.enter(ctx)), must(q.enter(ctx))
	a.idle(ctx, true)
	b.idle(ctx, true)
	b.idle(ctx, false)
	b.leave()
	if a.leave(); q.running != 0 || q.paused != 0 || len(q.keeping) != 0 {
		t.Errorf("%d run, %d are paused, %d keep places", q.running, q.paused, len(q.keeping))
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
