package hostfns

import (
	"context"
	"slices"
	"time"
)

// call is a call under way. Its fields are of the Calls' lock once it began, but for those that only its own goroutine uses.
type call struct {
	c    *Calls
	fn   string
	kind callKind
	args []byte
	body []byte

	// id and queue are those of OpStart; a call without a queue has done instead, which is closed when it finished.
	id, queue int
	started   bool
	done      chan struct{}

	// number counts the calls of the execution that policy counts, from 0.
	number int
	tool   toolArgs
	record *Record

	ctx      context.Context
	cancel   context.CancelCauseFunc
	began    time.Time
	launched bool
	finished bool
	answer   []byte
	err      *Error

	// The clock of the call's timeout stands still while people are asked.
	timer *time.Timer
	until time.Time
	left  time.Duration
	asked int
	// abandon is set once the context is done.
	abandon *time.Timer

	approved     string
	approval     bool // a person is asked whether it may be made
	events       int
	elicitations int

	// direct calls are of the host itself: their value is kept, and not made into a handle.
	direct bool
	value  *Value
}

// failure is the error that the call ended with.
func (k *call) failure() error {
	if k.err == nil {
		return nil
	}
	return k.err
}

// begin accepts a call, or answers it at once.
func (c *Calls) begin(k *call) (answer []byte) {
	k.kind = kindOf(k.fn)
	if k.kind == kindQuick {
		// It waits for nothing, so it needs no goroutine.
		return c.quick(k)
	}
	// The request is the caller's again when Handle returns, and a function that hangs may still use its arguments then.
	k.args, k.body = slices.Clone(k.args), slices.Clone(k.body)
	counted := k.kind != kindCatalogue
	var bad *Error
	if counted {
		var name string
		var args []byte
		name, args, bad = k.inspect()
		r := &Record{Name: name, Args: c.h.RecordArgs(args), Outcome: CodeCancelled}
		k.record = r
	}
	c.mu.Lock()
	if c.over() {
		c.mu.Unlock()
		k.err = k.name(c.overError())
		return errorFrame(k.err)
	}
	if counted {
		k.number = c.number
		c.number++
		if len(c.records) < MaxRecords {
			c.records = append(c.records, k.record)
		} else {
			c.more++
		}
		if bad == nil {
			bad = c.charge(k)
		}
	}
	if bad == nil && k.started {
		bad = c.register(k)
	}
	if bad != nil {
		k.err, k.answer = bad, errorFrame(k.name(bad))
		k.settle()
		c.mu.Unlock()
		return k.answer
	}
	k.ctx, k.cancel = context.WithCancelCause(c.ctx)
	c.live[k] = struct{}{}
	if counted && c.running >= c.rules.maxParallel {
		c.turns = append(c.turns, k)
	} else {
		c.launch(k)
	}
	c.mu.Unlock()
	return nil
}

// over tells whether no more calls may begin. The lock is held.
func (c *Calls) over() bool { return c.ended || c.ctx.Err() != nil }

// charge counts a call against the budgets.
func (c *Calls) charge(k *call) *Error {
	if c.number > c.rules.maxCalls {
		return &Error{
			Code:    CodeBudget,
			Message: "this execution has made all host calls that it may make: " + itoa(c.rules.maxCalls),
			Hint:    "call less often, or raise max_calls in the policy",
		}
	}
	return c.chargeBytes(len(k.args) + len(k.body))
}

// chargeBytes counts bytes of arguments and results.
func (c *Calls) chargeBytes(n int) *Error {
	if c.bytes+int64(n) > c.rules.maxBytes {
		return &Error{
			Code: CodeBudget,
			Message: "arguments and results of this execution's host calls would have more than the allowed " +
				itoa(c.rules.maxBytes) + " bytes",
			Hint: "ask for less, or raise max_bytes in the policy",
		}
	}
	c.bytes += int64(n)
	return nil
}

// finish answers a call, unless it was answered already.
func (c *Calls) finish(k *call, answer []byte, e *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finishLocked(k, answer, e)
}

func (c *Calls) finishLocked(k *call, answer []byte, e *Error) {
	if k.finished {
		return
	}
	if e != nil {
		answer = errorFrame(e)
	}
	k.finished, k.answer, k.err = true, answer, e
	if k.timer != nil {
		k.timer.Stop()
	}
	if k.abandon != nil {
		k.abandon.Stop()
	}
	k.cancel(nil)
	delete(c.live, k)
	if k.launched && k.kind != kindCatalogue {
		c.running--
	}
	if k.started {
		c.deliver(k)
	} else {
		defer close(k.done)
	}
	k.settle()
	if c.ended && len(c.live) == 0 {
		close(c.idle)
	}
}

// settle completes the call's record.
func (k *call) settle() {
	r := k.record
	if r == nil {
		return
	}
	r.Outcome, r.Bytes, r.Approved = Outcome(k.answer), len(k.answer), k.approved
	if k.launched {
		r.Wall = time.Since(k.began)
	}
}

// cancelCall ends a call early. One that runs has some time to return by itself.
func (c *Calls) cancelCall(k *call, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.finished || k.abandon != nil {
		return
	}
	k.cancel(cause)
	if !k.launched {
		c.finishLocked(k, nil, k.name(k.toError(cause)))
		return
	}
	k.abandon = time.AfterFunc(abandonAfter, func() {
		c.mu.Lock()
		late := !k.finished
		c.finishLocked(k, nil, k.name(k.toError(cause)))
		// Its goroutine cannot take the next turn.
		c.launchTurn()
		c.mu.Unlock()
		if late {
			c.h.log.Warn("a host function does not return though its context is done; it is left to itself", "function", k.fn,
				"server", k.tool.Server, "tool", k.tool.Tool, "reason", cause)
		}
	})
}

func (c *Calls) timeOut(k *call) {
	c.mu.Lock()
	waits := k.asked > 0 // the timer fired just before it was stopped
	c.mu.Unlock()
	if !waits {
		c.cancelCall(k, errTimeout)
	}
}

// pause stops the clock of the call's timeout until resume is called. It may be called several times at once.
func (k *call) pause() (resume func()) {
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	if k.asked++; k.asked == 1 && k.timer != nil {
		k.timer.Stop()
		k.left = max(time.Until(k.until), time.Millisecond)
	}
	return func() {
		k.c.mu.Lock()
		defer k.c.mu.Unlock()
		if k.asked--; k.asked == 0 && !k.finished {
			k.until = time.Now().Add(k.left)
			if k.timer != nil {
				k.timer.Reset(k.left)
			}
		}
	}
}

// name fills in what was called.
func (k *call) name(e *Error) *Error {
	if k.kind == kindTool && e.Server == "" {
		e.Server, e.Tool = k.tool.Server, k.tool.Tool
	}
	return e
}
