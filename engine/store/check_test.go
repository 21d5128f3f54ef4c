package store

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/internal/storetest"
)

// tamper writes rows into a closed store as nobody should.
func tamper(t *testing.T, dir string, rows ...setting) {
	t.Helper()
	s := open(t, dir, nil)
	if err := s.setAll(context.Background(), rows); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func checkStore(t *testing.T) (dir string, gen uint64) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, dir, nil)
	for step := range 6 {
		mustCommit(t, s, storetest.Step("a", step))
		mustCommit(t, s, storetest.Step("b", step))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, 1
}

func TestCheck(t *testing.T) {
	object := func(step int) cas.Hash { return storetest.Step("a", step).Holds[0] }
	row := func(first, last int, head string) []byte {
		return sessionRow{1, first, last, []byte(head)}.encode()
	}
	for _, tt := range []struct {
		name string
		rows func(gen uint64) []setting
		want []string // parts of findings
		left bool     // something is left after the repair
		last int      // of session a, after the repair
	}{
		{name: "nothing", last: 5},
		{"count too low", func(uint64) []setting { return []setting{{hashKey(keyCount, object(2)), nil}} },
			[]string{"1 objects are named more often"}, false, 5},
		{"count too high", func(uint64) []setting { return []setting{{hashKey(keyCount, object(2)), encodeCount(9)}} },
			[]string{"1 objects are named less often"}, false, 5},
		{"count unreadable", func(uint64) []setting { return []setting{{hashKey(keyCount, object(2)), []byte{0xff}}} },
			[]string{"named more often"}, false, 5},
		{"garbage", func(uint64) []setting {
			o := cas.Object{Data: []byte("garbage")}
			return []setting{{hashKey(keyObject, o.Sum()), encodeObject(o.Sum(), o)}}
		}, []string{"1 objects that nobody names are not marked"}, false, 5},
		{"missing object of the last step", func(uint64) []setting { return []setting{{hashKey(keyObject, object(5)), nil}} },
			[]string{"what step 5 holds is damaged"}, false, 4},
		{"damaged object of the last two steps", func(uint64) []setting {
			return []setting{{hashKey(keyObject, object(5)), []byte("nonsense")},
				{hashKey(keyObject, object(4)), encodeObject(object(4), cas.Object{Data: []byte("other")})}}
		}, []string{"what step 5 holds", "what step 4 holds", "it has another hash", "cannot be read"}, false, 3},
		{"damaged object of an early step", func(uint64) []setting {
			return []setting{{hashKey(keyObject, object(1)), []byte("nonsense")}}
		}, []string{"what step 1 holds"}, false, 5},
		{"last record missing", func(gen uint64) []setting { return []setting{{stepKey(keyRecord, "a", gen, 5), nil}} },
			[]string{"the record of step 5 is missing"}, false, 4},
		{"middle record missing", func(gen uint64) []setting { return []setting{{stepKey(keyRecord, "a", gen, 2), nil}} },
			[]string{"the record of step 2 is missing"}, true, 5},
		{"wrong record", func(gen uint64) []setting {
			return []setting{{stepKey(keyRecord, "a", gen, 4), maskRow([]byte("wrong"))}}
		},
			[]string{"the record is wrong"}, false, 3},
		{"head is not JSON", func(uint64) []setting { return []setting{{sessionKey("a"), row(0, 5, "{")}} },
			[]string{"its head is not JSON"}, false, 5},
		{"head of another step", func(uint64) []setting { return []setting{{sessionKey("a"), row(0, 5, `{"step":3}`)}} },
			[]string{"its head speaks of step 3; the last one is 5"}, false, 5},
		{"older head", func(uint64) []setting { return []setting{{sessionKey("a"), row(0, 3, `{"step":3}`)}} },
			[]string{"there are records up to step 5"}, false, 5},
		{"no head", func(uint64) []setting { return []setting{{sessionKey("a"), nil}} },
			[]string{"6 records without a head"}, false, 5},
		{"head unreadable", func(uint64) []setting { return []setting{{sessionKey("a"), []byte("?")}} },
			[]string{"its head cannot be read"}, false, 5},
		{"stray step", func(gen uint64) []setting {
			return []setting{{stepKey(keyRecord, "a", gen, 77), maskRow([]byte("{}"))}}
		},
			[]string{"there is something of step 77"}, false, 5},
		{"unknown row", func(uint64) []setting { return []setting{{[]byte("mz"), []byte("?")}} },
			[]string{"a row of an unknown kind"}, true, 5},
		{"generation", func(uint64) []setting { return []setting{{keyGeneration, nil}} },
			[]string{"the number of generations is wrong"}, false, 5},
		{"all of a damaged", func(uint64) (rows []setting) {
			for step := range 6 {
				rows = append(rows, setting{hashKey(keyObject, object(step)), nil})
			}
			return rows
		}, []string{"what step 0 holds"}, true, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, gen := checkStore(t)
			if tt.rows != nil {
				tamper(t, dir, tt.rows(gen)...)
			}
			for _, repair := range []bool{false, true} {
				r := check(t, dir, repair)
				if r.OK != (len(tt.want) == 0 || repair && !tt.left) {
					t.Errorf("repair %v: OK is %v: %v", repair, r.OK, r.Findings)
				}
				for _, want := range tt.want {
					if !slices.ContainsFunc(r.Findings, func(f Finding) bool {
						return strings.Contains(f.String(), want) && f.Repaired == (repair && !tt.left)
					}) {
						t.Errorf("repair %v: no %q in %v", repair, want, r.Findings)
					}
				}
				if repair && !tt.left && len(tt.want) > 0 && len(r.Repaired)+len(r.Findings) == 0 {
					t.Error("nothing is said to have been done")
				}
			}
			if r := check(t, dir, false); r.OK == tt.left {
				t.Errorf("after the repair: %v", r.Findings)
			}
			s := open(t, dir, nil)
			if tt.left {
				return
			}
			last := -1
			for r, err := range s.Records(context.Background(), "a", 0) {
				if err != nil {
					t.Fatal(err)
				}
				last = r.Step
			}
			if last != tt.last {
				t.Errorf("a ends with step %d, want %d", last, tt.last)
			}
			if head, err := s.Head(context.Background(), "a"); err != nil || string(head) != string(storetest.Step("a", last).Head) {
				t.Errorf("head %q, %v", head, err)
			}
			mustCommit(t, s, storetest.Step("a", last+1))
			mustCommit(t, s, storetest.Step("b", 6))
		})
	}
}

func check(t *testing.T, dir string, repair bool) *Report {
	t.Helper()
	o := damageCheckOptions(repair)
	o.Rehead = func(session string, _ []byte, last engine.StoredRecord) ([]byte, error) {
		return storetest.Step(session, last.Step).Head, nil
	}
	phases := map[string]bool{}
	o.Progress = func(p Progress) { phases[p.Phase] = true }
	r, err := Check(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if !phases["files"] || !phases["objects"] || r.Stats.Disk == 0 {
		t.Errorf("phases %v, stats %+v", phases, r.Stats)
	}
	if b, err := json.Marshal(r); err != nil || !strings.Contains(string(b), `"findings"`) {
		t.Errorf("%s, %v", b, err)
	}
	return r
}

func TestCheckRefuses(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	if _, err := Check(ctx, filepath.Join(dir, "none"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if _, err := Check(ctx, dir, nil); !errors.Is(err, ErrNotStore) {
		t.Errorf("empty directory: %v", err)
	}
	s := open(t, dir, nil)
	if _, err := Check(ctx, dir, nil); !errors.Is(err, ErrLocked) {
		t.Errorf("open store: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Check(cancelled, dir, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	write(t, filepath.Join(dir, formatName), `{"format":2}`)
	if _, err := Check(ctx, dir, &CheckOptions{Repair: true}); !errors.Is(err, ErrNewer) {
		t.Errorf("newer: %v", err)
	}
}

// TestCheckNoRehead tells that a session stays when nobody can make a head for it.
func TestCheckNoRehead(t *testing.T) {
	dir, _ := checkStore(t)
	tamper(t, dir, setting{hashKey(keyObject, storetest.Step("a", 5).Holds[0]), nil})
	r, err := Check(context.Background(), dir, &CheckOptions{Repair: true})
	if err != nil || r.OK {
		t.Errorf("%v %v", r, err)
	}
	s := open(t, dir, nil)
	n := 0
	for _, err := range s.Records(context.Background(), "a", 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 6 {
		t.Errorf("%d records", n)
	}
}
