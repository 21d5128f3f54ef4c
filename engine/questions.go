package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
)

// ErrNoQuestion means that there is no open question of this ID. Somebody else may have replied to it, or nobody needs to know any more.
var ErrNoQuestion = errors.New("no such question")

// OpenQuestion is a question that an execution waits for the reply to.
type OpenQuestion struct {
	hostfns.Question
	// Suspended tells that the process which asked has ended. The execution goes on with Session.Resume.
	Suspended bool `json:"suspended,omitempty"`
}

// questions are those that are open in this process.
type questions struct {
	mu   sync.Mutex
	open map[string]*question
}

type question struct {
	q     hostfns.Question
	reply chan hostfns.Reply // has room for one
}

func (q *questions) add(x *question) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open == nil {
		q.open = map[string]*question{}
	}
	q.open[x.q.ID] = x
}

// take removes a question, which is then the caller's to reply to.
func (q *questions) take(id string) *question {
	q.mu.Lock()
	defer q.mu.Unlock()
	x := q.open[id]
	delete(q.open, id)
	return x
}

// list returns the questions in the order in which they were asked.
func (q *questions) list() []OpenQuestion {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make([]OpenQuestion, 0, len(q.open))
	for _, x := range q.open {
		all = append(all, OpenQuestion{Question: x.q})
	}
	slices.SortFunc(all, byTime)
	return all
}

func byTime(a, b OpenQuestion) int { return a.Asked.Compare(b.Asked) }

// Questions returns what executions wait to be told, the oldest first: those of this process, and those of durable sessions
// whose process ended.
func (e *Engine) Questions(ctx context.Context) ([]OpenQuestion, error) {
	suspended, err := e.suspended(ctx)
	if err != nil {
		return nil, err
	}
	all := append(e.questions.list(), suspended...)
	slices.SortStableFunc(all, byTime)
	return all, nil
}

// Reply answers a question of an execution that runs in this process. For one that is suspended use Session.Resume.
func (e *Engine) Reply(_ context.Context, id string, r hostfns.Reply) error {
	if err := checkReply(&r); err != nil {
		return err
	}
	x := e.questions.take(id)
	if x == nil {
		return &Error{Err: fmt.Errorf("%w: %.80q", ErrNoQuestion, id), Phase: PhaseRequest, Hint: "it may have been answered, or its execution has ended"}
	}
	x.reply <- r
	return nil
}

func checkReply(r *hostfns.Reply) error {
	switch r.Action {
	case hostfns.ActionAccept, hostfns.ActionDecline, hostfns.ActionCancel:
	default:
		return requestError("accept, decline or cancel", "action %.40q", r.Action)
	}
	if r.Content != nil && !json.Valid(r.Content) {
		return requestError("", "the content of the reply is not JSON")
	}
	return nil
}

// ask waits for the reply to a question, from whoever gives one first.
func (s *Session) ask(ctx context.Context, h *hostCalls, x *Execution, q *hostfns.Question) (*hostfns.Reply, error) {
	if r := x.resume.answer(q); r != nil {
		return r, nil
	}
	w := &question{q: *q, reply: make(chan hostfns.Reply, 1)}
	w.q.ID, w.q.Session, w.q.Execution, w.q.Asked = newID("qu"), s.id, h.id, time.Now().UTC()
	if err := s.suspend(h, x, &w.q); err != nil {
		return nil, err
	}
	defer h.unask(&w.q)
	s.e.questions.add(w)
	defer s.e.questions.take(w.q.ID)
	h.tell(x.Output, hostfns.EventQuestion, w.q)
	if f := s.e.opts.OnQuestion; f != nil {
		asking, cancel := context.WithCancel(ctx)
		defer cancel()
		go s.askHandler(asking, f, w.q)
	}
	select {
	case r := <-w.reply:
		h.tell(x.Output, hostfns.EventReplied, map[string]string{"id": w.q.ID, "action": r.Action})
		return &r, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// askHandler has Options.OnQuestion answer a question.
func (s *Session) askHandler(ctx context.Context, f func(context.Context, hostfns.Question) (*hostfns.Reply, error), q hostfns.Question) {
	r, err := callHandler(ctx, f, q)
	if err == nil && r != nil {
		err = s.e.Reply(ctx, q.ID, *r)
	}
	if err != nil && !errors.Is(err, ErrNoQuestion) && ctx.Err() == nil {
		s.e.opts.Logger.Warn("answer a question", "session", s.id, "tool", q.Server+"."+q.Tool, "error", err)
		_ = s.e.Reply(ctx, q.ID, hostfns.Reply{Action: hostfns.ActionCancel, Reason: "nobody could be asked"})
	}
}

// callHandler makes an error of a panic: nobody else could take it, and it would end the process.
func callHandler(
	ctx context.Context, f func(context.Context, hostfns.Question) (*hostfns.Reply, error), q hostfns.Question,
) (r *hostfns.Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, fmt.Errorf("OnQuestion panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return f(ctx, q)
}
