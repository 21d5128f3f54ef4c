package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// TestWaitingTakesNoTime: the limits of an execution and of a call stand still while somebody decides, also when the step went
// on in another process.
func TestWaitingTakesNoTime(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second
	a := newApprovals(t)
	code := callTools + "t.danger(x=4)\n"
	asked, done := make(chan hostfns.Question, 10), make(chan outcome, 1)
	onEvent := func(e engine.Event) {
		var q hostfns.Question
		if e.Kind == engine.EventKind(hostfns.EventQuestion) && json.Unmarshal(e.Data, &q) == nil {
			asked <- q
		}
	}
	wait := func() hostfns.Question {
		t.Helper()
		select {
		case q := <-asked:
			time.Sleep(limit + limit/10) // that the time passes is what matters
			return q
		case o := <-done:
			t.Fatalf("it did not ask: %v %s", o.err, describe(o.r))
			panic("unreachable")
		}
	}
	s := a.session("demo", nil)
	go func() {
		r, err := s.Exec(t.Context(), engine.Request{
			Code: code, Timeout: limit, Policy: &hostfns.Policy{CallTimeout: limit}, OnEvent: onEvent,
		})
		done <- outcome{r, err}
	}()
	q := wait()
	a.restart()
	<-done
	s = a.session("demo", nil)
	go func() {
		r, err := s.Resume(t.Context(), q.ID, hostfns.Reply{Action: hostfns.ActionAccept}, engine.Request{OnEvent: onEvent})
		done <- outcome{r, err}
	}()
	if err := a.Reply(t.Context(), wait().ID, hostfns.Reply{Action: hostfns.ActionAccept}); err != nil {
		t.Fatal(err)
	}
	if o := <-done; o.err != nil || o.r.Status != engine.StatusOK || a.called() != "count danger count danger" {
		t.Errorf("%v %s, %s", o.err, describe(o.r), a.called())
	}
	if v := a.verify("demo"); !v.OK || v.Executed != 1 || v.Identical != 1 {
		t.Errorf("%+v", v)
	}
}
