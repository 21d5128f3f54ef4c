package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// approvals has a host whose tools count their calls; those of danger need somebody's approval.
type approvals struct {
	*durable
	mu    sync.Mutex
	calls []string
}

func newApprovals(t *testing.T) *approvals {
	t.Helper()
	a := &approvals{}
	tools := hostfns.NewTools("t")
	schema := json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}}}`)
	for _, name := range []string{"count", "danger"} {
		tools.Add(hostfns.Tool{Name: name, InputSchema: schema}, func(_ context.Context, c *hostfns.ToolCall) (*hostfns.ToolResult, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.calls = append(a.calls, name)
			text := fmt.Sprintf("%s %d", name, len(a.calls))
			return &hostfns.ToolResult{Content: []hostfns.Block{{Type: hostfns.BlockText, Text: text}}}, nil
		})
	}
	host, err := hostfns.New(&hostfns.Options{
		Providers: []hostfns.Provider{tools}, Policy: &hostfns.Policy{Approve: []string{"t.danger"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	a.durable = newDurable(t, func(o *engine.Options) { o.Host, o.Questions = host, true })
	return a
}

func (a *approvals) called() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.calls, " ")
}

// untilAsked runs code until it asks, and returns the question. The execution goes on in the background; its outcome comes
// over the channel.
func (a *approvals) untilAsked(s *engine.Session, code string) (hostfns.Question, <-chan outcome) {
	a.t.Helper()
	asked, done := make(chan hostfns.Question, 10), make(chan outcome, 1)
	go func() {
		r, err := s.Exec(context.Background(), engine.Request{Code: code, OnEvent: func(e engine.Event) {
			var q hostfns.Question
			if e.Kind == engine.EventKind(hostfns.EventQuestion) && json.Unmarshal(e.Data, &q) == nil {
				asked <- q
			}
		}})
		done <- outcome{r, err}
	}()
	select {
	case q := <-asked:
		return q, done
	case o := <-done:
		a.t.Fatalf("it did not ask: %v, %+v", o.err, o.r)
		return hostfns.Question{}, nil
	}
}

type outcome struct {
	r   *engine.Result
	err error
}

// crash is what a process finds after the one before was killed: the directory as it is now, while that one goes on.
func (a *approvals) crash() *durable {
	a.t.Helper()
	dir := filepath.Join(a.t.TempDir(), "store")
	if err := os.CopyFS(dir, os.DirFS(a.dir)); err != nil {
		a.t.Fatal(err)
	}
	d := &durable{t: a.t, dir: dir, o: a.o}
	o := *a.o
	d.o = &o
	d.open()
	a.t.Cleanup(d.close)
	return d
}

const callTools = `
import random, time
from tools import t
print("begin")
a = t.count(x=1)
r = random.random()
at = time.time()
open("r.txt", "w").write(repr(r))
b = t.danger(x=2)
c = t.count(x=3)
[a, b, c, repr(r) == open("r.txt").read()]
`

func TestApprovalInOneProcess(t *testing.T) {
	for _, action := range []string{hostfns.ActionAccept, hostfns.ActionDecline} {
		a := newApprovals(t)
		s := a.session("demo", nil)
		q, done := a.untilAsked(s, callTools)
		open, err := a.Questions(t.Context())
		if err != nil || len(open) != 1 || open[0].Suspended || open[0].ID != q.ID || q.Server != "t" || q.Tool != "danger" ||
			q.Session != "demo" || string(q.Args) != `{"x":2}` {
			t.Fatalf("%v %+v", err, open)
		}
		if err := a.Reply(t.Context(), q.ID, hostfns.Reply{Action: "maybe"}); !errors.Is(err, engine.ErrRequest) {
			t.Errorf("%v", err)
		}
		if err := a.Reply(t.Context(), q.ID, hostfns.Reply{Action: action, Reason: "because"}); err != nil {
			t.Fatal(err)
		}
		if err := a.Reply(t.Context(), q.ID, hostfns.Reply{Action: action}); !errors.Is(err, engine.ErrNoQuestion) {
			t.Errorf("a second reply: %v", err)
		}
		o := <-done
		if o.err != nil {
			t.Fatal(o.err)
		}
		if action == hostfns.ActionAccept {
			if o.r.Status != engine.StatusOK || a.called() != "count danger count" || o.r.HostCalls[1].Approved != action || o.r.Step != 2 {
				t.Errorf("%s, %s, %+v", describe(o.r), a.called(), o.r.HostCalls)
			}
		} else if o.r.Status != engine.StatusError || !strings.Contains(o.r.Error.Message, "because") || a.called() != "count" {
			t.Errorf("%s, %s", describe(o.r), a.called())
		}
		if v := a.verify("demo"); v.Divergence != nil || v.Identical != v.Executed {
			t.Errorf("%+v", v)
		}
	}
}

func TestApprovalSurvivesACrash(t *testing.T) {
	a := newApprovals(t)
	s := a.session("demo", nil)
	exec(t, s, "x = 40")
	q, done := a.untilAsked(s, callTools)
	d := a.crash()
	// The process that was there goes on, as it was only copied.
	if err := a.Reply(t.Context(), q.ID, hostfns.Reply{Action: hostfns.ActionDecline}); err != nil {
		t.Fatal(err)
	}
	<-done
	if a.called() != "count" {
		t.Fatal(a.called())
	}

	open, err := d.Questions(t.Context())
	if err != nil || len(open) != 1 || !open[0].Suspended || open[0].ID != q.ID {
		t.Fatalf("%v %+v", err, open)
	}
	s = d.session("demo", nil)
	if _, err := s.Exec(t.Context(), engine.Request{Code: "1"}); !errors.Is(err, engine.ErrSuspended) {
		t.Errorf("other code: %v", err)
	}
	if _, err := s.Snapshot(t.Context()); !errors.Is(err, engine.ErrSuspended) {
		t.Errorf("a snapshot: %v", err)
	}
	if _, err := s.Resume(t.Context(), "qu_other", hostfns.Reply{Action: hostfns.ActionAccept}, engine.Request{}); !errors.Is(err, engine.ErrNoQuestion) {
		t.Errorf("another question: %v", err)
	}
	r, err := s.Resume(t.Context(), q.ID, hostfns.Reply{Action: hostfns.ActionAccept}, engine.Request{})
	if err != nil {
		t.Fatal(err)
	}
	// count was called once before, and is not called again for that.
	if r.Status != engine.StatusOK || string(r.Result) != `["count 1", "danger 2", "count 3", true]` || a.called() != "count danger count" {
		t.Errorf("%s, %s, %s", describe(r), r.Result, a.called())
	}
	if r.Stdout != "begin\n" || len(r.HostCalls) != 3 || r.HostCalls[0].Outcome != "ok" || r.HostCalls[0].WallMS == 0 ||
		r.HostCalls[1].Approved != hostfns.ActionAccept {
		t.Errorf("%q %+v", r.Stdout, r.HostCalls)
	}
	want(t, s, "x + len([a, b, c])", "43")
	if open, err := d.Questions(t.Context()); err != nil || len(open) > 0 {
		t.Errorf("%v %+v", err, open)
	}
	if v := d.verify("demo"); v.Divergence != nil || v.Identical != v.Executed || v.Executed != 3 || len(v.Skipped) > 0 {
		t.Errorf("%+v", v)
	}
}

func TestApprovalSurvivesAnEnd(t *testing.T) {
	a := newApprovals(t)
	q, done := a.untilAsked(a.session("demo", nil), callTools)
	a.restart()
	if o := <-done; !errors.Is(o.err, engine.ErrSuspended) || o.r.Status != engine.StatusCancelled {
		t.Errorf("%v %+v", o.err, o.r)
	}
	s := a.session("demo", nil)
	r, err := s.Resume(t.Context(), q.ID, hostfns.Reply{Action: hostfns.ActionDecline, Reason: "no"}, engine.Request{})
	if err != nil || r.Status != engine.StatusError || !strings.Contains(r.Error.Message, "no") || a.called() != "count" {
		t.Errorf("%v %s %s", err, describe(r), a.called())
	}
}

func TestSuspendedStepIsGivenUp(t *testing.T) {
	a := newApprovals(t)
	s := a.session("demo", nil)
	exec(t, s, "x = 1")
	_, done := a.untilAsked(s, callTools)
	a.restart()
	<-done
	s = a.session("demo", nil)
	if _, err := s.Rewind(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if open, err := a.Questions(t.Context()); err != nil || len(open) > 0 {
		t.Errorf("%v %+v", err, open)
	}
	want(t, s, "x, 'a' in globals()", "(1, False)")
	if v := a.verify("demo"); v.Divergence != nil {
		t.Errorf("%+v", v)
	}
}

const gatherTools = `
import asyncio
from tools import t
await asyncio.gather(t.count.aio(x=1), t.danger.aio(x=2), t.danger.aio(x=3), t.count.aio(x=4))
`

func TestApprovalsOfGatheredCallsSurvive(t *testing.T) {
	a := newApprovals(t)
	q, done := a.untilAsked(a.session("demo", nil), gatherTools)
	for n := 0; n < 2; { // both are asked, and both counts are done
		open, err := a.Questions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n = len(open); strings.Count(a.called(), "count") < 2 {
			n = 0
		}
	}
	a.restart()
	<-done
	s := a.session("demo", nil)
	open, err := a.Questions(t.Context())
	if err != nil || len(open) != 1 {
		t.Fatalf("%v %+v", err, open)
	}
	// The last one that was asked is the one that the journal ends with; the other is asked again.
	replied := make(chan error, 1)
	r, err := s.Resume(t.Context(), open[0].ID, hostfns.Reply{Action: hostfns.ActionAccept}, engine.Request{OnEvent: func(e engine.Event) {
		var q hostfns.Question
		if e.Kind == engine.EventKind(hostfns.EventQuestion) && json.Unmarshal(e.Data, &q) == nil {
			go func() { replied <- a.Reply(context.Background(), q.ID, hostfns.Reply{Action: hostfns.ActionAccept}) }()
		}
	}})
	if err != nil || r.Status != engine.StatusOK {
		t.Fatalf("%v %s", err, describe(r))
	}
	if err := <-replied; err != nil {
		t.Error(err)
	}
	if n := strings.Count(a.called(), "count"); n < 2 || strings.Count(a.called(), "danger") != 2 {
		t.Errorf("%s after %s", a.called(), q.ID)
	}
	if v := a.verify("demo"); v.Divergence != nil || v.Identical != v.Executed {
		t.Errorf("%+v", v)
	}
}

// TestApprovalsAreInTheJournal: who approved what is there after every way to the end of the step.
func TestApprovalsAreInTheJournal(t *testing.T) {
	a := newApprovals(t)
	s := a.session("demo", nil)
	const code = "from tools import t\n[t.danger(x=1), t.danger(x=2)]"
	q, done := a.untilAsked(s, code)
	a.restart()
	<-done
	s = a.session("demo", nil)
	second := make(chan hostfns.Question, 1)
	go func() {
		r, err := s.Resume(context.Background(), q.ID, hostfns.Reply{Action: hostfns.ActionAccept}, engine.Request{OnEvent: func(e engine.Event) {
			var q hostfns.Question
			if e.Kind == engine.EventKind(hostfns.EventQuestion) && json.Unmarshal(e.Data, &q) == nil {
				second <- q
			}
		}})
		_, _ = r, err
	}()
	q = <-second
	a.restart()
	s = a.session("demo", nil)
	r, err := s.Resume(t.Context(), q.ID, hostfns.Reply{Action: hostfns.ActionAccept}, engine.Request{})
	if err != nil || r.Status != engine.StatusOK || len(r.HostCalls) != 2 {
		t.Fatalf("%v %s %+v", err, describe(r), r)
	}
	for i, c := range r.HostCalls {
		if c.Approved != hostfns.ActionAccept {
			t.Errorf("call %d: %+v", i, c)
		}
	}
}

// TestReplyWithoutTheTools: a reply that could not be acted on does not use up the question.
func TestReplyWithoutTheTools(t *testing.T) {
	a := newApprovals(t)
	q, done := a.untilAsked(a.session("demo", nil), callTools)
	a.restart()
	<-done
	s := a.session("demo", nil)
	other, err := hostfns.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	accept := hostfns.Reply{Action: hostfns.ActionAccept}
	if _, err := s.Resume(t.Context(), q.ID, accept, engine.Request{Host: other}); !errors.Is(err, engine.ErrRequest) {
		t.Errorf("%v", err)
	}
	if open, err := a.Questions(t.Context()); err != nil || len(open) != 1 {
		t.Fatalf("%v %+v", err, open)
	}
	if r, err := s.Resume(t.Context(), q.ID, accept, engine.Request{}); err != nil || r.Status != engine.StatusOK {
		t.Errorf("%v %s", err, describe(r))
	}
}

// TestCallsWithoutAHost are in the journal as well, and so no divergence.
func TestCallsWithoutAHost(t *testing.T) {
	a := newApprovals(t)
	s := a.session("demo", nil)
	exec(t, s, "from tools.t import count\ncount()")
	none, err := hostfns.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	execRequest(t, s, engine.Request{Code: "try: count()\nexcept Exception as e: print(e.code)", Host: none})
	a.close()
	a.o.Host = nil
	a.open()
	s = a.session("demo", nil)
	r := execRequest(t, s, engine.Request{Code: "try: count()\nexcept Exception as e: print(e.code)"})
	if r.Stdout != "unavailable\n" || len(r.HostCalls) != 1 || r.HostCalls[0].Outcome != "unavailable" {
		t.Errorf("%q %+v", r.Stdout, r.HostCalls)
	}
	if v := a.verify("demo"); v.Divergence != nil || v.Identical != v.Executed || v.Executed != 3 {
		t.Errorf("%+v", v)
	}
}
