package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/internal/mcptest"
)

// transportsOf returns the same server over every transport.
func transportsOf(t *testing.T, o *mcptest.Options) map[string]Server {
	return map[string]Server{
		TransportStdio: stdio(t, mcptest.Serve),
		TransportHTTP:  {URL: mcptest.HTTP(t, mcptest.New(o), nil)},
		TransportSSE:   {URL: mcptest.SSE(t, mcptest.New(o), nil), Transport: TransportSSE},
	}
}

func TestTransports(t *testing.T) {
	for name, conf := range transportsOf(t, nil) {
		t.Run(name, func(t *testing.T) {
			s := one(t, nil, conf)
			l, err := s.Tools(within(t), "x")
			if err != nil {
				t.Fatal(err)
			}
			if l.Title != "Test server" || l.Instructions != "Call its tools." || l.Version == "" {
				t.Errorf("%+v", l)
			}
			i := slices.IndexFunc(l.Tools, func(t *hostfns.Tool) bool { return t.Name == "echo" })
			if i < 0 {
				t.Fatalf("%v", l.Tools)
			}
			e := l.Tools[i]
			if e.Title != "Echo" || e.Description != "Returns its argument." || !strings.Contains(string(e.InputSchema), "what to return") ||
				!*e.Annotations.ReadOnly || *e.Annotations.Destructive {
				t.Errorf("%+v", e)
			}
			if got := mustText(t, s, "echo", `{"text":"h\u00e9 \ud83d\ude00"}`); got != "hé 😀" {
				t.Errorf("%q", got)
			}
			r, err := call(t, s, "add", `{"a":2,"b":40}`)
			if err != nil || string(r.Structured) != `{"sum":42}` {
				t.Errorf("%+v, %v", r, err)
			}
			r, err = call(t, s, "fail", `{}`)
			if err != nil || !r.IsError || r.Content[0].Text != "it failed, as it should" {
				t.Errorf("%+v, %v", r, err)
			}
			r, err = call(t, s, "everything", ``)
			if err != nil {
				t.Fatal(err)
			}
			want := []hostfns.Block{
				{Type: hostfns.BlockText, Text: "text"},
				{Type: hostfns.BlockImage, Data: []byte{0, 1, 2, 0xff}, MIMEType: "image/png"},
				{Type: hostfns.BlockAudio, Data: []byte{3, 4}, MIMEType: "audio/wav"},
				{Type: hostfns.BlockResource, Text: "a", URI: "file:///a.txt", MIMEType: "text/plain"},
				{Type: hostfns.BlockResource, Data: []byte{5, 6}, URI: "file:///b.bin", MIMEType: "application/octet-stream"},
				{Type: hostfns.BlockLink, URI: "file:///c", Name: "c", Title: "C", MIMEType: "text/plain"},
			}
			if !reflect.DeepEqual(r.Content, want) {
				t.Errorf("%+v", r.Content)
			}
			_, err = call(t, s, "there is none", `{}`)
			if e := asError(t, err); e.Code != hostfns.CodeUnknownTool || e.Server != "x" || e.Tool != "there is none" {
				t.Errorf("%+v", e)
			}
			_, err = call(t, s, "add", `{"a":"two"}`)
			// The SDK's servers report that as a result.
			if r, _ := call(t, s, "add", `{"a":"two"}`); err == nil && !r.IsError {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

func TestEvents(t *testing.T) {
	for name, conf := range transportsOf(t, nil) {
		t.Run(name, func(t *testing.T) {
			s := one(t, nil, conf)
			var mu sync.Mutex
			got := map[hostfns.EventKind][]string{}
			_, err := s.Call(within(t), &hostfns.ToolCall{
				Server: "x", Tool: "progress", Args: []byte(`{"steps":3}`), Emit: func(e hostfns.Event) {
					mu.Lock()
					defer mu.Unlock()
					got[e.Kind] = append(got[e.Kind], string(e.Data))
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if p := got[hostfns.EventProgress]; len(p) != 3 ||
				p[1] != `{"server":"x","tool":"progress","progress":2,"total":3,"message":"step 2"}` {
				t.Errorf("%q", p)
			}
			if name == TransportHTTP {
				// What belongs to no request comes on another stream, perhaps later.
				return
			}
			if l := got[hostfns.EventLog]; len(l) != 3 || l[0] != `{"server":"x","level":"warning","logger":"test","data":{"step":1}}` {
				t.Errorf("%q", l)
			}
		})
	}
}

func TestCancellation(t *testing.T) {
	waiting, cancelled := make(chan struct{}), make(chan struct{})
	o := &mcptest.Options{Waiting: func() { waiting <- struct{}{} }, Cancelled: func() { cancelled <- struct{}{} }}
	confs := transportsOf(t, o)
	delete(confs, TransportStdio) // that is another process
	for name, conf := range confs {
		t.Run(name, func(t *testing.T) {
			s := one(t, nil, conf)
			ctx, cancel := context.WithCancel(within(t))
			defer cancel()
			done := make(chan error)
			go func() {
				_, err := s.Call(ctx, &hostfns.ToolCall{Server: "x", Tool: "wait"})
				done <- err
			}()
			<-waiting
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			<-cancelled
			if got := mustText(t, s, "echo", `{"text":"still here"}`); got != "still here" {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestElicitation(t *testing.T) {
	for name, conf := range transportsOf(t, nil) {
		t.Run(name, func(t *testing.T) {
			s := one(t, nil, conf)
			for _, c := range []struct {
				reply *hostfns.Reply
				want  string
			}{
				{&hostfns.Reply{Action: hostfns.ActionAccept, Content: []byte(`{"name":"Ada"}`)}, `accept {"age":42,"name":"Ada"}`},
				{&hostfns.Reply{Action: hostfns.ActionAccept, Content: []byte(`{"name":"Ada","age":36}`)}, `accept {"age":36,"name":"Ada"}`},
				{&hostfns.Reply{Action: hostfns.ActionDecline}, `decline null`},
				{&hostfns.Reply{Action: hostfns.ActionCancel}, `cancel null`},
				{nil, `cancel null`},
			} {
				var asked *hostfns.Question
				r, err := s.Call(within(t), &hostfns.ToolCall{
					Server: "x", Tool: "ask", Ask: func(_ context.Context, q *hostfns.Question) (*hostfns.Reply, error) {
						asked = q
						return c.reply, nil
					},
				})
				if err != nil || len(r.Content) != 1 || r.Content[0].Text != c.want {
					t.Fatalf("%+v: %+v, %v", c.reply, r, err)
				}
				if asked.Kind != hostfns.QuestionElicitation || asked.Message != "Who are you?" || asked.Tool != "ask" ||
					!strings.Contains(string(asked.Schema), `"name"`) {
					t.Errorf("%+v", asked)
				}
			}
			testAskLater(t, s)
			if got := mustText(t, s, "ask", ""); got != "decline null" {
				t.Errorf("without anybody to ask: %q", got)
			}
		})
	}
}

func testAskLater(t *testing.T, s *Servers) {
	t.Helper()
	r, err := s.Call(within(t), &hostfns.ToolCall{
		Server: "x", Tool: "ask_later", Ask: func(_ context.Context, q *hostfns.Question) (*hostfns.Reply, error) {
			if q.Message != "Which colour?" || q.Tool != "ask_later" {
				t.Errorf("%+v", q)
			}
			return &hostfns.Reply{Action: hostfns.ActionAccept}, nil
		},
	})
	if err != nil || len(r.Content) != 1 || r.Content[0].Text != "accept red" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestStartOnce makes many first calls at once.
func TestStartOnce(t *testing.T) {
	var mu sync.Mutex
	starts := 0
	s := one(t, &Options{Started: func(string) {
		mu.Lock()
		defer mu.Unlock()
		starts++
	}}, stdio(t, mcptest.Serve))
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			text := fmt.Sprint(i)
			r, err := s.Call(within(t), &hostfns.ToolCall{Server: "x", Tool: "echo", Args: []byte(`{"text":"` + text + `"}`)})
			if err != nil || r.Content[0].Text != text {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	all.Wait()
	if starts != 1 {
		t.Errorf("%d starts", starts)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("MAYFLY_TEST_LEAK", "leak")
	t.Setenv("MAYFLY_TEST_GIVEN", "given")
	conf := stdio(t, mcptest.Serve)
	conf.Env["GIVEN"] = "<${MAYFLY_TEST_GIVEN}>"
	conf.Env["SECRET"] = "${secret:TOKEN}"
	conf.Env["HOME"] = "/nowhere"
	conf.Args = []string{"${env:MAYFLY_TEST_GIVEN}", "${MAYFLY_TEST_NONE:-a default}", "$HOME ${"}
	s := one(t, &Options{Expand: func(text string) (string, error) { return strings.ToLower(text), nil }}, conf)
	var got struct {
		Env, Args []string
		Dir       string
	}
	if err := json.Unmarshal([]byte(mustText(t, s, "environment", "")), &got); err != nil {
		t.Fatal(err)
	}
	if want := []string{"given", "a default", "$HOME ${"}; !slices.Equal(got.Args, want) {
		t.Errorf("%q", got.Args)
	}
	if got.Dir != s.expander.dir {
		t.Errorf("%q, not %q", got.Dir, s.expander.dir)
	}
	for _, e := range got.Env {
		name, value, _ := strings.Cut(e, "=")
		want, ok := map[string]string{"GIVEN": "<given>", "SECRET": "${secret:token}", "HOME": "/nowhere"}[name]
		switch {
		case ok && value == want, name == "PATH", name == "TMPDIR", name == mcptest.Variable, name == "GORACE":
		default:
			t.Errorf("%s", e)
		}
	}
}

func TestEmptyEnvironment(t *testing.T) {
	env := environ(nil, func(string) (string, bool) { return "", false })
	if env == nil || len(env) > 0 {
		t.Errorf("%#v", env)
	}
	s := one(t, &Options{Getenv: func(string) (string, bool) { return "", false }}, Server{Command: "sh"})
	_, err := s.Tools(within(t), "x")
	if e := asError(t, err); !strings.Contains(e.Message, `there is no program "sh" in PATH; PATH is empty`) {
		t.Errorf("%+v", e)
	}
}

func TestStderr(t *testing.T) {
	lines := make(chan string, 10)
	s := one(t, &Options{Stderr: func(server, line string) { lines <- server + ": " + line }}, stdio(t, "die"))
	if _, err := call(t, s, "run", ""); err == nil {
		t.Error("there is no error")
	}
	if got := <-lines; got != "x: panic: the disk is on fire" {
		t.Errorf("%q", got)
	}
}

func TestStartsThatCannotBe(t *testing.T) {
	missing := stdio(t, mcptest.Serve)
	missing.Env["A"] = "${MAYFLY_TEST_NOT_SET}"
	secret := stdio(t, mcptest.Serve)
	secret.Args = []string{"${secret:TOKEN}"}
	input := stdio(t, mcptest.Serve)
	input.Args = []string{"${input:key}"}
	for _, c := range []struct {
		conf Server
		want string
	}{
		{missing, "env.A: the variable MAYFLY_TEST_NOT_SET is not set"},
		{secret, "args[0]: ${secret:TOKEN}: there are no secrets here"},
		{input, "args[0]: ${input:key}: prompts for inputs are not supported"},
		{Server{Command: "mayfly-test-no-such-program"}, `there is no program "mayfly-test-no-such-program" in PATH`},
		{Server{Command: "npx -y x"}, `write "command": "npx" and the rest into "args"`},
		{Server{Command: "./nothing"}, "the command cannot be run: stat "},
		{Server{Command: "/"}, "/ is a directory"},
		{Server{Command: "sh", Cwd: "nothing/here"}, "cwd: stat "},
		{Server{URL: "ftp://example.com"}, "it has to begin with http:// or https://"},
		{Server{URL: "http://a b\x7f"}, "it is no valid URL"},
		{Server{URL: "http://127.0.0.1:1/"}, "connection refused"},
		{Server{URL: "http://127.0.0.1:1/", Transport: TransportSSE}, "connection refused"},
		{stdio(t, "exit-at-start"), "(exit status 3); it wrote:\ncannot start: there is no database"},
		{stdio(t, "garbage-at-start"), "(exit status 0)"},
		{stdio(t, "refuse-start"), "come back tomorrow"},
	} {
		s := one(t, nil, c.conf)
		_, err := s.Tools(within(t), "x")
		if e := asError(t, err); e.Server != "x" || !strings.Contains(e.Message, c.want) {
			t.Errorf("%q is not in %+v", c.want, e)
		}
	}
}

func TestUnknownServer(t *testing.T) {
	s, err := New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, closed := range []bool{false, true} {
		if closed {
			_ = s.Close()
		}
		_, err := s.Tools(t.Context(), "y")
		_, err2 := s.Call(t.Context(), &hostfns.ToolCall{Server: "y"})
		if asError(t, err).Code != hostfns.CodeUnavailable || asError(t, err2).Code != hostfns.CodeUnavailable {
			t.Errorf("%v, %v", err, err2)
		}
	}
	if len(s.Servers()) > 0 {
		t.Error(s.Servers())
	}
}

func TestClosed(t *testing.T) {
	s := one(t, nil, stdio(t, mcptest.Serve))
	mustText(t, s, "echo", `{"text":""}`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := call(t, s, "echo", `{"text":""}`)
	_, err2 := s.Refresh(within(t), "x")
	if asError(t, err).Code != hostfns.CodeUnavailable || asError(t, err2).Code != hostfns.CodeUnavailable {
		t.Errorf("%v, %v", err, err2)
	}
}
