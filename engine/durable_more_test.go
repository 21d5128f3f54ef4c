package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// hooked is a store whose operations a test can watch and make fail.
type hooked struct {
	engine.Store
	full   atomic.Bool            // commits fail
	listed atomic.Pointer[func()] // called once after Heads

	mu  sync.Mutex
	ops []string
}

func (h *hooked) note(op string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op)
}

func (h *hooked) Commit(ctx context.Context, c *engine.Commit) error {
	h.note("commit " + c.Session)
	if h.full.Load() {
		return engine.ErrStoreFull
	}
	return h.Store.Commit(ctx, c)
}

func (h *hooked) Remove(ctx context.Context, session string) error {
	h.note("remove " + session)
	return h.Store.Remove(ctx, session)
}

func (h *hooked) Heads(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for b, err := range h.Store.Heads(ctx) {
			if !yield(b, err) {
				return
			}
		}
		if f := h.listed.Swap(nil); f != nil {
			(*f)()
		}
	}
}

// newHooked returns an engine on a hooked store.
func newHooked(t *testing.T) (*engine.Engine, *hooked) {
	t.Helper()
	d := newDurable(t, nil)
	h := &hooked{Store: d.store}
	o := *d.o
	o.Store = h
	e, err := engine.New(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e, h
}

func openIn(t *testing.T, e *engine.Engine, name string, o *engine.SessionOptions) *engine.Session {
	t.Helper()
	s, err := e.Open(t.Context(), name, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCancelledStepIsStored: what was cancelled is a step like others, whatever has to be looked up to store it.
func TestCancelledStepIsStored(t *testing.T) {
	for keep := range 4 {
		d := newDurable(t, nil)
		s := d.session("s", &engine.SessionOptions{Snapshots: &engine.SnapshotPolicy{Keep: keep}})
		for i := range 4 {
			exec(t, s, fmt.Sprintf("x = %d", i))
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := s.Exec(ctx, engine.Request{
			Code:    "import time\nprint('began', flush=True)\ntry: time.sleep(60)\nexcept BaseException: x = 'cancelled'",
			OnEvent: func(engine.Event) { cancel() },
		})
		if err != nil || r.Step != 5 {
			t.Errorf("keep %d: %v, %s", keep, err, describe(r))
		}
		want(t, s, "x", "'cancelled'")
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPanicsOfTheCaller: a callback that panics leaves the session where the journal is.
func TestPanicsOfTheCaller(t *testing.T) {
	var boom atomic.Bool
	d := newDurable(t, func(o *engine.Options) {
		o.Audit = func(_ string, op vfs.Operation) {
			if op.Op == "commit" && boom.Swap(false) {
				panic("audit")
			}
		}
	})
	s := d.session("s", nil)
	exec(t, s, "x = 1")
	caught := func(f func()) (p any) {
		defer func() { p = recover() }()
		f()
		return nil
	}
	boom.Store(true)
	for name, f := range map[string]func(){
		"edit": func() {
			_, _ = s.EditFiles(t.Context(), "", func(fs *vfs.FS) error {
				if err := fs.WriteFile("/workspace/f", []byte("x"), 0o644); err != nil {
					t.Error(err)
				}
				panic("edit")
			})
		},
		"event": func() {
			_, _ = s.Exec(t.Context(), engine.Request{
				Code: "x = 2; open('f', 'w').close(); print(x)", OnEvent: func(engine.Event) { panic("event") },
			})
		},
		"audit": func() {
			boom.Store(true)
			_, _ = s.Exec(t.Context(), engine.Request{Code: "x = 3; open('f', 'w').close()"})
		},
	} {
		boom.Store(false)
		if p := caught(f); p != name {
			t.Errorf("%s: %v", name, p)
		}
		want(t, s, "import os; x, os.listdir()", "(1, [])")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if v, err := d.journal("s").Verify(t.Context(), nil); err != nil || !v.OK || v.Last != 4 {
		t.Errorf("%v, %+v", err, v)
	}
}

// TestFailedRewind leaves the session as it is, its clock included.
func TestFailedRewind(t *testing.T) {
	e, h := newHooked(t)
	s := openIn(t, e, "s", nil)
	exec(t, s, "import time; x = 1")
	exec(t, s, "x = 2; time.sleep(.2); at = time.monotonic()")
	h.full.Store(true)
	if _, err := s.Rewind(t.Context(), 1); !errors.Is(err, engine.ErrStoreFull) {
		t.Errorf("%v", err)
	}
	h.full.Store(false)
	want(t, s, "x, time.monotonic() >= at", "(2, True)")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestVerifyKept: what was given up by the policy cannot be verified, and is no error.
func TestVerifyKept(t *testing.T) {
	d := newDurable(t, nil)
	s := d.session("s", &engine.SessionOptions{Snapshots: &engine.SnapshotPolicy{Keep: 1}})
	exec(t, s, "x = 1")
	_, err := s.EditFiles(t.Context(), "", func(fs *vfs.FS) error { return fs.WriteFile("/workspace/in", []byte("hi"), 0o644) })
	if err != nil {
		t.Fatal(err)
	}
	exec(t, s, "y = open('in').read()")
	if _, err := s.Rewind(t.Context(), 1); err != nil { // so that nothing is relative to the upload
		t.Fatal(err)
	}
	exec(t, s, "z = 5")
	exec(t, s, "z = 6")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := d.store.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	v, err := d.journal("s").Verify(t.Context(), nil)
	if err != nil || !v.OK {
		t.Fatalf("%v, %+v", err, v)
	}
	// Step 1 can be run from the first one. The upload is gone, and so is what came of it.
	if v.Executed != 1 || len(v.Skipped) != 4 || v.Skipped[0].Step != 2 || v.Skipped[3].Step != 5 {
		t.Errorf("%+v", v)
	}
}

// TestReapLooksAgain: a session that was used since it was listed as expired stays.
func TestReapLooksAgain(t *testing.T) {
	e, h := newHooked(t)
	openIn(t, e, "old", &engine.SessionOptions{IdleTTL: 1}).Close()
	openIn(t, e, "used", &engine.SessionOptions{IdleTTL: 1}).Close()
	use := func() { openIn(t, e, "used", &engine.SessionOptions{IdleTTL: time.Hour}).Close() }
	h.listed.Store(&use)
	names, err := e.Reap(t.Context())
	if err != nil || !slices.Equal(names, []string{"old"}) {
		t.Errorf("%v, %v", names, err)
	}
	if _, err := e.Lookup(t.Context(), "used"); err != nil {
		t.Error(err)
	}
}

// TestRemoveWhileClosing: a session that somebody closes has ended when it is removed; a last step of it cannot come after.
func TestRemoveWhileClosing(t *testing.T) {
	e, h := newHooked(t)
	s := openIn(t, e, "s", nil)
	stopping := make(chan struct{})
	var once sync.Once
	var all sync.WaitGroup
	all.Go(func() {
		r, err := s.Exec(context.Background(), engine.Request{
			Code: "import time\nprint('began', flush=True)\nwhile True:\n try: time.sleep(60)\n except BaseException: print('stopping', flush=True)",
			OnEvent: func(v engine.Event) {
				if strings.Contains(string(v.Data), "stopping") {
					once.Do(func() { close(stopping) })
				} else {
					all.Go(func() { _ = s.Close() })
				}
			},
		})
		if err != nil {
			t.Errorf("%v, %s", err, describe(r))
		}
	})
	<-stopping
	if err := e.Remove(t.Context(), "s"); err != nil {
		t.Error(err)
	}
	all.Wait()
	if n := len(h.ops); h.ops[n-1] != "remove s" || h.ops[n-2] != "commit s" {
		t.Errorf("%v", h.ops)
	}
}

// TestOriginTellsNothing: a fork that names the session of somebody else learns the same as from one that does not exist.
func TestOriginTellsNothing(t *testing.T) {
	d := newDurable(t, nil)
	if err := errors.Join(d.session("mine", nil).Close(), d.session("secret", &engine.SessionOptions{Tenant: "t"}).Close()); err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, claimed := range []engine.StepRef{{Session: "secret"}, {Session: "secret", Step: 9}, {Session: "nothing"}, {Session: "nothing", Step: 9}} {
		err := engine.Origin(t.Context(), d.Engine, "mine", claimed)
		var e *engine.Error
		if !errors.Is(err, engine.ErrNoStep) || !errors.As(err, &e) {
			t.Fatalf("%v", err)
		}
		told[strings.NewReplacer("secret", "X", "nothing", "X", "step 9", "step N", "step 0", "step N").Replace(err.Error()+e.Hint)] = true
	}
	if len(told) != 1 {
		t.Errorf("%v", told)
	}
}

// TestDecodeBounded: what is small in an archive does not become much larger when it is decoded.
func TestDecodeBounded(t *testing.T) {
	list := func(n int) []byte {
		return []byte(`{"result":[{},"a,b"],"stdout":"x","files_changed":null,"host_calls":[{}` + strings.Repeat(`,{}`, n-1) + `]}`)
	}
	for _, n := range []int{1, engine.MaxListed, engine.MaxListed + 1} {
		got, err := engine.DecodeHostCalls(list(n))
		if n > engine.MaxListed == (err == nil) || err == nil && got != n {
			t.Errorf("%d calls: %d, %v", n, got, err)
		}
	}
	for _, bad := range []string{`{"host_calls":{}}`, `{"host_calls":[{}`, `{"files_changed":[1]}`, `[]`} {
		if _, err := engine.DecodeHostCalls([]byte(bad)); err == nil {
			t.Errorf("%s was decoded", bad)
		}
	}
	for text, n := range map[string]int{`""`: 1, `[1,2,{"a":"[,\",["}]`: 5, `["\\",1]`: 3} {
		if got := engine.CountValues([]byte(text)); got != n {
			t.Errorf("%s has %d values, counted %d", text, n, got)
		}
	}
}

// TestImportsDiffer: sessions of one archive have random numbers of their own.
func TestImportsDiffer(t *testing.T) {
	d := newDurable(t, nil)
	s := d.session("s", nil)
	exec(t, s, "import random; random.random()")
	exec(t, s, "x = 2")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := d.Export(t.Context(), "s", &archive, nil); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, name := range []string{"s", "a", "b", "rewound"} {
		if name != "s" {
			if _, err := d.Import(t.Context(), bytes.NewReader(archive.Bytes()), name); err != nil {
				t.Fatal(err)
			}
		}
		s := d.session(name, nil)
		if name == "rewound" {
			if _, err := s.Rewind(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		r := exec(t, s, "random.random()")
		if other, ok := seen[r.ResultRepr]; ok || r.Status != engine.StatusOK {
			t.Errorf("%s has the %s of %s", name, r.ResultRepr, other)
		}
		seen[r.ResultRepr] = name
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if v, err := d.journal(name).Verify(t.Context(), nil); err != nil || !v.OK || v.Identical == 0 || len(v.Differing) > 0 {
			t.Errorf("%s: %v, %+v", name, err, v)
		}
	}
}

// TestForkOfImport: what a fork of an imported session does itself counts as its own, with its own limits when it is run again.
func TestForkOfImport(t *testing.T) {
	d := newDurable(t, nil)
	s := d.session("demo", nil)
	for range 4 {
		exec(t, s, "x = 1")
	}
	var archive bytes.Buffer
	if err := d.Export(t.Context(), "demo", &archive, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Import(t.Context(), &archive, "copy"); err != nil {
		t.Fatal(err)
	}
	f, err := d.Fork(t.Context(), "copy", 2, "fork")
	if err != nil {
		t.Fatal(err)
	}
	exec(t, f, "x = 2")
	for session, want := range map[string]int{"demo": 0, "copy": 4, "fork": 2} {
		if got, err := engine.Imported(t.Context(), d.Engine, session); err != nil || got != want {
			t.Errorf("%s: %d instead of %d, %v", session, got, want, err)
		}
	}
}
