package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
)

// repeated reads a text again and again.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(b []byte) (int, error) {
	n := copy(b, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

// TestHostileServer: a server that does not keep to what is agreed gets an error, and does not hang or exhaust its client.
func TestHostileServer(t *testing.T) {
	for name, body := range map[string]io.Reader{
		"nothing":          strings.NewReader(""),
		"started again":    strings.NewReader(strings.Repeat(`{"event":"started","execution":"x"}`+"\n", 1000)),
		"no result":        strings.NewReader(`{"event":"result","result":[]}`),
		"numbers":          strings.NewReader(`{"event":1}`),
		"an error of none": strings.NewReader(`{"event":"error"}`),
		"half an error":    strings.NewReader(`{"event":"error","error":{"code":"no_such_code"}}`),
		"half a line":      strings.NewReader(`{"event":"result","result":{"status":"ok"`),
	} {
		c := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.Copy(w, body) }))
		r, err := c.Exec(t.Context(), "s", &Exec{Request: engine.Request{OnEvent: func(engine.Event) {}}})
		if err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestEndlessEvent: one event is no larger than an answer may be, while their number does not matter.
func TestEndlessEvent(t *testing.T) {
	large := io.MultiReader(strings.NewReader(`{"event":"stdout","data":"`), &repeated{text: strings.Repeat("x", 1<<20)})
	if e, err := readEvents(large, func(*Event) {}); !errors.Is(err, errNoEnd) {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestStdinOnce: the input is sent once, however often the server asks for it.
func TestStdinOnce(t *testing.T) {
	taken := make(chan string, 10)
	c := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			b, _ := io.ReadAll(r.Body)
			taken <- string(b)
			return
		}
		for range 5 {
			fmt.Fprintln(w, `{"event":"stdin","execution":"x"}`)
		}
		http.NewResponseController(w).Flush()
		if got := <-taken; got != "input" {
			t.Errorf("the input is %q", got)
		}
		fmt.Fprintln(w, `{"event":"result","result":{}}`)
	}))
	if _, err := c.Exec(t.Context(), "s", &Exec{Request: engine.Request{Stdin: strings.NewReader("input")}}); err != nil {
		t.Error(err)
	}
	if len(taken) > 0 {
		t.Errorf("then it is %q", <-taken)
	}
}

// TestHostileAnswers: whatever the other routes answer, it is an error or a value, and no panic.
func TestHostileAnswers(t *testing.T) {
	for _, body := range []string{
		"", "null", "[]", "{", `{"steps":[null]}`, `{"next":1}`, `{"code":"x"}`, "\xff", `{"step":"x"}`,
	} {
		for _, status := range []int{200, 204, 302, 400, 500} {
			c := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				io.WriteString(w, body)
			}))
			ctx := t.Context()
			c.Sessions(ctx, nil)
			c.Session(ctx, "s")
			c.Rewind(ctx, "s", 0)
			c.Verify(ctx, "s", nil)
			if f, err := c.Content(ctx, "s", "x", 0); err == nil {
				if b, err := io.ReadAll(f); err == nil {
					t.Errorf("a file of %q without its end", b)
				}
				f.Close()
			}
			for s, err := range c.Steps(ctx, "s", 0) {
				if err == nil && s == nil {
					t.Errorf("%q has a step that is none", body)
				}
			}
			if status >= 300 {
				if _, err := c.Health(ctx); err == nil {
					t.Errorf("%d %q is no error", status, body)
				}
			}
		}
	}
}

// TestPlantedSocket: what is at the socket's place is replaced, and where it leads is left alone.
func TestPlantedSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "m") // the one of the test may be too long
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("untouched"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, SocketName)); err != nil {
		t.Skip(err)
	}
	l, err := ListenUnix(dir)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if b, err := os.ReadFile(victim); err != nil || string(b) != "untouched" {
		t.Errorf("the file is %q, %v", b, err)
	}
	if err := os.MkdirAll(filepath.Join(dir, SocketName, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if l, err := ListenUnix(dir); err == nil {
		l.Close()
		t.Error("a directory was replaced")
	}
}

// TestOwnSocket: both ends are of this user, so they talk.
func TestOwnSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "m")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := ListenUnix(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := Start(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, Health{PID: 9})
	}), nil, l)
	defer s.Shutdown(context.Background())
	if h, err := NewClient(DialUnix(l.Addr().String())).Health(t.Context()); err != nil || h.PID != 9 {
		t.Errorf("%+v, %v", h, err)
	}
}
