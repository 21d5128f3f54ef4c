package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
	"unicode/utf8"
)

// Calls serves the calls of one execution.
type Calls struct {
	s     *Session
	h     *Host
	o     ExecOptions
	rules *rules

	ctx    context.Context
	cancel context.CancelCauseFunc

	mu sync.Mutex
	// live are the calls that have not finished; idle is closed when there are none any more and ended is set.
	live  map[*call]struct{}
	ended bool
	idle  chan struct{}
	// running have their turn, turns wait for one, first come, first served.
	running int
	turns   []*call
	// spare is where a goroutine waits for the next call, nil if none does.
	spare chan *call
	// started are those of OpStart that were not collected, by ID; held is the bytes of those that finished.
	started map[int]*call
	held    int64
	queues  map[int]*queue
	wakes   int
	// processes counts the copies of the guest.
	processes int
	lastID    int

	number  int   // of counted calls so far
	bytes   int64 // of their arguments and results
	records []*Record
	more    int
}

// Reasons why a call's context is done.
var (
	errEnded     = errors.New("the execution has ended")
	errCancelled = errors.New("the call was cancelled")
	errTimeout   = errors.New("the call took too long")
)

// abandonAfter is how long a call may go on after its context is done, before its caller is answered without it.
// Well-behaved functions return at once; the time is for those that tell a server that nobody waits any more.
var abandonAfter = 2 * time.Second

// Begin begins an execution. ctx bounds all of it. Executions of one session may overlap (processes of the guest).
func (s *Session) Begin(ctx context.Context, o *ExecOptions) *Calls {
	c := &Calls{
		s: s, h: s.h, live: map[*call]struct{}{}, idle: make(chan struct{}),
		started: map[int]*call{}, queues: map[int]*queue{},
	}
	if o != nil {
		c.o = *o
	}
	if c.o.Scope == nil {
		c.o.Scope = NewScope()
	}
	c.rules = s.rules
	if c.o.Policy != nil {
		c.rules = s.rules.and(c.o.Policy)
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	context.AfterFunc(c.ctx, c.cancelAll)
	if !s.add(c) {
		c.End()
	}
	return c
}

// Handle answers a request frame with an answer frame. It waits where the op says so, until ctx is done. It is safe for
// concurrent use: threads of the guest call it at the same time. The request is not kept after it returns.
func (c *Calls) Handle(ctx context.Context, request []byte) (answer []byte) {
	return c.handle(ctx, 0, request)
}

// Process returns what answers the frames of a copy of the guest, which has queues of its own. All else is that of the
// execution, budgets above all.
func (c *Calls) Process() func(ctx context.Context, request []byte) (answer []byte) {
	c.mu.Lock()
	c.processes++
	first := c.processes * MaxQueues
	c.mu.Unlock()
	return func(ctx context.Context, request []byte) []byte { return c.handle(ctx, first, request) }
}

// handle answers a frame of a process, whose queues are those from the number on.
func (c *Calls) handle(ctx context.Context, process int, request []byte) (answer []byte) {
	defer func() {
		if r := recover(); r != nil {
			answer = errorFrame(c.h.panicked("host call", r))
		}
	}()
	op, head, body, err := parseFrame(request)
	if err != nil {
		return errorFrame(toError(err))
	}
	switch op {
	case OpCall:
		return c.opCall(ctx, head, body)
	case OpStart:
		return c.opStart(process, head, body)
	case OpWait:
		return c.opWait(ctx, process, head)
	case OpWake:
		return c.opWake(process, head)
	case OpCancel:
		return c.opCancel(head)
	}
	return errorFrame(Errorf(CodeRequest, "there is no op %d", op))
}

func (c *Calls) opCall(ctx context.Context, head, body []byte) []byte {
	h, err := parseCall(head)
	if err != nil {
		return errorFrame(err)
	}
	k := &call{c: c, fn: h.Fn, args: h.Args, body: body, done: make(chan struct{})}
	if answer := c.begin(k); answer != nil {
		return answer
	}
	select {
	case <-k.done:
	case <-ctx.Done():
		c.cancelCall(k, errCancelled)
		<-k.done
	}
	return k.answer
}

// End cancels what is still under way, waits for that, and returns the calls in the order in which they began, at most
// MaxRecords; more is the number of those left out. A function that does not return in spite of that is left to itself after
// a few seconds; what it returns is dropped.
func (c *Calls) End() (records []Record, more int) {
	c.mu.Lock()
	if !c.ended {
		c.ended = true
		if c.spare != nil {
			close(c.spare)
			c.spare = nil
		}
		if len(c.live) == 0 {
			close(c.idle)
		}
	}
	c.mu.Unlock()
	c.cancel(errEnded)
	c.cancelAll()
	<-c.idle
	c.s.remove(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns, c.queues, c.started, c.held = nil, nil, nil, 0
	records = make([]Record, len(c.records))
	for i, r := range c.records {
		records[i] = *r
	}
	return records, c.more
}

func (c *Calls) cancelAll() {
	c.mu.Lock()
	live := make([]*call, 0, len(c.live))
	for k := range c.live {
		live = append(live, k)
	}
	c.mu.Unlock()
	for _, k := range live {
		c.cancelCall(k, errEnded)
	}
}

// panicked is the error of a function that panicked.
func (h *Host) panicked(what string, reason any) *Error {
	h.log.Error("a host function panicked", "function", what, "reason", h.scrubText(fmt.Sprint(reason)), "stack", string(debug.Stack()))
	return &Error{Code: CodeServer, Message: "an internal fault on the host; its log says more"}
}

// callHead is the head of OpCall and OpStart.
type callHead struct {
	Fn    string
	Args  json.RawMessage
	Queue *int
}

func parseCall(head []byte) (h callHead, e *Error) {
	m, ok := membersOf(head)
	if !ok || !json.Valid(head) {
		return h, Errorf(CodeRequest, "the head of a call is no JSON object")
	}
	for key, value, ok := m.next(); ok; key, value, ok = m.next() {
		switch key {
		case "fn":
			h.Fn, _ = jsonText(value)
		case "args":
			h.Args = value
		case "queue":
			if n, ok := jsonInt(value); ok {
				h.Queue = &n
			}
		}
	}
	if h.Fn == "" || len(h.Fn) > maxName || !utf8.ValidString(h.Fn) {
		return h, Errorf(CodeRequest, `"fn" is the name of a function, of 1 to %d bytes`, maxName)
	}
	if !utf8.Valid(h.Args) {
		return h, Errorf(CodeRequest, "arguments are not UTF-8")
	}
	if h.Args == nil {
		h.Args = json.RawMessage("{}")
	}
	return h, nil
}
