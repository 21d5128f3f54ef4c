package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// TestLimitsAreRecorded: a step that met a limit meets it again when it is run again, whatever the limits are by then.
func TestLimitsAreRecorded(t *testing.T) {
	for _, every := range []int{1, -1} {
		d := newDurable(t, nil)
		sb := engine.Sandbox{Workspace: 1 << 20, Memory: 80 << 20}
		s := d.session("demo", &engine.SessionOptions{Sandbox: &sb, Snapshots: &engine.SnapshotPolicy{Every: every}})
		if r := exec(t, s, "done = False\nopen('big', 'wb').write(bytes(2 << 20))"); r.Error == nil || r.Error.Type != "OSError" {
			t.Fatal(describe(r))
		}
		if r := exec(t, s, "b = bytearray(60 << 20)"); r.Status != engine.StatusMemoryLimit {
			t.Fatal(describe(r))
		}
		sb = engine.Sandbox{Workspace: 8 << 20, Memory: 200 << 20}
		again := d.session("demo", &engine.SessionOptions{Sandbox: &sb})
		exec(t, again, "open('big', 'wb').write(bytes(2 << 20)); b = bytearray(60 << 20); done = True")
		if v := d.verify("demo"); !v.OK || v.Executed != 3 || len(v.Skipped) != 0 {
			t.Errorf("every %d: %+v, %v", every, v, v.Divergence)
		}
		d.restart()
		want(t, d.session("demo", nil), "done, len(b), len(open('big', 'rb').read())", "(True, 62914560, 2097152)")
		d.close()
	}
}

// TestLimitsBelowUse: limits that a session does not fit into are refused, and the session stays as it is.
func TestLimitsBelowUse(t *testing.T) {
	for _, open := range []bool{false, true} {
		d := newDurable(t, nil)
		s := d.session("demo", nil)
		exec(t, s, "b = bytearray(60 << 20); open('big', 'wb').write(bytes(2 << 20))")
		if !open {
			d.restart()
		}
		for what, sb := range map[string]*engine.Sandbox{
			"memory": {Memory: 60 << 20}, "bytes": {Workspace: 1 << 20}, "files": {Files: 2},
		} {
			_, err := d.Open(t.Context(), "demo", &engine.SessionOptions{Sandbox: sb})
			if !errors.Is(err, engine.ErrRequest) || !strings.Contains(err.Error(), "the session's") {
				t.Errorf("open %v, %s: %v", open, what, err)
			}
		}
		want(t, d.session("demo", nil), "len(b), len(open('big', 'rb').read())", "(62914560, 2097152)")
		d.close()
	}
}

// TestLargeValuesOfDurableSessions: a value too large to be told comes from the journal, after a restart too.
func TestLargeValuesOfDurableSessions(t *testing.T) {
	d := newDurable(t, nil)
	s := d.session("demo", nil)
	r := exec(t, s, "'x' * 500_000")
	if r.ResultRef != "value:1" {
		t.Fatal(r.ResultRef)
	}
	exec(t, s, "1")
	d.restart()
	v, err := d.session("demo", nil).Value(r.ResultRef)
	if err != nil || string(v) != `"`+strings.Repeat("x", 500_000)+`"` {
		t.Errorf("%d bytes, %v", len(v), err)
	}
	if _, err := d.session("demo", nil).Value("value:2"); !errors.Is(err, engine.ErrRequest) {
		t.Error(err)
	}
}

// TestLimitsAcrossUpload: a change of files between two steps does not change what limits they are run again with.
func TestLimitsAcrossUpload(t *testing.T) {
	d := newDurable(t, nil)
	open := func(memory int64) *engine.Session {
		return d.session("demo", &engine.SessionOptions{
			Sandbox: &engine.Sandbox{Memory: memory}, Snapshots: &engine.SnapshotPolicy{Every: -1},
		})
	}
	s := open(80 << 20)
	exec(t, s, "x = 1")
	if _, err := s.EditFiles(t.Context(), "upload", func(f *vfs.FS) error { return f.WriteFile("workspace/in", []byte("data"), 0o644) }); err != nil {
		t.Fatal(err)
	}
	exec(t, open(300<<20), "b = bytearray(150 << 20); y = open('in').read()")
	if v := d.verify("demo"); !v.OK || v.Executed != 2 {
		t.Errorf("%+v, %v", v, v.Divergence)
	}
	d.restart()
	want(t, d.session("demo", nil), "x, len(b), y", "(1, 157286400, 'data')")
}
