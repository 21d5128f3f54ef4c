package tools

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/internal/mcptest"
)

func TestHeaders(t *testing.T) {
	var mu sync.Mutex
	var without []string
	wrap := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer s3cret" || r.Host != "tools.test" {
				mu.Lock()
				without = append(without, r.Method+" "+r.URL.String())
				mu.Unlock()
			}
			r.Host = "127.0.0.1"
			h.ServeHTTP(w, r)
		})
	}
	headers := map[string]string{"authorization": "Bearer ${secret:TOKEN}", "host": "tools.test", "Accept": "nonsense"}
	for _, conf := range []Server{
		{URL: mcptest.HTTP(t, mcptest.New(nil), wrap), Headers: headers},
		{URL: mcptest.SSE(t, mcptest.New(nil), wrap), Headers: headers, Transport: TransportSSE},
	} {
		s := one(t, &Options{Expand: func(string) (string, error) { return "s3cret", nil }}, conf)
		if got := mustText(t, s, "echo", `{"text":"a"}`); got != "a" {
			t.Errorf("%q", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(without) > 0 {
		t.Errorf("without headers: %q", without)
	}
}

// TestRedirects has a server that sends its clients elsewhere.
func TestRedirects(t *testing.T) {
	var elsewhere atomic.Int32
	other := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { elsewhere.Add(1) }))
	var to atomic.Value
	to.Store("")
	wrap := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if u := to.Load().(string); u != "" && r.URL.Path != "/moved" {
				http.Redirect(w, r, u, http.StatusTemporaryRedirect)
				return
			}
			h.ServeHTTP(w, r)
		})
	}
	conf := Server{URL: mcptest.HTTP(t, mcptest.New(nil), wrap), Headers: map[string]string{"X-Key": "s3cret"}}
	s := one(t, nil, conf)
	if got := mustText(t, s, "echo", `{"text":"a"}`); got != "a" {
		t.Errorf("%q", got)
	}
	to.Store("/moved")
	if got := mustText(t, s, "echo", `{"text":"b"}`); got != "b" {
		t.Errorf("%q", got)
	}
	to.Store(other)
	_, err := call(t, s, "echo", `{"text":"c"}`)
	if e := asError(t, err); e.Code != hostfns.CodeServer || !errors.Is(err, errOtherHost) && !strings.Contains(e.Message, "redirects to another host") {
		t.Errorf("%+v", e)
	}
	if elsewhere.Load() > 0 {
		t.Error("the other host was called")
	}
	e, err := newEndpoint(&Server{URL: "http://a.test/x"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for u, ok := range map[string]bool{
		"http://a.test/y": true, "http://a.test:80/": true, "https://a.test/": true, "https://a.test:444/": false, "http://a.test:81/": false,
		"http://b.a.test/": false, "http://a.test.b/": false, "ftp://a.test/": false, "https://a.test:80/": false,
	} {
		if p, _ := url.Parse(u); (e.check(p) == nil) != ok {
			t.Errorf("%s", u)
		}
	}
}

// TestForgottenSession restarts a server, which then knows no session any more.
func TestForgottenSession(t *testing.T) {
	newHandler := func() http.Handler {
		srv := mcptest.New(nil)
		mcptest.CloseSessions(t, srv)
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, nil)
	}
	var h atomic.Value
	h.Store(newHandler())
	s := one(t, nil, Server{URL: serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.Load().(http.Handler).ServeHTTP(w, r)
	}))})
	for i := range 3 {
		if got := mustText(t, s, "echo", `{"text":"a"}`); got != "a" {
			t.Errorf("%d: %q", i, got)
		}
		h.Store(newHandler())
		if i == 1 {
			if _, err := s.Refresh(within(t), "x"); err != nil {
				t.Error(err)
			}
			h.Store(newHandler())
		}
	}
}

// TestStatus has servers that answer calls with errors of HTTP.
func TestStatus(t *testing.T) {
	var status atomic.Int32
	wrap := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n := status.Load(); n > 0 && r.Method == http.MethodPost {
				w.Header().Set("Retry-After", "7")
				http.Error(w, "no", int(n))
				return
			}
			h.ServeHTTP(w, r)
		})
	}
	s := one(t, nil, Server{URL: mcptest.HTTP(t, mcptest.New(nil), wrap)})
	mustText(t, s, "echo", `{"text":""}`)
	for n, want := range map[int]hostfns.Error{
		429: {Code: hostfns.CodeRateLimit, RetryAfter: 7 * time.Second, Retryable: true},
		503: {Code: hostfns.CodeServer, RetryAfter: 7 * time.Second},
		502: {Code: hostfns.CodeServer, RetryAfter: 7 * time.Second},
	} {
		status.Store(int32(n))
		_, err := call(t, s, "echo", `{"text":""}`)
		if e := asError(t, err); e.Code != want.Code || e.RetryAfter != want.RetryAfter || e.Retryable != want.Retryable {
			t.Errorf("%d: %+v", n, e)
		}
		status.Store(0)
		mustText(t, s, "echo", `{"text":""}`)
	}
	status.Store(401)
	_, err := call(t, s, "echo", `{"text":""}`)
	if e := asError(t, err); e.Code != hostfns.CodeServer || e.Retryable || !strings.Contains(e.Message+e.Hint, "headers") {
		t.Errorf("%+v", e)
	}
}

// TestServerGone calls a server that does not listen any more: that nothing was sent is certain.
func TestServerGone(t *testing.T) {
	srv := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return mcptest.New(nil) },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	h, stop := listen(t, srv)
	s := one(t, nil, Server{URL: h})
	mustText(t, s, "echo", `{"text":""}`)
	stop()
	// Whether the first call got anywhere is not certain: there is a connection that it may have gone out on.
	if _, err := call(t, s, "echo", `{"text":""}`); err == nil {
		t.Error("there is nobody to answer")
	}
	_, err := call(t, s, "echo", `{"text":""}`)
	if e := asError(t, err); e.Code != hostfns.CodeServer || !e.Retryable {
		t.Errorf("%+v", e)
	}
}

func TestVisit(t *testing.T) {
	srv := mcptest.New(nil)
	s := one(t, nil, Server{URL: mcptest.HTTP(t, srv, nil)})
	visit := func(action string) (*hostfns.ToolResult, error) {
		return s.Call(within(t), &hostfns.ToolCall{
			Server: "x", Tool: "visit", Ask: func(_ context.Context, q *hostfns.Question) (*hostfns.Reply, error) {
				if q.URL != "https://example.com/sign-in" || q.Message != "Sign in" || q.Schema != nil {
					t.Errorf("%+v", q)
				}
				ss := s.servers["x"].current.ss
				ss.elicited("visit-" + ss.cs.ID()) // as if the server said so
				return &hostfns.Reply{Action: action}, nil
			},
		})
	}
	_, err := visit(hostfns.ActionDecline)
	if e := asError(t, err); e.Code != hostfns.CodeServer || len(e.Data) == 0 {
		t.Errorf("%+v", e)
	}
	s = one(t, nil, Server{URL: mcptest.HTTP(t, mcptest.New(nil), nil)})
	if r, err := visit(hostfns.ActionAccept); err != nil || r.Content[0].Text != "visited" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestEventBody(t *testing.T) {
	in := newIntake("x", 200, quiet)
	x := &exchange{}
	in.expect("2", x)
	in.expect("3", &exchange{})
	long := strings.Repeat("y", 300)
	for text, want := range map[string]string{
		"":                       "",
		":comment\n\n":           "",
		"id: 7\nretry: 500\n\n":  "id: 7\nretry: 500\n\n",
		"retry: 0\nid: 1\n\n":    "id: 1\nretry: 50\n\n",
		"retry: 99999999\n\n":    "retry: 60000\n\n",
		"retry: soon\n\n":        "",
		"data: nonsense\n\n":     "",
		"event: ping\ndata: 1\n": "",
		"id: 1\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata:\"id\":9,\"result\":{}}\r\n\r\n":     "id: 1\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":9,\"result\":{}}\n\n",
		"event: endpoint\ndata: /a?b=c\n\n":                                                "event: endpoint\ndata: /a?b=c\n\n",
		"event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":1}}\nid: 4": "id: 4\nevent: message\ndata: " + `{"jsonrpc":"2.0","id":2,"result":{"content":[],"tools":[]}}` + "\n\n",
		`data: {"jsonrpc":"2.0","id":3,"result":"` + long + "\"}\n\n":                      `data: {"error":{"code":-32099,"message":"the answer is larger than allowed"},"id":3,"jsonrpc":"2.0"}` + "\n\n",
		"data: [" + strings.Repeat("\ndata: [", 10) + "\n\nid: 5\n\n":                      "id: 5\n\n",
	} {
		b, err := io.ReadAll(newEventBody(io.NopCloser(strings.NewReader(text)), in))
		if err != nil || string(b) != want {
			t.Errorf("%q became %q, %v", text, b, err)
		}
	}
	if string(x.finish().result) != `{"a":1}` {
		t.Errorf("%+v", x)
	}
}

func FuzzEventBody(f *testing.F) {
	f.Add([]byte("id: 7\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\ndata: \"result\":{}}\n\n"))
	f.Add([]byte("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1}}\r\n\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		in := newIntake("x", 100, quiet)
		in.expect("2", &exchange{})
		b, err := io.ReadAll(newEventBody(io.NopCloser(bytes.NewReader(text)), in))
		if err != nil {
			t.Fatal(err)
		}
		// What comes out is well-formed.
		for line := range bytes.Lines(b) {
			if !bytes.Contains(line, []byte(":")) && string(line) != "\n" {
				t.Fatalf("%q became %q", text, b)
			}
		}
	})
}

// TestNewerProtocol has a server that does not know initialize any more.
func TestNewerProtocol(t *testing.T) {
	var refused atomic.Int32
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return mcptest.New(nil) }, &mcp.StreamableHTTPOptions{Stateless: true})
	s := one(t, nil, Server{URL: serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if bytes.Contains(b, []byte(`"method":"initialize"`)) {
			refused.Add(1)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}`)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(b))
		h.ServeHTTP(w, r)
	}))})
	l, err := s.Tools(within(t), "x")
	if err != nil || l.Tools[0].Name != "add" {
		t.Fatalf("%+v, %v", l, err)
	}
	if refused.Load() != 1 || !s.servers["x"].current.ss.in.whole.Load() {
		t.Errorf("the older protocol was refused %d times", refused.Load())
	}
	r, err := call(t, s, "add", `{"a":2,"b":40}`)
	if err != nil || string(r.Structured) != `{"sum":42}` {
		t.Errorf("%+v, %v", r, err)
	}
	testAskLater(t, s)
	_, err = call(t, s, "there is none", `{}`)
	if e := asError(t, err); e.Code != hostfns.CodeUnknownTool {
		t.Errorf("%+v", e)
	}
}

func TestLargeResults(t *testing.T) {
	confs := transportsOf(t, nil)
	srv := mcptest.New(nil)
	mcptest.CloseSessions(t, srv)
	confs["JSON"] = Server{URL: serveHTTP(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv },
		&mcp.StreamableHTTPOptions{JSONResponse: true}))}
	for name, conf := range confs {
		t.Run(name, func(t *testing.T) {
			s := one(t, &Options{MaxResult: 1 << 20}, conf)
			if got := mustText(t, s, "big", `{"bytes":1000000}`); len(got) != 1_000_000 {
				t.Errorf("%d bytes", len(got))
			}
			_, err := call(t, s, "big", `{"bytes":5000000}`)
			if e := asError(t, err); e.Code != hostfns.CodeTooLarge || e.Retryable {
				t.Errorf("%+v", e)
			}
			if got := mustText(t, s, "echo", `{"text":"a"}`); got != "a" {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestBrokenAnswers has a server that breaks connections off in the middle of answers.
func TestBrokenAnswers(t *testing.T) {
	for name, answer := range map[string]string{
		"nothing":                    "",
		"half of the head":           "HTTP/1.1 200 OK\r\nContent-Ty",
		"half of the JSON":           "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"jsonrpc\":",
		"a stream without an answer": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n: hello\n\n",
		"half of an event":           "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: {\"jsonrpc\":",
		"another answer": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" +
			"data: {\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			wrap := func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					b, err := io.ReadAll(r.Body)
					if err != nil {
						t.Error(err)
					}
					if !bytes.Contains(b, []byte(`"name":"fail"`)) {
						r.Body = io.NopCloser(bytes.NewReader(b))
						h.ServeHTTP(w, r)
						return
					}
					c, _, err := w.(http.Hijacker).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = io.WriteString(c, answer)
					_ = c.Close()
				})
			}
			s := one(t, nil, Server{URL: mcptest.HTTP(t, mcptest.New(nil), wrap)})
			_, err := call(t, s, "fail", `{}`)
			e := asError(t, err)
			if e.Code != hostfns.CodeServer || e.Retryable || e.Tool != "fail" || !strings.Contains(e.Message, "connection to the server broke") {
				t.Errorf("%+v", e)
			}
			if got := mustText(t, s, "echo", `{"text":"a"}`); got != "a" {
				t.Errorf("%q", got)
			}
		})
	}
}
