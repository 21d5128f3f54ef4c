package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/internal/storetest"
)

const damageSteps = 12

// fastDir is a directory in memory where there is one: these tests open a store a thousand times.
func fastDir(t *testing.T) string {
	t.Helper()
	const shm = "/dev/shm"
	if free, _, err := freeSpace(shm); err == nil && free > 2<<30 {
		if dir, err := os.MkdirTemp(shm, "mayfly-store-test-"); err == nil {
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			return dir
		}
	}
	return t.TempDir()
}

// damageStep is the commit of a step of the store that the tests damage: small and large values, shared objects.
func damageStep(name string, step int) *engine.Commit {
	c := storetest.Step(name, step,
		cas.Object{Data: storetest.Data(fmt.Sprint(name, step), 300)},
		cas.Object{Data: storetest.Data(fmt.Sprint(name, step), 9000)},
		cas.Object{Data: storetest.Data(fmt.Sprint("shared", step), 5000)})
	if step%3 == 0 {
		c.Record = append(c.Record, bytes.Repeat([]byte(" "), 6000)...)
	}
	return c
}

var damageNames = []string{"ant", "bee", "cat"}

// damageTemplates makes a store that was closed in good order, and one as a crash leaves it.
func damageTemplates(t *testing.T) (closed, crashed string) {
	t.Helper()
	dir := fastDir(t)
	closed, crashed = filepath.Join(dir, "closed"), filepath.Join(dir, "crashed")
	half := damageSteps / 2
	s := open(t, closed, nil)
	fillSteps(t, s, 0, half)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, closed, nil)
	fillSteps(t, s, half, damageSteps)
	if err := s.Collect(context.Background()); err != nil {
		t.Fatal(err)
	}
	copyDir(t, crashed, closed)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return closed, crashed
}

func fillSteps(t *testing.T, s *Store, from, to int) {
	t.Helper()
	for step := from; step < to; step++ {
		for _, name := range damageNames {
			mustCommit(t, s, damageStep(name, step))
		}
	}
}

// copyDir copies a store, the holes as holes.
func copyDir(t *testing.T, to, from string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Mkdir(filepath.Join(to, rel), 0o700)
		}
		b, err := readSparse(path)
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, rel), b, 0o600); err != nil {
			return err
		}
		return os.Truncate(filepath.Join(to, rel), fi.Size())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wantTruth reads all that should be in a damaged store. What is read must be right; errors must say that something is
// damaged. It returns what is missing without an error.
func wantTruth(t *testing.T, s *Store) (silent []string) {
	t.Helper()
	ctx := context.Background()
	allowed := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, engine.ErrStoreDamaged) && !errors.Is(err, cas.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, err := range s.Heads(ctx) {
		if err != nil {
			allowed("heads", err)
		}
	}
	for _, name := range damageNames {
		n := 0
		ended := false
		for r, err := range s.Records(ctx, name, 0) {
			if errors.Is(err, engine.ErrNoSession) {
				break
			}
			if err != nil {
				allowed("records", err)
				ended = true
				break
			}
			if want := damageStep(name, n).Record; r.Step != n || !bytes.Equal(r.Record, want) {
				t.Errorf("%s: record %d is %.50q instead of %.50q", name, r.Step, r.Record, want)
			}
			n++
		}
		if n < damageSteps && !ended {
			silent = append(silent, fmt.Sprintf("%s has %d steps", name, n))
		}
		if head, err := s.Head(ctx, name); err == nil && !ended {
			if want := damageStep(name, n-1).Head; !bytes.Equal(head, want) {
				t.Errorf("%s: head %q, want %q", name, head, want)
			}
		} else if err != nil && !errors.Is(err, engine.ErrNoSession) {
			allowed("head", err)
		}
		for step := range n {
			for h := range damageStep(name, step).Objects.All {
				switch _, err := s.Get(h); {
				case errors.Is(err, cas.ErrMissing):
					silent = append(silent, fmt.Sprintf("%s step %d: %v", name, step, err))
				case err != nil:
					allowed("get", err)
				}
			}
		}
	}
	return silent
}

func damageCheckOptions(repair bool) *CheckOptions {
	return &CheckOptions{
		Repair: repair,
		Verify: inOrder,
		HeadStep: func(head []byte) (int, error) {
			var h struct{ Step int }
			err := json.Unmarshal(head, &h)
			return h.Step, err
		},
		Rehead: func(session string, _ []byte, last engine.StoredRecord) ([]byte, error) {
			return damageStep(session, last.Step).Head, nil
		},
	}
}

// repairs counts how repairs ended.
var repairs struct{ all, whole, lossless int }

// tryDamage opens a damaged store, and checks and repairs a copy of it.
func tryDamage(t *testing.T, what, dir string) {
	t.Helper()
	ctx := context.Background()
	second := dir + "-2"
	copyDir(t, second, dir)
	defer func() { _ = os.RemoveAll(second) }()

	s, err := Open(dir, nil)
	if err != nil {
		told := errors.Is(err, engine.ErrStoreDamaged) && strings.Contains(err.Error(), "mayfly doctor --store "+dir)
		if !told && !errors.Is(err, ErrNewer) {
			t.Errorf("%s: open: %v", what, err)
		}
	} else {
		silent := wantTruth(t, s)
		if err := s.Close(); err != nil && !errors.Is(err, engine.ErrStoreDamaged) {
			t.Errorf("%s: close: %v", what, err)
		}
		r, err := Check(ctx, dir, damageCheckOptions(false))
		if err != nil {
			t.Errorf("%s: check: %v", what, err)
		} else if len(silent) > 0 && r.OK {
			t.Errorf("%s: check finds nothing, but %q", what, silent)
		}
	}

	r, err := Check(ctx, second, damageCheckOptions(true))
	if errors.Is(err, ErrNewer) {
		return
	}
	if err != nil {
		t.Errorf("%s: repair: %v", what, err)
		return
	}
	// A session of which a record is lost stays as it is: what it has now may be of use. All else can be repaired.
	beyond := ""
	for _, f := range r.Findings {
		if !f.Repaired && f.Level != Info {
			if beyond += f.Session; f.Session == "" && f.Object == "" {
				t.Errorf("%s: not repaired: %v", what, f)
			}
		}
	}
	if !r.OK && beyond == "" {
		t.Errorf("%s: not repaired: %v", what, r.Findings)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	if r, err = Check(ctx, second, damageCheckOptions(false)); err != nil || !r.OK && beyond == "" {
		t.Errorf("%s: check after repair: %v %v", what, err, r)
	}
	if s, err = Open(second, nil); err != nil {
		t.Errorf("%s: open after repair: %v", what, err)
		return
	}
	silent := wantTruth(t, s)
	if beyond == "" {
		repairs.whole++
	}
	if len(silent) == 0 {
		repairs.lossless++
	}
	repairs.all++
	for _, name := range damageNames { // it goes on
		next, whole := 0, true
		for r, err := range s.Records(ctx, name, 0) {
			next, whole = r.Step+1, err == nil || errors.Is(err, engine.ErrNoSession)
		}
		if err := s.Commit(ctx, damageStep(name, next)); err != nil && whole {
			t.Errorf("%s: commit after repair: %v", what, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("%s: close after repair: %v", what, err)
	}
}

// TestDamage damages the files in many ways. Whatever happens, what is read is right or an error says that it is not,
// and Check can repair it.
func TestDamage(t *testing.T) {
	closed, crashed := damageTemplates(t)
	work := filepath.Join(fastDir(t), "work")
	rounds := 4
	if testing.Short() || raceEnabled {
		rounds = 1
	}
	r := rand.New(rand.NewPCG(7, 7))
	n := 0
	for _, template := range []string{closed, crashed} {
		names, err := filepath.Glob(filepath.Join(template, badgerDir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(names)
		for _, path := range append(names, filepath.Join(template, formatName)) {
			rel, _ := filepath.Rel(template, path)
			for i := range rounds {
				for _, d := range damages {
					if d.once && i > 0 {
						continue
					}
					dir := fmt.Sprintf("%s%d", work, n)
					n++
					copyDir(t, dir, template)
					what := d.do(t, r, filepath.Join(dir, rel))
					if what != "" {
						tryDamage(t, filepath.Base(template)+" "+rel+" "+what, dir)
					}
					if err := os.RemoveAll(dir); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	t.Logf("%d damaged stores; of %d that were repaired %d have nothing left to report, and %d lost nothing",
		n, repairs.all, repairs.whole, repairs.lossless)
}

var damages = []struct {
	once bool
	do   func(t *testing.T, r *rand.Rand, path string) string
}{
	{do: func(t *testing.T, r *rand.Rand, path string) string { // a bit
		return patch(t, path, func(b []byte, used int) string {
			at := r.IntN(used)
			b[at] ^= 1 << r.IntN(8)
			return fmt.Sprintf("bit in byte %d", at)
		})
	}},
	{do: func(t *testing.T, r *rand.Rand, path string) string { // a range
		return patch(t, path, func(b []byte, used int) string {
			at := r.IntN(used)
			n := min(1+r.IntN(600), used-at)
			fill := byte(r.IntN(3) * 127)
			for i := range n {
				b[at+i] = fill
			}
			return fmt.Sprintf("%d bytes from %d are %d", n, at, fill)
		})
	}},
	{do: func(t *testing.T, r *rand.Rand, path string) string { // cut
		used := 0
		patch(t, path, func(b []byte, n int) string { used = n; return "" })
		if used == 0 {
			return ""
		}
		at := r.IntN(used)
		if err := os.Truncate(path, int64(at)); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("cut at byte %d of %d", at, used)
	}},
	{once: true, do: func(t *testing.T, _ *rand.Rand, path string) string {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return "removed"
	}},
	{once: true, do: func(t *testing.T, _ *rand.Rand, path string) string {
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		return "empty"
	}},
}

// patch changes a file in place. Used is the length without zeros at the end.
func patch(t *testing.T, path string, f func(b []byte, used int) string) string {
	t.Helper()
	b, err := readSparse(path)
	if err != nil {
		t.Fatal(err)
	}
	used := len(bytes.TrimRight(b, "\x00"))
	if used == 0 {
		return ""
	}
	what := f(b, used)
	if what == "" {
		return ""
	}
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := io.Copy(w, bytes.NewReader(b[:used])); err != nil {
		t.Fatal(err)
	}
	return what
}
