package tape_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/mayfly-run/mayfly/engine/internal/tape"
)

// transcript is what a reader gives to someone with a buffer of n bytes.
func transcript(r io.Reader, n int) (list []string) {
	b := make([]byte, n)
	for range 100 {
		k, err := r.Read(b)
		list = append(list, fmt.Sprintf("%q %v", b[:k], err != nil))
		if err != nil {
			return append(list, fmt.Sprint(err == io.EOF))
		}
	}
	return list
}

type brokenReader int

func (n brokenReader) Read([]byte) (int, error) { return int(n), nil }

func TestStdin(t *testing.T) {
	failed := errors.New("the line went dead")
	for name, in := range map[string]func() io.Reader{
		"nil":          func() io.Reader { return nil },
		"empty":        func() io.Reader { return strings.NewReader("") },
		"short":        func() io.Reader { return strings.NewReader("hello\nworld\n") },
		"one by one":   func() io.Reader { return iotest.OneByteReader(strings.NewReader("hello\nworld\n")) },
		"end and data": func() io.Reader { return iotest.DataErrReader(strings.NewReader("hello\nworld\n")) },
		"halves":       func() io.Reader { return iotest.HalfReader(strings.NewReader(strings.Repeat("abc", 50))) },
		"error":        func() io.Reader { return io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(failed)) },
		"wrapped end":  func() io.Reader { return iotest.ErrReader(fmt.Errorf("hung up: %w", io.EOF)) },
		"too much":     func() io.Reader { return brokenReader(1 << 20) },
		"too little":   func() io.Reader { return brokenReader(-1) },
	} {
		var first []string
		r := record(t, tape.Limits{}, func(tp *tape.Tape) { first = transcript(tp.Stdin(in()), 16) })
		if !r.Input || !r.Steady() {
			t.Errorf("%s: %+v", name, r)
		}
		var again []string
		d := play(t, r, func(tp *tape.Tape) { again = transcript(tp.Stdin(nil), 16) })
		if d != nil || fmt.Sprint(first) != fmt.Sprint(again) {
			t.Errorf("%s: %v\nrecorded %v\nplayed   %v", name, d, first, again)
		}
		// A smaller buffer changes how much comes at a time, not what comes.
		if d := play(t, r, func(tp *tape.Tape) {
			b, _ := io.ReadAll(iotest.OneByteReader(tp.Stdin(nil)))
			if !bytes.Equal(b, r.Stdin) {
				t.Errorf("%s: %q", name, b)
			}
		}); d != nil {
			t.Errorf("%s, byte by byte: %v", name, d)
		}
	}
	tp := tape.New()
	if in := strings.NewReader(""); tp.Stdin(in) != io.Reader(in) {
		t.Error("off: wrapped")
	}
	if b, err := io.ReadAll(tp.Stdin(nil)); len(b) > 0 || err != nil {
		t.Error(b, err)
	}
}

func TestStdinInProgress(t *testing.T) {
	tp := tape.New()
	tp.Record(seed, began, tape.Limits{})
	pr, pw := io.Pipe()
	in := tp.Stdin(pr)
	got := make(chan string)
	go func() {
		b, err := io.ReadAll(in)
		got <- fmt.Sprint(string(b), err)
	}()
	_, _ = io.WriteString(pw, "noted") // a pipe's Write returns when it was read
	_, _ = io.WriteString(pw, "!")     // so the one before has been noted by now
	pw2 := make(chan struct{})
	go func() { // whether this is read in the step is a matter of chance
		_, _ = io.WriteString(pw, "?")
		pw.Close()
		close(pw2)
	}()
	r, _ := tp.End()
	<-pw2
	if s := <-got; s != "noted!?<nil>" {
		t.Error(s)
	}
	if !bytes.HasPrefix(r.Stdin, []byte("noted")) {
		t.Errorf("%q", r.Stdin)
	}
	stored(t, r)

	// A read that never ends within the step.
	tp.Record(seed, began, tape.Limits{})
	reading, release := make(chan struct{}), make(chan struct{})
	in = tp.Stdin(readerFunc(func(p []byte) (int, error) {
		close(reading)
		<-release
		return copy(p, "late"), nil
	}))
	go func() {
		b := make([]byte, 9)
		n, err := in.Read(b)
		got <- fmt.Sprint(string(b[:n]), err)
	}()
	<-reading
	r, _ = tp.End()
	close(release)
	if s := <-got; s != "late<nil>" {
		t.Error(s)
	}
	if len(r.Stdin) > 0 || fmt.Sprint(r.Incomplete) != "[stdin]" {
		t.Errorf("%q, %v", r.Stdin, r.Incomplete)
	}

	// A reader that panics is not in progress.
	r = record(t, tape.Limits{}, func(tp *tape.Tape) {
		defer func() { _ = recover() }()
		_, _ = tp.Stdin(readerFunc(func([]byte) (int, error) { panic("x") })).Read(make([]byte, 1))
	})
	if !r.Steady() {
		t.Error(r.Incomplete)
	}
	// A reader of a replay that has ended.
	var late io.Reader
	play(t, r, func(tp *tape.Tape) { late = tp.Stdin(nil) })
	if n, err := late.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Error(n, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestCalls(t *testing.T) {
	made := 0
	program := func(tp *tape.Tape) (answers []string) {
		for i, answer := range [][]byte{[]byte("one"), {}, nil, bytes.Repeat([]byte("x"), 100_000)} {
			got := tp.Call(fmt.Appendf(nil, "request %d", i), func() []byte { made++; return answer })
			answers = append(answers, fmt.Sprintf("%v %s", got == nil, got))
			if len(got) > 0 {
				got[0] = '!' // the caller's own
			}
		}
		return answers
	}
	var first, again []string
	r := record(t, tape.Limits{}, func(tp *tape.Tape) { first = program(tp) })
	if made != 4 || len(r.Calls) != 4 || string(r.Calls[0].Answer) != "one" {
		t.Errorf("%d made, recorded %q", made, r.Calls[0].Answer)
	}
	for range 2 {
		if d := play(t, r, func(tp *tape.Tape) { again = program(tp) }); d != nil {
			t.Error(d)
		}
		if fmt.Sprint(first) != fmt.Sprint(again) || made != 4 {
			t.Errorf("%d made\n%.200v\n%.200v", made, first, again)
		}
	}
	tp := tape.New()
	if got := tp.Call(nil, func() []byte { return []byte("off") }); string(got) != "off" {
		t.Errorf("%q", got)
	}
}

func TestUnfinishedCalls(t *testing.T) {
	r := record(t, tape.Limits{}, func(tp *tape.Tape) {
		defer func() { _ = recover() }()
		tp.Call([]byte("p"), func() []byte { panic("x") })
	})
	if fmt.Sprint(r.Incomplete) != "[calls]" || len(r.Calls) != 1 {
		t.Errorf("%+v", r)
	}
	tp := tape.New()
	tp.Record(seed, began, tape.Limits{})
	tp.Call([]byte("a"), func() []byte { return []byte("1") })
	var inside *tape.Recording
	got := tp.Call([]byte("b"), func() []byte {
		inside, _ = tp.End() // the guest was killed while it waited
		return []byte("2")
	})
	if string(got) != "2" || fmt.Sprint(inside.Incomplete) != "[calls]" || len(inside.Calls) != 2 || inside.Calls[1].Answer != nil {
		t.Errorf("%q, %+v", got, inside)
	}
	if d := play(t, stored(t, inside), func(tp *tape.Tape) {
		if a := tp.Call([]byte("a"), nil); string(a) != "1" {
			t.Errorf("%q", a)
		}
	}); d == nil || d.Kind != tape.KindUnverified {
		t.Error(d)
	}
}

func TestLimits(t *testing.T) {
	read := func(n int) func(tp *tape.Tape) {
		return func(tp *tape.Tape) { _, _ = io.Copy(io.Discard, tp.Stdin(strings.NewReader(strings.Repeat("x", n)))) }
	}
	call := func(n, size int) func(tp *tape.Tape) {
		return func(tp *tape.Tape) {
			for range n {
				tp.Call([]byte("r"), func() []byte { return make([]byte, size) })
			}
		}
	}
	clock := func(n int) func(tp *tape.Tape) {
		return func(tp *tape.Tape) {
			for range n {
				tp.Walltime()
			}
		}
	}
	for name, c := range map[string]struct {
		limits  tape.Limits
		program func(*tape.Tape)
		want    string
	}{
		"input":           {tape.Limits{Stdin: 1000}, read(900), "[]"},
		"much input":      {tape.Limits{Stdin: 1000}, read(1100), "[stdin]"},
		"too much input":  {tape.Limits{}, read(tape.DefaultStdin + 1), "[stdin]"},
		"no input":        {tape.Limits{Stdin: -1}, read(1), "[stdin]"},
		"call":            {tape.Limits{Calls: 1000}, call(1, 900), "[]"},
		"calls":           {tape.Limits{Calls: 1000}, call(2, 900), "[calls]"},
		"small calls":     {tape.Limits{Calls: 1000}, call(100, 0), "[calls]"},
		"too many calls":  {tape.Limits{}, call(9, 1<<20), "[calls]"},
		"no calls":        {tape.Limits{Calls: -1}, call(1, 0), "[calls]"},
		"clock":           {tape.Limits{Clock: 1 << 20}, clock(1000), "[]"},
		"much clock":      {tape.Limits{Clock: 2}, clock(1 << 20), "[clock]"},
		"no clock":        {tape.Limits{Clock: -1}, clock(1), "[clock]"},
		"no limit is met": {tape.Limits{Clock: -1, Stdin: -1, Calls: -1}, func(tp *tape.Tape) { draw(t, tp.Rand(), 9) }, "[]"},
	} {
		r := record(t, c.limits, c.program)
		if fmt.Sprint(r.Incomplete) != c.want {
			t.Errorf("%s: %v", name, r.Incomplete)
			continue
		}
		if len(r.Incomplete) > 0 && len(r.Encode()) > 80 {
			t.Errorf("%s: the log was kept", name)
		}
		d := play(t, r, c.program)
		if (d == nil) != r.Steady() || d != nil && (d.Kind != tape.KindUnverified || strings.Contains(d.Detail, "difference")) {
			t.Errorf("%s: %v", name, d)
		}
	}
}

func TestDivergence(t *testing.T) {
	original := func(tp *tape.Tape) {
		in := tp.Stdin(strings.NewReader("abcdef"))
		for i := range 3 {
			tp.Monotonic()
			tp.FileTime()
			draw(t, in, 2)
			tp.Call(fmt.Appendf(nil, "request %d", i), func() []byte { return fmt.Appendf(nil, "answer %d", i) })
		}
	}
	r := record(t, tape.Limits{}, original)
	for name, c := range map[string]struct {
		program func(*tape.Tape)
		kind    string
		index   uint64
		detail  string
	}{
		"none": {original, "", 0, ""},
		"another request": {func(tp *tape.Tape) {
			tp.Call([]byte("request 0"), nil)
			if a := tp.Call([]byte("other"), nil); a != nil {
				t.Errorf("%q", a)
			}
			if a := tp.Call([]byte("request 2"), nil); string(a) != "answer 2" {
				t.Errorf("%q", a)
			}
		}, tape.KindCalls, 1, "call 2"},
		"more calls": {func(tp *tape.Tape) {
			original(tp)
			if a := tp.Call([]byte("request 2"), nil); a != nil {
				t.Errorf("%q", a)
			}
		}, tape.KindCalls, 3, "than the 3"},
		"fewer calls": {func(tp *tape.Tape) {
			tp.Call([]byte("request 0"), nil)
		}, tape.KindCalls, 1, "1 calls"},
		"more input": {func(tp *tape.Tape) {
			original(tp)
			if n, err := tp.Stdin(nil).Read(make([]byte, 4)); n != 0 || err != io.EOF {
				t.Error(n, err)
			}
		}, tape.KindStdin, 6, "beyond the 6 bytes"},
		"less input": {func(tp *tape.Tape) {
			in := tp.Stdin(nil)
			for i := range 3 {
				tp.Call(fmt.Appendf(nil, "request %d", i), nil)
			}
			draw(t, in, 4)
		}, tape.KindStdin, 4, "4 bytes"},
		"more clock": {func(tp *tape.Tape) {
			original(tp)
			last := tp.Monotonic()
			for range 1000 {
				now := tp.Monotonic()
				if now <= last {
					t.Errorf("%v after %v", now, last)
				}
				last = now
			}
			if f, w := time.Unix(0, tp.FileTime()), tp.Walltime(); w.Sub(f) < 0 || w.Sub(f) > time.Minute {
				t.Errorf("wall clock %v, files %v", w, f)
			}
			if last < r.Base+time.Second {
				t.Errorf("a program that waits for a time would not end: %v", last-r.Base)
			}
		}, tape.KindClock, 3, "than the 3"},
		"less clock": {func(tp *tape.Tape) {
			in := tp.Stdin(nil)
			for i := range 3 {
				tp.Call(fmt.Appendf(nil, "request %d", i), nil)
			}
			draw(t, in, 6)
			tp.Walltime()
		}, tape.KindClock, 1, "1 times instead of the 3"},
		"more files": {func(tp *tape.Tape) { original(tp); tp.FileTime() }, tape.KindClock, 3, "4 times"},
		"clock, then calls": {func(tp *tape.Tape) {
			for range 4 {
				tp.Walltime()
			}
			tp.Call([]byte("other"), nil)
		}, tape.KindCalls, 0, "call 1"},
		"stopped": {func(tp *tape.Tape) {
			tp.Unsteady("time limit")
			tp.Call([]byte("other"), nil)
		}, tape.KindUnverified, 0, "time limit"},
		"diverged, then stopped": {func(tp *tape.Tape) {
			tp.Call([]byte("other"), nil)
			tp.Unsteady("time limit")
		}, tape.KindCalls, 0, "call 1"},
	} {
		d := play(t, r, c.program)
		if c.kind == "" {
			if d != nil {
				t.Errorf("%s: %v", name, d)
			}
		} else if d == nil || d.Kind != c.kind || d.Index != c.index || !strings.Contains(d.String(), c.detail) {
			t.Errorf("%s: %v, %+v", name, d, d)
		}
	}

	whole := record(t, tape.Limits{}, func(tp *tape.Tape) { _, _ = io.ReadAll(tp.Stdin(strings.NewReader("ab"))) })
	if d := play(t, whole, func(tp *tape.Tape) { draw(t, tp.Stdin(nil), 2) }); d == nil || d.Kind != tape.KindStdin {
		t.Errorf("end of input was not read: %v", d)
	}
	unsteady := record(t, tape.Limits{}, func(tp *tape.Tape) { tp.Unsteady("threads") })
	d := play(t, unsteady, func(tp *tape.Tape) { tp.Call([]byte("more"), nil) })
	if d == nil || d.Kind != tape.KindUnverified || !strings.Contains(d.Detail, "first difference: calls: ") {
		t.Errorf("unsteady: %v", d)
	}
}
