package httpapi_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/internal/httpapi"
)

// TestExecConverses: output comes while the program runs, and input is read then. Each line is sent only when the answer
// to the one before has come.
func TestExecConverses(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	in, feed := io.Pipe()
	lines := make(chan string, 10)
	go func() {
		defer feed.Close()
		for want := range strings.SplitSeq("ready,got one,got two", ",") {
			if line := <-lines; line != want+"\n" {
				t.Errorf("got %q instead of %q", line, want)
				return
			}
			if next := map[string]string{"ready": "one\n", "got one": "two\n"}[want]; next != "" {
				io.WriteString(feed, next)
			}
		}
	}()
	r, err := s.Exec(t.Context(), "talk", &httpapi.Exec{
		Session: &engine.SessionOptions{},
		Request: engine.Request{
			Code: `
import sys
print("ready", flush=True)
for line in sys.stdin:
    print("got", line.strip(), flush=True)
`,
			Stdin:   in,
			OnEvent: func(e engine.Event) { lines <- string(e.Data) },
		},
	})
	if err != nil || r.Status != engine.StatusOK || r.Stdout != "ready\ngot one\ngot two\n" {
		t.Errorf("%+v, %v", r, err)
	}
}

// unread fails the test when it is read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("input was taken that the program did not ask for")
	return 0, io.EOF
}

func TestExecLeavesInput(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	r, err := s.Exec(t.Context(), "quiet", &httpapi.Exec{
		Session: &engine.SessionOptions{}, Request: engine.Request{Code: "1 + 1", Stdin: unread{t}},
	})
	if err != nil || r.ResultRepr != "2" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestExecEndsBeforeInput: the program reads a little and ends, while its input never does.
func TestExecEndsBeforeInput(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	in, feed := io.Pipe()
	defer in.Close()
	go io.WriteString(feed, "one\n")
	r, err := s.Exec(t.Context(), "hasty", &httpapi.Exec{
		Session: &engine.SessionOptions{}, Request: engine.Request{Code: "input()", Stdin: in},
	})
	if err != nil || r.ResultRepr != "'one'" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestExecBytes: output that is not UTF-8 comes as it is.
func TestExecBytes(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	var out []byte
	_, err := s.Exec(t.Context(), "bytes", &httpapi.Exec{
		Session: &engine.SessionOptions{},
		Request: engine.Request{
			Code:    `import sys; sys.stdout.buffer.write(bytes(range(256)) + "é☃".encode())`,
			OnEvent: func(e engine.Event) { out = append(out, e.Data...) },
		},
	})
	var want []byte
	for b := range 256 {
		want = append(want, byte(b))
	}
	want = append(want, "é☃"...)
	if err != nil || string(out) != string(want) {
		t.Errorf("%q, %v", out, err)
	}
}

const forever = `
print("started", flush=True)
try:
    while True:
        pass
finally:
    print("cleaned up", flush=True)
`

// TestExecCancel: a cancelled execution ends in order, and tells what came of it.
func TestExecCancel(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := s.Exec(ctx, "cancelled", &httpapi.Exec{
		Session: &engine.SessionOptions{},
		Request: engine.Request{Code: forever, OnEvent: func(engine.Event) { cancel() }},
	})
	if err != nil || r.Status != engine.StatusCancelled || r.Stdout != "started\ncleaned up\n" {
		t.Fatalf("%+v, %v", r, err)
	}
	if r := s.run(t, "cancelled", "1"); r.Step != 2 {
		t.Errorf("the next step is %d", r.Step)
	}
}

// TestClientGoes: when the connection breaks the execution is cancelled as well.
func TestClientGoes(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.run(t, "left", "1")
	ctx, cancel := context.WithCancel(t.Context())
	body := `{"code": "import time\nprint('started', flush=True)\ntime.sleep(1000)", "timeout_ms": 1000000}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://mayfly/v1/sessions/left/exec", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := httpapi.Transport(s.socket).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := resp.Body.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	cancel()
	// This waits for its turn, which comes only when the other one has ended.
	if r := s.run(t, "left", "2"); r.Step != 3 {
		t.Errorf("the next step is %d", r.Step)
	}
	step, err := s.Step(t.Context(), "left", 2)
	if err != nil || step.Status != engine.StatusCancelled {
		t.Errorf("%+v, %v", step, err)
	}
}

// TestServerEnds: Close cancels what runs.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	closed := make(chan error, 1)
	_, err := s.Exec(t.Context(), "ending", &httpapi.Exec{
		Session: &engine.SessionOptions{},
		Request: engine.Request{Code: forever, OnEvent: func(engine.Event) {
			if len(closed) == 0 {
				closed <- s.server.Close()
			}
		}},
	})
	if err == nil {
		t.Error("the execution ended well")
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
