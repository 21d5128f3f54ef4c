package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/internal/httpapi"
)

// toolHost makes the host of a configuration {"server": NAME}: it has the tools add, log and danger, which needs approval.
func toolHost(_ context.Context, config json.RawMessage) (*hostfns.Host, error) {
	var c struct{ Server string }
	if err := json.Unmarshal(config, &c); err != nil {
		return nil, err
	}
	if c.Server == "" {
		return nil, errors.New("there is no server")
	}
	type numbers struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	t := hostfns.NewTools(c.Server)
	add := func(_ context.Context, n numbers) (int, error) { return n.A + n.B, nil }
	hostfns.AddTool(t, hostfns.Tool{Name: "add"}, add)
	hostfns.AddTool(t, hostfns.Tool{Name: "danger"}, add)
	t.Add(hostfns.Tool{Name: "log"}, func(_ context.Context, call *hostfns.ToolCall) (*hostfns.ToolResult, error) {
		call.Emit(hostfns.Event{Kind: hostfns.EventLog, Data: json.RawMessage(`{"level":"info","data":"hello"}`)})
		return &hostfns.ToolResult{Content: []hostfns.Block{{Type: hostfns.BlockText, Text: "logged"}}}, nil
	})
	return hostfns.New(&hostfns.Options{
		Providers: []hostfns.Provider{t}, Policy: &hostfns.Policy{Approve: []string{c.Server + ".danger"}},
	})
}

func serveTools(t *testing.T) *service {
	return serve(t, &httpapi.Options{NewHost: toolHost})
}

func exec(code string) *httpapi.Exec {
	return &httpapi.Exec{
		Request: engine.Request{Code: code}, Session: &engine.SessionOptions{}, HostConfig: json.RawMessage(`{"server": "calc"}`),
	}
}

// TestExecWithHost: a program has the tools of its caller's configuration, and the next one does not.
func TestExecWithHost(t *testing.T) {
	t.Parallel()
	s := serveTools(t)
	var events []string
	x := exec("from tools.calc import add, log\nlog()\nadd(a=1, b=2)")
	x.OnEvent = func(e engine.Event) { events = append(events, string(e.Kind)+" "+string(e.Data)) }
	r, err := s.Exec(t.Context(), "demo", x)
	if err != nil || string(r.Result) != "3" || len(r.HostCalls) == 0 {
		t.Fatalf("%v %+v", err, r)
	}
	if all := strings.Join(events, "\n"); !strings.Contains(all, `tool_log {`) || !strings.Contains(all, `"hello"`) {
		t.Errorf("events:\n%s", all)
	}
	x = exec("add(a=1, b=2)")
	x.HostConfig = nil
	if r, err = s.Exec(t.Context(), "demo", x); err != nil || r.Status != engine.StatusError {
		t.Errorf("without a configuration: %v %+v", err, r)
	}
	// A session's policy stays with it.
	x = exec("import tools.calc as c\nc.add(a=1, b=2)")
	x.Session = &engine.SessionOptions{Sandbox: &engine.Sandbox{Policy: &hostfns.Policy{Deny: []string{"calc.add"}}}}
	for range 2 {
		if r, err = s.Exec(t.Context(), "strict", x); err != nil || r.Status == engine.StatusOK {
			t.Errorf("what the session's policy denies: %v %+v", err, r)
		}
		x.Session = nil
	}
	if i, err := s.Session(t.Context(), "strict"); err != nil || i.Sandbox.Policy == nil || len(i.Sandbox.Policy.Deny) != 1 {
		t.Errorf("%v %+v", err, i)
	}
	// A policy comes along with the request.
	x = exec("import tools.calc as c\nc.add(a=1, b=2)")
	x.Policy = &hostfns.Policy{Deny: []string{"calc.add"}}
	if r, err = s.Exec(t.Context(), "demo", x); err != nil || r.Status == engine.StatusOK {
		t.Errorf("what policy denies: %v %+v", err, r)
	}
}

// TestHostRefused: a server that mounts no directories takes no configurations either, and says so before anything is made.
func TestHostRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	if _, err := s.Exec(t.Context(), "demo", exec("1")); !errors.Is(err, engine.ErrRequest) {
		t.Errorf("%v", err)
	}
	if _, err := s.Session(t.Context(), "demo"); !errors.Is(err, engine.ErrNoSession) {
		t.Errorf("the session: %v", err)
	}
	x := exec("1")
	x.Host, x.HostConfig = &hostfns.Host{}, nil
	if _, err := s.Exec(t.Context(), "demo", x); !errors.Is(err, engine.ErrRequest) {
		t.Errorf("a host itself: %v", err)
	}
}

// TestHostIfNone: a server's own host comes first, if the caller says so.
func TestHostIfNone(t *testing.T) {
	t.Parallel()
	for own, want := range map[bool]engine.Status{true: engine.StatusError, false: engine.StatusOK} {
		s := serve(t, &httpapi.Options{NewHost: toolHost, OwnHost: own})
		x := exec("from tools.calc import add")
		x.HostIfNone = true
		if r, err := s.Exec(t.Context(), "demo", x); err != nil || r.Status != want {
			t.Errorf("own host %v: %v %+v", own, err, r)
		}
	}
}

// TestQuestion: an execution waits for a reply, which another client gives.
func TestQuestion(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reply  hostfns.Reply
		status engine.Status
	}{
		{hostfns.Reply{Action: hostfns.ActionAccept}, engine.StatusOK},
		{hostfns.Reply{Action: hostfns.ActionDecline, Reason: "not today"}, engine.StatusError},
	} {
		s := serveTools(t)
		x := exec("from tools.calc import danger\ndanger(a=3, b=4)")
		asked := make(chan hostfns.Question, 1)
		replied := make(chan string, 1)
		x.OnEvent = func(e engine.Event) {
			switch hostfns.EventKind(e.Kind) {
			case hostfns.EventQuestion:
				var q hostfns.Question
				if err := json.Unmarshal(e.Data, &q); err != nil {
					t.Error(err)
				}
				asked <- q
			case hostfns.EventReplied:
				replied <- string(e.Data)
			}
		}
		type outcome struct {
			r   *engine.Result
			err error
		}
		done := make(chan outcome, 1)
		go func() {
			r, err := s.Exec(t.Context(), "demo", x)
			done <- outcome{r, err}
		}()
		var q hostfns.Question
		select {
		case q = <-asked:
		case o := <-done:
			t.Fatalf("it did not ask: %v %+v", o.err, o.r)
		}
		all, err := s.Questions(t.Context())
		if err != nil || len(all) != 1 || all[0].ID != q.ID || all[0].Tool != "danger" || all[0].Session != "demo" || all[0].Suspended {
			t.Fatalf("%v %+v", err, all)
		}
		if err := s.Reply(t.Context(), q.ID, test.reply); err != nil {
			t.Fatal(err)
		}
		o := <-done
		if o.err != nil || o.r.Status != test.status {
			t.Errorf("%v %+v", o.err, o.r)
		}
		if test.reply.Reason != "" && (o.r.Error == nil || !strings.Contains(o.r.Error.Message, test.reply.Reason)) {
			t.Errorf("the program is not told why: %+v", o.r.Error)
		}
		if data := <-replied; !strings.Contains(data, q.ID) {
			t.Errorf("replied: %s", data)
		}
		if err := s.Reply(t.Context(), q.ID, test.reply); !errors.Is(err, engine.ErrNoQuestion) {
			t.Errorf("the second reply: %v", err)
		}
	}
}

// TestReplyWhileDraining: a server that is about to end still takes the reply that an execution waits for.
func TestReplyWhileDraining(t *testing.T) {
	t.Parallel()
	s := serveTools(t)
	x := exec("from tools.calc import danger\ndanger(a=3, b=4)")
	asked := make(chan hostfns.Question, 1)
	x.OnEvent = func(e engine.Event) {
		var q hostfns.Question
		if hostfns.EventKind(e.Kind) == hostfns.EventQuestion && json.Unmarshal(e.Data, &q) == nil {
			asked <- q
		}
	}
	done := make(chan *engine.Result, 1)
	go func() {
		r, err := s.Exec(t.Context(), "demo", x)
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	q := <-asked
	ended := make(chan error, 1)
	go func() { ended <- s.server.Shutdown(t.Context()) }()
	for status := 200; status == 200; { // until it lets no new work in
		status, _ = s.request(t, "GET", "/v1/health", "", "")
	}
	if all, err := s.Questions(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%v %+v", err, all)
	}
	if err := s.Reply(t.Context(), q.ID, hostfns.Reply{Action: hostfns.ActionAccept}); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r == nil || r.Status != engine.StatusOK {
		t.Errorf("%+v", r)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// askRequest runs a program that needs an approval as a client of its own, and returns the question and the execution's ID when
// it is asked. leave ends the client without a word.
func askRequest(t *testing.T, s *service) (q hostfns.Question, execution string, leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	body := `{"session": {}, "code": "from tools.calc import add, danger\nn = add(a=1, b=2)\ndanger(a=n, b=4)", "host": {"server": "calc"}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://mayfly/v1/sessions/demo/exec", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	tr := httpapi.Transport(s.socket)
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	leave = func() {
		cancel()
		resp.Body.Close()
	}
	t.Cleanup(leave)
	for d := json.NewDecoder(resp.Body); ; {
		var e httpapi.Event
		if err := d.Decode(&e); err != nil {
			t.Fatalf("it did not ask: %v", err)
		}
		if e.Event == "started" {
			execution = e.Execution
		}
		if e.Event == string(hostfns.EventQuestion) {
			if err := json.Unmarshal(e.Info, &q); err != nil {
				t.Fatal(err)
			}
			return q, execution, leave
		}
	}
}

// suspended waits until there is no question of code that runs, and returns those that are suspended.
func (s *service) suspended(t *testing.T) []engine.OpenQuestion {
	t.Helper()
	for {
		i, err := s.Session(t.Context(), "demo")
		if err != nil {
			t.Fatal(err)
		}
		if i.Running {
			continue
		}
		all, err := s.Questions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range all {
			if !q.Suspended {
				t.Errorf("%+v", q)
			}
		}
		return all
	}
}

// TestClientGoesAway: the question of an execution stays when its client is gone without a word, and not when that has
// cancelled the execution.
func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	s := serveTools(t)
	_, execution, _ := askRequest(t, s)
	if status, body := s.request(t, "DELETE", "/v1/executions/"+execution, "", ""); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, body)
	}
	if all := s.suspended(t); len(all) > 0 {
		t.Errorf("cancelled: %+v", all)
	}

	q, _, leave := askRequest(t, s)
	leave()
	all := s.suspended(t)
	if len(all) != 1 || all[0].ID != q.ID {
		t.Fatalf("the client is gone: %+v", all)
	}
	if _, err := s.Exec(t.Context(), "demo", exec("1")); !errors.Is(err, engine.ErrSuspended) {
		t.Errorf("other code: %v", err)
	}
	if err := s.Reply(t.Context(), q.ID, hostfns.Reply{Action: hostfns.ActionAccept}); !errors.Is(err, engine.ErrNoQuestion) {
		t.Errorf("a reply to nobody: %v", err)
	}
	r, err := s.Resume(t.Context(), "demo", q.ID, hostfns.Reply{Action: hostfns.ActionAccept}, exec(""))
	if err != nil || string(r.Result) != "7" {
		t.Errorf("%v %+v", err, r)
	}
	list := map[int]*hostfns.Question{}
	for step, err := range s.Steps(t.Context(), "demo", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if step.Kind == engine.RecordWait {
			list[step.Step] = step.Question
		}
	}
	if len(list) != 2 || list[r.Step-1] == nil || list[r.Step-1].ID != q.ID {
		t.Errorf("%+v", list)
	}
	if r, err := s.Exec(t.Context(), "demo", exec("2 + 2")); err != nil || string(r.Result) != "4" {
		t.Errorf("%v %+v", err, r)
	}
}

// TestQuestionsOfHostiles: what is wrong is told, and changes nothing.
func TestQuestionsOfHostiles(t *testing.T) {
	t.Parallel()
	s := serveTools(t)
	s.run(t, "s", "1")
	const js = "application/json"
	for _, test := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"POST", "/v1/questions/none", `{"action": "accept"}`, 404, "no_question"},
		{"POST", "/v1/questions/none", `{"action": "maybe"}`, 400, "invalid_request"},
		{"POST", "/v1/questions/none", `{}`, 400, "invalid_request"},
		{"POST", "/v1/questions/none", `{"action": "accept", "content": "` + strings.Repeat("x", 65<<20) + `"}`, 413, "too_large"},
		{"POST", "/v1/questions/none", `{"act": 1}`, 400, "invalid_request"},
		{"POST", "/v1/questions/%00", `{"action": "accept"}`, 404, "no_question"},
		{"POST", "/v1/sessions/s/resume", `{"question": "none", "reply": {"action": "accept"}}`, 200, ""},
		{"POST", "/v1/sessions/s/resume", `{"question": "none", "max_output": 1000000000}`, 400, "invalid_request"},
		{"POST", "/v1/sessions/none/resume", `{"question": "none", "reply": {"action": "accept"}}`, 404, "no_session"},
		{"POST", "/v1/sessions/s/exec", `{"code": "1", "host": {}}`, 400, "invalid_request"},
		{"POST", "/v1/sessions/s/exec", `{"code": "1", "host": 1}`, 400, "invalid_request"},
		{"POST", "/v1/sessions/s/exec", `{"code": "1", "host": null}`, 200, ""},
		{"POST", "/v1/sessions/s/exec", `{"code": "1", "policy": {"allow": 1}}`, 400, "invalid_request"},
		{"POST", "/v1/sessions/s/exec", `{"code": "1", "policy": {"max_calls": -5, "call_timeout_ns": -1, "retries": 99999999}}`, 200, ""},
	} {
		status, body := s.request(t, test.method, test.path, js, test.body)
		var p httpapi.Problem
		err := json.Unmarshal([]byte(body), &p)
		if status != test.status || test.code != "" && (err != nil || p.Code != test.code) {
			t.Errorf("%s %.80s: %d %.300s, want %d %s", test.path, test.body, status, body, test.status, test.code)
		}
	}
	status, body := s.request(t, "POST", "/v1/sessions/s/resume", js, `{"question": "none", "reply": {"action": "accept"}}`)
	if status != 200 || !strings.Contains(body, `"no_question"`) {
		t.Errorf("a question that is none: %d %s", status, body)
	}
}
