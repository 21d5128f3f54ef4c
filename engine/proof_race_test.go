package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/engine/store"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// TestDurableHammer uses one session from many sides at once. Every step that was acknowledged is in the journal, and what
// the session says of itself at the end is what the journal says.
func TestDurableHammer(t *testing.T) {
	d := newDurable(t, nil)
	s := d.session("demo", nil)
	exec(t, s, "n = 0\ndef step():\n    global n\n    n += 1\n    with open('log', 'a') as f: f.write('x')\n    return n")
	rounds := 30
	if testing.Short() {
		rounds = 8
	}
	var mu sync.Mutex
	acknowledged := map[int]string{} // by step
	note := func(step int, what string) {
		mu.Lock()
		defer mu.Unlock()
		if was, ok := acknowledged[step]; ok {
			t.Errorf("step %d was %s and %s", step, was, what)
		}
		acknowledged[step] = what
	}
	var forks atomic.Int64
	ctx := t.Context()
	check := func(what string, err error) bool {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return err == nil
	}
	actions := map[string]func(r *rand.Rand){
		"exec": func(*rand.Rand) {
			res, err := s.Exec(ctx, engine.Request{Code: "step()"})
			if check("exec", err) {
				note(res.Step, res.ResultRepr)
			}
		},
		"error": func(*rand.Rand) {
			res, err := s.Exec(ctx, engine.Request{Code: "open('log', 'a').write('y'); 1 / 0"})
			if check("error", err) {
				note(res.Step, "")
			}
		},
		"cancelled": func(*rand.Rand) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			res, err := s.Exec(ctx, engine.Request{Code: "print('up', flush=True)\nwhile True: pass", OnEvent: func(engine.Event) { cancel() }})
			if check("cancelled", err) {
				note(res.Step, "")
			}
		},
		"rewind": func(r *rand.Rand) {
			rec, err := s.Rewind(ctx, 1+r.IntN(s.Info().Step))
			if check("rewind", err) {
				note(rec.Step, "rewind")
			}
		},
		"edit": func(*rand.Rand) {
			rec, err := s.EditFiles(ctx, "", func(f *vfs.FS) error { return f.WriteFile("workspace/up", []byte("up"), 0o600) })
			if check("edit", err) {
				note(rec.Step, "files")
			}
		},
		"snapshot": func(*rand.Rand) {
			_, err := s.Snapshot(ctx)
			check("snapshot", err)
		},
		"fork": func(r *rand.Rand) {
			f, err := d.Fork(ctx, "demo", 1+r.IntN(s.Info().Step), fmt.Sprintf("fork%d", forks.Add(1)))
			if !check("fork", err) {
				return
			}
			_, err = f.Exec(ctx, engine.Request{Code: "step()"})
			check("exec in a fork", err)
			check("close", f.Close())
			check("remove", d.Remove(ctx, f.ID()))
		},
		"variables": func(*rand.Rand) {
			vars, err := s.Variables(ctx)
			if check("variables", err) && len(vars) < 2 {
				t.Error(vars)
			}
		},
		"journal": func(r *rand.Rand) {
			j, err := d.Journal(ctx, "demo")
			if !check("journal", err) {
				return
			}
			last, n := j.Info().Step, 0
			for _, err := range j.Records(ctx, 0) {
				check("records", err)
				n++
			}
			if n != last+1 {
				t.Errorf("%d records up to step %d", n, last)
			}
			step := 1 + r.IntN(last)
			check("files", readFiles(ctx, j, step))
			_, err = j.Variables(ctx, step)
			check("variables of a step", err)
			_, err = j.Diff(ctx, step, last)
			check("diff", err)
		},
		"verify": func(*rand.Rand) {
			j, err := d.Journal(ctx, "demo")
			if !check("journal", err) {
				return
			}
			v, err := j.Verify(ctx, &engine.VerifyOptions{ChainOnly: true})
			if check("verify", err) && !v.OK {
				t.Errorf("%+v", v)
			}
		},
		"open and close": func(*rand.Rand) {
			again, err := d.Open(ctx, "demo", &engine.SessionOptions{Existing: true})
			if !check("open", err) {
				return
			}
			res, err := again.Exec(ctx, engine.Request{Code: "step()"})
			if check("exec", err) {
				note(res.Step, res.ResultRepr)
			}
			check("close", again.Close())
		},
		"list": func(*rand.Rand) {
			_, err := d.Sessions(ctx, nil)
			check("sessions", err)
			_, err = d.Lookup(ctx, "demo")
			check("lookup", err)
			_, err = d.Reap(ctx)
			check("reap", err)
			s.Notes()
		},
		"export": func(*rand.Rand) { check("export", d.Export(ctx, "demo", io.Discard, nil)) },
	}
	var wg sync.WaitGroup
	names := []string{
		"exec", "exec", "exec", "exec", "error", "cancelled", "rewind", "rewind", "edit", "snapshot", "fork", "fork", "fork",
		"variables", "journal", "journal", "verify", "open and close", "open and close", "list", "export",
	}
	for n, name := range names {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 7))
			for range rounds {
				actions[name](r)
			}
		})
	}
	wg.Wait()
	last := s.Info().Step
	j := d.journal("demo")
	for step, what := range acknowledged {
		rec, err := j.Record(t.Context(), step)
		if err != nil {
			t.Fatalf("step %d is lost: %v", step, err)
		}
		got := string(rec.Kind)
		if rec.Kind == engine.RecordExec {
			got = rec.Result.ResultRepr
		}
		if got != what {
			t.Errorf("step %d is %q in the journal, it was %q", step, got, what)
		}
	}
	if len(acknowledged) != last-1 {
		t.Errorf("%d steps acknowledged, the last one is %d", len(acknowledged), last)
	}
	d.restart()
	if v := d.verify("demo"); len(v.Damage) > 0 || v.Divergence != nil || v.Records != last+1 {
		t.Errorf("%+v, %v", v, v.Divergence)
	}
	if all, err := d.Sessions(t.Context(), nil); err != nil || len(all) != 1 {
		t.Errorf("%d sessions, %v", len(all), err)
	}
}

// TestDurableOpenClose opens, closes, removes and makes sessions of few names from many sides.
func TestDurableOpenClose(t *testing.T) {
	d := newDurable(t, nil)
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	var wg sync.WaitGroup
	var ran atomic.Int64
	for n := range 10 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 8))
			for range rounds {
				name := fmt.Sprintf("s%d", r.IntN(3))
				s, err := d.Open(t.Context(), name, nil)
				if err != nil {
					t.Errorf("open: %v", err)
					continue
				}
				res, err := s.Exec(t.Context(), engine.Request{Code: "n = globals().get('n', 0) + 1; n"})
				switch {
				case err == nil && res.Status == engine.StatusOK:
					ran.Add(1)
				case err == nil && res.Status == engine.StatusCancelled: // removed meanwhile
				case !errors.Is(err, engine.ErrClosed) && !errors.Is(err, engine.ErrNoSession):
					t.Errorf("exec: %v, %+v", err, res)
				}
				if r.IntN(4) == 0 {
					if err := d.Remove(t.Context(), name); err != nil && !errors.Is(err, engine.ErrNoSession) {
						t.Errorf("remove: %v", err)
					}
				}
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if ran.Load() == 0 {
		t.Error("nothing ran")
	}
	all, err := d.Sessions(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Open {
			t.Errorf("%s is still open", i.ID)
		}
		s := d.session(i.ID, nil)
		exec(t, s, "1")
		if v := d.verify(i.ID); len(v.Damage) > 0 || v.Divergence != nil {
			t.Errorf("%+v, %v", v, v.Divergence)
		}
	}
}

// TestOneProcess: a store can be open once.
func TestOneProcess(t *testing.T) {
	d := newDurable(t, nil)
	exec(t, d.session("demo", nil), "x = 1")
	_, err := store.Open(d.dir, nil)
	var locked *store.LockedError
	if !errors.Is(err, store.ErrLocked) || !errors.As(err, &locked) || locked.PID == 0 {
		t.Fatalf("%v", err)
	}
	t.Log(err)
	if _, err := store.Check(t.Context(), d.dir, nil); !errors.Is(err, store.ErrLocked) {
		t.Errorf("check: %v", err)
	}
	want(t, d.session("demo", nil), "x", "1")
	d.restart()
	want(t, d.session("demo", nil), "x", "1")
	if _, err := store.Open(filepath.Join(d.dir, "format.json"), nil); err == nil {
		t.Error("a file is no store")
	}
}

// TestImportWhileOthersWork: an import whose sender is slow does not hold up anybody else.
func TestImportWhileOthersWork(t *testing.T) {
	d := newDurable(t, nil)
	exec(t, d.session("demo", nil), "x = 1")
	b := exportSession(t, d.Engine, "demo")
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := d.Import(t.Context(), r, "copy")
		done <- err
	}()
	if _, err := w.Write(b[:len(b)/2]); err != nil {
		t.Fatal(err)
	}
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		if s, err := d.Open(t.Context(), "other", nil); err != nil {
			t.Error(err)
		} else if _, err := s.Exec(t.Context(), engine.Request{Code: "1"}); err != nil {
			t.Error(err)
		}
	}()
	<-opened
	// There is no such session yet, but the name is taken.
	if _, err := d.Lookup(t.Context(), "copy"); !errors.Is(err, engine.ErrNoSession) {
		t.Error(err)
	}
	if list, err := d.Sessions(t.Context(), nil); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	if err := d.Remove(t.Context(), "copy"); !errors.Is(err, engine.ErrNoSession) {
		t.Error(err)
	}
	go func() { // nobody reads what comes after the archive's end
		_, _ = io.Copy(w, bytes.NewReader(b[len(b)/2:]))
		w.Close()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	r.Close()
	want(t, d.session("copy", nil), "x", "1")
}

// TestImportCutOff: what an import had stored when its process ended is not taken for a session.
func TestImportCutOff(t *testing.T) {
	d := newDurable(t, nil)
	s := d.session("demo", nil)
	for n := range 3 {
		exec(t, s, fmt.Sprintf("import os; x = %d; open('f', 'wb').write(os.urandom(300_000))", n))
	}
	b := exportSession(t, d.Engine, "demo")
	raw := decompress(t, b)
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := d.Import(t.Context(), r, "copy")
		done <- err
	}()
	if _, err := w.Write(compress(raw[:len(raw)*3/4])); err != nil {
		t.Fatal(err)
	}
	// The store is closed under the import, as the end of a process does it.
	if err := errors.Join(d.Engine.Close(), d.store.Close()); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := <-done; err == nil {
		t.Fatal("it was imported")
	}
	d.open()
	if _, err := d.Lookup(t.Context(), "copy"); !errors.Is(err, engine.ErrNoSession) {
		t.Error(err)
	}
	// It is removed in the background, as the engine starts.
	for {
		info, err := d.Import(t.Context(), bytes.NewReader(b), "copy")
		if errors.Is(err, engine.ErrSessionExists) {
			runtime.Gosched()
			continue
		}
		if err != nil || info.Step != 3 {
			t.Fatalf("%+v, %v", info, err)
		}
		break
	}
	want(t, d.session("copy", nil), "x", "2")
}
