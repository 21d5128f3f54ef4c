package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

func TestBadRequests(t *testing.T) {
	s := newSession(t, nil)
	for name, r := range map[string]engine.Request{
		"NUL in code":      {Code: "x\x00"},
		"code too large":   {Code: strings.Repeat("#", engine.DefaultCode+1)},
		"sandbox":          {Code: "1", Sandbox: &engine.Sandbox{}},
		"language":         {Code: "1", Language: "cobol"},
		"timeout":          {Code: "1", Timeout: -1},
		"environment name": {Code: "1", Env: map[string]string{"A=B": "c"}},
		"arguments":        {Code: "1", Args: []string{strings.Repeat("x", 3<<20), strings.Repeat("x", 3<<20)}},
		"environment NUL":  {Code: "1", Env: map[string]string{"A": "\x00"}},
	} {
		res, err := s.Exec(t.Context(), r)
		var e *engine.Error
		if !errors.Is(err, engine.ErrRequest) || !errors.As(err, &e) || e.Phase != engine.PhaseRequest {
			t.Errorf("%s: %v", name, err)
		}
		if res == nil || res.Status != engine.StatusNotStarted || res.Error == nil {
			t.Errorf("%s: %+v", name, res)
		}
	}
	want(t, s, "1 + 1", "2")
}

func TestContextDoneBefore(t *testing.T) {
	s := newSession(t, nil)
	exec(t, s, "x = 1")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := s.Exec(ctx, engine.Request{Code: "x = 2"})
	if !errors.Is(err, context.Canceled) || r.Status != engine.StatusNotStarted {
		t.Errorf("%s, %v", r.Status, err)
	}
	want(t, s, "x", "1")
}

// TestSlowHostCalls: the time limit holds for a program that computes next to nothing, but keeps the host busy.
func TestSlowHostCalls(t *testing.T) {
	s := newSession(t, nil)
	start := time.Now()
	r := execRequest(t, s, engine.Request{Timeout: 300 * time.Millisecond, Code: `
import os
f = os.open("/dev/urandom", os.O_RDONLY)
for _ in range(2000):
    os.read(f, 16 << 20)`})
	if d := time.Since(start); r.Status != engine.StatusTimeout || r.Error.Line == 0 || d > 5*time.Second {
		t.Errorf("%s after %v", describe(r), d)
	}
}

func TestEmptyEnvironment(t *testing.T) {
	s := newSession(t, nil)
	exec(t, s, "import os; os.environ['LEFT'] = '1'")
	want(t, s, "dict(os.environ)", "{'HOME': '/workspace', 'LEFT': '1'}")
	if r := execRequest(t, s, engine.Request{Code: "dict(os.environ)", Env: map[string]string{}}); r.ResultRepr != "{'HOME': '/workspace'}" {
		t.Error(r.ResultRepr)
	}
}

func TestNegativeOptions(t *testing.T) {
	for _, set := range []func(o *engine.Options){
		func(o *engine.Options) { o.MaxResult = -64 },
		func(o *engine.Options) { o.MaxOutput = -1 },
		func(o *engine.Options) { o.MaxCode = -1 },
		func(o *engine.Options) { o.MaxInFlight = -1 },
	} {
		o := options()
		set(o)
		if e, err := engine.New(context.Background(), o); !errors.Is(err, engine.ErrRequest) {
			t.Errorf("%v, %v", e, err)
		}
	}
}

// TestIncomplete asks about code that the parser cannot cope with, too.
func TestIncomplete(t *testing.T) {
	s := newSession(t, nil)
	for code, want := range map[string]bool{
		"1": false, "if 1:": true, "(": true, ")": false,
		strings.Repeat("-", 20_000) + "1": false, "a" + strings.Repeat(".a", 20_000): false,
	} {
		if more, err := s.Incomplete(context.Background(), code); more != want || err != nil {
			t.Errorf("%.20q: %v, %v", code, more, err)
		}
	}
}

func TestMounts(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret")
	for name, data := range map[string]string{filepath.Join(dir, "in.txt"): "data", outside: "secret"} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	s := newSession(t, &engine.Sandbox{Mounts: []engine.Mount{
		{Host: dir, Guest: "/ro"}, {Host: dir, Guest: "/rw", Writable: true},
	}})
	want(t, s, "open('/ro/in.txt').read()", "'data'")
	want(t, s, "import os; sorted(os.listdir('/'))", "['dev', 'ro', 'rw', 'tmp', 'workspace']")
	for _, code := range []string{
		"open('/ro/new', 'w')", "os.remove('/ro/in.txt')", "open('/ro/link').read()", "open('/ro/../../etc/passwd')",
		"os.symlink('/etc', '/rw/etc'); open('/rw/etc/passwd').read()", "open('/proc/self/environ')",
	} {
		if r := exec(t, s, code); r.Status != engine.StatusError || !strings.HasSuffix(r.Error.Type, "Error") {
			t.Errorf("%s: %s %s", code, describe(r), r.ResultRepr)
		}
	}
	exec(t, s, "open('/rw/out.txt', 'w').write('made')")
	if b, err := os.ReadFile(filepath.Join(dir, "out.txt")); string(b) != "made" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestBadSandboxes(t *testing.T) {
	for name, sb := range map[string]engine.Sandbox{
		"no directory":  {Mounts: []engine.Mount{{Host: filepath.Join(t.TempDir(), "none"), Guest: "/x"}}},
		"relative":      {Mounts: []engine.Mount{{Host: t.TempDir(), Guest: "x"}}},
		"little memory": {Memory: 1 << 20},
		"much memory":   {Memory: 1 << 40},
	} {
		res, err := testEngine(t).Run(t.Context(), engine.Request{Code: "1", Sandbox: &sb})
		if !errors.Is(err, engine.ErrRequest) || res.Status != engine.StatusNotStarted {
			t.Errorf("%s: %v, %v", name, err, res)
		}
	}
}

func TestClosed(t *testing.T) {
	e, err := engine.New(t.Context(), options())
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.NewSession(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	done := make(chan *engine.Result)
	go func() {
		r, err := s.Exec(context.Background(), engine.Request{
			Code: "print('started')\nwhile True: pass", OnEvent: func(engine.Event) { close(started) },
		})
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	<-started
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if r := <-done; r.Status != engine.StatusCancelled {
		t.Error(describe(r))
	}
	if _, err := s.Exec(t.Context(), engine.Request{Code: "1"}); !errors.Is(err, engine.ErrClosed) {
		t.Error(err)
	}
	if _, err := e.NewSession(t.Context(), nil); !errors.Is(err, engine.ErrClosed) {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error("second Close:", err)
	}
}

func TestQueueBound(t *testing.T) {
	o := options()
	o.MaxInFlight, o.MaxQueue = 1, -1
	e, err := engine.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, cancel := context.WithCancel(t.Context())
	started, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		e.Run(ctx, engine.Request{Code: "print(1)\nwhile True: pass", OnEvent: func(engine.Event) { close(started) }})
	}()
	<-started
	r, err := e.Run(t.Context(), engine.Request{Code: "1"})
	var ee *engine.Error
	if !errors.Is(err, engine.ErrBusy) || !errors.As(err, &ee) || ee.Hint == "" || r.Status != engine.StatusNotStarted {
		t.Errorf("%v, %+v", err, r)
	}
	cancel()
	<-done
}

// TestEventPanic: a panic of the caller's own function comes out of Exec, and the session goes on.
func TestEventPanic(t *testing.T) {
	s := newSession(t, nil)
	exec(t, s, "x = 1")
	func() {
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("recovered %v", p)
			}
		}()
		s.Exec(t.Context(), engine.Request{Code: "print(1); print(2); x = 2", OnEvent: func(engine.Event) { panic("boom") }})
	}()
	want(t, s, "x", "2")
}
