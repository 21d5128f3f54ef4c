package tape

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// program is a guest: it does the same again whenever it learns the same.
type program struct {
	t     *Tape
	stdin io.Reader
	call  func(request string) string
}

func (p *program) run() string {
	var out strings.Builder
	random := make([]byte, 4)
	for i := range 3 {
		p.t.Rand().Read(random)
		line := make([]byte, 3)
		n, err := p.stdin.Read(line)
		fmt.Fprintf(&out, "%x %d %d %d %q %v|", random, p.t.Walltime().UnixMicro(), p.t.Monotonic(), p.t.FileTime(), line[:n], err)
		answer := p.t.Call(fmt.Appendf(nil, "request %d", i), func() []byte { return []byte(p.call(fmt.Sprint("request ", i))) })
		fmt.Fprintf(&out, "%s|", answer)
	}
	return out.String()
}

// interruptedAt records a run and returns what Peek has in the middle of a call.
func interruptedAt(t *testing.T, call string) (*Recording, string) {
	t.Helper()
	tape := New()
	tape.Record([32]byte{1}, time.Unix(1_700_000_000, 0), Limits{})
	var r *Recording
	p := &program{t: tape, stdin: tape.Stdin(strings.NewReader("abcdef")), call: func(q string) string {
		if q == call {
			if r = tape.Peek(); r == nil {
				t.Fatal("nothing to go on from")
			}
			// It is kept as bytes.
			var err error
			if r, err = Decode(r.Encode()); err != nil {
				t.Fatal(err)
			}
		}
		return "first " + q
	}}
	return r, p.run()
}

func TestResumeGoesOn(t *testing.T) {
	for i := range 3 {
		call := fmt.Sprint("request ", i)
		r, before := interruptedAt(t, call)
		if r == nil {
			t.Fatal("no recording")
		}
		var replayed, live []string
		tape := New()
		err := tape.Resume(r, Limits{}, &ResumeOptions{
			Called: func(q, a []byte) { replayed = append(replayed, fmt.Sprintf("%s=%s", q, a)) },
			Live:   func() { live = append(live, "live") },
		})
		if err != nil {
			t.Fatal(err)
		}
		p := &program{t: tape, stdin: tape.Stdin(nil), call: func(q string) string {
			live = append(live, q)
			return "second " + q
		}}
		after := p.run()
		whole, diverged := tape.End()
		if diverged != nil {
			t.Fatal(diverged)
		}
		if len(replayed) != i || len(live) != 4-i || live[0] != "live" || live[1] != call {
			t.Errorf("%s: replayed %q, live %q", call, replayed, live)
		}
		// Up to the call it is what it was, then it went on.
		parts := strings.Split(before, "|")[:2*i+1]
		if !strings.HasPrefix(after, strings.Join(parts, "|")+"|second "+call) {
			t.Errorf("%s:\nbefore %s\nafter  %s", call, before, after)
		}
		// The whole can be played.
		if err := tape.Play(whole); err != nil {
			t.Fatal(err)
		}
		p.stdin = tape.Stdin(nil)
		if again := p.run(); again != after {
			t.Errorf("%s: played\n%s\nafter\n%s", call, again, after)
		}
		if _, d := tape.End(); d != nil {
			t.Errorf("%s: %v", call, d)
		}
		if whole.Start != r.Start || whole.Seed != r.Seed || !bytes.HasPrefix(whole.Stdin, r.Stdin) {
			t.Errorf("%s: the whole does not begin as its part", call)
		}
	}
}

func TestResumeRefusesAnotherProgram(t *testing.T) {
	r, _ := interruptedAt(t, "request 2")
	tape := New()
	if err := tape.Resume(r, Limits{}, nil); err != nil {
		t.Fatal(err)
	}
	called := false
	if a := tape.Call([]byte("something else"), func() []byte { called = true; return []byte("x") }); a != nil || called {
		t.Errorf("answer %q, called %v", a, called)
	}
	if _, d := tape.End(); d == nil || d.Kind != KindCalls {
		t.Errorf("divergence %v", d)
	}
}

func TestPeekOfWhatCannotGoOn(t *testing.T) {
	tape := New()
	if tape.Peek() != nil {
		t.Error("without a step")
	}
	tape.Record([32]byte{1}, time.Now(), Limits{})
	if tape.Peek() == nil {
		t.Error("a step that just began")
	}
	inner := make(chan *Recording, 1)
	tape.Call([]byte("outer"), func() []byte {
		tape.Call([]byte("another thread's"), func() []byte { return []byte("b") })
		inner <- tape.Peek()
		return []byte("a")
	})
	if r := <-inner; r != nil {
		t.Error("a call that began before others which have ended is under way")
	}
	tape.Unsteady("threads")
	if tape.Peek() != nil {
		t.Error("an unsteady step")
	}
	bad := &Recording{}
	if err := tape.Resume(bad, Limits{}, nil); err == nil {
		t.Error("resumed an impossible recording")
	}
}
