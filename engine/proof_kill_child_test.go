package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
)

// killDir names the environment variable that makes a test process the one to be killed: it works in this store.
const killDir = "MAYFLY_TEST_KILL_DIR"

// killSlots is the number of sessions that run at once, and killSteps after how many steps one gives way to a new one.
const (
	killSlots = 4
	killSteps = 60
)

// killEvent is what the child tells its parent, a line each: before something that cannot be undone, and after each step
// that was acknowledged.
type killEvent struct {
	Event   string // making, step, removing, removed, found, ready, failed
	Session string `json:",omitempty"`
	Step    int    `json:",omitempty"`
	// Summary is what the step said of the session's state, empty unless code ran.
	Summary string `json:",omitempty"`
}

// killSession is what the parent knows of a session. It tells the next child.
type killSession struct {
	Steps    map[int]string // acknowledged ones, with what they said
	Last     int
	Removing bool
}

// killTask is what a child gets from its parent.
type killTask struct {
	Seed     uint64
	Sessions map[string]*killSession
}

// killSetup is the first step of each session. What later steps do must leave variables, files and database in agreement,
// which check looks at.
const killSetup = `
import hashlib, os, sqlite3
n, blob = 0, b''
db = sqlite3.connect('state.db', isolation_level=None)
db.execute('create table t(id integer primary key, x text)')
db.execute('create table filler(x blob)')
log = open('log.txt', 'a+')

def check():
    log.seek(0)
    lines = log.read().splitlines()
    rows, last = db.execute('select count(*), coalesce(max(id), 0) from t').fetchone()
    other = sqlite3.connect('state.db')
    sound = other.execute('pragma integrity_check').fetchone()[0]
    other.close()
    files = hashlib.sha256()
    for name in sorted(os.listdir('.')):
        with open(name, 'rb') as f:
            files.update(name.encode() + b'\0' + f.read() + b'\0')
    assert n == len(lines) == rows == last and sound == 'ok', (n, len(lines), rows, last, sound)
    return n, hashlib.sha256(blob).hexdigest()[:12], os.path.getsize('state.db'), files.hexdigest()[:12]

def step(size):
    global n, blob
    n += 1
    log.write('%d %s\n' % (n, 'x' * (n % 97)))
    log.flush()
    blob = os.urandom(size)
    with open('part%d' % (n % 5), 'ab') as f:
        f.write(blob[:size // 4])
    if n % 6 == 0:
        os.replace('part%d' % (n % 5), 'old')
    if n % 9 == 0:
        os.remove('old')
    db.execute('begin')
    db.execute('insert into t values (?, ?)', (n, 'x' * (n % 50)))
    db.executemany('insert into filler values (?)', [(os.urandom(100),) for _ in range(n % 40)])
    if n % 11 == 0:
        db.execute('delete from filler where rowid % 3 = 0')
    db.execute('commit')
    return check()
check()
`

type killChild struct {
	*engine.Engine
	t    *testing.T
	mu   sync.Mutex
	task killTask
}

// TestKillChild is no test: it is what TestKillNine kills.
func TestKillChild(t *testing.T) {
	dir := os.Getenv(killDir)
	if dir == "" {
		t.Skip("only runs as the child of TestKillNine")
	}
	d := &durable{t: t, dir: dir, o: options()}
	d.open()
	c := &killChild{Engine: d.Engine, t: t}
	if err := json.NewDecoder(os.Stdin).Decode(&c.task); err != nil {
		t.Fatal(err)
	}
	if err := c.verify(t.Context()); err != nil {
		c.tell(killEvent{Event: "failed", Summary: err.Error()})
		return
	}
	c.tell(killEvent{Event: "ready"})
	var wg sync.WaitGroup
	for slot := range killSlots {
		wg.Go(func() {
			if err := c.work(t.Context(), slot); err != nil {
				c.tell(killEvent{Event: "failed", Summary: err.Error()})
			}
		})
	}
	wg.Wait()
}

// tell writes one event. When nobody reads any more, the child ends.
func (c *killChild) tell(e killEvent) {
	b, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// One write of so few bytes reaches a pipe whole or not at all.
	if _, err := os.Stdout.Write(append(append([]byte(killPrefix), b...), '\n')); err != nil {
		os.Exit(1)
	}
}

// verify looks at all that the children before had acknowledged.
func (c *killChild) verify(ctx context.Context) error {
	infos, err := c.Sessions(ctx, nil)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, i := range infos {
		there[i.ID] = true
		if c.task.Sessions[i.ID] == nil {
			return fmt.Errorf("there is a session %s that nobody made", i.ID)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.task.Sessions)) {
		known := c.task.Sessions[name]
		switch {
		case !there[name] && len(known.Steps) > 0 && !known.Removing:
			return fmt.Errorf("session %s is lost", name)
		case !there[name]:
			c.tell(killEvent{Event: "removed", Session: name})
			delete(c.task.Sessions, name)
			continue
		case !known.Removing && len(known.Steps) > 0:
			if err := c.verifySession(ctx, name, known); err != nil {
				return fmt.Errorf("session %s, acknowledged up to step %d: %w", name, known.Last, err)
			}
		}
		if known.Removing || len(known.Steps) == 0 || !strings.HasPrefix(name, "s") {
			if err := c.remove(ctx, name); err != nil {
				return err
			}
			delete(c.task.Sessions, name)
		}
	}
	return nil
}

func (c *killChild) verifySession(ctx context.Context, name string, known *killSession) error {
	j, err := c.Journal(ctx, name)
	if err != nil {
		return err
	}
	last := j.Info().Step
	if last < known.Last || last > known.Last+1 {
		return fmt.Errorf("the last step is %d", last)
	}
	for step, summary := range known.Steps {
		r, err := j.Record(ctx, step)
		if err != nil {
			return err
		}
		if got := said(r); got != summary {
			return fmt.Errorf("step %d said %s, the journal has %s", step, summary, got)
		}
	}
	v, err := j.Verify(ctx, &engine.VerifyOptions{ChainOnly: true})
	if err != nil || !v.OK {
		return fmt.Errorf("verify: %s, %+v", fmt.Sprint(err), v)
	}
	want, err := c.expected(ctx, name, last)
	if err != nil {
		return err
	}
	c.tell(killEvent{Event: "found", Session: name, Step: last - known.Last})
	if want == "" {
		return nil // nothing ran yet
	}
	s, err := c.Open(ctx, name, &engine.SessionOptions{Existing: true})
	if err != nil {
		return err
	}
	defer s.Close()
	got, err := c.exec(ctx, s, "check()")
	if err == nil && got != want {
		err = fmt.Errorf("the state is %s, step %d left %s", got, last, want)
	}
	return err
}

// said is what the code of a step said.
func said(r *engine.Record) string {
	if r.Result == nil {
		return ""
	}
	return r.Result.ResultRepr
}

// expected is what the state after a step should say of itself.
func (c *killChild) expected(ctx context.Context, name string, step int) (string, error) {
	j, err := c.Journal(ctx, name)
	if err != nil {
		return "", err
	}
	for {
		r, err := j.Record(ctx, step)
		if err != nil {
			return "", err
		}
		switch {
		case r.Kind == engine.RecordExec:
			return said(r), nil
		case r.Origin != nil && r.Origin.Session == name:
			step = r.Origin.Step
		case r.Origin != nil:
			return c.expected(ctx, r.Origin.Session, r.Origin.Step)
		case r.Kind == engine.RecordSnapshot:
			step--
		default:
			return "", nil
		}
	}
}

// exec runs a step and tells the parent that it was acknowledged.
func (c *killChild) exec(ctx context.Context, s *engine.Session, code string) (string, error) {
	r, err := s.Exec(ctx, engine.Request{Code: code})
	if err != nil {
		return "", fmt.Errorf("session %s: %w", s.ID(), err)
	}
	if r.Status != engine.StatusOK {
		return "", fmt.Errorf("session %s, step %d: %s", s.ID(), r.Step, describe(r))
	}
	c.tell(killEvent{"step", s.ID(), r.Step, r.ResultRepr})
	return r.ResultRepr, nil
}

func (c *killChild) remove(ctx context.Context, name string) error {
	c.tell(killEvent{Event: "removing", Session: name})
	if err := c.Remove(ctx, name); err != nil && !errors.Is(err, engine.ErrNoSession) {
		return err
	}
	c.tell(killEvent{Event: "removed", Session: name})
	return nil
}

// work runs steps in one session after another, until the process is killed.
func (c *killChild) work(ctx context.Context, slot int) error {
	r := rand.New(rand.NewPCG(c.task.Seed, uint64(slot)))
	generation := 0
	for name := range c.task.Sessions {
		var at, gen int
		if n, _ := fmt.Sscanf(name, "s%d-%d", &at, &gen); n == 2 && at == slot {
			generation = max(generation, gen)
		}
	}
	for ; ; generation++ {
		name := fmt.Sprintf("s%d-%d", slot, generation)
		if err := c.live(ctx, name, r); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := c.remove(ctx, name); err != nil {
			return err
		}
	}
}

// live runs the steps of one session.
func (c *killChild) live(ctx context.Context, name string, r *rand.Rand) error {
	if c.task.Sessions[name] == nil {
		c.tell(killEvent{Event: "making", Session: name})
	}
	s, err := c.Open(ctx, name, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.Info().Step == 0 {
		if _, err := c.exec(ctx, s, killSetup); err != nil {
			return err
		}
	}
	for s.Info().Step < killSteps {
		var err error
		switch last := s.Info().Step; r.IntN(16) {
		case 0:
			var rec *engine.Record
			if rec, err = s.Rewind(ctx, 1+r.IntN(last)); err == nil {
				c.tell(killEvent{Event: "step", Session: name, Step: rec.Step})
				_, err = c.exec(ctx, s, "check()")
			}
		case 1:
			err = c.fork(ctx, name, 1+r.IntN(last), r.IntN(2) == 0)
		case 2:
			_, err = c.exec(ctx, s, fmt.Sprintf("step(%d)", 1<<20+r.IntN(3<<20)))
		case 3:
			_, err = s.Snapshot(ctx)
		default:
			_, err = c.exec(ctx, s, fmt.Sprintf("step(%d)", r.IntN(20_000)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fork makes a copy of an earlier step, uses it, and perhaps leaves it there.
func (c *killChild) fork(ctx context.Context, name string, step int, remove bool) error {
	as := fmt.Sprintf("f-%s-%d-%d", name, step, os.Getpid())
	if _, err := c.Lookup(ctx, as); err == nil {
		return nil
	}
	c.tell(killEvent{Event: "making", Session: as})
	s, err := c.Fork(ctx, name, step, as)
	if err != nil {
		return err
	}
	defer s.Close()
	c.tell(killEvent{Event: "step", Session: as, Step: step})
	want, err := c.expected(ctx, as, step)
	if err != nil {
		return err
	}
	if got, err := c.exec(ctx, s, "check()"); err != nil || got != want {
		return fmt.Errorf("fork of %s at step %d: %s, it is %s and should be %s", name, step, fmt.Sprint(err), got, want)
	}
	if _, err := c.exec(ctx, s, "step(100)"); err != nil {
		return err
	}
	if remove {
		return c.remove(ctx, as)
	}
	return nil
}
