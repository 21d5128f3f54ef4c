package engine_test

import (
	"errors"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
)

// TestOpenAgain: options of one more Open change a session that is open, and leave its state as it is.
func TestOpenAgain(t *testing.T) {
	d := newDurable(t, nil)
	s := d.session("s", &engine.SessionOptions{Snapshots: &engine.SnapshotPolicy{Every: -1}})
	exec(t, s, "x = 7; open('f', 'w').write('kept')")
	dir := t.TempDir()
	again := d.session("s", &engine.SessionOptions{
		Labels:  map[string]string{"new": "yes"},
		Sandbox: &engine.Sandbox{Threads: 9, Mounts: []engine.Mount{{Host: dir, Guest: "/data"}}},
	})
	if again != s {
		t.Error("it is another session")
	}
	if i := s.Info(); i.Labels["new"] != "yes" || i.Sandbox.Threads != 9 || len(i.Sandbox.Mounts) != 1 {
		t.Errorf("it has %+v", i)
	}
	want(t, s, "import os; x, open('f').read(), os.listdir('/data')", "(7, 'kept', [])")
	for _, o := range []*engine.SessionOptions{
		{New: true}, {Tenant: "somebody"}, {Sandbox: &engine.Sandbox{Memory: -1}}, {Sandbox: &engine.Sandbox{Memory: 1 << 40}},
		{Sandbox: &engine.Sandbox{Workspace: -1}}, {Sandbox: &engine.Sandbox{Files: -1}}, {Labels: map[string]string{"": ""}},
	} {
		if _, err := d.Open(t.Context(), "s", o); err == nil {
			t.Errorf("opened with %+v", o)
		}
	}
	want(t, s, "x", "7")
	if err := errors.Join(again.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	// As often as it was opened it was closed: it is not open any more.
	if i, err := d.Lookup(t.Context(), "s"); err != nil || i.Open || i.Labels["new"] != "yes" {
		t.Errorf("%+v, %v", i, err)
	}
}

func TestRequestMaxOutput(t *testing.T) {
	s := newSession(t, nil)
	r := execRequest(t, s, engine.Request{Code: "print('x' * 100)", MaxOutput: 10})
	if r.Stdout != "xxxxxxxxxx" || r.Truncated.Stdout != 91 {
		t.Error(describe(r))
	}
	if _, err := s.Exec(t.Context(), engine.Request{Code: "1", MaxOutput: -1}); !errors.Is(err, engine.ErrRequest) {
		t.Error(err)
	}
}
