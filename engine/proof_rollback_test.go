package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

// rollbackBefore makes files, and leaves some of them open.
const rollbackBefore = `
import os, shutil, sqlite3, sys, tempfile, threading
os.makedirs('d/e'); os.mkdir('empty')
for name in ('a', 'b', 'd/c', 'd/e/f'): open(name, 'w').write(name * 1000)
open('big', 'wb').write(os.urandom(1_000_000))
os.symlink('a', 'sl'); os.link('b', 'hard'); os.chmod('a', 0o640); os.utime('b', ns=(1_000_000_000, 2_000_000_000))
rd = open('a'); rd.read(10)
rw = open('d/c', 'r+'); rw.seek(20)
ap = open('log', 'a+'); ap.write('first\n'); ap.flush()
tmp = tempfile.TemporaryFile(); tmp.write(b'unnamed'); tmp.flush(); tmp.seek(2)
named = tempfile.NamedTemporaryFile(delete=False); named.write(b'named'); named.flush()
gone = open('gone', 'w+'); gone.write('content'); gone.flush(); os.remove('gone')
fd = os.open('empty', os.O_RDONLY)
db = sqlite3.connect('s.db', isolation_level=None); db.execute('create table t(x)'); db.execute('insert into t values (1)')

def look():
    import hashlib
    out = []
    for root in ('/workspace', '/tmp'):
        for at, dirs, files in os.walk(root):
            dirs.sort()
            for n in dirs + sorted(files):
                p = os.path.join(at, n)
                st = os.lstat(p)
                data = os.readlink(p) if os.path.islink(p) else b'' if os.path.isdir(p) else hashlib.sha256(open(p, 'rb').read()).hexdigest()
                out.append((p, st.st_ino, oct(st.st_mode), st.st_size, st.st_nlink, st.st_mtime_ns, data))
    for f in (rd, rw, ap, tmp, named, gone):
        st = os.fstat(f.fileno())
        out.append((f.fileno(), f.closed, f.tell(), os.lseek(f.fileno(), 0, 1), st.st_ino, st.st_size, st.st_nlink, os.pread(f.fileno(), 100, 0)))
    out.append((os.fstat(fd).st_ino, db.execute('select x from t').fetchall(), db.in_transaction, os.getcwd()))
    return out
look()
`

// rollbackChange changes all of it.
const rollbackChange = `
rd.read(100); rw.write('changed'); rw.flush(); ap.write('second\n'); ap.flush(); tmp.write(b'xxxxxxxxxx'); tmp.flush()
gone.seek(0); gone.truncate(); named.close(); os.remove(named.name); ap.close(); os.close(fd)
open('a', 'w').write('other'); os.truncate('b', 3); os.remove('hard'); os.rename('d/c', 'moved'); shutil.rmtree('d'); os.rmdir('empty')
os.remove('sl'); os.symlink('b', 'sl'); os.chmod('a', 0o777); os.utime('b')
open('big', 'r+b').write(b'overwritten'); open('new', 'w').write('new'); os.mkdir('gone'); os.makedirs('x/y/z'); os.chdir('x')
more = [open('/workspace/more%d' % i, 'w') for i in range(30)]; kept = tempfile.mkdtemp()
db.execute('begin'); db.executemany('insert into t values (?)', ((i,) for i in range(20_000)))
print('changed', flush=True)
`

// rollbackEnds are ways to end half-way.
var rollbackEnds = map[string]struct {
	code    string
	cancel  bool
	timeout time.Duration
	status  engine.Status
}{
	"time limit": {"while True:\n    try:\n        while True: pass\n    except BaseException: pass", false, 2 * time.Second, engine.StatusTimeout},
	"cancelled":  {"while True:\n    try:\n        while True: pass\n    except BaseException: pass", true, 0, engine.StatusCancelled},
	"exit":       {"os._exit(3)", false, 0, engine.StatusError},
	"crash":      {"def f(): pass\nf.__code__ = f.__code__.replace(co_code=b'\\x64\\xff' * 100, co_stacksize=1, co_nlocals=0)\nf()", false, 0, ""},
}

// TestRollback: an execution that was killed leaves nothing, not in files, names, open files and their positions.
func TestRollback(t *testing.T) {
	slowUnderRace(t)
	d := newDurable(t, nil)
	for name, end := range rollbackEnds {
		for _, kind := range []string{"memory", "durable", "resumed"} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				var s *engine.Session
				if kind == "memory" {
					s = newSession(t, nil)
				} else {
					s = d.session(strings.ReplaceAll(name+"-"+kind, " ", "-"), &engine.SessionOptions{New: true})
				}
				r := exec(t, s, rollbackBefore)
				if r.Status != engine.StatusOK {
					t.Fatal(describe(r))
				}
				if kind == "resumed" {
					name := s.ID()
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
					s = d.session(name, &engine.SessionOptions{Existing: true})
				}
				before := exec(t, s, "for line in look(): print(line)").Stdout
				for range 1 + len(kind)%2 { // twice is as good as once
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					q := engine.Request{Code: rollbackChange + end.code, Timeout: end.timeout}
					if end.cancel {
						q.OnEvent = func(engine.Event) { cancel() }
					}
					r, err := s.Exec(ctx, q)
					if err != nil || !strings.HasPrefix(r.Stdout, "changed") {
						t.Fatalf("%v, %s, %q", err, describe(r), r.Stdout)
					}
					if r.Error == nil || !r.Error.Restored {
						if end.status == "" {
							t.Skipf("it is not killed by that: %s", describe(r))
						}
						t.Fatalf("%s, not restored", describe(r))
					}
					if end.status != "" && r.Status != end.status {
						t.Error(describe(r))
					}
					if len(r.FilesChanged) != 0 {
						t.Errorf("files changed: %+v", r.FilesChanged)
					}
					r = exec(t, s, "for line in look(): print(line)")
					if r.Stdout != before {
						t.Fatalf("%s: %s", describe(r), difference(strings.Split(before, "\n"), strings.Split(r.Stdout, "\n")))
					}
				}
				want(t, s, "rd.read(3), rw.read(3), tmp.read(3), gone.seek(0), gone.read(), 'more' in globals()", "('aaa', 'cd/', b'nam', 0, 'content', False)")
				want(t, s, "ap.write('third'); ap.flush(); open('log').read()", `'first\nthird'`)
				if kind != "memory" {
					if v := d.verify(s.ID()); len(v.Damage) > 0 || v.Divergence != nil {
						t.Errorf("%+v, %v", v, v.Divergence)
					}
				}
			})
		}
	}
}

// TestExitZero: a program that leaves by force with 0 says that all is well, but what it did is undone as well.
func TestExitZero(t *testing.T) {
	s := newSession(t, nil)
	exec(t, s, "import os; x = 1")
	r := exec(t, s, "x = 2; open('f', 'w').write('f'); os._exit(0)")
	t.Logf("%+v", r.Error)
	want(t, s, "x, os.path.exists('f')", "(1, False)")
}

// TestUndoUnstored: a step that cannot be stored never was.
func TestUndoUnstored(t *testing.T) {
	full := &fullStore{}
	d := newDurable(t, nil)
	full.Store = d.store
	o := *d.o
	o.Store = full
	e, err := engine.New(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s, err := e.Open(t.Context(), "full", nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := exec(t, s, rollbackBefore); r.Status != engine.StatusOK {
		t.Fatal(describe(r))
	}
	before := exec(t, s, "for line in look(): print(line)").Stdout
	for i, code := range []string{"x = 1", rollbackChange, "1 / 0", "raise SystemExit(3)"} {
		full.refuse = true
		r, err := s.Exec(t.Context(), engine.Request{Code: code})
		full.refuse = false
		if err == nil || r.Status != engine.StatusLost || r.Error == nil || !r.Error.Restored || s.Info().Step != 2+i {
			t.Fatalf("%v, %s, step %d", err, describe(r), s.Info().Step)
		}
		r = exec(t, s, "for line in look(): print(line)")
		if r.Stdout != before || r.Step != 3+i {
			t.Fatalf("%s, step %d: %s", describe(r), r.Step, difference(strings.Split(before, "\n"), strings.Split(r.Stdout, "\n")))
		}
	}
	full.refuse = true
	if _, err := s.Rewind(t.Context(), 1); err == nil {
		t.Error("rewound")
	}
	if f, err := e.Fork(t.Context(), "full", 1, "fork"); err == nil {
		t.Errorf("forked: %+v", f.Info())
	}
	full.refuse = false
	if r := exec(t, s, "for line in look(): print(line)"); r.Stdout != before {
		t.Error(difference(strings.Split(before, "\n"), strings.Split(r.Stdout, "\n")))
	}
	j, err := e.Journal(t.Context(), "full")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := j.Verify(t.Context(), nil); err != nil || !v.OK || v.Executed != v.Last {
		t.Errorf("%+v, %v", v, err)
	}
}

// fullStore is a store that can be told to have no room.
type fullStore struct {
	engine.Store
	refuse bool
}

func (s *fullStore) Commit(ctx context.Context, c *engine.Commit) error {
	if s.refuse {
		return fmt.Errorf("commit: %w", engine.ErrStoreFull)
	}
	return s.Store.Commit(ctx, c)
}
