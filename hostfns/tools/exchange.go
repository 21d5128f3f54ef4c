package tools

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mayfly-run/mayfly/hostfns"
)

// exchange follows a request through the SDK and the transport: whether it was sent, and what came back, in the server's own
// bytes. (The SDK decodes results into Go maps, which lose the order of a schema's properties and digits of numbers.)
type exchange struct {
	call *hostfns.ToolCall // nil: it is no call of a tool

	mu       sync.Mutex
	sent     bool // at least in part
	result   json.RawMessage
	err      *jsonrpc.Error
	tooLarge bool
	status   int           // of the HTTP response that was an error
	after    time.Duration // what it says of when to try again
	over     bool          // nobody listens any more

	events *bucket
	asked  atomic.Int32 // questions to people
	clock  *clock       // of the call's time; nil: there is no limit
}

type exchangeKey struct{}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

func (x *exchange) markSent() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent = true
}

// failed keeps what an HTTP response says that was an error.
func (x *exchange) failed(status int, after time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status, x.after = status, after
}

// answered keeps what came back.
func (x *exchange) answered(result json.RawMessage, err *jsonrpc.Error, tooLarge bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.result, x.err, x.tooLarge = result, err, tooLarge
}

// outcome is what is known of an exchange at its end.
type outcome struct {
	sent     bool
	result   json.RawMessage
	err      *jsonrpc.Error
	tooLarge bool
	status   int
	after    time.Duration
}

// finish ends the exchange. Nothing is emitted any more once it returns.
func (x *exchange) finish() outcome {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
	return outcome{x.sent, x.result, x.err, x.tooLarge, x.status, x.after}
}

// again prepares for another try.
func (x *exchange) again() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent, x.result, x.err, x.tooLarge, x.status, x.after, x.over = false, nil, nil, false, 0, 0, false
}

// emit passes an event on, within bounds.
func (x *exchange) emit(kind hostfns.EventKind, data any) {
	if x.call == nil || x.call.Emit == nil || !x.events.take() {
		return
	}
	b, err := json.Marshal(data)
	if err != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		x.call.Emit(hostfns.Event{Kind: kind, Data: b})
	}
}

// clock bounds the time of a call, without what people need to answer.
type clock struct {
	mu     sync.Mutex
	timer  *time.Timer
	until  time.Time
	left   time.Duration
	paused int
}

func newClock(d time.Duration, f func()) *clock {
	return &clock{timer: time.AfterFunc(d, f), until: time.Now().Add(d)}
}

// pause stops the clock until resume is called.
func (c *clock) pause() (resume func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused++; c.paused == 1 && c.timer.Stop() {
		c.left = time.Until(c.until)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.paused--; c.paused == 0 && c.left > 0 {
			c.until = time.Now().Add(c.left)
			c.timer.Reset(c.left)
			c.left = 0
		}
	}
}

// stop stops it for good.
func (c *clock) stop() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer.Stop()
	c.left = 0
	c.paused = 1 << 30 // a late resume does not start it again
}
