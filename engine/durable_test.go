package engine_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/engine/store"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// durable is an engine with a store that can be closed and opened again.
type durable struct {
	*engine.Engine
	t     testing.TB
	dir   string
	store *store.Store
	o     *engine.Options
}

func newDurable(t testing.TB, change func(*engine.Options)) *durable {
	t.Helper()
	d := &durable{t: t, dir: filepath.Join(t.TempDir(), "store"), o: options()}
	if change != nil {
		change(d.o)
	}
	d.open()
	t.Cleanup(d.close)
	return d
}

func (d *durable) open() {
	d.t.Helper()
	var err error
	if d.store, err = store.Open(d.dir, nil); err != nil {
		d.t.Fatal(err)
	}
	d.o.Store = d.store
	if d.Engine, err = engine.New(context.Background(), d.o); err != nil {
		d.t.Fatal(err)
	}
}

func (d *durable) close() {
	d.t.Helper()
	if d.Engine == nil {
		return
	}
	if err := errors.Join(d.Engine.Close(), d.store.Close()); err != nil {
		d.t.Error(err)
	}
	d.Engine = nil
}

// restart is what another process would see.
func (d *durable) restart() {
	d.t.Helper()
	d.close()
	d.open()
}

func (d *durable) session(name string, o *engine.SessionOptions) *engine.Session {
	d.t.Helper()
	s, err := d.Open(d.t.Context(), name, o)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

func (d *durable) journal(name string) *engine.Journal {
	d.t.Helper()
	j, err := d.Journal(d.t.Context(), name)
	if err != nil {
		d.t.Fatal(err)
	}
	return j
}

func (d *durable) verify(name string) *engine.Verification {
	d.t.Helper()
	v, err := d.journal(name).Verify(d.t.Context(), nil)
	if err != nil {
		d.t.Fatal(err)
	}
	return v
}

func TestSessionSurvivesRestart(t *testing.T) {
	d := newDurable(t, nil)
	s := d.session("demo", nil)
	exec(t, s, "import json, math\nx = [1, 2, 3]\nopen('notes.txt', 'w').write('hi')\ndef squares():\n  for i in range(10): yield i * i\ng = squares()\nnext(g); next(g)")
	exec(t, s, "f = open('log.txt', 'w+')\nf.write('one')\nf.flush()\nclass P:\n  def __init__(self, n): self.n = n\n  def __repr__(self): return f'P({self.n})'\np = P(7)")
	d.restart()
	s = d.session("demo", &engine.SessionOptions{Existing: true})
	want(t, s, "x.append(4); x", "[1, 2, 3, 4]")
	want(t, s, "open('notes.txt').read()", "'hi'")
	want(t, s, "next(g)", "4")
	want(t, s, "json.dumps(math.floor(2.5))", "'2'")
	want(t, s, "f.write('two'); f.seek(0); f.read()", "'onetwo'")
	want(t, s, "p", "P(7)")
	if i := s.Info(); i.Step != 8 || !i.Open || i.Running {
		t.Errorf("%+v", i)
	}
}

func TestRewindAndFork(t *testing.T) {
	d := newDurable(t, nil)
	s := d.session("demo", nil)
	for i := 1; i <= 4; i++ {
		exec(t, s, fmt.Sprintf("n = %d\nopen('n.txt', 'w').write('%d')", i, i))
	}
	rec, err := s.Rewind(t.Context(), 2)
	if err != nil || rec.Kind != engine.RecordRewind || rec.Step != 5 || rec.Origin.Step != 2 {
		t.Fatalf("%+v, %v", rec, err)
	}
	want(t, s, "n, open('n.txt').read()", "(2, '2')")
	// Nothing is lost: what was rewound can be gone back to.
	if _, err := s.Rewind(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	want(t, s, "n, open('n.txt').read()", "(4, '4')")
	f, err := d.Fork(t.Context(), "demo", 3, "other")
	if err != nil {
		t.Fatal(err)
	}
	want(t, f, "n, open('n.txt').read()", "(3, '3')")
	exec(t, f, "n = 'fork'; open('n.txt', 'w').write('fork')")
	want(t, s, "n, open('n.txt').read()", "(4, '4')")
	d.restart()
	want(t, d.session("other", nil), "n, open('n.txt').read()", "('fork', 'fork')")
	want(t, d.session("demo", nil), "n, open('n.txt').read()", "(4, '4')")
	for _, name := range []string{"demo", "other"} {
		if v := d.verify(name); !v.OK || v.Executed == 0 || v.Identical != v.Executed {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestVerifyRepeats(t *testing.T) {
	d := newDurable(t, nil)
	s := d.session("demo", nil)
	execRequest(t, s, engine.Request{Code: "import sys; lines = sys.stdin.readlines(); lines", Stdin: strings.NewReader("a\nb\n")})
	for _, code := range []string{
		"import random, time, uuid, os\nr = random.random(), uuid.uuid4().hex, os.urandom(8).hex(), time.time(), time.monotonic()\nprint(r)",
		"t = time.time_ns()\nopen('f', 'w').write(str(t))\nos.stat('f').st_mtime_ns",
		"time.sleep(0.05); time.perf_counter()",
		"import asyncio\nawait asyncio.sleep(0.01)\nhash('x'), id(object())",
		"1 / 0",
		"import sqlite3\ndb = sqlite3.connect('d.db')\ndb.execute('create table t(x)'); db.execute('insert into t values (random())'); db.commit()\ndb.execute('select * from t').fetchall()",
		"import tempfile\nwith tempfile.NamedTemporaryFile() as t: print(t.name)",
		"open('/dev/urandom', 'rb').read(4).hex()",
	} {
		exec(t, s, code)
	}
	v := d.verify("demo")
	if !v.OK || v.Executed != 9 || len(v.Skipped) != 0 || v.Identical != 9 {
		t.Errorf("%+v, divergence %v", v, v.Divergence)
	}
}

func TestDiff(t *testing.T) {
	d := newDurable(t, nil)
	s := d.session("demo", nil)
	exec(t, s, "a = 1; b = 2; open('kept', 'w').write('x'); open('gone', 'w').write('x')")
	exec(t, s, "import os\na = 10; c = 3; del b; os.remove('gone'); open('new', 'w').write('yy')")
	diff, err := d.journal("demo").Diff(t.Context(), 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range diff.Files {
		got = append(got, f.Op+" "+f.Path)
	}
	for _, v := range diff.Variables {
		got = append(got, v.Op+" "+v.Name)
	}
	if s := strings.Join(got, ", "); s != "deleted /workspace/gone, created /workspace/new, modified a, created c, deleted b" {
		t.Error(s)
	}
}

func TestEditFiles(t *testing.T) {
	d := newDurable(t, nil)
	s := d.session("demo", nil)
	exec(t, s, "x = 5")
	if _, err := s.EditFiles(t.Context(), "upload", func(f *vfs.FS) error { return f.WriteFile("workspace/in.txt", []byte("data"), 0o644) }); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("no")
	if _, err := s.EditFiles(t.Context(), "upload", func(f *vfs.FS) error {
		return errors.Join(f.WriteFile("workspace/in.txt", []byte("other"), 0o644), failed)
	}); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	want(t, s, "open('in.txt').read(), x", "('data', 5)")
	d.restart()
	want(t, d.session("demo", nil), "open('in.txt').read(), x", "('data', 5)")
	if v := d.verify("demo"); !v.OK || v.Executed != 3 {
		t.Errorf("%+v", v)
	}
}
