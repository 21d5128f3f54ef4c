package tape_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mayfly-run/mayfly/engine/internal/tape"
)

var (
	seed  = [32]byte{1, 2, 3}
	began = time.Date(2026, 5, 4, 3, 2, 1, 987_654_321, time.UTC)
)

// record runs a program and returns the recording, as it is after it was stored.
func record(t *testing.T, l tape.Limits, program func(*tape.Tape)) *tape.Recording {
	t.Helper()
	tp := tape.New()
	tp.Record(seed, began, l)
	program(tp)
	r, d := tp.End()
	if d != nil {
		t.Errorf("recording diverged: %v", d)
	}
	return stored(t, r)
}

func stored(t *testing.T, r *tape.Recording) *tape.Recording {
	t.Helper()
	b := r.Encode()
	again, err := tape.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(r, again) {
		t.Fatalf("recording changed in the store:\n%.900v\n%.900v", r, again)
	}
	return again
}

func play(t *testing.T, r *tape.Recording, program func(*tape.Tape)) *tape.Divergence {
	t.Helper()
	tp := tape.New()
	if err := tp.Play(r); err != nil {
		t.Fatal(err)
	}
	if !tp.Playing() {
		t.Error("does not play")
	}
	program(tp)
	got, d := tp.End()
	if got != r || tp.Playing() {
		t.Error("replay did not end")
	}
	return d
}

func draw(t *testing.T, r io.Reader, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		t.Error(err)
	}
	return b
}

func TestEmptyStep(t *testing.T) {
	r := record(t, tape.Limits{}, func(*tape.Tape) {})
	if n := len(r.Encode()); n > 60 {
		t.Errorf("%d bytes", n)
	}
	if r.Seed != seed || !r.Start.Equal(began.Truncate(time.Microsecond)) || r.Base < time.Second || !r.Steady() || r.Input {
		t.Errorf("%+v", r)
	}
	if d := play(t, r, func(*tape.Tape) {}); d != nil {
		t.Error(d)
	}
}

func TestRandom(t *testing.T) {
	var first []byte
	r := record(t, tape.Limits{}, func(tp *tape.Tape) { first = draw(t, tp.Rand(), 1000) })
	if n := len(r.Encode()); n > 60 {
		t.Errorf("random bytes took place: %d", n)
	}
	var again []byte
	d := play(t, r, func(tp *tape.Tape) {
		again = append(draw(t, tp.Rand(), 3), draw(t, tp.Rand(), 997)...)
		draw(t, tp.Rand(), 100) // there are always more
	})
	if d != nil || !bytes.Equal(first, again) {
		t.Errorf("%v, same bytes: %v", d, bytes.Equal(first, again))
	}
	tp := tape.New()
	off := draw(t, tp.Rand(), 32)
	tp.Record([32]byte{}, began, tape.Limits{})
	fresh := draw(t, tp.Rand(), 32)
	if one, _ := tp.End(); one.Seed == [32]byte{} {
		t.Error("no seed was drawn")
	}
	if tp.Record([32]byte{}, began, tape.Limits{}); bytes.Equal(fresh, draw(t, tp.Rand(), 32)) {
		t.Error("the same random bytes in two steps")
	}
	if tp.Off(); bytes.Equal(off, draw(t, tp.Rand(), 32)) || bytes.Equal(off, make([]byte, 32)) {
		t.Error("the same random bytes while off")
	}
}

func TestClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := tape.New()
		tp.SetBase(time.Hour)
		tp.Record(seed, began, tape.Limits{})
		start := began.Truncate(time.Microsecond)
		var wall []time.Time
		var mono []time.Duration
		program := func(sleep func(time.Duration)) {
			wall, mono = nil, nil
			for i := range 100 {
				wall = append(wall, tp.Walltime(), tp.Walltime())
				mono = append(mono, tp.Monotonic(), tp.CPUTime())
				sleep(time.Duration(i) * 1234 * time.Nanosecond)
			}
		}
		program(time.Sleep)
		if !wall[0].Equal(start) || mono[0] != time.Hour || mono[1] != mono[0] {
			t.Errorf("begins at %v, %v, %v", wall[0], mono[0], mono[1])
		}
		for i, w := range wall {
			if w.Sub(start) != mono[i]-time.Hour {
				t.Errorf("reading %d: wall clock %v, monotonic %v", i, w.Sub(start), mono[i]-time.Hour)
			}
		}
		if slept := (99 * 100 / 2) * 1234 * time.Nanosecond; tp.Base() != time.Hour+slept.Truncate(time.Microsecond) {
			t.Errorf("base %v after %v", tp.Base(), slept)
		}
		r, _ := tp.End()
		if r = stored(t, r); r.Readings() != 400 || r.Base != time.Hour {
			t.Errorf("%d readings, base %v", r.Readings(), r.Base)
		}
		wall1, mono1 := wall, mono
		tp.SetBase(time.Minute)
		if err := tp.Play(r); err != nil {
			t.Fatal(err)
		}
		program(func(time.Duration) {})
		if _, d := tp.End(); d != nil || !slices.Equal(mono, mono1) || !slices.EqualFunc(wall, wall1, time.Time.Equal) {
			t.Errorf("replay: %v\n%v\n%v", d, mono, mono1)
		}
		// The guest knows times that this tape had not reached.
		if m := tp.Monotonic(); m != mono[len(mono)-1] {
			t.Errorf("%v after %v", m, mono[len(mono)-1])
		}
		time.Sleep(time.Second)
		tp.Record(seed, began, tape.Limits{})
		if m := tp.Monotonic(); m != mono[len(mono)-1]+time.Second {
			t.Errorf("%v after %v and a second", m, mono[len(mono)-1])
		}
	})
}

func TestMonotonicBase(t *testing.T) {
	tp := tape.New()
	last := tp.Monotonic()
	if last < time.Second {
		t.Errorf("begins at %v", last)
	}
	up := func(what string) {
		t.Helper()
		if now := tp.Monotonic(); now < last {
			t.Errorf("%s: %v after %v", what, now, last)
		} else {
			last = now
		}
		if b := tp.Base(); b < last {
			t.Errorf("%s: base %v, clock %v", what, b, last)
		}
	}
	tp.Record(seed, began, tape.Limits{})
	up("record")
	r, _ := tp.End()
	up("off")
	if err := tp.Play(r); err != nil {
		t.Fatal(err)
	}
	if m := tp.Monotonic(); m > last || m < r.Base {
		t.Errorf("replay is at %v", m)
	}
	tp.End()
	up("after replay")
	tp.SetBase(0)
	tp.SetBase(-5)
	up("base of zero")
	other := tape.New()
	other.SetBase(tp.Base() + time.Hour)
	tp = other
	up("another process")
	tp.SetBase(1<<63 - 1)
	tp.Record(seed, began, tape.Limits{})
	up("absurd base")
	r, _ = tp.End()
	stored(t, r)
	tp.SetBase(time.Microsecond)
	if m := tp.Monotonic(); m < time.Microsecond || m >= last {
		t.Errorf("%v after a rewind", m)
	}
}

func TestFileTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := tape.New()
		tp.SetBase(time.Second)
		start := began.Truncate(time.Microsecond).UnixNano()
		tp.Record(seed, began, tape.Limits{})
		var got []int64
		program := func(sleep func(time.Duration)) {
			got = nil
			for i := range 3000 {
				got = append(got, tp.FileTime())
				if i%1000 == 999 {
					sleep(11 * time.Millisecond)
				}
				if i > 2990 {
					sleep(time.Millisecond)
				}
			}
		}
		program(time.Sleep)
		r, _ := tp.End()
		if n := len(stored(t, r).Encode()); n > 80 {
			t.Errorf("%d bytes", n)
		}
		for i, want := range map[int]int64{0: 0, 999: 0, 1000: 8, 1999: 8, 2000: 20, 2992: 20, 2994: 24, 2999: 28} {
			if ms := (got[i] - start) / 1e6; ms != want {
				t.Errorf("call %d is at %d ms, not %d", i, ms, want)
			}
		}
		first := got
		if err := tp.Play(r); err != nil {
			t.Fatal(err)
		}
		program(func(time.Duration) {})
		if _, d := tp.End(); d != nil || !slices.Equal(first, got) {
			t.Errorf("replay: %v, same: %v", d, slices.Equal(first, got))
		}
	})
	if a := tape.New().FileTime(); a < began.UnixNano()/2 {
		t.Errorf("off: %d", a)
	}
}

func TestUnsteady(t *testing.T) {
	many := func(tp *tape.Tape) {
		for i := range 100 {
			tp.Unsteady(strings.Repeat("x", i))
		}
	}
	for name, c := range map[string]struct {
		program func(*tape.Tape)
		want    []string
	}{
		"none":   {func(*tape.Tape) {}, nil},
		"once":   {func(tp *tape.Tape) { tp.Unsteady("threads"); tp.Unsteady("time"); tp.Unsteady("threads") }, []string{"threads", "time"}},
		"fork":   {func(tp *tape.Tape) { tp.Fork(); tp.Fork() }, []string{tape.ReasonProcesses}},
		"odd":    {func(tp *tape.Tape) { tp.Unsteady(""); tp.Unsteady("a\nä") }, []string{"a??"}},
		"input":  {func(tp *tape.Tape) { tp.Stdin(strings.NewReader("abc")) }, nil},
		"forked": {func(tp *tape.Tape) { tp.Unsteady("b"); tp.Fork() }, []string{"b", tape.ReasonProcesses}},
	} {
		r := record(t, tape.Limits{}, c.program)
		if !slices.Equal(r.Incomplete, c.want) {
			t.Errorf("%s: %q", name, r.Incomplete)
		}
		d := play(t, r, c.program)
		if (d != nil) != (len(c.want) > 0) || d != nil && d.Kind != tape.KindUnverified {
			t.Errorf("%s: %v", name, d)
		}
	}
	if r := record(t, tape.Limits{}, many); len(r.Incomplete) != tape.MaxReasons {
		t.Errorf("%d reasons", len(r.Incomplete))
	}
	tape.New().Unsteady("nobody listens")
}

func TestFork(t *testing.T) {
	tp := tape.New()
	sources := func() []byte {
		random, wall, mono, cpu := tp.Fork()
		m := mono()
		if tp.Monotonic() > m && tp.Playing() {
			t.Error("the clock of a fork is behind")
		}
		if cpu() < m || wall().Before(time.UnixMicro(0)) {
			t.Error("clocks went back")
		}
		b := draw(t, random, 50)
		if bytes.Equal(b, draw(t, tp.Rand(), 50)) {
			t.Error("a fork has the random bytes of its parent")
		}
		return b
	}
	off := sources()
	tp.Record(seed, began, tape.Limits{})
	first := tp.Monotonic()
	one, two := sources(), sources()
	r, _ := tp.End()
	if bytes.Equal(one, two) || bytes.Equal(one, off) {
		t.Error("forks have the same random bytes")
	}
	if err := tp.Play(r); err != nil {
		t.Fatal(err)
	}
	if m := tp.Monotonic(); m != first {
		t.Errorf("%v, not %v", m, first)
	}
	if random, _, _, _ := tp.Fork(); !bytes.Equal(one, draw(t, random, 50)) {
		t.Error("the fork of a replay has other random bytes")
	}
}

func TestConcurrent(t *testing.T) {
	tp := tape.New()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 300 {
				tp.Walltime()
				tp.FileTime()
				tp.CPUTime()
				draw(t, tp.Rand(), 9)
				tp.Call([]byte("a"), func() []byte { return []byte("b") })
				tp.Unsteady("threads")
				random, _, mono, _ := tp.Fork()
				draw(t, random, int(mono()%3))
				draw(t, tp.Stdin(strings.NewReader("x")), 0)
			}
		})
	}
	for range 50 {
		tp.Record(seed, began, tape.Limits{})
		in := tp.Stdin(strings.NewReader("abc"))
		wg.Go(func() { _, _ = io.ReadAll(in) })
		r, _ := tp.End()
		if r == nil {
			t.Error("no recording")
			continue
		}
		if err := tp.Play(stored(t, r)); err != nil {
			t.Error(err)
		}
		tp.Off()
	}
	wg.Wait()
}

func TestStepsReplaceEachOther(t *testing.T) {
	tp := tape.New()
	if r, d := tp.End(); r != nil || d != nil {
		t.Error(r, d)
	}
	if err := tp.Play(nil); !errors.Is(err, tape.ErrDamaged) {
		t.Error(err)
	}
	tp.Record(seed, began, tape.Limits{})
	in := tp.Stdin(strings.NewReader("late"))
	tp.Record(seed, began, tape.Limits{})
	if b, err := io.ReadAll(in); string(b) != "late" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	tp.Call(nil, func() []byte { tp.Off(); return nil })
	if r, _ := tp.End(); r != nil {
		t.Errorf("%+v", r)
	}
	tp.Record(seed, began, tape.Limits{})
	tp.Call(nil, func() []byte { tp.Record(seed, began, tape.Limits{}); return nil })
	if r, _ := tp.End(); r.Input || len(r.Calls) > 0 || !r.Steady() {
		t.Errorf("%+v", r)
	}
}
