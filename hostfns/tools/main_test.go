package tools

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/internal/mcptest"
)

func TestMain(m *testing.M) {
	if os.Getenv(hostVariable) != "" {
		beHost() // before Main: the variables of servers are not for it
		return
	}
	mcptest.Main()
	goleak.VerifyTestMain(m)
}

// stdio is a server that this test binary is.
func stdio(t testing.TB, mode string) Server {
	t.Helper()
	path, env := mcptest.Command(t, mode)
	return Server{Command: path, Env: env}
}

// open makes servers, which are closed at the end of the test.
func open(t testing.TB, o *Options, servers map[string]Server) *Servers {
	t.Helper()
	if o == nil {
		o = &Options{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	s, err := New(&Config{Servers: servers, Dir: t.TempDir()}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// one makes one server, x.
func one(t testing.TB, o *Options, conf Server) *Servers {
	t.Helper()
	return open(t, o, map[string]Server{"x": conf})
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("log: %s", cut(string(p), 600))
	return len(p), nil
}

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// call calls a tool of the server x.
func call(t testing.TB, s *Servers, tool, args string) (*hostfns.ToolResult, error) {
	t.Helper()
	return s.Call(within(t), &hostfns.ToolCall{Server: "x", Tool: tool, Args: []byte(args)})
}

// mustText calls a tool that returns a text.
func mustText(t testing.TB, s *Servers, tool, args string) string {
	t.Helper()
	r, err := call(t, s, tool, args)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if r.IsError || len(r.Content) != 1 || r.Content[0].Type != hostfns.BlockText {
		t.Fatalf("%s: %+v", tool, r)
	}
	return r.Content[0].Text
}

func asError(t testing.TB, err error) *hostfns.Error {
	t.Helper()
	e := (*hostfns.Error)(nil)
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *hostfns.Error", err)
	}
	return e
}

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
