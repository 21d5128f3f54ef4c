package hostfns

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// maxWakes bounds the queues with an OpWake that no OpWait has seen yet.
const maxWakes = 1 << 16

// queue is where started calls of one event loop of the guest come back.
type queue struct {
	finished []*call // in the order in which they ended
	waiters  []*waiter
	calls    int // started and not collected
	wake     bool
}

// waiter is an OpWait.
type waiter struct {
	ready chan struct{}
	k     *call // nil: woken
}

type queueHead struct {
	Queue   *int   `json:"queue"`
	Timeout *int64 `json:"timeout_ns"`
	ID      *int   `json:"id"`
}

func itoa[T int | int64](n T) string { return strconv.FormatInt(int64(n), 10) }

func checkQueue(n *int) (int, *Error) {
	if n == nil || *n < 0 || *n >= MaxQueues {
		return 0, Errorf(CodeRequest, `"queue" is a number from 0 to %d`, MaxQueues-1)
	}
	return *n, nil
}

func parseQueue(process int, head []byte) (h queueHead, queue int, e *Error) {
	if err := json.Unmarshal(head, &h); err != nil {
		return h, 0, Errorf(CodeRequest, "the head is no JSON object with numbers: %w", err)
	}
	queue, e = checkQueue(h.Queue)
	return h, process + queue, e
}

func (c *Calls) queue(n int) *queue {
	q := c.queues[n]
	if q == nil {
		q = &queue{}
		if c.queues != nil {
			c.queues[n] = q
		}
	}
	return q
}

// drop forgets a queue that has nothing to remember.
func (c *Calls) drop(n int, q *queue) {
	if q.calls == 0 && len(q.waiters) == 0 && !q.wake {
		delete(c.queues, n)
	}
}

func (c *Calls) opStart(process int, head, body []byte) []byte {
	h, err := parseCall(head)
	if err != nil {
		return errorFrame(err)
	}
	n, err := checkQueue(h.Queue)
	if err != nil {
		return errorFrame(err)
	}
	k := &call{c: c, fn: h.Fn, args: h.Args, body: body, queue: process + n, started: true}
	if answer := c.begin(k); answer != nil {
		return answer
	}
	return idFrame(k.id, nil)
}

// maxStarted bounds the calls that are started and not collected.
func (c *Calls) maxStarted() int { return max(c.rules.maxCalls, DefaultMaxCalls) }

// register gives a started call its ID. The number of those that were not collected is bounded.
func (c *Calls) register(k *call) *Error {
	if limit := c.maxStarted(); len(c.started) >= limit {
		return &Error{Code: CodeBudget, Message: itoa(limit) + " calls are started and not collected yet, more may not be",
			Hint: "wait for some of them first"}
	}
	c.lastID++
	k.id = c.lastID
	c.started[k.id] = k
	c.queue(k.queue).calls++
	return nil
}

// deliver hands a started call that ended to who waits for it. The lock is held.
func (c *Calls) deliver(k *call) {
	if c.started[k.id] != k { // End came first
		return
	}
	if c.held+int64(len(k.answer)) > c.rules.maxBytes {
		k.err = k.name(&Error{Code: CodeBudget, Message: "too many bytes of results wait to be collected",
			Hint: "wait for started calls before starting more"})
		k.answer = errorFrame(k.err)
	}
	q := c.queue(k.queue)
	if len(q.waiters) > 0 {
		w := q.waiters[0]
		q.waiters = q.waiters[1:]
		w.k = k
		c.collect(k, q)
		close(w.ready)
		return
	}
	c.held += int64(len(k.answer))
	q.finished = append(q.finished, k)
}

// collect forgets a call whose answer is on its way to the guest.
func (c *Calls) collect(k *call, q *queue) {
	delete(c.started, k.id)
	q.calls--
	c.drop(k.queue, q)
}

func (c *Calls) opWait(ctx context.Context, process int, head []byte) []byte {
	h, n, bad := parseQueue(process, head)
	if bad != nil {
		return errorFrame(bad)
	}
	w := &waiter{}
	c.mu.Lock()
	q := c.queue(n)
	switch {
	case len(q.finished) > 0:
		w.k = q.finished[0]
		q.finished[0] = nil
		q.finished = q.finished[1:]
		c.held -= int64(len(w.k.answer))
		c.collect(w.k, q)
		c.mu.Unlock()
		return w.frame()
	case q.wake:
		q.wake = false
		c.wakes--
		fallthrough
	case c.ended, h.Timeout != nil && *h.Timeout == 0:
		c.drop(n, q)
		c.mu.Unlock()
		return idFrame(0, nil)
	}
	w.ready = make(chan struct{})
	q.waiters = append(q.waiters, w)
	c.mu.Unlock()

	var over <-chan time.Time
	if h.Timeout != nil && *h.Timeout > 0 {
		timer := time.NewTimer(time.Duration(*h.Timeout))
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-w.ready:
		return w.frame()
	case <-over:
	case <-ctx.Done():
	case <-c.ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(q.waiters, w); i >= 0 {
		q.waiters = slices.Delete(q.waiters, i, i+1)
		c.drop(n, q)
	}
	// Somebody may have handed it a call meanwhile, which must not get lost.
	return w.frame()
}

func (w *waiter) frame() []byte {
	if w.k == nil {
		return idFrame(0, nil)
	}
	return idFrame(w.k.id, w.k.answer)
}

func (c *Calls) opWake(process int, head []byte) []byte {
	_, n, bad := parseQueue(process, head)
	if bad != nil {
		return errorFrame(bad)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queue(n)
	switch {
	case len(q.waiters) > 0:
		w := q.waiters[0]
		q.waiters = q.waiters[1:]
		c.drop(n, q)
		close(w.ready)
	case !q.wake && !c.ended:
		if c.wakes >= maxWakes {
			c.drop(n, q)
			return errorFrame(Errorf(CodeBudget, "%d queues were woken and nobody waits on them", maxWakes))
		}
		q.wake = true
		c.wakes++
	}
	return noneFrame()
}

func (c *Calls) opCancel(head []byte) []byte {
	var h queueHead
	if err := json.Unmarshal(head, &h); err != nil || h.ID == nil {
		return errorFrame(Errorf(CodeRequest, `"id" is the number of a started call`))
	}
	c.mu.Lock()
	k := c.started[*h.ID]
	known := k != nil || *h.ID > 0 && *h.ID <= c.lastID
	c.mu.Unlock()
	if !known {
		return errorFrame(Errorf(CodeRequest, "there is no call %d", *h.ID))
	}
	if k != nil {
		c.cancelCall(k, errCancelled)
	}
	return noneFrame()
}

// noneFrame answers ops that have nothing to say.
func noneFrame() []byte { return endHead(append(newFrame(answerOK, 2), "{}"...)) }
