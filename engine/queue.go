package engine

import (
	"context"
	"sync/atomic"
)

// queue bounds the executions in flight, and those that wait for one to end. Waiters get their turn in order.
type queue struct {
	slots   chan struct{}
	waiting atomic.Int64
	max     int64
}

func newQueue(inFlight, waiting int) *queue {
	return &queue{slots: make(chan struct{}, max(inFlight, 1)), max: int64(max(waiting, 0))}
}

// enter waits for a place; leave gives it back.
func (q *queue) enter(ctx context.Context) error { return q.acquire(ctx, q.slots) }

func (q *queue) leave() { <-q.slots }

// acquire waits until it can put a token into ch. Waiters for any channel count together.
func (q *queue) acquire(ctx context.Context, ch chan struct{}) error {
	select {
	case ch <- struct{}{}:
		return nil
	default:
	}
	if q.waiting.Add(1) > q.max {
		q.waiting.Add(-1)
		return ErrBusy
	}
	defer q.waiting.Add(-1)
	select {
	case ch <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
