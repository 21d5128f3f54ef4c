package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// newBlocking is like newApprovals, but danger tells of its argument over a channel and returns when released is closed.
func newBlocking(t *testing.T, change func(o *engine.Options)) (a *approvals, began chan int, release func()) {
	t.Helper()
	a = &approvals{}
	began, released := make(chan int, 10), make(chan struct{})
	tools := hostfns.NewTools("t")
	type in struct {
		X int `json:"x"`
	}
	hostfns.AddTool(tools, hostfns.Tool{Name: "danger"}, func(ctx context.Context, i in) (int, error) {
		a.mu.Lock()
		a.calls = append(a.calls, fmt.Sprint("danger", i.X))
		a.mu.Unlock()
		began <- i.X
		select {
		case <-released:
			return i.X, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	})
	set, err := secrets.New(t.Context(), []secrets.Spec{{Name: "TOKEN", Value: "s3cr3t-value"}})
	if err != nil {
		t.Fatal(err)
	}
	host, err := hostfns.New(&hostfns.Options{
		Providers: []hostfns.Provider{tools}, Policy: &hostfns.Policy{Approve: []string{"t.danger"}}, Secrets: set,
	})
	if err != nil {
		t.Fatal(err)
	}
	a.durable = newDurable(t, func(o *engine.Options) {
		o.Host, o.Questions = host, true
		if change != nil {
			change(o)
		}
	})
	return a, began, sync.OnceFunc(func() { close(released) })
}

func (a *approvals) accept(id string) {
	a.t.Helper()
	if err := a.Reply(a.t.Context(), id, accepted); err != nil {
		a.t.Fatal(err)
	}
}

// TestProcessEndsAfterAReply: a call that was approved and begun is never made a second time.
func TestProcessEndsAfterAReply(t *testing.T) {
	a, began, release := newBlocking(t, nil)
	defer release()
	s := a.session("demo", nil)
	exec(t, s, "x = 40")
	q, done := a.untilAsked(s, "from tools import t\nx = t.danger(x=1)")
	a.accept(q.ID)
	<-began
	d := a.crash()
	a.restart() // the first process is closed
	if o := <-done; o.err != nil || o.r.Status != engine.StatusCancelled {
		t.Errorf("%v %s", o.err, describe(o.r))
	}
	for name, e := range map[string]*durable{"killed": d, "closed": a.durable} {
		if open, err := e.Questions(t.Context()); err != nil || len(open) > 0 {
			t.Errorf("%s: %v %+v", name, err, open)
		}
		s := e.session("demo", nil)
		if _, err := s.Resume(t.Context(), q.ID, accepted, engine.Request{}); !errors.Is(err, engine.ErrNoQuestion) {
			t.Errorf("%s: %v", name, err)
		}
		want(t, s, "x", "40")
		if v := e.verify("demo"); !v.OK {
			t.Errorf("%s: %+v", name, v)
		}
	}
	if a.called() != "danger1" {
		t.Error(a.called())
	}
}

// TestCrashBetweenTwoReplies: of two calls that were asked about at once, one is approved and under way when the process
// ends. The other question is still there, and the first call is not made again.
func TestCrashBetweenTwoReplies(t *testing.T) {
	for _, first := range []int{2, 3} {
		a, began, release := newBlocking(t, nil)
		_, done := a.untilAsked(a.session("demo", nil), `
import asyncio
from tools import t
r = await asyncio.gather(t.danger.aio(x=2), t.danger.aio(x=3), return_exceptions=True)
[x if isinstance(x, int) else x.code for x in r]
`)
		var open []engine.OpenQuestion
		for len(open) < 2 {
			var err error
			if open, err = a.Questions(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, q := range open {
			if string(q.Args) == fmt.Sprintf(`{"x":%d}`, first) {
				a.accept(q.ID)
			}
		}
		if got := <-began; got != first {
			t.Fatal(got)
		}
		d := a.crash()
		suspended, err := d.Questions(t.Context())
		if err != nil || len(suspended) != 1 || string(suspended[0].Args) != fmt.Sprintf(`{"x":%d}`, 5-first) {
			t.Fatalf("%v %+v", err, suspended)
		}
		release()
		r, err := d.session("demo", nil).Resume(t.Context(), suspended[0].ID, accepted, engine.Request{})
		want := map[int]string{2: `["lost",3]`, 3: `[2,"lost"]`}[first]
		if err != nil || strings.ReplaceAll(string(r.Result), " ", "") != want {
			t.Errorf("%v %s %s", err, describe(r), r.Result)
		}
		if got, want := a.called(), fmt.Sprintf("danger%d danger%d", first, 5-first); got != want {
			t.Errorf("called %s", got)
		}
		if v := d.verify("demo"); !v.OK || v.Divergence != nil {
			t.Errorf("%+v", v)
		}
		for _, q := range open { // the first process comes to its end
			_ = a.Reply(t.Context(), q.ID, declined)
		}
		<-done
	}
}

// TestReplyIsToTheQuestionThatWasShown: the program goes another way than before, and what was approved is not what it calls.
func TestReplyIsToTheQuestionThatWasShown(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x")
	write := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("1")
	a, _, release := newBlocking(t, nil)
	release()
	o := &engine.SessionOptions{Sandbox: &engine.Sandbox{Mounts: []engine.Mount{{Host: dir, Guest: "/data"}}}}
	q, done := a.untilAsked(a.session("demo", o), "from tools import t\nt.danger(x=int(open('/data/x').read()))")
	a.restart()
	<-done
	write("2")
	var asked []string
	r, err := a.session("demo", o).Resume(t.Context(), q.ID, accepted, engine.Request{OnEvent: func(e engine.Event) {
		var q hostfns.Question
		if e.Kind == engine.EventKind(hostfns.EventQuestion) && json.Unmarshal(e.Data, &q) == nil {
			asked = append(asked, string(q.Args))
			go func() { _ = a.Reply(context.Background(), q.ID, declined) }()
		}
	}})
	if err != nil || r.Status != engine.StatusError || fmt.Sprint(asked) != `[{"x":2}]` || a.called() != "" {
		t.Errorf("%v %s, asked %v, called %q", err, describe(r), asked, a.called())
	}
}

// TestBusyGuestHasNoMoreTime: the time limit does not stand still for a program that has something asked and does not wait
// for the reply.
func TestBusyGuestHasNoMoreTime(t *testing.T) {
	for name, code := range map[string]string{
		"loop": `
import asyncio
from tools import t
task = asyncio.ensure_future(t.danger.aio(x=1))
await asyncio.sleep(0.01)
while True: pass
`,
		"process": `
import multiprocessing
from tools import t
def loop():
    while True: pass
multiprocessing.Process(target=loop, daemon=True).start()
t.danger(x=1)
`,
	} {
		t.Run(name, func(t *testing.T) {
			a, _, release := newBlocking(t, nil)
			defer release()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			asked := false
			r, err := a.session("demo", nil).Exec(ctx, engine.Request{Code: code, Timeout: time.Second, OnEvent: func(e engine.Event) {
				asked = asked || e.Kind == engine.EventKind(hostfns.EventQuestion)
			}})
			if err != nil || r.Status != engine.StatusTimeout || !asked {
				t.Errorf("%v %s, asked %v", err, describe(r), asked)
			}
			if open, err := a.Questions(t.Context()); err != nil || len(open) > 0 {
				t.Errorf("%v %+v", err, open)
			}
		})
	}
}

// TestResumeWithInput: the step reads again what it read.
func TestResumeWithInput(t *testing.T) {
	a, _, release := newBlocking(t, nil)
	release()
	s := a.session("demo", nil)
	asked, done := make(chan struct{}), make(chan outcome, 1)
	const code = "from tools import t\nname = input()\n[name, t.danger(x=1)]"
	go func() {
		r, err := s.Exec(context.Background(), engine.Request{Code: code, Stdin: strings.NewReader("Ada\n"), OnEvent: func(e engine.Event) {
			if e.Kind == engine.EventKind(hostfns.EventQuestion) {
				close(asked)
			}
		}})
		done <- outcome{r, err}
	}()
	<-asked
	a.restart()
	<-done
	open, err := a.Questions(t.Context())
	if err != nil || len(open) != 1 {
		t.Fatalf("%v %+v", err, open)
	}
	r, err := a.session("demo", nil).Resume(t.Context(), open[0].ID, accepted, engine.Request{})
	if err != nil || r.ResultRepr != "['Ada', 1]" {
		t.Errorf("%v %s", err, describe(r))
	}
	if v := a.verify("demo"); v.Divergence != nil || v.Identical != v.Executed {
		t.Errorf("%+v %v", v, v.Divergence)
	}
}

// TestResumedStepTakesNoPlace: it waits for the next question as any other does.
func TestResumedStepTakesNoPlace(t *testing.T) {
	a, _, release := newBlocking(t, func(o *engine.Options) { o.MaxInFlight = 1 })
	release()
	first, done := a.untilAsked(a.session("demo", nil), "from tools import t\n[t.danger(x=1), t.danger(x=2)]")
	a.restart()
	if o := <-done; !errors.Is(o.err, engine.ErrSuspended) {
		t.Fatalf("%v %+v", o.err, o.r)
	}
	asked, end := make(chan string, 1), make(chan outcome, 1)
	s := a.session("demo", nil)
	go func() {
		r, err := s.Resume(context.Background(), first.ID, accepted, engine.Request{OnEvent: func(e engine.Event) {
			var q hostfns.Question
			if e.Kind == engine.EventKind(hostfns.EventQuestion) && json.Unmarshal(e.Data, &q) == nil {
				asked <- q.ID
			}
		}})
		end <- outcome{r, err}
	}()
	var id string
	select {
	case id = <-asked:
	case o := <-end:
		t.Fatalf("it did not ask: %v %+v", o.err, o.r)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if r, err := a.Run(ctx, engine.Request{Code: "1 + 1"}); err != nil || r.ResultRepr != "2" {
		t.Errorf("%v %s", err, describe(r))
	}
	a.accept(id)
	if o := <-end; o.err != nil || o.r.ResultRepr != "[1, 2]" {
		t.Errorf("%v %s", o.err, describe(o.r))
	}
}

// TestHandlerPanics: what OnQuestion does wrong ends one call.
func TestHandlerPanics(t *testing.T) {
	a, _, release := newBlocking(t, func(o *engine.Options) {
		o.OnQuestion = func(context.Context, hostfns.Question) (*hostfns.Reply, error) { panic("at the handler") }
	})
	release()
	r, err := a.session("demo", nil).Exec(t.Context(), engine.Request{Code: "from tools import t\nt.danger(x=1)"})
	if err != nil || r.Status != engine.StatusError || !strings.Contains(r.Error.Message, "nobody could be asked") || a.called() != "" {
		t.Errorf("%v %s", err, describe(r))
	}
}

// TestSecretsInNamesOfCalls: a program can call anything by any name, which the journal keeps.
func TestSecretsInNamesOfCalls(t *testing.T) {
	a, _, release := newBlocking(t, nil)
	release()
	r := exec(t, a.session("demo", nil), `
from mayfly import _host
for fn, args in ("s3cr3t" + "-value", {}), ("tools.call", {"server": "s3cr3t" + "-value", "tool": "t", "args": {}}):
    try: _host.call(fn, args)
    except Exception as e: print(e)
`)
	all, err := json.Marshal(r)
	if err != nil || bytes.Contains(all, []byte("s3cr3t-value")) || len(r.HostCalls) != 2 || !strings.Contains(r.HostCalls[0].Name, "{{secret:TOKEN}}") {
		t.Errorf("%v %s", err, all)
	}
	if v := a.verify("demo"); v.Divergence != nil || v.Identical != v.Executed {
		t.Errorf("%+v %v", v, v.Divergence)
	}
}

// TestPolicyOfImport: an archive cannot get rid of a session's policy, nor raise its limits.
func TestPolicyOfImport(t *testing.T) {
	a, _, release := newBlocking(t, nil)
	release()
	policy := &hostfns.Policy{Deny: []string{"t"}, MaxCalls: 1 << 30, CallTimeout: time.Hour * 1000}
	s := a.session("demo", &engine.SessionOptions{Sandbox: &engine.Sandbox{Policy: policy}})
	exec(t, s, "x = 1")
	var archive bytes.Buffer
	if err := a.Export(t.Context(), "demo", &archive, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Import(t.Context(), &archive, "copy"); err != nil {
		t.Fatal(err)
	}
	p := a.session("copy", nil).Info().Sandbox.Policy
	if p == nil || fmt.Sprint(p.Deny) != "[t]" || p.MaxCalls != hostfns.DefaultMaxCalls || p.CallTimeout != hostfns.DefaultCallTimeout {
		t.Errorf("%+v", p)
	}
	s = a.session("big", &engine.SessionOptions{Sandbox: &engine.Sandbox{Policy: &hostfns.Policy{Deny: make([]string, 1000)}}})
	exec(t, s, "x = 1")
	archive.Reset()
	if err := a.Export(t.Context(), "big", &archive, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Import(t.Context(), &archive, "copy2"); !errors.Is(err, engine.ErrArchive) {
		t.Errorf("%v", err)
	}
}

// TestImportOfASuspendedSession: nobody was asked here, so nothing goes on here; the session is where it was before the step.
func TestImportOfASuspendedSession(t *testing.T) {
	a, _, release := newBlocking(t, nil)
	release()
	s := a.session("demo", nil)
	exec(t, s, "x = 1")
	q, done := a.untilAsked(s, "from tools import t\nx = t.danger(x=2)")
	a.restart()
	<-done
	var archive bytes.Buffer
	if err := a.Export(t.Context(), "demo", &archive, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Import(t.Context(), &archive, "copy"); err != nil {
		t.Fatal(err)
	}
	c := a.session("copy", nil)
	if _, err := c.Resume(t.Context(), q.ID, accepted, engine.Request{}); !errors.Is(err, engine.ErrNoQuestion) {
		t.Errorf("%v", err)
	}
	want(t, c, "x", "1")
	if v := a.verify("copy"); !v.OK {
		t.Errorf("%+v", v)
	}
	f, err := a.Fork(t.Context(), "demo", engine.Latest, "fork")
	if err != nil {
		t.Fatal(err)
	}
	want(t, f, "x", "1")
	if open, err := a.Questions(t.Context()); err != nil || len(open) != 1 || open[0].Session != "demo" || a.called() != "" {
		t.Errorf("%v %+v %s", err, open, a.called())
	}
}
