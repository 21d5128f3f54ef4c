// Package mcptest has tool servers for tests: well-behaved ones, and hostile ones.
//
// A test binary that calls Main in its TestMain is a server itself when it is started with the environment that Command
// returns.
package mcptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Variable names the mode in which a test binary is a server.
const Variable = "MAYFLY_MCPTEST"

// Main runs a server, and does not return, if this process was started to be one.
func Main() {
	mode := os.Getenv(Variable)
	if mode == "" {
		return
	}
	if mode == Serve {
		err := New(nil).Run(context.Background(), &mcp.StdioTransport{})
		if err != nil && !errors.Is(err, io.EOF) {
			fmt.Fprintln(os.Stderr, "mcptest:", err)
		}
		os.Exit(0)
	}
	run, ok := modes[mode]
	if !ok {
		fmt.Fprintf(os.Stderr, "mcptest: there is no mode %q\n", mode)
		os.Exit(2)
	}
	run(&script{in: os.Stdin, out: os.Stdout})
	os.Exit(0)
}

// Serve is the mode of the server that New makes. Modes returns the hostile ones.
const Serve = "serve"

// Modes returns the names of the hostile modes, sorted.
func Modes() []string {
	var names []string
	for name := range modes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Command returns how to start this test binary as a server.
func Command(t testing.TB, mode string) (path string, env map[string]string) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The race detector and the coverage of a child are of no use, but must not disturb.
	return path, map[string]string{Variable: mode, "GORACE": "atexit_sleep_ms=0"}
}

// HTTP serves s over streamable HTTP until the test ends, and returns its URL.
func HTTP(t testing.TB, s *mcp.Server, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	CloseSessions(t, s)
	return serve(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil), wrap)
}

// SSE serves s over the older transport with server-sent events.
func SSE(t testing.TB, s *mcp.Server, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	CloseSessions(t, s)
	return serve(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil), wrap)
}

// CloseSessions has the sessions of a server that clients left open closed when the test ends.
func CloseSessions(t testing.TB, s *mcp.Server) {
	t.Cleanup(func() {
		for ss := range s.Sessions() {
			_ = ss.Close()
		}
	})
}

func serve(t testing.TB, h http.Handler, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	if wrap != nil {
		h = wrap(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}
