package tools

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-run/mayfly/hostfns"
)

// call calls a tool.
func (s *server) call(ctx context.Context, c *hostfns.ToolCall) (*hostfns.ToolResult, error) {
	x := &exchange{call: c, events: newBucket(500, 100)}
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() { x.clock.stop() }()
	for again := true; ; again = false {
		ss, release, err := s.session(own)
		if err != nil {
			return nil, named(err, c)
		}
		if d := s.conf.CallTimeout; d > 0 && x.clock == nil {
			// The start of a server has a limit of its own.
			x.clock = newClock(d, func() { cancel(errTimeout) })
		}
		res, err := ss.call(own, x, c)
		release()
		if errors.Is(err, errAgain) && again && own.Err() == nil {
			x.again()
			continue
		}
		if n := x.events.dropped(); n > 0 {
			s.all.log.Warn("events of a call of a tool were dropped: there were too many",
				"server", s.name, "tool", c.Tool, "events", n)
		}
		if a := (againError{}); errors.As(err, &a) {
			err = a.err
		}
		if isContext(err) && errors.Is(context.Cause(own), errTimeout) {
			return nil, &hostfns.Error{
				Code: hostfns.CodeTimeout, Server: c.Server, Tool: c.Tool, Err: errTimeout,
				Message: errTimeout.Error() + ": " + s.conf.CallTimeout.String(),
				Hint:    "ask for less, or raise the server's timeout in the configuration",
			}
		}
		return res, err
	}
}

// errAgain tells that nothing was done, because the server had forgotten the session or the connection had just ended.
var errAgain = errors.New("it is safe to try once more")

// againError is such an error.
type againError struct{ err error }

func (a againError) Error() string        { return a.err.Error() }
func (a againError) Unwrap() error        { return a.err }
func (a againError) Is(target error) bool { return target == errAgain }

// call calls a tool once.
func (ss *session) call(ctx context.Context, x *exchange, c *hostfns.ToolCall) (*hostfns.ToolResult, error) {
	own, cancel := ss.context(ctx)
	defer cancel()
	token := ss.s.all.tokens.Add(1)
	ss.in.begin(x, token)
	defer ss.in.forget(x)
	params := &mcp.CallToolParams{Name: c.Tool}
	if len(c.Args) > 0 {
		params.Arguments = c.Args
	}
	params.SetProgressToken(token)
	r, err := ss.cs.CallTool(withExchange(own, x), params)
	for range maxRounds {
		if pages := urlsToVisit(err); pages == nil || !ss.visit(own, x, pages) {
			break
		}
		r, err = ss.cs.CallTool(withExchange(own, x), params)
	}
	o := x.finish()
	if o.err == nil && o.result == nil {
		o.err = bounded(answer(err)) // it came with an error of HTTP
	}
	raw := o.result
	if raw == nil && err == nil {
		if raw, err = json.Marshal(r); err != nil {
			return nil, ss.wrong(err, &o, c)
		}
	}
	if raw != nil && (err == nil || !isContext(err)) {
		ss.mu.Lock()
		ss.worked = true
		ss.mu.Unlock()
		res, err := readResult(raw)
		if err == nil && res.IsError && soundsUnknown(res, c.Tool) && ss.vanished(ctx, c.Tool) {
			return nil, unknownTool(c)
		}
		if err != nil {
			err = named(err, c)
		}
		return res, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if isContext(err) {
		err = context.Cause(own)
	}
	if e := o.err; e != nil && (e.Code == jsonrpc.CodeInvalidParams || e.Code == jsonrpc.CodeMethodNotFound) {
		if ss.vanished(ctx, c.Tool) {
			return nil, unknownTool(c)
		}
	}
	return nil, ss.wrong(err, &o, c)
}

// wrong is the error of a call.
func (ss *session) wrong(err error, o *outcome, c *hostfns.ToolCall) error {
	e := ss.callError(err, o)
	e.Server, e.Tool = c.Server, c.Tool
	if errors.Is(err, errClosed) {
		e.Code, e.Message = hostfns.CodeCancelled, errClosed.Error()
		return e
	}
	if ss.forgotten(o) || o.err == nil && !o.sent && (ss.broken() || errors.Is(err, mcp.ErrConnectionClosed)) {
		e.Retryable = true
		ss.cancel(errDropped)
		return againError{e}
	}
	return e
}

// forgotten tells whether an HTTP server does not know the session any more, because it was restarted. It has not seen the
// call then. The status should be 404; widespread servers say 400.
func (ss *session) forgotten(o *outcome) bool {
	if ss.cs.ID() == "" {
		return false
	}
	return o.status == http.StatusNotFound ||
		o.status == http.StatusBadRequest && o.err != nil && strings.Contains(strings.ToLower(o.err.Message), "session")
}

// broken tells whether the connection is over.
func (ss *session) broken() bool {
	return ss.ctx.Err() != nil || ss.over.Load()
}

// context returns a context for a call, which also ends with the session. Its end comes some time after the call's, with HTTP:
// until then, what is left of a response can be read, so that the connection can be used again.
func (ss *session) context(ctx context.Context) (own context.Context, end func()) {
	own, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(ss.ctx, func() { cancel(context.Cause(ss.ctx)) })
	end = func() {
		stop()
		cancel(nil)
	}
	if ss.e == nil {
		return own, end
	}
	return own, func() { time.AfterFunc(time.Second, end) }
}

// named returns an error with the name of what was called. The error itself may be others' as well.
func named(err error, c *hostfns.ToolCall) error {
	e := (*hostfns.Error)(nil)
	if !errors.As(err, &e) {
		return err
	}
	own := *e
	own.Server, own.Tool = c.Server, c.Tool
	return &own
}

func unknownTool(c *hostfns.ToolCall) error {
	return &hostfns.Error{
		Code: hostfns.CodeUnknownTool, Server: c.Server, Tool: c.Tool,
		Message: "the server " + c.Server + " has no such tool any more",
		Hint:    "look at the list of tools again",
	}
}

// soundsUnknown tells whether a result may be some servers' way to say that there is no such tool.
func soundsUnknown(r *hostfns.ToolResult, tool string) bool {
	for _, b := range r.Content {
		text := strings.ToLower(cut(b.Text, 1<<10))
		if strings.Contains(b.Text, tool) && (strings.Contains(text, "not found") || strings.Contains(text, "unknown tool")) {
			return true
		}
	}
	return false
}

// vanished lists the tools anew, and tells whether there is one of that name no more.
func (ss *session) vanished(ctx context.Context, tool string) bool {
	if !ss.s.listings.relists.take() {
		return false
	}
	l, err := ss.s.listings.get(ctx, true)
	if err != nil {
		return false
	}
	for _, t := range l.Tools {
		if t.Name == tool {
			return false
		}
	}
	return true
}
