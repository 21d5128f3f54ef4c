package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

// TestErrorsTravel: each error of the table is the same one on the other side, with its message and hint.
func TestErrorsTravel(t *testing.T) {
	for _, c := range codes {
		sent := &engine.Error{Err: fmt.Errorf("about it: %w", c.err), Phase: engine.PhaseQueue, Hint: "do so"}
		p := describe(sent)
		if p.Code != c.code || p.status() != c.status {
			t.Errorf("%v is %s, %d", c.err, p.Code, p.status())
		}
		got := p.err()
		var e *engine.Error
		if !errors.Is(got, c.err) || !errors.As(got, &e) || e.Hint != "do so" || e.Phase != engine.PhaseQueue || got.Error() != sent.Error() {
			t.Errorf("%v came as %v", sent, got)
		}
	}
	// What exists or not is more than that the request is wrong.
	if p := describe(fmt.Errorf("%w: %w", engine.ErrRequest, fs.ErrNotExist)); p.Code != "no_file" {
		t.Errorf("a missing file in a request is %s", p.Code)
	}
	if p := describe(errors.New("whatever")); p.Code != codeInternal || p.status() != http.StatusInternalServerError {
		t.Errorf("an unknown error is %+v", p)
	}
}

func TestMilliseconds(t *testing.T) {
	for n, want := range map[int64]time.Duration{
		0: 0, 1500: 1500 * time.Millisecond, -1: -time.Millisecond, math.MaxInt64: math.MaxInt64 / time.Millisecond * time.Millisecond,
	} {
		if got := milliseconds(n); got != want {
			t.Errorf("%d is %v, want %v", n, got, want)
		}
	}
	if milliseconds(math.MinInt64) >= 0 {
		t.Error("the smallest number is not negative")
	}
}

// start serves a handler in this process.
func start(t *testing.T, h http.Handler) *Client {
	t.Helper()
	s := Start(h, nil)
	t.Cleanup(func() { s.Shutdown(context.Background()) })
	return NewClient(s.Dial)
}

// TestDownloadBreaks: an error half-way is no end of the file.
func TestDownloadBreaks(t *testing.T) {
	for name, test := range map[string]struct {
		write string
		err   error
		abort bool
		want  error
	}{
		"whole":        {write: "data"},
		"empty":        {},
		"error before": {err: engine.ErrNoStep, want: engine.ErrNoStep},
		"error after":  {write: "data", err: engine.ErrStoreDamaged, want: engine.ErrStoreDamaged},
		"broken off":   {write: strings.Repeat("data", 10_000), abort: true, want: io.ErrUnexpectedEOF},
	} {
		h := &handler{}
		h.o.Logger = nil
		c := start(t, h.wrap(func(w http.ResponseWriter, _ *http.Request) error {
			return download(w, typeArchive, func(w io.Writer) error {
				if _, err := io.WriteString(w, test.write); err != nil && test.write != "" {
					return err
				}
				if test.abort {
					panic(http.ErrAbortHandler)
				}
				return test.err
			})
		}))
		var out strings.Builder
		err := c.Export(t.Context(), "x", &out, nil)
		if !errors.Is(err, test.want) || test.want == nil && (err != nil || out.String() != test.write) {
			t.Errorf("%s: %q, %v", name, &out, err)
		}
	}
}

// TestEventsBreak: an answer without its last event is no result.
func TestEventsBreak(t *testing.T) {
	for _, body := range []string{
		"", `{"event":"stdout","data":"x"}`, `{"event":"result"`, `{"event":"error"}`, "[]", "null", "\x00", `{"event":"progress"}` + "\n{",
	} {
		if e, err := readEvents(strings.NewReader(body), func(*Event) {}); err == nil {
			t.Errorf("%q is %+v", body, e)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(`{"event":"stdout","data":"x"}` + "\n" + `{"event":"result","result":{}}`))
	f.Add([]byte(`{"event":"stderr","base64":"AAE="}` + "\n" + `{"event":"error","error":{"code":"busy"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := readEvents(strings.NewReader(string(b)), func(e *Event) { _ = e.bytes() })
		if err == nil && e.Event == "error" && e.Error.err() == nil {
			t.Errorf("%q has an error that is none", b)
		}
	})
}

func TestListenUnix(t *testing.T) {
	short, err := os.MkdirTemp("", "m") // the one of the test may be long
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	long := filepath.Join(short, strings.Repeat("long", 30))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"short": short, "long": long} {
		l, err := ListenUnix(dir)
		if err != nil {
			t.Fatal(name, err)
		}
		path := l.Addr().String()
		if (filepath.Dir(path) == dir) != (name == "short") || len(path) > maxSocketPath {
			t.Errorf("%s: the socket is %s", name, path)
		}
		i, err := os.Stat(path)
		if err != nil || runtime.GOOS != "windows" && i.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, i.Mode(), err)
		}
		if i, err := os.Stat(filepath.Dir(path)); err != nil || runtime.GOOS != "windows" && i.Mode().Perm() != 0o700 {
			t.Errorf("%s: directory %v, %v", name, i.Mode(), err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: after its end: %v", name, err)
		}
		if name == "long" {
			if _, err := os.Lstat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the directory stayed: %v", err)
			}
		}
	}
	// One that a killed process left behind is replaced.
	l, err := ListenUnix(short)
	if err != nil {
		t.Fatal(err)
	}
	l.(*ownListener).Listener.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	if l, err = ListenUnix(short); err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// TestShutdownWaits: requests under way are answered.
func TestShutdownWaits(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	s := Start(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-leave
		writeJSON(w, http.StatusOK, Health{PID: 7})
	}), nil)
	answer := make(chan *Health, 1)
	go func() {
		h, err := NewClient(s.Dial).Health(context.Background())
		if err != nil {
			t.Error(err)
		}
		answer <- h
	}()
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("shut down while a request is under way: %v", err)
	}
	// New work is refused, and its client tries again until there is another server.
	resp, err := NewClient(s.Dial).upload(t.Context(), http.MethodGet, "/v1/health", "", nil)
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, errStopping) {
		t.Errorf("new work: %v", err)
	}
	other := Start(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, Health{PID: 8})
	}), nil)
	defer other.Shutdown(context.Background())
	dials := 0
	h, err := NewClient(func(ctx context.Context) (net.Conn, error) {
		if dials++; dials > 2 {
			return other.Dial(ctx)
		}
		return s.Dial(ctx)
	}).Health(t.Context())
	if err != nil || h.PID != 8 {
		t.Errorf("the other server's answer: %+v, %v", h, err)
	}
	close(leave)
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Dial(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a connection was made: %v", err)
	}
	if h := <-answer; h.PID != 7 {
		t.Errorf("the answer was %+v", h)
	}
}
