package engine_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
	"github.com/mayfly-run/mayfly/internal/testcache"
)

// shared is the engine of tests that need nothing special; compiling a guest anew takes ten seconds.
var shared = sync.OnceValues(func() (*engine.Engine, error) { return engine.New(context.Background(), options()) })

// options are those of all test engines.
func options() *engine.Options {
	return &engine.Options{Guests: []engine.Guest{python.New()}, CacheDir: testcache.Dir(), MaxQueue: 10_000}
}

func TestMain(m *testing.M) {
	code := m.Run()
	if e, err := shared(); err == nil {
		if err := e.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "close:", err)
			code = 1
		}
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func testEngine(t testing.TB) *engine.Engine {
	t.Helper()
	e, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// slowUnderRace skips a test of minutes in which nothing happens at the same time: the race detector would find nothing.
func slowUnderRace(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("runs without the race detector")
	}
}

func newSession(t testing.TB, sb *engine.Sandbox) *engine.Session {
	t.Helper()
	s, err := testEngine(t).NewSession(t.Context(), sb)
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

// exec runs code in s, and fails the test when Mayfly fails.
func exec(t testing.TB, s *engine.Session, code string) *engine.Result {
	t.Helper()
	return execRequest(t, s, engine.Request{Code: code})
}

func execRequest(t testing.TB, s *engine.Session, r engine.Request) *engine.Result {
	t.Helper()
	if r.Timeout == 0 {
		r.Timeout = time.Minute
	}
	res, err := s.Exec(context.Background(), r)
	if err != nil {
		t.Fatalf("%.60q: %v", r.Code, err)
	}
	return res
}

// want runs code and checks the repr of its value.
func want(t testing.TB, s *engine.Session, code, repr string) {
	t.Helper()
	if r := exec(t, s, code); r.Status != engine.StatusOK || r.ResultRepr != repr {
		t.Fatalf("%.60q gave %s, %s %q, want %s", code, describe(r), r.Status, r.ResultRepr, repr)
	}
}

func describe(r *engine.Result) string {
	if r.Error == nil {
		return string(r.Status)
	}
	return fmt.Sprintf("%s (%s: %s: %.300s)", r.Status, r.Error.Kind, r.Error.Type, r.Error.Message)
}
