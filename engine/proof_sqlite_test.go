package engine_test

import (
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

const sqliteRows = 100_000

// sqliteMake makes a database with an index in one step.
const sqliteMake = `
import os, sqlite3
db = sqlite3.connect('big.db', isolation_level=None)
db.execute('pragma cache_size = 50')  # what is changed goes to the file before the commit
db.execute('create table t(id integer primary key, k integer, v text)')
db.execute('create index i on t(k)')
db.execute('begin')
db.executemany('insert into t(k, v) values (?, ?)', ((n * 7919 % ROWS, 'value %d' % n) for n in range(ROWS)))
db.execute('commit')

def sound():
    with open('sound.txt', 'a') as f: f.write('asked\n')
    fresh = sqlite3.connect('big.db')
    try:
        return (fresh.execute('pragma integrity_check').fetchone()[0], *fresh.execute('select count(*), sum(k), sum(length(v)) from t').fetchone(),
            fresh.execute('select v from t where k = 12345').fetchall(), sorted(n for n in os.listdir('.') if n.startswith('big')))
    finally:
        fresh.close()
sound()
`

// sqliteHalf changes much in a transaction that never ends; BUSY is what it does then.
const sqliteHalf = `
db.execute('begin immediate')
db.execute('update t set v = v || "!", k = k + 1')
db.execute('delete from t where id % 2')
assert os.path.exists('big.db-journal')
open('other.txt', 'w').write('half')
print('half', flush=True)
BUSY
`

const (
	sqliteStubborn = "while True:\n    try:\n        while True: db.execute('insert into t(k, v) values (1, 1)')\n    except BaseException: pass"
	sqlitePolite   = "while True: db.execute('insert into t(k, v) values (1, 1)')"
)

func makeDatabase(t *testing.T, s *engine.Session) string {
	t.Helper()
	r := exec(t, s, strings.ReplaceAll(sqliteMake, "ROWS", fmt.Sprint(sqliteRows)))
	if r.Status != engine.StatusOK || !strings.HasPrefix(r.ResultRepr, fmt.Sprintf("('ok', %d, ", sqliteRows)) {
		t.Fatalf("%s, %s", describe(r), r.ResultRepr)
	}
	return r.ResultRepr
}

// TestSQLite: a database keeps what was committed, and nothing else, whatever ends an execution.
func TestSQLite(t *testing.T) {
	d := newDurable(t, nil)
	s := d.session("demo", nil)
	sound := makeDatabase(t, s)
	d.restart()
	s = d.session("demo", nil)
	want(t, s, "sound()", sound)

	// Killed in the middle of a transaction: nothing of the step is there, not even the journal file.
	cancelled, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := s.Exec(cancelled, engine.Request{
		Code: strings.ReplaceAll(sqliteHalf, "BUSY", sqliteStubborn), OnEvent: func(engine.Event) { cancel() },
	})
	if err != nil || r.Status != engine.StatusCancelled || !r.Error.Restored || len(r.FilesChanged) != 0 {
		t.Fatalf("%v, %s, %v", err, describe(r), r.FilesChanged)
	}
	want(t, s, "sound(), os.path.exists('other.txt'), db.in_transaction", "("+sound+", False, False)")

	// Ended by an exception: the transaction is still open, across a restart, and can be taken back.
	polite, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err = s.Exec(polite, engine.Request{
		Code: strings.ReplaceAll(sqliteHalf, "BUSY", sqlitePolite), OnEvent: func(engine.Event) { cancel() },
	})
	if err != nil || r.Status != engine.StatusCancelled {
		t.Fatalf("%v, %s", err, describe(r))
	}
	if !r.Error.Restored {
		want(t, s, "db.in_transaction, os.path.exists('big.db-journal')", "(True, True)")
		d.restart()
		s = d.session("demo", nil)
		want(t, s, "db.execute('rollback'); sound()", sound)
	}
	want(t, s, "db.execute('update t set v = v || \"?\" where id <= 10').rowcount", "10")
	d.restart()
	s = d.session("demo", nil)
	want(t, s, "db.execute('select count(*) from t where v like \"%?\"').fetchone(), sound()[0]", "((10,), 'ok')")
	if v := d.verify("demo"); len(v.Damage) > 0 || v.Divergence != nil {
		t.Errorf("%+v, %v", v, v.Divergence)
	}
}

const sqliteDir = "MAYFLY_TEST_SQLITE_DIR"

// TestSQLiteChild is no test: TestSQLiteKillNine kills it.
func TestSQLiteChild(t *testing.T) {
	dir := os.Getenv(sqliteDir)
	if dir == "" {
		t.Skip("only runs as the child of TestSQLiteKillNine")
	}
	d := &durable{t: t, dir: dir, o: options()}
	d.open()
	s := d.session("demo", nil)
	fmt.Println(killPrefix + makeDatabase(t, s))
	_, err := s.Exec(t.Context(), engine.Request{
		Code:    strings.ReplaceAll(sqliteHalf, "BUSY", sqlitePolite),
		Timeout: time.Minute,
		OnEvent: func(engine.Event) { fmt.Println(killPrefix + "half") },
	})
	t.Fatal("nobody killed it", err)
}

// TestSQLiteKillNine kills the process while the guest is in a transaction.
func TestSQLiteKillNine(t *testing.T) {
	slowUnderRace(t)
	dir := filepath.Join(t.TempDir(), "store")
	cmd := osexec.Command(os.Args[0], "-test.run=^TestSQLiteChild$", "-test.timeout=2m")
	cmd.Env = append(os.Environ(), sqliteDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	events := readLines(out, func(line string) {
		if line == killPrefix+"half" {
			_ = cmd.Process.Kill()
		}
	})
	_ = cmd.Wait()
	if len(events) < 2 || events[1] != killPrefix+"half" {
		t.Fatalf("%q", events)
	}
	checkStore(t, dir)
	d := &durable{t: t, dir: dir, o: options()}
	d.open()
	defer d.close()
	s := d.session("demo", nil)
	if step := s.Info().Step; step != 1 {
		t.Errorf("step %d", step)
	}
	want(t, s, "sound()", strings.TrimPrefix(events[0], killPrefix))
	want(t, s, "db.execute('begin'); db.execute('delete from t where id > 10'); db.execute('commit'); sound()[:2]", "('ok', 10)")
	if v := d.verify("demo"); !v.OK || v.Executed != 3 {
		t.Errorf("%+v, %v", v, v.Divergence)
	}
}
