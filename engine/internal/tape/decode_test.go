package tape_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine/internal/tape"
)

// sample has everything in it.
func sample() *tape.Recording {
	tp := tape.New()
	tp.Record(seed, began, tape.Limits{})
	for range 40 {
		tp.Walltime()
		tp.FileTime()
	}
	_, _ = io.ReadAll(tp.Stdin(strings.NewReader("some input")))
	tp.Call([]byte("a"), func() []byte { return []byte("answer") })
	tp.Call([]byte("b"), func() []byte { return nil })
	tp.Unsteady("threads")
	r, _ := tp.End()
	return r
}

func TestDecodeRefuses(t *testing.T) {
	good := sample().Encode()
	for n := range good {
		if _, err := tape.Decode(good[:n]); !errors.Is(err, tape.ErrDamaged) {
			t.Errorf("%d of %d bytes: %v", n, len(good), err)
		}
	}
	if _, err := tape.Decode(append(bytes.Clone(good), 0)); !errors.Is(err, tape.ErrDamaged) {
		t.Errorf("one byte more: %v", err)
	}
	good[0]++
	if _, err := tape.Decode(good); !errors.Is(err, tape.ErrVersion) || !strings.Contains(err.Error(), "knows 1") {
		t.Errorf("newer version: %v", err)
	}
	head := append([]byte{1, 0}, make([]byte, 32)...)
	head = append(head, 1, 1) // wall clock, base
	if _, err := tape.Decode(head); err != nil {
		t.Fatal(err)
	}
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}
	many := append([]byte{40}, strings.Repeat("\x01a", 40)...)
	for name, c := range map[string]struct {
		parts byte
		rest  []byte
	}{
		"unknown part":        {32, nil},
		"clock is huge":       {1, append([]byte{1, 10, 0xfe}, huge...)},
		"clock is too short":  {1, []byte{2, 1, 0}},
		"long section":        {1, append([]byte{1}, huge...)},
		"files without calls": {2, []byte{1, 2, 1, 1}},
		"file time, no step":  {2, []byte{5, 2, 0, 0}},
		"file time is huge":   {2, append([]byte{5, 10, 0}, huge...)},
		"file time twice":     {2, []byte{5, 4, 0, 1, 0, 1}},
		"file time, cut off":  {2, []byte{5, 1, 0}},
		"input, bad end":      {4, []byte{3, 0, 0, 0}},
		"input, odd end":      {4, []byte{4, 0, 0, 0}},
		"input, end of none":  {4, []byte{5, 0, 0, 0}},
		"input, large end":    {4, []byte{9, 1, 1, 0, 1, 'a'}},
		"input, no read":      {4, []byte{0, 0, 0, 1, 'a'}},
		"input, long read":    {4, []byte{0, 1, 1, 1, 1, 'a'}},
		"input, reads":        {4, []byte{0, 2, 2, 0, 0, 1, 'a'}},
		"many calls":          {8, huge},
		"call, long answer":   {8, append(make([]byte, 0), append([]byte{1}, append(make([]byte, 16), huge...)...)...)},
		"reason of nothing":   {16, []byte{1, 0}},
		"reason twice":        {16, []byte{2, 1, 'a', 1, 'a'}},
		"reason is no text":   {16, []byte{1, 1, 27}},
		"many reasons":        {16, many},
	} {
		b := bytes.Clone(head)
		b[1] = c.parts
		if _, err := tape.Decode(append(b, c.rest...)); !errors.Is(err, tape.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, clocks := range map[string][]byte{
		"base is zero": {1, 0}, "base is huge": append([]byte{1}, huge...), "start is huge": append(bytes.Clone(huge), 1),
	} {
		if _, err := tape.Decode(append(bytes.Clone(head[:34]), clocks...)); !errors.Is(err, tape.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	made := &tape.Recording{Start: began, Base: time.Second, Stdin: []byte("a")}
	if err := tape.New().Play(made); !errors.Is(err, tape.ErrDamaged) {
		t.Errorf("made by hand: %v", err)
	}
}

// FuzzDecode plays what can be decoded.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add(sample().Encode())
	tp := tape.New()
	tp.Record(seed, began, tape.Limits{})
	r, _ := tp.End()
	f.Add(r.Encode())
	for s := range uint64(6) {
		tp.Record(seed, began, tape.Limits{Clock: int(s) - 1})
		run(tp, s, strings.NewReader("standard input"), func(time.Duration) {})
		r, _ := tp.End()
		f.Add(r.Encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := tape.Decode(b)
		if err != nil {
			if !errors.Is(err, tape.ErrDamaged) && !errors.Is(err, tape.ErrVersion) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		again, err := tape.Decode(r.Encode())
		if err != nil || !reflect.DeepEqual(r, again) {
			t.Fatalf("%v\n%+v\n%+v", err, r, again)
		}
		tp := tape.New()
		if err := tp.Play(r); err != nil {
			t.Fatal(err)
		}
		last, files := tp.Monotonic(), tp.FileTime()
		if last <= 0 {
			t.Fatalf("the clock is at %v", last)
		}
		for range 100 {
			now, file := tp.Monotonic(), tp.FileTime()
			if now < last || file < files || tp.Walltime().Before(r.Start) {
				t.Fatalf("clock %v after %v, files %v after %v", now, last, file, files)
			}
			last, files = now, file
		}
		run(tp, rand.Uint64(), nil, func(time.Duration) {})
		if in, err := io.ReadAll(tp.Stdin(nil)); len(in) > len(r.Stdin) {
			t.Fatalf("%d bytes of input, %v", len(in), err)
		}
		tp.Fork()
		if _, d := tp.End(); d != nil && d.String() == "" {
			t.Fatal("a divergence without a word")
		}
		if m := tp.Monotonic(); m < last {
			t.Fatalf("%v after %v", m, last)
		}
	})
}
