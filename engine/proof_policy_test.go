package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// snapshots lists the steps that have a snapshot.
func (d *durable) snapshots(name string) (steps []int) {
	d.t.Helper()
	for r, err := range d.journal(name).Records(d.t.Context(), 0) {
		if err != nil {
			d.t.Fatal(err)
		}
		if !r.State.Memory.IsZero() {
			steps = append(steps, r.Step)
		}
	}
	return steps
}

// TestSnapshotPolicy: which steps get a snapshot.
func TestSnapshotPolicy(t *testing.T) {
	d := newDurable(t, nil)
	for name, c := range map[string]struct {
		policy *engine.SnapshotPolicy
		want   string
	}{
		"default": {nil, "[1 2 3 4 5 6 7 8 9 10]"},
		"every-1": {&engine.SnapshotPolicy{Every: 1}, "[1 2 3 4 5 6 7 8 9 10]"},
		"every-4": {&engine.SnapshotPolicy{Every: 4}, "[4 8]"},
		"off":     {&engine.SnapshotPolicy{Every: -1}, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := d.session(name, &engine.SessionOptions{Snapshots: c.policy})
			for n := range 10 {
				exec(t, s, fmt.Sprintf("n = %d", n))
			}
			if got := fmt.Sprint(d.snapshots(name)); got != c.want {
				t.Errorf("snapshots at %s", got)
			}
			info, err := s.Snapshot(t.Context())
			if err != nil || info.Frame.IsZero() || info.Step != s.Info().Snapshot || info.Step != s.Info().Step {
				t.Fatalf("%+v, %v, %+v", info, err, s.Info())
			}
			again, err := s.Snapshot(t.Context())
			if err != nil || *again != *info {
				t.Errorf("a second one: %+v, %v", again, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			want(t, d.session(name, nil), "n", "9")
		})
	}
	t.Run("what cannot be repeated", func(t *testing.T) {
		s := d.session("threads", &engine.SessionOptions{Snapshots: &engine.SnapshotPolicy{Every: -1}})
		exec(t, s, "import threading, time\nx = []")
		exec(t, s, "t = threading.Thread(target=x.append, args=(1,)); t.start(); t.join()")
		r := execRequest(t, s, engine.Request{Code: "x.append(2)\nwhile True: x.append(3)", Timeout: 200 * time.Millisecond})
		if r.Status != engine.StatusTimeout {
			t.Fatal(describe(r))
		}
		length := exec(t, s, "len(x)").ResultRepr
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = d.session("threads", nil)
		want(t, s, "len(x)", length)
		if notes := s.Notes(); len(notes) > 0 {
			t.Error(notes)
		}
	})
}

// TestKeepPolicy: states that are too old are given up, and the store gets smaller.
func TestKeepPolicy(t *testing.T) {
	d := newDurable(t, nil)
	run := func(name string, keep int) *engine.Session {
		s := d.session(name, &engine.SessionOptions{Snapshots: &engine.SnapshotPolicy{Keep: keep}})
		for n := range 20 {
			exec(t, s, fmt.Sprintf("import os\nn = %d; data = os.urandom(400_000); open('f', 'wb').write(os.urandom(400_000))", n))
		}
		return s
	}
	size := func() int64 {
		if err := d.store.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		st, err := d.store.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return st.Logical
	}
	run("all", 0)
	all := size()
	s := run("few", 3)
	few := size() - all
	if few > all*3/4 { // deltas need what they are relative to
		t.Errorf("%d bytes with 3 states, %d with all", few, all)
	}
	t.Logf("%d bytes with 3 states of 20, %d with all", few, all)
	j := d.journal("few")
	for _, step := range []int{18, 19, 20} {
		if err := readFiles(t.Context(), j, step); err != nil {
			t.Errorf("step %d: %v", step, err)
		}
	}
	for _, step := range []int{1, 10, 17} {
		if err := readFiles(t.Context(), j, step); err != nil && !errors.Is(err, engine.ErrNoStep) {
			t.Errorf("files of step %d: %v", step, err)
		}
		// The journal is kept, so the step can be had by running it again.
		if _, err := j.Record(t.Context(), step); err != nil {
			t.Errorf("step %d: %v", step, err)
		}
		f, err := d.Fork(t.Context(), "few", step, "")
		if err != nil {
			t.Errorf("fork at %d: %v", step, err)
			continue
		}
		want(t, f, "n, len(data), os.path.getsize('f')", fmt.Sprintf("(%d, 400000, 400000)", step-1))
		if err := d.Remove(t.Context(), f.ID()); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Rewind(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	want(t, s, "n, len(data)", "(4, 400000)")
	d.restart()
	s = d.session("few", nil)
	want(t, s, "n, len(data), os.path.getsize('f')", "(4, 400000, 400000)")
	v, err := d.journal("few").Verify(t.Context(), &engine.VerifyOptions{ChainOnly: true})
	if err != nil || !v.OK {
		t.Errorf("%+v, %v", v, err)
	}
	for _, name := range []string{"few", "all"} {
		if err := d.Remove(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if left := size(); left != 0 {
		t.Errorf("%d bytes are left", left)
	}
	d.close()
	checkStore(t, d.dir)
}

// TestKeepWithUpload: what came from outside cannot be had by running anything again.
func TestKeepWithUpload(t *testing.T) {
	d := newDurable(t, nil)
	s := d.session("demo", &engine.SessionOptions{Snapshots: &engine.SnapshotPolicy{Keep: 2}})
	exec(t, s, "x = 1")
	upload := func(f *vfs.FS) error { return f.WriteFile("workspace/up", []byte("up"), 0o600) }
	if _, err := s.EditFiles(t.Context(), "upload", upload); err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		// So many files and so much memory are changed that later states do not build upon earlier ones.
		exec(t, s, fmt.Sprintf("import os\nx = open('up').read() * %d; open('up', 'a').write('-'); pad = os.urandom(8 << 20)\nfor i in range(1000): open('a' * 100 + str(i), 'w').write('%d')", n, n))
	}
	var e *engine.Error
	if _, err := s.Rewind(t.Context(), 3); !errors.Is(err, engine.ErrNoStep) || !errors.As(err, &e) || e.Hint == "" {
		t.Errorf("%v", err)
	} else {
		t.Log(err)
	}
	if f, err := d.Fork(t.Context(), "demo", 3, ""); !errors.Is(err, engine.ErrNoStep) {
		t.Errorf("%+v, %v", f, err)
	}
	want(t, s, "x", "'up----up----up----up----'")
}

// TestExpiry: sessions whose time is over are removed, unless code runs in them.
func TestExpiry(t *testing.T) {
	d := newDurable(t, func(o *engine.Options) { o.IdleTTL = time.Hour })
	short := &engine.SessionOptions{IdleTTL: time.Nanosecond}
	exec(t, d.session("idle", short), "1")
	exec(t, d.session("old", &engine.SessionOptions{MaxAge: time.Nanosecond}), "1")
	exec(t, d.session("young", nil), "1")
	exec(t, d.session("for-ever", &engine.SessionOptions{IdleTTL: -1, MaxAge: -1}), "1")
	busy := d.session("busy", short)
	exec(t, busy, "1")
	if i := d.session("young", nil).Info(); i.Expires.Sub(i.Active) != time.Hour {
		t.Errorf("%+v", i)
	}
	if i := d.session("for-ever", nil).Info(); !i.Expires.IsZero() {
		t.Errorf("%+v", i)
	}
	started, over := make(chan struct{}), make(chan *engine.Result)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		r, err := busy.Exec(ctx, engine.Request{Code: "print('up', flush=True)\nwhile True: pass", OnEvent: func(engine.Event) { close(started) }})
		if err != nil {
			t.Error(err)
		}
		over <- r
	}()
	<-started
	removed, err := d.Reap(t.Context())
	if err != nil || fmt.Sprint(removed) != "[idle old]" {
		t.Errorf("%v, %v", removed, err)
	}
	cancel()
	if r := <-over; r.Status != engine.StatusCancelled {
		t.Error(describe(r))
	}
	d.restart()
	if removed, err = d.Reap(t.Context()); err != nil || fmt.Sprint(removed) != "[busy]" {
		t.Errorf("%v, %v", removed, err)
	}
	if _, err := d.Open(t.Context(), "idle", &engine.SessionOptions{Existing: true}); !errors.Is(err, engine.ErrNoSession) {
		t.Error(err)
	}
	all, err := d.Sessions(t.Context(), nil)
	if err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestTenants: each has its own number of sessions, and sees nothing of others.
func TestTenants(t *testing.T) {
	d := newDurable(t, func(o *engine.Options) { o.MaxSessions = 2 })
	of := func(tenant string) *engine.SessionOptions { return &engine.SessionOptions{Tenant: tenant} }
	for _, tenant := range []string{"ann", "bob", ""} {
		for n := range 2 {
			exec(t, d.session(fmt.Sprintf("s%s%d", tenant, n), of(tenant)), "1")
		}
		if _, err := d.Open(t.Context(), "more", of(tenant)); !errors.Is(err, engine.ErrTooManySessions) {
			t.Errorf("%q: %v", tenant, err)
		}
	}
	if _, err := d.Fork(t.Context(), "sann0", engine.Latest, "more"); !errors.Is(err, engine.ErrTooManySessions) {
		t.Error("fork:", err)
	}
	b := exportSession(t, d.Engine, "s0")
	if info, err := d.Import(t.Context(), readerOf(b), "more"); !errors.Is(err, engine.ErrTooManySessions) {
		t.Errorf("import: %+v, %v", info, err)
	}
	for _, restarted := range []bool{false, true} {
		if restarted {
			d.restart()
		}
		if s, err := d.Open(t.Context(), "sann0", of("bob")); !errors.Is(err, engine.ErrNoSession) {
			t.Errorf("%+v, %v", s, err)
		}
		if s, err := d.Open(t.Context(), "sann0", of("ann")); err != nil {
			t.Error(err)
		} else if s.Info().Tenant != "ann" {
			t.Errorf("%+v", s.Info())
		}
	}
	list, err := d.Sessions(t.Context(), &engine.SessionFilter{Tenant: "ann"})
	if err != nil || len(list) != 2 || list[0].ID != "sann0" || list[1].ID != "sann1" {
		t.Errorf("%+v, %v", list, err)
	}
	if err := d.Remove(t.Context(), "sann0"); err != nil {
		t.Fatal(err)
	}
	if f, err := d.Fork(t.Context(), "sann1", engine.Latest, "more"); err != nil {
		t.Error(err)
	} else if f.Info().Tenant != "ann" {
		t.Errorf("%+v", f.Info())
	}
}

// TestLabels: sessions are found by their labels, which can be changed.
func TestLabels(t *testing.T) {
	d := newDurable(t, nil)
	d.session("a", &engine.SessionOptions{Labels: map[string]string{"team": "red", "kind": "test"}})
	d.session("b", &engine.SessionOptions{Labels: map[string]string{"team": "blue"}})
	d.session("c", nil)
	find := func(labels map[string]string) string {
		list, err := d.Sessions(t.Context(), &engine.SessionFilter{Labels: labels})
		if err != nil {
			t.Fatal(err)
		}
		names := ""
		for _, i := range list {
			names += i.ID
		}
		return names
	}
	check := func(labels map[string]string, want string) {
		t.Helper()
		if got := find(labels); got != want {
			t.Errorf("%v: %q, want %q", labels, got, want)
		}
	}
	check(nil, "abc")
	check(map[string]string{"team": "red"}, "a")
	check(map[string]string{"team": "red", "kind": "test"}, "a")
	check(map[string]string{"team": "red", "kind": "other"}, "")
	check(map[string]string{"team": ""}, "")
	d.restart()
	d.session("c", &engine.SessionOptions{Labels: map[string]string{"team": "red"}})
	d.session("a", nil)
	check(map[string]string{"team": "red"}, "ac")
	many := map[string]string{}
	for n := range 1000 {
		many[fmt.Sprint(n)] = "x"
	}
	if _, err := d.Open(t.Context(), "d", &engine.SessionOptions{Labels: many}); !errors.Is(err, engine.ErrRequest) {
		t.Error(err)
	}
	check(nil, "abc")
}
