package engine_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// travelSteps are the first steps of the session that TestTimeTravel goes back and forth in; after them come rounds of
// travelRounds.
var travelSteps = []string{
	"import collections, contextlib, itertools, json, os, pathlib, random, shutil, sqlite3, tempfile, time, uuid, zipfile",
	"x = [1, 2, 3]; text = 'gr\\u00fc\\u00df'; table = {'a': 1, 'b': [2, 3]}; numbers = {5, 6, 'seven', None}",
	"def squares():\n    for i in itertools.count():\n        yield i * i\ng = squares(); next(g); next(g)",
	"def outer():\n    seen = []\n    def inner(v=None):\n        nonlocal seen\n        if v is not None: seen = seen + [v]\n        return list(seen)\n    return inner\nkeep = outer(); keep('first')",
	"class Account:\n    count = 0\n    def __init__(self, owner): self.owner, self.log = owner, []; Account.count += 1\n    def pay(self, v): self.log.append(v); return self\n    def __repr__(self): return f'Account({self.owner!r}, {self.log})'\nacct = Account('ann').pay(3)",
	"f = open('log.txt', 'w+'); f.write('one\\n'); f.flush()",
	"pathlib.Path('d/e/f').mkdir(parents=True); pathlib.Path('d/e/f/leaf').write_text('leaf')",
	"db = sqlite3.connect('state.db'); db.execute('create table t(id integer primary key, v)'); db.commit()",
	"r = random.Random(7); dice = [random.random(), os.urandom(4).hex(), uuid.uuid4().hex, time.time_ns()]",
	"tmp = tempfile.TemporaryFile(); tmp.write(b'unnamed'); tmp.seek(3)",
	"both = itertools.tee(iter(range(1000)), 2); next(both[0]); chain = itertools.chain('abc', itertools.repeat('z', 5))",
	"rd = open('d/e/f/leaf'); rd.read(2)",
	"def co():\n    total = 0\n    while True:\n        total += (yield total) or 0\nc = co(); next(c); c.send(5)",
	"os.symlink('d/e/f/leaf', 'link'); os.link('log.txt', 'hard')",
	"big = bytearray(3 << 20); big[::4096] = b'x' * 768",
	"with zipfile.ZipFile('z.zip', 'w') as z: z.write('log.txt'); z.writestr('in/side', 'x' * 10000)",
	"cur = db.execute('select * from t')",
	"lines = iter(open('log.txt')); deque = collections.deque(range(5), maxlen=5)",
}

// travelRounds change what the first steps made, again and again. N is the number of the step.
var travelRounds = []string{
	"x.append(N); text += '!'; table[N] = [N] * 3; numbers.add(N)",
	"[next(g) for _ in range(N)][-1:]",
	"keep(N); acct.pay(N); Account('new%d' % N); c.send(N)",
	"f.write('line %d\\n' % N); f.flush(); f.tell()",
	"open('file%d' % N, 'wb').write(os.urandom(N * 3000))",
	"db.execute('insert into t(v) values (?)', (random.random(),)); db.executemany('insert into t(v) values (?)', [(r.random(),) for _ in range(N)]); db.commit()",
	"names = sorted(n for n in os.listdir('.') if n.startswith('file')); os.rename(names[0], 'd/renamed%d' % N); os.truncate('d/renamed%d' % N, 1000 + N)",
	"dice = dice[-3:] + [random.random(), os.urandom(4).hex()]; r.random(); deque.append(N); next(both[1])",
	"shutil.copytree('d', 'copy', dirs_exist_ok=True); shutil.rmtree('d/e') if N > 40 else os.makedirs('d/e/%d' % N)",
	"big[N * 4096:N * 4096 + 100] = os.urandom(100); tmp.write(b'%d' % N); next(chain, None); f.seek(N)",
	"import string; db.execute('delete from t where id % 3 = 0'); db.commit(); os.remove('link'); os.symlink('file%d' % N, 'link'); rd.read(1)",
	"1 / 0 if N % 2 else exec('del text; text = \"again\"')",
}

// travelProbe tells all of a session's state, and spoils it by that: it runs in forks.
const travelProbe = `
def _probe():
    import hashlib, io, os, random, sqlite3, types
    def tell(v):
        if isinstance(v, (types.GeneratorType, type(iter('')), type(iter([])))) or type(v).__module__ == 'itertools':
            try:
                return [v.send(1) if v.gi_yieldfrom is None and v.gi_frame and v.gi_frame.f_code.co_name == 'co' else next(v) for _ in range(2)]
            except Exception as e:
                try: return [next(v, None) for _ in range(2)]
                except Exception: return repr(e)
        if isinstance(v, random.Random):
            return [v.random(), v.getrandbits(70)]
        if isinstance(v, (io.IOBase,)) or hasattr(v, 'readable') and hasattr(v, 'tell'):
            if v.closed: return 'closed'
            try: at = v.tell()
            except OSError as e: at = str(e)
            v.flush()
            st = os.fstat(v.fileno())
            return [v.name if isinstance(v.name, str) else 'fd', at, st.st_size, st.st_nlink, v.read() if v.readable() else None]
        if isinstance(v, sqlite3.Connection):
            return [v.execute('pragma integrity_check').fetchone(), v.in_transaction, v.total_changes] + [list(v.execute('select * from ' + t)) for t, in v.execute("select name from sqlite_master where type = 'table'").fetchall()]
        if isinstance(v, sqlite3.Cursor):
            return v.fetchall()
        if isinstance(v, (bytes, bytearray)):
            return [len(v), hashlib.sha256(v).hexdigest()]
        if isinstance(v, type) and v.__module__ == '__main__':
            return {k: repr(w) for k, w in vars(v).items()}
        if isinstance(v, tuple) and v and type(v[0]).__module__ == 'itertools':
            return [tell(i) for i in v]
        if isinstance(v, types.FunctionType) and v.__closure__:
            return v()
        return repr(v)
    out = []
    for root in ('/workspace', '/tmp'):
        for at, dirs, files in os.walk(root):
            dirs.sort()
            for n in dirs + sorted(files):
                p = os.path.join(at, n)
                st = os.lstat(p)
                what = ''
                if os.path.islink(p): what = os.readlink(p)
                elif not os.path.isdir(p):
                    with open(p, 'rb') as f: what = hashlib.sha256(f.read()).hexdigest()
                out.append((p, oct(st.st_mode), st.st_size if not os.path.isdir(p) else 0, st.st_nlink, st.st_mtime_ns, what))
    for k, v in sorted(globals().items()):
        if not k.startswith('_') and not isinstance(v, types.ModuleType): out.append((k, tell(v)))
    return out
for _line in _probe(): print(_line)
`

// travelMoment is what was recorded of one step.
type travelMoment struct {
	probe     string // what a fork's own code saw
	variables []engine.Variable
	files     []string
}

// traveller records a session as it runs, and compares what comes back with that.
type traveller struct {
	*durable
	name    string
	moments map[int]travelMoment
	probes  bool
}

func (tr *traveller) code(step int) string {
	if step <= len(travelSteps) {
		return travelSteps[step-1]
	}
	code := travelRounds[(step-len(travelSteps)-1)%len(travelRounds)]
	return fmt.Sprintf("N = %d\n%s", step, code)
}

// run makes the session.
func (tr *traveller) run(steps int, policy *engine.SnapshotPolicy) {
	tr.t.Helper()
	tr.moments = map[int]travelMoment{}
	s := tr.session(tr.name, &engine.SessionOptions{New: true, Snapshots: policy})
	defer s.Close()
	for k := 1; k <= steps; k++ {
		r := exec(tr.t, s, tr.code(k))
		if r.Step != k || r.Error != nil && r.Error.Type != "ZeroDivisionError" {
			tr.t.Fatalf("step %d is %d: %s\n%s", k, r.Step, describe(r), tr.code(k))
		}
		m := travelMoment{files: tr.files(tr.name, k)}
		var err error
		if m.variables, err = s.Variables(tr.t.Context()); err != nil {
			tr.t.Fatal(err)
		}
		if tr.probes {
			m.probe = tr.probe(engine.Latest)
		}
		tr.moments[k] = m
	}
}

// probe forks the session at a step and asks the fork.
func (tr *traveller) probe(step int) string {
	tr.t.Helper()
	f, err := tr.Fork(tr.t.Context(), tr.name, step, "")
	if err != nil {
		tr.t.Fatalf("fork at %d: %v", step, err)
	}
	defer func() {
		if err := tr.Remove(tr.t.Context(), f.ID()); err != nil {
			tr.t.Error(err)
		}
	}()
	r := exec(tr.t, f, travelProbe)
	if r.Status != engine.StatusOK || r.Truncated.Stdout > 0 {
		tr.t.Fatalf("probe at step %d: %s", step, describe(r))
	}
	return r.Stdout
}

// files lists the files of a step with what is in them.
func (tr *traveller) files(session string, step int) []string {
	tr.t.Helper()
	fs, err := tr.journal(session).Files(tr.t.Context(), step)
	if err != nil {
		tr.t.Fatalf("files of step %d: %v", step, err)
	}
	defer fs.Close()
	var out []string
	err = fs.WalkDir(".", func(i vfs.Info) error {
		line := fmt.Sprintf("%s %v %d %v %s", i.Path, i.Mode, i.Size, i.ModTime.UnixNano(), i.Target)
		if i.Mode.IsRegular() {
			b, err := fs.ReadFile(i.Path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %x", sha256.Sum256(b))
		}
		out = append(out, line)
		return nil
	})
	if err != nil {
		tr.t.Fatalf("files of step %d: %v", step, err)
	}
	return out
}

// compare looks at one step again.
func (tr *traveller) compare(step int) {
	tr.t.Helper()
	m := tr.moments[step]
	if got := tr.files(tr.name, step); !slices.Equal(got, m.files) {
		tr.t.Errorf("files of step %d: %s", step, difference(m.files, got))
	}
	if tr.probes {
		if got := tr.probe(step); got != m.probe {
			tr.t.Errorf("fork at step %d: %s", step, difference(strings.Split(m.probe, "\n"), strings.Split(got, "\n")))
		}
		return
	}
	got, err := tr.journal(tr.name).Variables(tr.t.Context(), step)
	if err != nil {
		tr.t.Fatalf("variables of step %d: %v", step, err)
	}
	if !slices.Equal(got, m.variables) {
		tr.t.Errorf("variables of step %d: %s", step, difference(lines(m.variables), lines(got)))
	}
}

func lines(vars []engine.Variable) (out []string) {
	for _, v := range vars {
		out = append(out, fmt.Sprintf("%+v", v))
	}
	return out
}

// difference is the first line in which two lists differ.
func difference(want, got []string) string {
	for i := range max(len(want), len(got)) {
		var w, g string
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if w != g {
			return fmt.Sprintf("line %d\nwas %.500s\nis  %.500s", i+1, w, g)
		}
	}
	return "none"
}

// TestTimeTravel compares each step of a long session, as it is found in forks, after a restart and after rewinds, with
// what was recorded when it was new.
func TestTimeTravel(t *testing.T) {
	tr := &traveller{durable: newDurable(t, nil), name: "demo", probes: true}
	steps := 50
	if testing.Short() {
		steps = 30
	}
	tr.run(steps, nil)
	for k := 1; k <= steps; k++ {
		tr.compare(k)
	}
	tr.restart()
	for k := steps; k > 0; k-- {
		tr.compare(k)
	}
	if v := tr.verify(tr.name); !v.OK || v.Executed != steps || v.Identical != steps || len(v.Skipped) != 0 {
		t.Errorf("%+v, divergence %v", v, v.Divergence)
	}
	s := tr.session(tr.name, nil)
	defer s.Close()
	for _, k := range []int{steps - 1, 3, steps, 20, 1, 11} {
		rec, err := s.Rewind(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		vars, err := s.Variables(t.Context())
		if want := tr.moments[k].variables; err != nil || !slices.Equal(vars, want) {
			t.Errorf("rewind to %d: %v, %s", k, err, difference(lines(want), lines(vars)))
		}
		if got, want := tr.probe(engine.Latest), tr.moments[k].probe; got != want {
			t.Errorf("rewind to %d: %s", k, difference(strings.Split(want, "\n"), strings.Split(got, "\n")))
		}
		if got, want := tr.files(tr.name, rec.Step), tr.moments[k].files; !slices.Equal(got, want) {
			t.Errorf("rewind to %d: %s", k, difference(want, got))
		}
	}
	want(t, s, "x.append(0); len(x)", "4") // at step 11
	if v := tr.verify(tr.name); !v.OK || v.Executed != steps+1 {
		t.Errorf("%+v, divergence %v", v, v.Divergence)
	}
}

// TestTimeTravelRebuilt: steps without a snapshot are run again from the journal, with the same random numbers and clocks.
func TestTimeTravelRebuilt(t *testing.T) {
	slowUnderRace(t)
	for name, c := range map[string]struct {
		policy engine.SnapshotPolicy
		steps  []int
	}{
		"every 7":   {engine.SnapshotPolicy{Every: 7}, []int{1, 6, 7, 8, 13, 14, 20, 27, 33, 34, 35}},
		"never":     {engine.SnapshotPolicy{Every: -1}, []int{1, 9, 21, 35}},
		"keeping 5": {engine.SnapshotPolicy{Every: 4, Keep: 5}, []int{31, 32, 33, 34, 35}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := &traveller{durable: newDurable(t, nil), name: "demo"}
			tr.run(35, &c.policy)
			tr.restart()
			for _, k := range c.steps {
				tr.compare(k)
				f, err := tr.Fork(t.Context(), tr.name, k, fmt.Sprint("fork", k))
				if err != nil {
					t.Fatal(err)
				}
				vars, err := f.Variables(t.Context())
				if want := tr.moments[k].variables; err != nil || !slices.Equal(vars, want) {
					t.Errorf("fork at %d: %v, %s", k, err, difference(lines(want), lines(vars)))
				}
				if got, want := tr.files(f.ID(), k), tr.moments[k].files; !slices.Equal(got, want) {
					t.Errorf("fork at %d: %s", k, difference(want, got))
				}
				f.Close()
			}
			s := tr.session(tr.name, nil)
			defer s.Close()
			k := c.steps[0]
			if _, err := s.Rewind(t.Context(), k); err != nil {
				t.Fatal(err)
			}
			vars, err := s.Variables(t.Context())
			if want := tr.moments[k].variables; err != nil || !slices.Equal(vars, want) {
				t.Errorf("rewind to %d: %v, %s", k, err, difference(lines(want), lines(vars)))
			}
			v := tr.verify(tr.name)
			if !v.OK || v.Executed != 35 || len(v.Skipped) != 0 {
				t.Errorf("%+v, divergence %v", v, v.Divergence)
			}
			if notes := s.Notes(); len(notes) > 0 {
				t.Error(notes)
			}
		})
	}
}
