package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// ExecRequest is an engine.Request as it travels.
type ExecRequest struct {
	// Session opens the session, or makes it, with these options. Without it the session must exist.
	Session  *SessionOptions   `json:"session,omitempty"`
	Code     string            `json:"code"`
	Filename string            `json:"filename,omitempty"`
	Args     []string          `json:"args,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
	// Stdin is the program's input. Instead of it, StreamStdin tells that the input will be sent when the event "stdin"
	// has come, by PUT /v1/executions/{id}/stdin.
	Stdin       string `json:"stdin,omitempty"`
	StreamStdin bool   `json:"stream_stdin,omitempty"`
	// Timeout is in milliseconds.
	Timeout  int64  `json:"timeout_ms,omitempty"`
	MaxTicks uint64 `json:"max_ticks,omitempty"`
	// MaxOutput is the number of bytes kept of each of stdout and stderr.
	MaxOutput int  `json:"max_output,omitempty"`
	NoResult  bool `json:"no_result,omitempty"`
	// Policy says what of the host may be used, besides what the host's own policy and the session's say.
	Policy *hostfns.Policy `json:"policy,omitempty"`
	HostRequest
}

// HostRequest says what an execution is offered by its host.
type HostRequest struct {
	// Host is the configuration of a host that takes the place of the server's, see Options.NewHost. HostIfNone uses it only
	// when the server has none of its own.
	Host       json.RawMessage `json:"host,omitempty"`
	HostIfNone bool            `json:"host_if_none,omitempty"`
	// NoQuestions has everything denied that a person would have to be asked for.
	NoQuestions bool `json:"no_questions,omitempty"`
}

// maxOutput bounds ExecRequest.MaxOutput: output is kept in memory until the step is stored and told.
const maxOutput = 64 << 20

func checkOutput(n int) error {
	if n > maxOutput {
		return badRequest("write large output to a file", "max_output of %d, at most %d are allowed", n, maxOutput)
	}
	return nil
}

func wireRequest(r *engine.Request) *ExecRequest {
	return &ExecRequest{
		Code: r.Code, Filename: r.Filename, Args: r.Args, Env: r.Env, StreamStdin: r.Stdin != nil,
		Timeout: r.Timeout.Milliseconds(), MaxTicks: r.MaxTicks, MaxOutput: r.MaxOutput, NoResult: r.NoResult,
		Policy: r.Policy,
	}
}

func (q *ExecRequest) request() engine.Request {
	return engine.Request{
		Code: q.Code, Filename: q.Filename, Args: q.Args, Env: q.Env, Timeout: milliseconds(q.Timeout),
		MaxTicks: q.MaxTicks, MaxOutput: q.MaxOutput, NoResult: q.NoResult, Policy: q.Policy,
	}
}

func (h *handler) exec(w http.ResponseWriter, r *http.Request) error {
	var q ExecRequest
	if err := readJSON(w, r, &q); err != nil {
		return err
	}
	if q.StreamStdin && q.Stdin != "" {
		return badRequest("send one of them", "both stdin and stream_stdin")
	}
	if err := checkOutput(q.MaxOutput); err != nil {
		return err
	}
	req := q.request()
	release, err := h.offer(r, &req, &q.HostRequest)
	if err != nil {
		return err
	}
	defer release()
	s, err := h.open(r, q.Session)
	if err != nil {
		return err
	}
	defer h.kept.keep(s)
	if q.Stdin != "" {
		req.Stdin = newStdinText(q.Stdin)
	}
	h.stream(w, r, s, req, q.StreamStdin, func(ctx context.Context, req engine.Request) (*engine.Result, error) {
		return s.Exec(ctx, req)
	})
	return nil
}

// offer fills in what an execution is offered; release is called after it.
func (h *handler) offer(r *http.Request, req *engine.Request, q *HostRequest) (release func(), err error) {
	req.NoQuestions = q.NoQuestions
	if q.Host == nil || string(q.Host) == "null" || q.HostIfNone && h.o.OwnHost {
		return func() {}, nil
	}
	req.Host, release, err = h.hosts.use(r.Context(), q.Host)
	return release, err
}

// errGone is why an execution ends whose client is gone without a word. Its terminal may have been closed, or the connection
// lost: so what a person has to decide then can still be decided. Who does not want the execution any more cancels it.
var errGone = fmt.Errorf("the client is gone: %w, %w", context.Canceled, engine.ErrSuspended)

// stream answers with the events of an execution, and its result.
func (h *handler) stream(
	w http.ResponseWriter, r *http.Request, s *engine.Session, req engine.Request, stdin bool,
	run func(context.Context, engine.Request) (*engine.Result, error),
) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	defer cancel(nil)
	defer context.AfterFunc(r.Context(), func() { cancel(errGone) })()
	out := newEvents(w)
	defer out.close()
	x := &execution{cancel: func() { cancel(nil) }, ctx: ctx}
	id := h.running.add(x)
	defer h.running.remove(id)
	req.OnEvent = func(e engine.Event) {
		if e.Kind == engine.EventStdout || e.Kind == engine.EventStderr {
			out.output(e.Kind, e.Data)
		} else {
			out.host(string(e.Kind), e.Data)
		}
	}
	if stdin {
		x.stdin = newStdinPipe(func() { out.add(Event{Event: "stdin", Execution: id}) })
		defer x.stdin.Close()
		req.Stdin = x.stdin
	}
	out.add(Event{Event: "started", Execution: id})
	known := len(s.Notes())
	res, err := run(ctx, req)
	for _, note := range s.Notes()[known:] {
		out.add(Event{Event: "note", Data: note})
	}
	if res == nil {
		out.finish(nil, err)
	} else {
		out.finish(res, err)
	}
}

type incompleteRequest struct {
	Code string `json:"code"`
}

type incompleteAnswer struct {
	Incomplete bool `json:"incomplete"`
}

func (h *handler) incomplete(w http.ResponseWriter, r *http.Request) error {
	var q incompleteRequest
	if err := readJSON(w, r, &q); err != nil {
		return err
	}
	var more bool
	err := h.use(r, func(s *engine.Session) (err error) {
		more, err = s.Incomplete(r.Context(), q.Code)
		return err
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, incompleteAnswer{more})
	return nil
}

// executions are those that run, by their IDs.
type executions struct {
	mu  sync.Mutex
	all map[string]*execution
}

type execution struct {
	ctx    context.Context
	cancel context.CancelFunc
	stdin  *stdinPipe // nil when none is expected
}

// add returns the ID. It cannot be guessed, and so is the right to act on the execution.
func (x *executions) add(e *execution) string {
	id := rand.Text()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.all == nil {
		x.all = map[string]*execution{}
	}
	x.all[id] = e
	return id
}

func (x *executions) remove(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.all, id)
}

func (x *executions) get(id string) (*execution, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.all[id]; e != nil {
		return e, nil
	}
	return nil, ErrNoExecution
}

func (h *handler) cancelExecution(w http.ResponseWriter, r *http.Request) error {
	x, err := h.running.get(r.PathValue("id"))
	if err != nil {
		return err
	}
	x.cancel()
	w.WriteHeader(http.StatusAccepted)
	return nil
}

func (h *handler) executionStdin(w http.ResponseWriter, r *http.Request) error {
	x, err := h.running.get(r.PathValue("id"))
	if err != nil {
		return err
	}
	if x.stdin == nil || !x.stdin.take() {
		return badRequest("send the input once, for an execution with stream_stdin", "the execution takes no input")
	}
	// The execution may end while this waits for the client.
	stop := context.AfterFunc(x.ctx, func() { http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	_, err = io.Copy(x.stdin.w, r.Body)
	x.stdin.w.CloseWithError(err) // nil is the end of the input
	if err != nil && !errors.Is(err, io.ErrClosedPipe) && x.ctx.Err() == nil {
		return err
	}
	w.Header().Set("Connection", "close") // there may be more that nobody reads
	w.WriteHeader(http.StatusNoContent)
	return nil
}
