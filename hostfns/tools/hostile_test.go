package tools

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
)

func TestHangingStart(t *testing.T) {
	conf := stdio(t, "hang-start")
	conf.StartTimeout = 300 * time.Millisecond
	s := one(t, nil, conf)
	_, err := call(t, s, "run", "{}")
	if e := asError(t, err); e.Code != hostfns.CodeServer || !strings.Contains(e.Message, "did not answer in time: 300ms") {
		t.Errorf("%+v", e)
	}
	// Whoever waits can give up earlier.
	conf.StartTimeout = time.Hour
	s = one(t, nil, conf)
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	if _, err := s.Tools(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestHangingCall(t *testing.T) {
	conf := stdio(t, "hang-call")
	conf.CallTimeout = 200 * time.Millisecond
	s := one(t, nil, conf)
	_, err := call(t, s, "run", "{}")
	if e := asError(t, err); e.Code != hostfns.CodeTimeout || e.Server != "x" || e.Tool != "run" || e.Retryable {
		t.Errorf("%+v", e)
	}
	s = one(t, nil, stdio(t, "hang-call"))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.Call(ctx, &hostfns.ToolCall{Server: "x", Tool: "run"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// TestDeafServer gives a server that does not read more than a pipe holds.
func TestDeafServer(t *testing.T) {
	s := one(t, nil, stdio(t, "deaf"))
	if _, err := s.Tools(within(t), "x"); err != nil {
		t.Fatal(err)
	}
	args, _ := json.Marshal(map[string]string{"a": strings.Repeat("x", 4<<20)})
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := s.Call(ctx, &hostfns.ToolCall{Server: "x", Tool: "run", Args: args})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	}
}

func TestDyingServer(t *testing.T) {
	for _, mode := range []string{"die", "close-output"} {
		s := one(t, nil, stdio(t, mode))
		if _, err := s.Tools(within(t), "x"); err != nil {
			t.Fatal(err)
		}
		for range 2 { // it is started again
			_, err := call(t, s, "run", "{}")
			e := asError(t, err)
			if e.Code != hostfns.CodeServer || e.Retryable || !strings.Contains(e.Message, "ended during the call") {
				t.Errorf("%s: %+v", mode, e)
			}
			if mode == "die" && !strings.Contains(e.Message, "(exit status 9); it wrote:\npanic: the disk is on fire") {
				t.Errorf("%+v", e)
			}
		}
	}
}

// TestCrashLoop calls a server that always fails to start until it is not even tried any more.
func TestCrashLoop(t *testing.T) {
	var starts atomic.Int32
	s := one(t, &Options{Started: func(string) { starts.Add(1) }}, stdio(t, "exit-at-start"))
	for i := range 20 {
		_, err := call(t, s, "run", "{}")
		e := asError(t, err)
		if e.Code != hostfns.CodeServer || !strings.Contains(e.Message, "there is no database") {
			t.Fatalf("%+v", e)
		}
		if e.RetryAfter > 0 {
			if !e.Retryable || !strings.Contains(e.Hint, "times in a row") || i < 3 || starts.Load() > 10 {
				t.Errorf("after %d calls and %d starts: %+v", i, starts.Load(), e)
			}
			return
		}
	}
	t.Error("it is started again and again")
}

func TestChattyServer(t *testing.T) {
	s := one(t, nil, stdio(t, "chatty"))
	for range 3 {
		if got := mustText(t, s, "run", "{}"); got != "hello" {
			t.Errorf("%q", got)
		}
	}
}

func TestWrongIDs(t *testing.T) {
	s := one(t, nil, stdio(t, "wrong-ids"))
	for range 3 {
		if got := mustText(t, s, "run", "{}"); got != "right" {
			t.Errorf("%q", got)
		}
	}
}

func TestBatch(t *testing.T) {
	s := one(t, nil, stdio(t, "batch"))
	if r, err := call(t, s, "run", "{}"); err != nil || len(r.Content) > 0 || r.IsError {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestFloods(t *testing.T) {
	var events atomic.Int32
	s := one(t, nil, stdio(t, "flood"))
	if _, err := s.Tools(within(t), "x"); err != nil {
		t.Fatal(err)
	}
	r, err := s.Call(within(t), &hostfns.ToolCall{Server: "x", Tool: "run", Emit: func(hostfns.Event) { events.Add(1) }})
	if err != nil || r.Content[0].Text != "done" {
		t.Errorf("%+v, %v", r, err)
	}
	if n := events.Load(); n < 100 || n > 10_000 {
		t.Errorf("%d events", n)
	}
	before := runtime.NumGoroutine()
	s = one(t, nil, stdio(t, "flood-requests"))
	if got := mustText(t, s, "run", "{}"); got != "done" {
		t.Errorf("%q", got)
	}
	if after := runtime.NumGoroutine(); after > before+2*maxRequests+50 {
		t.Errorf("%d goroutines, before there were %d", after, before)
	}
}

func TestHugeMessages(t *testing.T) {
	var before, after runtime.MemStats
	s := one(t, &Options{MaxResult: 1 << 20}, stdio(t, "huge"))
	if got := mustText(t, s, "notification", "{}"); got != "small" {
		t.Errorf("%q", got)
	}
	runtime.ReadMemStats(&before)
	_, err := call(t, s, "run", "{}")
	runtime.ReadMemStats(&after)
	if e := asError(t, err); e.Code != hostfns.CodeTooLarge || e.Server != "x" || e.Tool != "run" || e.Hint == "" {
		t.Errorf("%+v", e)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 10<<20 {
		t.Errorf("%d MiB were allocated for a message of 100 MiB", n>>20)
	}
	if got := mustText(t, s, "notification", "{}"); got != "small" {
		t.Errorf("afterwards: %q", got)
	}
}

func TestErrorsOfServers(t *testing.T) {
	s := one(t, nil, stdio(t, "errors"))
	for tool, want := range map[string]hostfns.Error{
		"odd":     {Code: hostfns.CodeServer, Message: `"odd" (code -32603)`},
		"neither": {Code: hostfns.CodeServer, Message: "the answer has neither result nor error (code -32603)"},
		"other":   {Code: hostfns.CodeServer, Message: "out of order (code -32050)", Data: []byte(`{"more":[1]}`)},
		"params":  {Code: hostfns.CodeUnknownTool, Message: "the server x has no such tool any more"},
	} {
		_, err := call(t, s, tool, "{}")
		e := asError(t, err)
		if e.Code != want.Code || e.Message != want.Message || string(e.Data) != string(want.Data) || e.Tool != tool || e.Retryable {
			t.Errorf("%s: %+v", tool, e)
		}
	}
}

func TestOddResults(t *testing.T) {
	s := one(t, nil, stdio(t, "results"))
	for _, tool := range []string{"number", "content", "base64", "block", "resource", "list"} {
		_, err := call(t, s, tool, "{}")
		if e := asError(t, err); e.Code != hostfns.CodeInvalidResult || e.Tool != tool {
			t.Errorf("%s: %+v", tool, e)
		}
	}
	for tool, want := range map[string]string{
		"null": "", "empty": "", "unknown": `{"type":"hologram","x":1}`, "surrogate": "\ufffd", "old": `{"a":1}`,
	} {
		r, err := call(t, s, tool, "{}")
		if err != nil {
			t.Errorf("%s: %v", tool, err)
			continue
		}
		got := ""
		for _, b := range r.Content {
			got += b.Text
		}
		if got != want {
			t.Errorf("%s: %+v", tool, r)
		}
	}
	r, err := call(t, s, "numbers", "{}")
	if want := `{"z":12345678901234567890,"a":1.10,"m":{"b":1,"a":2}}`; err != nil || string(r.Structured) != want {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := call(t, s, "deep", "{}"); err == nil && !json.Valid(r.Structured) {
		t.Errorf("%+v", r)
	}
}

// TestProcessTree closes a server that started programs, none of which ends by itself.
func TestProcessTree(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no process groups")
	}
	for _, mode := range []string{"tree", "stubborn"} {
		s := one(t, nil, stdio(t, mode))
		pids := strings.Fields(mustText(t, s, "run", "{}"))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, pid := range pids {
			if alive(t, pid) {
				t.Errorf("%s: process %s is alive", mode, pid)
			}
		}
	}
}

func TestIdle(t *testing.T) {
	conf := stdio(t, "stubborn")
	conf.Command, conf.Env = stdio(t, "serve").Command, stdio(t, "serve").Env
	conf.IdleTimeout = 20 * time.Millisecond
	starts := make(chan struct{}, 10)
	s := one(t, &Options{Started: func(string) { starts <- struct{}{} }}, conf)
	mustText(t, s, "echo", `{"text":"1"}`)
	x := s.servers["x"]
	x.mu.Lock()
	over := x.current.over
	x.mu.Unlock()
	<-over
	if got := mustText(t, s, "echo", `{"text":"2"}`); got != "2" {
		t.Errorf("%q", got)
	}
	if len(starts) != 2 || x.failures != 0 {
		t.Errorf("%d starts, %d failures", len(starts), x.failures)
	}
}

// TestHostileHTTP has servers that answer with nonsense.
func TestHostileHTTP(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.invalid/", http.StatusTemporaryRedirect)
		},
		"circle": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/", http.StatusTemporaryRedirect)
		},
		"endless JSON": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			endless(w, `{"a":`)
		},
		"endless event": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			endless(w, "data: x")
		},
		"endless events": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			endless(w, "data: x\n\n")
		},
		"endless error": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			endless(w, "<html>")
		},
		"silence": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		},
		"garbage": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "garbage")
		},
		"text": func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello") },
	} {
		t.Run(name, func(t *testing.T) {
			for _, transport := range []string{TransportHTTP, TransportSSE} {
				conf := Server{URL: serveHTTP(t, h), Transport: transport, StartTimeout: 500 * time.Millisecond}
				s := one(t, &Options{MaxResult: 1 << 20}, conf)
				_, err := s.Tools(within(t), "x")
				if e := asError(t, err); e.Code != hostfns.CodeServer {
					t.Errorf("%s: %+v", transport, e)
				}
				t.Log(err)
			}
		})
	}
}

func endless(w io.Writer, text string) {
	text = strings.Repeat(text, 1000)
	for {
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
	}
}

func TestRestlessServer(t *testing.T) {
	s := one(t, nil, stdio(t, "restless"))
	versions := map[string]bool{}
	var all sync.WaitGroup
	for range 100 {
		l, err := s.Tools(within(t), "x")
		if err != nil || len(l.Tools) != 1 {
			t.Fatalf("%+v, %v", l, err)
		}
		versions[l.Version] = true
		all.Go(func() {
			if _, err := call(t, s, "run", "{}"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(versions) > 20 {
		t.Errorf("it was listed %d times", len(versions))
	}
}

func TestLists(t *testing.T) {
	for mode, want := range map[string]string{
		"endless-list": "does not end", "circular-list": "does not end", "no-list": "the list is lost", "odd-list": "no list of tools",
		"huge-list": "have more than", "hang-list": "took longer than",
	} {
		t.Run(mode, func(t *testing.T) {
			conf := stdio(t, mode)
			if mode == "hang-list" {
				conf.StartTimeout = 500 * time.Millisecond
			}
			s := one(t, &Options{MaxResult: 8 << 20}, conf)
			l, err := s.Tools(within(t), "x")
			if e := asError(t, err); l != nil || e.Code != hostfns.CodeServer || !strings.Contains(e.Message, want) {
				t.Errorf("%+v, %+v", l, e)
			}
		})
	}
}

func TestManyTools(t *testing.T) {
	s := one(t, nil, stdio(t, "many-tools"))
	l, err := s.Tools(within(t), "x")
	if err != nil || len(l.Tools) != 10_000 {
		t.Fatal(err)
	}
	last := l.Tools[9_999]
	want := `{"type":"object","properties":{"zeta":{"type":"string"},"alpha":{"type":"integer"}},"required":["zeta"]}`
	if last.Name != "tool_9999" || string(last.InputSchema) != want {
		t.Errorf("%+v", last)
	}
	if got := mustText(t, s, "tool_9999", `{"zeta":""}`); got != "tool_9999" {
		t.Errorf("%q", got)
	}
}

func TestOddTools(t *testing.T) {
	s := one(t, nil, stdio(t, "odd-tools"))
	l, err := s.Tools(within(t), "x")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range l.Tools {
		names = append(names, tool.Name)
	}
	if want := []string{"order", "none", "null", "true", "quotes \"'\n", "order"}; !slices.Equal(names, want) {
		t.Fatalf("%q", names)
	}
	if got := string(l.Tools[0].InputSchema); got != `{"type":"object","properties":{"z":{},"a":{},"m":{}},"maximum":12345678901234567890123}` {
		t.Errorf("%s", got)
	}
	if q := l.Tools[4]; q.Title != "a" || !*q.Annotations.ReadOnly || *q.Annotations.Destructive || q.Annotations.Idempotent != nil {
		t.Errorf("%+v", q)
	}
	if l.Tools[2].InputSchema != nil || l.Tools[2].OutputSchema != nil {
		t.Errorf("%+v", l.Tools[2])
	}
}

// TestCancelledOverStdio waits until the server was told.
func TestCancelledOverStdio(t *testing.T) {
	s := one(t, nil, stdio(t, "hang-call"))
	if got := mustText(t, s, "cancelled", ""); got != "0" {
		t.Fatalf("%q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Call(ctx, &hostfns.ToolCall{Server: "x", Tool: "run"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	for mustText(t, s, "cancelled", "") != "1" { // which fails in the end
		if within(t).Err() != nil {
			t.Fatal("the server is not told")
		}
	}
}

// TestQuestionsOfServers has a server that asks for everything.
func TestQuestionsOfServers(t *testing.T) {
	s := one(t, nil, stdio(t, "ask"))
	var asked []hostfns.Question
	r, err := s.Call(within(t), &hostfns.ToolCall{
		Server: "x", Tool: "run", Ask: func(_ context.Context, q *hostfns.Question) (*hostfns.Reply, error) {
			asked = append(asked, *q)
			return &hostfns.Reply{Action: hostfns.ActionAccept, Content: []byte(`{"z":"1"}`)}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Split(r.Content[0].Text, "\n")
	if len(answers) != 7 {
		t.Fatalf("%q", answers)
	}
	for i, want := range []string{
		"{}", `{"roots":[]}`, `"code":`, `"code":-32601`, `{"action":"accept","content":{"z":"1"}}`, `{"action":"accept"}`, `"code":`,
	} {
		if !strings.Contains(answers[i], want) {
			t.Errorf("%d: %s", i, answers[i])
		}
	}
	if len(asked) != 2 || asked[0].Message != "form" || asked[1].URL != "https://example.com/" ||
		string(asked[0].Schema) != `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}` {
		t.Errorf("%+v", asked)
	}
}
