package httpapi_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/internal/httpapi"
)

// TestHostileRequests: whatever a request says, the answer is an error that is not one of the server itself.
func TestHostileRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.run(t, "s", "1")
	const js = "application/json"
	deep := strings.Repeat(`{"labels":`, 11_000)
	for _, test := range []struct{ method, path, contentType, body string }{
		{"PUT", "/v1/sessions/..%2f..%2fx", js, "{}"},
		{"PUT", "/v1/sessions/%2e%2e", js, "{}"},
		{"PUT", "/v1/sessions/%00", js, "{}"},
		{"PUT", "/v1/sessions/" + strings.Repeat("a", 65), js, "{}"},
		{"PUT", "/v1/sessions/a%ff", js, "{}"},
		{"PUT", "/v1/sessions/-", js, "{}"},
		{"PUT", "/v1/sessions/n", js, deep},
		{"PUT", "/v1/sessions/n", js, `{"sandbox": {"memory": -1}}`},
		{"PUT", "/v1/sessions/n", js, `{"sandbox": {"memory": 9223372036854775807}}`},
		{"PUT", "/v1/sessions/n", js, `{"sandbox": {"threads": 9223372036854775807}}`},
		{"PUT", "/v1/sessions/n", js, `{"labels": {"": "x"}}`},
		{"PUT", "/v1/sessions/n", js, `{"labels": {"k": "` + strings.Repeat("x", 10_000) + `"}}`},
		{"POST", "/v1/sessions/s/exec", js, deep},
		{"POST", "/v1/sessions/s/exec", js, `{"code": "1", "max_output": -1}`},
		{"POST", "/v1/sessions/s/exec", js, `{"code": "1", "max_output": 1000000000000}`},
		{"POST", "/v1/sessions/s/exec", js, `{"code": "1", "stdin": "x", "stream_stdin": true}`},
		{"POST", "/v1/sessions/s/rewind", js, `{"step": -2}`},
		{"POST", "/v1/sessions/s/rewind", js, `{"step": 9223372036854775807}`},
		{"POST", "/v1/sessions/s/fork", js, `{"step": 0, "as": "../x"}`},
		{"GET", "/v1/sessions/s/files?path=%00", "", ""},
		{"GET", "/v1/sessions/s/content?path=" + strings.Repeat("../", 10_000) + "x", "", ""},
		{"PUT", "/v1/sessions/s/content?path=%00", "", "x"},
		{"PUT", "/v1/sessions/s/content?path=a%ff", "", "x"},
		{"PUT", "/v1/sessions/s/content?path=" + strings.Repeat("d/", 10_000) + "x", "", "x"},
		{"GET", "/v1/sessions/s/journal?limit=-1", "", ""},
		{"GET", "/v1/sessions/s/journal/99999999999999999999", "", ""},
		{"GET", "/v1/sessions/s/value?ref=../../x", "", ""},
	} {
		status, body := s.request(t, test.method, test.path, test.contentType, test.body)
		var p httpapi.Problem
		if strings.HasSuffix(test.path, "/exec") && status == 200 { // it is told when the answer has begun
			var last httpapi.Event
			lines := strings.Split(strings.TrimSpace(body), "\n")
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err == nil && last.Error != nil {
				status, p = 400, *last.Error
			}
		} else if err := json.Unmarshal([]byte(body), &p); err != nil {
			t.Errorf("%s %.80s: %v in %.200s", test.method, test.path, err, body)
		}
		if status < 400 || status >= 500 || p.Code == "" || p.Code == "internal" || len(p.Message) > 2100 {
			t.Errorf("%s %.80s %.80s: %d %.300s", test.method, test.path, test.body, status, body)
		}
	}
	if _, err := s.Session(t.Context(), "n"); !errors.Is(err, engine.ErrNoSession) {
		t.Errorf("a session was made: %v", err)
	}
	if i, err := s.Session(t.Context(), "s"); err != nil || i.Step != 1 {
		t.Errorf("the session is %+v, %v", i, err)
	}
}

// TestLargeHeader: headers are bounded.
func TestLargeHeader(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://mayfly/v1/health", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Large", strings.Repeat("x", 4<<20))
	resp, err := httpapi.Transport(s.socket).RoundTrip(req)
	if err == nil { // else the server hung up while it was sent
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	if _, err := s.Health(t.Context()); err != nil {
		t.Error(err)
	}
}

// tarOf returns a tar stream; entries have no content.
func tarOf(headers ...*tar.Header) io.Reader {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if err := w.WriteHeader(h); err != nil {
			panic(err)
		}
	}
	return &b
}

// TestHostileTar: a tar stream that is more than it seems changes nothing.
func TestHostileTar(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	ctx := t.Context()
	if _, err := s.Open(ctx, "s", &engine.SessionOptions{Sandbox: &engine.Sandbox{Workspace: 1 << 20, Files: 100}}); err != nil {
		t.Fatal(err)
	}
	many := make([]*tar.Header, 1000)
	for i := range many {
		many[i] = &tar.Header{Typeflag: tar.TypeDir, Name: fmt.Sprintf("d%d/", i)}
	}
	large := tarOf(&tar.Header{Typeflag: tar.TypeReg, Name: "big", Size: 2 << 20})
	for name, r := range map[string]io.Reader{
		"many":      tarOf(many...),
		"deep":      tarOf(&tar.Header{Typeflag: tar.TypeDir, Name: strings.Repeat("d/", 5000)}),
		"long name": tarOf(&tar.Header{Typeflag: tar.TypeReg, Name: strings.Repeat("n", 5000)}),
		"large":     io.MultiReader(large, io.LimitReader(zeros{}, 4<<20)),
		"cut":       tarOf(&tar.Header{Typeflag: tar.TypeReg, Name: "cut", Size: 1000}),
		"outside":   tarOf(&tar.Header{Typeflag: tar.TypeReg, Name: "../../../../etc/x"}),
	} {
		if step, err := s.PutTar(ctx, "s", "in", r); !errors.Is(err, engine.ErrRequest) && !errors.Is(err, engine.ErrStoreFull) {
			t.Errorf("%s: %+v, %v", name, step, err)
		}
	}
	if i, err := s.Session(ctx, "s"); err != nil || i.Step != 0 {
		t.Errorf("the session is %+v, %v", i, err)
	}
	if files, err := s.Files(ctx, "s", "/workspace", engine.Latest, true); err != nil || len(files) != 0 {
		t.Errorf("files %+v, %v", files, err)
	}
	s.run(t, "s", "1")
}

// TestStalledReader: a client that does not read its answer keeps nobody else from the session.
func TestStalledReader(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.run(t, "s", "1")
	conn, err := net.Dial("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"code": "print('x' * 1000000)"}`
	_, err = fmt.Fprintf(conn, "POST /v1/sessions/s/exec HTTP/1.1\r\nHost: mayfly\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", len(body), body)
	if err != nil {
		t.Fatal(err)
	}
	// The answer has begun, so the execution has its place in the queue soon; nothing more is read.
	if _, err := io.ReadFull(conn, make([]byte, 12)); err != nil {
		t.Fatal(err)
	}
	for s.run(t, "s", "2").Step < 3 {
	}
}

// TestCancelRaces: executions that are cancelled, left and asked about at any moment leave a session that works.
func TestCancelRaces(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.run(t, "s", "n = 0")
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			x := &httpapi.Exec{Request: engine.Request{Code: "print('x'); n += 1", OnEvent: func(engine.Event) {
				if i%3 == 0 {
					cancel()
				}
			}}}
			if i%3 == 1 {
				go cancel()
			}
			r, err := s.Exec(ctx, "s", x)
			if err != nil && !errors.Is(err, context.Canceled) || err == nil && r == nil {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	all.Wait()
	r := s.run(t, "s", "n")
	i, err := s.Session(t.Context(), "s")
	if err != nil || r.Step != i.Step || i.Running {
		t.Errorf("step %d, %+v, %v", r.Step, i, err)
	}
}

// TestOptionsOfRunning: options reach a session in which code runs when that has ended. Nobody else waits meanwhile.
func TestOptionsOfRunning(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	ctx := t.Context()
	in, feed := io.Pipe()
	defer in.Close()
	running, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		r, err := s.Exec(ctx, "s", &httpapi.Exec{
			Session: &engine.SessionOptions{},
			Request: engine.Request{
				Code: "x = 7; print('running', flush=True); input()", Stdin: in, OnEvent: func(engine.Event) { close(running) },
			},
		})
		if err != nil || r.Status != engine.StatusOK {
			t.Errorf("%+v, %v", r, err)
		}
	}()
	<-running
	change := &engine.SessionOptions{Labels: map[string]string{"new": "yes"}, Sandbox: &engine.Sandbox{Threads: 9}}
	given, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Open(given, "s", change); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	changed := make(chan error, 1)
	go func() {
		o, err := s.Open(ctx, "s", change)
		if err == nil && (o.Labels["new"] != "yes" || o.Sandbox.Threads != 9) {
			err = fmt.Errorf("it has %+v", o.SessionInfo)
		}
		changed <- err
	}()
	s.run(t, "other", "1")
	if _, err := s.Open(ctx, "s", &engine.SessionOptions{}); err != nil { // nothing to change
		t.Error(err)
	}
	io.WriteString(feed, "\n")
	<-ended
	if err := <-changed; err != nil {
		t.Error(err)
	}
	if r := s.run(t, "s", "x"); r.ResultRepr != "7" {
		t.Errorf("x is %s", r.ResultRepr)
	}
}

// TestMaxOutput: a request says how much of the output it wants.
func TestMaxOutput(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	r, err := s.Exec(t.Context(), "s", &httpapi.Exec{
		Session: &engine.SessionOptions{}, Request: engine.Request{Code: "print('x' * 100)", MaxOutput: 10},
	})
	if err != nil || r.Stdout != strings.Repeat("x", 10) || r.Truncated.Stdout != 91 {
		t.Errorf("%+v, %v", r, err)
	}
	if v, err := s.Verify(t.Context(), "s", nil); err != nil || !v.OK {
		t.Errorf("%+v, %v", v, err)
	}
}
