package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// cancelPatience is how long a cancelled execution has to end in order: its grace, and the time to store what it did.
const cancelPatience = 15 * time.Second

// Exec is a piece of code for a session.
type Exec struct {
	engine.Request
	// Session opens or makes the session, see Client.Open. Nil: it must exist.
	Session *engine.SessionOptions
	// HostConfig describes the host, in the place of Request.Host, which cannot travel; see Options.NewHost.
	// HostIfNone uses it only when the server has no host of its own.
	HostConfig json.RawMessage
	HostIfNone bool
	// OnNote is told what a person should know about how the session was opened.
	OnNote func(string)
}

// hostEvents are the events of host calls that are passed on.
var hostEvents = []hostfns.EventKind{
	hostfns.EventProgress, hostfns.EventLog, hostfns.EventModel, hostfns.EventQuestion, hostfns.EventReplied,
}

// Exec runs code in a session. The result and the error are as those of engine.Session.Exec. When ctx ends, the
// execution is cancelled, and its result is waited for. Request.Stdin is read when the program reads, and possibly a
// while longer.
func (c *Client) Exec(ctx context.Context, name string, x *Exec) (*engine.Result, error) {
	q := wireRequest(&x.Request)
	if x.Session != nil {
		q.Session = wireOptions(x.Session)
	}
	var err error
	if q.HostRequest, err = x.hostRequest(); err != nil {
		return nil, err
	}
	return c.execute(ctx, sessionPath(name, "/exec"), q, x)
}

// Resume goes on with a step that waits for a reply, see engine.Session.Resume. Of the request, OnEvent, NoQuestions and
// MaxOutput count, and the configuration of the host.
func (c *Client) Resume(ctx context.Context, name, question string, r hostfns.Reply, x *Exec) (*engine.Result, error) {
	q := &resumeRequest{Question: question, Reply: r, MaxOutput: x.MaxOutput}
	var err error
	if q.HostRequest, err = x.hostRequest(); err != nil {
		return nil, err
	}
	return c.execute(ctx, sessionPath(name, "/resume"), q, x)
}

func (x *Exec) hostRequest() (q HostRequest, err error) {
	if x.Host != nil {
		return q, badRequest("describe it by HostConfig", "a host cannot be sent to a server")
	}
	return HostRequest{Host: x.HostConfig, HostIfNone: x.HostIfNone, NoQuestions: x.NoQuestions}, nil
}

// execute sends a request that is answered with the events of an execution.
func (c *Client) execute(ctx context.Context, path string, q any, x *Exec) (*engine.Result, error) {
	// Ending the request itself is the last resort: the result would be lost.
	sent, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	started := make(chan string, 1)
	stop := c.cancelWith(ctx, started, abort)
	defer stop()
	resp, err := c.send(sent, http.MethodPost, path, q)
	if err != nil {
		return nil, executionError(ctx, err)
	}
	defer resp.Body.Close()
	var input sync.Once
	last, err := readEvents(resp.Body, func(e *Event) {
		switch e.Event {
		case "started":
			select {
			case started <- e.Execution:
			default: // there is one already: this server does not keep to what is agreed
			}
		case "stdin":
			input.Do(func() { go c.sendStdin(sent, e.Execution, x.Stdin) })
		case "note":
			if x.OnNote != nil {
				x.OnNote(e.Data)
			}
		case string(engine.EventStdout), string(engine.EventStderr):
			if x.OnEvent != nil {
				x.OnEvent(engine.Event{Kind: engine.EventKind(e.Event), Data: e.bytes()})
			}
		default:
			if x.OnEvent != nil && e.Info != nil && slices.Contains(hostEvents, hostfns.EventKind(e.Event)) {
				x.OnEvent(engine.Event{Kind: engine.EventKind(e.Event), Data: e.Info})
			}
		}
	})
	if err != nil {
		return nil, executionError(ctx, err)
	}
	var res *engine.Result
	if last.Result != nil {
		res = &engine.Result{}
		if err := json.Unmarshal(last.Result, res); err != nil {
			return nil, fmt.Errorf("answer of the server: %w", err)
		}
	}
	if last.Error != nil {
		return res, last.Error.err()
	}
	return res, nil
}

func executionError(ctx context.Context, err error) error {
	var e *engine.Error
	if errors.As(err, &e) {
		return err
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return &engine.Error{Err: err, Phase: engine.PhaseExec, Hint: "mayfly replay list shows whether the step was stored"}
}

// cancelWith has the execution cancelled when ctx ends. The function that it returns ends the watch and waits for it.
func (c *Client) cancelWith(ctx context.Context, started <-chan string, abort func()) (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		select {
		case id := <-started:
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelPatience)
			defer cancel()
			err := c.call(ctx, http.MethodDelete, "/v1/executions/"+url.PathEscape(id), nil, nil)
			if err == nil || errors.Is(err, ErrNoExecution) {
				select {
				case <-over:
					return
				case <-ctx.Done():
				}
			}
		default:
		}
		abort()
	}()
	return func() {
		close(over)
		<-done
	}
}

// sendStdin sends the input until it ends or the execution does.
func (c *Client) sendStdin(ctx context.Context, id string, r io.Reader) {
	if r == nil {
		return
	}
	resp, err := c.upload(ctx, http.MethodPut, "/v1/executions/"+url.PathEscape(id)+"/stdin", typeFile, io.NopCloser(r))
	if err == nil {
		resp.Body.Close()
	}
	// An error is one of the connection: the execution's own answer tells of it. That the program has ended is none.
}

// Incomplete tells whether the language waits for more lines of a statement.
func (c *Client) Incomplete(ctx context.Context, name, code string) (bool, error) {
	var a incompleteAnswer
	err := c.call(ctx, http.MethodPost, sessionPath(name, "/incomplete"), incompleteRequest{code}, &a)
	return a.Incomplete, err
}
