package store

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/internal/storetest"
)

func mustCommit(t testing.TB, s *Store, c *engine.Commit) {
	t.Helper()
	if err := s.Commit(context.Background(), c); err != nil {
		t.Fatalf("commit step %d of %s: %v", c.Step, c.Session, err)
	}
}

func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "store")
	for round := range 5 {
		s := open(t, dir, nil)
		for i := range 10 {
			mustCommit(t, s, storetest.Step("a", 10*round+i, cas.Object{Data: storetest.Data("x", 100*i+1000*round)}))
		}
		n := 0
		for r, err := range s.Records(context.Background(), "a", 0) {
			if err != nil || r.Step != n {
				t.Fatalf("record %d: %v", r.Step, err)
			}
			n++
		}
		if n != 10*(round+1) {
			t.Fatalf("%d records after round %d", n, round)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("closing again: %v", err)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if want := map[bool]fs.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; err == nil && fi.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, fi.Mode().Perm(), want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestClosed(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	ctx := context.Background()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err1 := s.Head(ctx, "a")
	_, err2 := s.Get(cas.Hash{})
	_, err3 := s.Put(cas.Object{})
	_, err4 := s.Stats(ctx)
	for i, err := range []error{err1, err2, err3, err4, s.Commit(ctx, storetest.Step("a", 0)), s.Remove(ctx, "a"),
		s.Release(ctx, "a", 0, nil), s.SetHead(ctx, "a", nil), s.Collect(ctx), s.SetSocket("x")} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("call %d after Close: %v", i, err)
		}
	}
	s.Forget(cas.Hash{})
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadHolder(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("holder of nothing: %v", err)
	}
	s := open(t, dir, &Options{Command: "mayfly serve"})
	if err := s.SetSocket("/run/mayfly.sock"); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir, nil)
	var le *LockedError
	if !errors.Is(err, ErrLocked) || !errors.As(err, &le) {
		t.Fatalf("open twice: %v", err)
	}
	if le.PID != os.Getpid() || le.Command != "mayfly serve" || le.Socket != "/run/mayfly.sock" ||
		time.Since(le.Started) > time.Hour {
		t.Errorf("holder %+v", le)
	}
	for _, want := range []string{dir, "mayfly serve", "since", "/run/mayfly.sock"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadHolder(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("holder after Close: %v", err)
	}
	// A holder file of a process that was killed is no obstacle, whatever is in it.
	for _, b := range []string{`{"pid":1,"command":"gone"}`, "", "\x00"} {
		if err := os.WriteFile(filepath.Join(dir, holderName), []byte(b), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := open(t, dir, nil).Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLockedText(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		e    LockedError
		want string
	}{
		{LockedError{Dir: "D"}, "store D is in use by another process; wait for it or stop it, or name another store"},
		{LockedError{Dir: "D", PID: 12, Command: "mayfly repl", Started: now},
			"store D is in use by process 12 (mayfly repl, since " + now.Format("15:04") +
				"); wait for it or stop it, or name another store"},
		{LockedError{Dir: "D", PID: 12, Socket: "S"}, "store D is in use by process 12; it takes requests at S"},
	} {
		if got := tt.e.Error(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
	got := commandLine([]string{"/usr/bin/mayfly", "run", "-c", "a\nb\x1b[31m" + strings.Repeat("ü", 200)})
	if len([]rune(got)) != 80 || strings.ContainsAny(got, "\n\x1b") || !strings.HasPrefix(got, "mayfly run -c a b") {
		t.Errorf("command %q", got)
	}
}

func TestFormat(t *testing.T) {
	t.Run("newer", func(t *testing.T) {
		dir := t.TempDir()
		if err := open(t, dir, nil).Close(); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, formatName), `{"format":7}`)
		before := listing(t, dir)
		_, err := Open(dir, nil)
		if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "format 7, this Mayfly knows 1") ||
			!strings.Contains(err.Error(), "upgrade mayfly") {
			t.Errorf("error %v", err)
		}
		if after := listing(t, dir); after != before {
			t.Errorf("the store changed:\n%s\n%s", before, after)
		}
	})
	t.Run("damaged", func(t *testing.T) {
		dir := t.TempDir()
		if err := open(t, dir, nil).Close(); err != nil {
			t.Fatal(err)
		}
		for _, b := range []string{"", "{", "{}", `{"format":-1}`, "null", strings.Repeat("x", 100_000)} {
			write(t, filepath.Join(dir, formatName), b)
			if _, err := Open(dir, nil); err == nil {
				t.Errorf("opened with %.20q", b)
			}
		}
		if err := os.Remove(filepath.Join(dir, formatName)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, nil); !errors.Is(err, engine.ErrStoreDamaged) || !strings.Contains(err.Error(), "mayfly doctor --store") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("other directory", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "letter.txt"), "dear")
		before := listing(t, dir)
		if _, err := Open(dir, nil); !errors.Is(err, ErrNotStore) {
			t.Errorf("error %v", err)
		}
		if after := listing(t, dir); after != before {
			t.Errorf("the directory changed:\n%s\n%s", before, after)
		}
		if _, err := Open(filepath.Join(dir, "letter.txt"), nil); err == nil {
			t.Error("a file was opened as a store")
		}
		if _, err := Open("", nil); err == nil {
			t.Error("no directory was opened")
		}
	})
	t.Run("begun", func(t *testing.T) {
		// Whoever was killed while making a store left one of these.
		for _, names := range [][]string{{lockName}, {lockName, formatName + ".tmp"}} {
			dir := t.TempDir()
			for _, n := range names {
				write(t, filepath.Join(dir, n), "")
			}
			if err := open(t, dir, nil).Close(); err != nil {
				t.Fatal(err)
			}
		}
		dir := t.TempDir()
		write(t, filepath.Join(dir, formatName), `{"format":1}`)
		if err := open(t, dir, nil).Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestPermission(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may do everything")
	}
	dir := t.TempDir()
	if err := open(t, dir, nil).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(dir, 0o700) }()
	if _, err := Open(dir, nil); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "must be writable") {
		t.Errorf("error %v", err)
	}
}

func TestSpace(t *testing.T) {
	free := int64(10 << 30)
	o := &Options{free: func(string) (int64, int64, error) { return free, 100 << 30, nil }}
	dir := t.TempDir()
	s := open(t, dir, o)
	mustCommit(t, s, storetest.Step("a", 0))
	mustCommit(t, s, storetest.Step("b", 0))
	free = 100 << 20
	ctx := context.Background()
	err := s.Commit(ctx, storetest.Step("a", 1))
	if !errors.Is(err, engine.ErrStoreFull) {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{dir, "100.0 MiB free", "128.0 MiB must stay free"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if _, err := s.Put(cas.Object{Data: []byte("x")}); !errors.Is(err, engine.ErrStoreFull) {
		t.Errorf("put: %v", err)
	}
	if _, err := s.Head(ctx, "a"); err != nil {
		t.Errorf("reading: %v", err)
	}
	if err := s.Remove(ctx, "b"); err != nil {
		t.Errorf("removing: %v", err)
	}
	if err := s.Collect(ctx); err != nil {
		t.Errorf("collecting: %v", err)
	}
	free = 10 << 20
	if err := s.Remove(ctx, "a"); !errors.Is(err, engine.ErrStoreFull) {
		t.Errorf("removing without the reserve: %v", err)
	}
	free = 10 << 30
	mustCommit(t, s, storetest.Step("a", 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	free = 5 << 20
	if _, err := Open(dir, o); !errors.Is(err, engine.ErrStoreFull) {
		t.Errorf("open on a full disk: %v", err)
	}
	sp := space{free: func(string) (int64, int64, error) { return 90 << 20, 200 << 20, nil }}
	if err := sp.check(30<<20, false); err != nil {
		t.Errorf("a small disk: %v", err)
	}
	if err := sp.check(50<<20, false); !errors.Is(err, engine.ErrStoreFull) {
		t.Errorf("a small disk: %v", err)
	}
}

func TestDurability(t *testing.T) {
	for _, d := range []Durability{Sync, Async, None} {
		if got, err := ParseDurability(d.String()); err != nil || got != d {
			t.Errorf("%v: %v, %v", d, got, err)
		}
	}
	if d, err := ParseDurability(""); d != Sync || err != nil {
		t.Error(d, err)
	}
	if _, err := ParseDurability("often"); err == nil {
		t.Error("often is a durability")
	}
}

// TestBackground tells that nothing is logged above the level of debugging when all is well.
func TestBackground(t *testing.T) {
	var sb strings.Builder
	s := open(t, t.TempDir(), &Options{Logger: slog.New(slog.NewTextHandler(&sb, nil))})
	for i := range 50 {
		mustCommit(t, s, storetest.Step("a", i, cas.Object{Data: storetest.Data("x", 1000*i)}))
	}
	if err := s.Remove(context.Background(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := s.Collect(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if sb.Len() > 0 {
		t.Errorf("logged:\n%s", sb.String())
	}
}

func TestStats(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	mustCommit(t, s, storetest.Step("a", 0, cas.Object{Data: make([]byte, 100_000)}))
	st, err := s.Stats(context.Background())
	if err != nil || st.Sessions != 1 || st.Steps != 1 || st.Objects != 1 || st.Logical < 100_000 || st.Compressed > 1000 ||
		st.Disk == 0 {
		t.Errorf("%+v, %v", st, err)
	}
	if _, err := json.Marshal(st); err != nil {
		t.Error(err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// listing is the names, sizes and times of all files below a directory.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var sb strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err == nil {
			sb.WriteString(path + " " + fi.ModTime().Format(time.StampNano) + " " + fi.Mode().String() + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sb.String()
}
