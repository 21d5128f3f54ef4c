package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

// cancelPatience is how long a cancelled execution has to end in order: its grace, and the time to store what it did.
const cancelPatience = 15 * time.Second

// Exec is a piece of code for a session.
type Exec struct {
	engine.Request
	// Session opens or makes the session, see Client.Open. Nil: it must exist.
	Session *engine.SessionOptions
	// OnNote is told what a person should know about how the session was opened.
	OnNote func(string)
}

// Exec runs code in a session. The result and the error are as those of engine.Session.Exec. When ctx ends, the
// execution is cancelled, and its result is waited for. Request.Stdin is read when the program reads, and possibly a
// while longer.
func (c *Client) Exec(ctx context.Context, name string, x *Exec) (*engine.Result, error) {
	q := wireRequest(&x.Request)
	if x.Session != nil {
		q.Session = wireOptions(x.Session)
	}
	// Ending the request itself is the last resort: the result would be lost.
	sent, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	started := make(chan string, 1)
	stop := c.cancelWith(ctx, started, abort)
	defer stop()
	resp, err := c.send(sent, http.MethodPost, sessionPath(name, "/exec"), q)
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
