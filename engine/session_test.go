package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

func TestResult(t *testing.T) {
	s := newSession(t, nil)
	for _, c := range []struct {
		name, code, json, repr, variable string
	}{
		{"expression", "1 + 1", "2", "2", ""},
		{"assignment", "x = [1, 2]", "[1,2]", "[1, 2]", "x"},
		{"augmented", "x += [3]", "[1,2,3]", "[1, 2, 3]", "x"},
		{"annotated", "y: int = 4", "4", "4", "y"},
		{"none", "None", "", "", ""},
		{"statement", "for i in range(3): pass", "", "", ""},
		{"not JSON", "{1, }", "", "{1}", ""},
		{"not a number", "float('nan')", "", "nan", ""},
		{"text", "'gr\\u00fc\\u00df'", `"grüß"`, "'grüß'", ""},
		{"docstring", "'doc'", `"doc"`, "'doc'", ""},
		{"unpacking", "a, b = 1, 2", "", "", ""},
		{"await", "import asyncio\nawait asyncio.sleep(0, 'slept')", `"slept"`, "'slept'", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := exec(t, s, c.code)
			var compact bytes.Buffer
			if len(r.Result) > 0 {
				if err := json.Compact(&compact, r.Result); err != nil {
					t.Fatal(err)
				}
			}
			if r.Status != engine.StatusOK || compact.String() != c.json || r.ResultRepr != c.repr || r.ResultName != c.variable {
				t.Errorf("%s: %s, %s, %q", describe(r), r.Result, r.ResultRepr, r.ResultName)
			}
		})
	}
}

func TestLargeResults(t *testing.T) {
	s := newSession(t, nil)
	r := exec(t, s, "'x' * 500_000")
	if !strings.HasPrefix(r.ResultRef, "value:") || len(r.Result) != 0 || len(r.ResultRepr) > engine.DefaultResult {
		t.Fatalf("ref %q, %d bytes of JSON, %d of repr", r.ResultRef, len(r.Result), len(r.ResultRepr))
	}
	v, err := s.Value(r.ResultRef)
	if err != nil || string(v) != `"`+strings.Repeat("x", 500_000)+`"` {
		t.Errorf("%d bytes, %v", len(v), err)
	}
	// The value can be had while something runs, and from its events.
	got := 0
	execRequest(t, s, engine.Request{Code: "print()", OnEvent: func(engine.Event) {
		v, _ := s.Value(r.ResultRef)
		got = len(v)
	}})
	if got != 500_002 {
		t.Errorf("%d bytes in an event", got)
	}
	for range 3 {
		exec(t, s, "'x' * 24_000_000")
	}
	if v, err := s.Value(r.ResultRef); err == nil {
		t.Errorf("the oldest value is still there: %d bytes", len(v))
	}
	if _, err := s.Value("value:none"); !errors.Is(err, engine.ErrRequest) {
		t.Errorf("unknown reference: %v", err)
	}
	r = exec(t, s, "big = list(range(100_000))")
	if r.ResultRef != "variable:big" || len(r.ResultRepr) > 1000 {
		t.Errorf("ref %q, %d bytes of repr", r.ResultRef, len(r.ResultRepr))
	}
}

func TestStateStays(t *testing.T) {
	s := newSession(t, nil)
	exec(t, s, "import math\ndef area(r): return math.pi * r * r\nopen('notes.txt', 'w').write('hi')")
	want(t, s, "round(area(2), 3)", "12.566")
	want(t, s, "open('/workspace/notes.txt').read()", "'hi'")
	r := exec(t, s, "open('notes.txt', 'a').write('!'); open('new.txt', 'w').close(); None")
	if len(r.FilesChanged) != 2 || r.FilesChanged[0].Path != "/workspace/new.txt" || r.FilesChanged[1].Op != "modified" {
		t.Errorf("files changed: %+v", r.FilesChanged)
	}
	if r.Step != 4 {
		t.Errorf("step %d", r.Step)
	}
}

// TestRestoredAfterKill: a step that has to be killed, or that crashes the interpreter, never was.
func TestRestoredAfterKill(t *testing.T) {
	s := newSession(t, nil)
	exec(t, s, "x = 1; f = open('kept', 'w+'); n = f.fileno()")
	for _, code := range []string{
		"x = 2; leak = [open('leak%d' % i, 'w') for i in range(20)]\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass",
		"x = 3\nimport os\nos._exit(5)",
	} {
		r, err := s.Exec(t.Context(), engine.Request{Code: code, Timeout: 300 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if r.Error == nil || !r.Error.Restored {
			t.Fatalf("%s, not restored", describe(r))
		}
		want(t, s, "x", "1")
		want(t, s, "f.write('still open')", "10")
		want(t, s, "open('next', 'w').fileno() == n + 1", "True")
	}
}

func TestTraceback(t *testing.T) {
	s := newSession(t, nil)
	exec(t, s, "import json\ndef load(text):\n    return json.loads(text)")
	exec(t, s, "1") // another source in between
	r := exec(t, s, "load('{')")
	if r.Status != engine.StatusError || r.Error.Type != "json.decoder.JSONDecodeError" || r.Error.Line != 3 {
		t.Fatalf("%s at line %d", describe(r), r.Error.Line)
	}
	for _, part := range []string{"load('{')", "return json.loads(text)", `File "<step 3>", line 1`} {
		if !strings.Contains(r.Error.Traceback, part) {
			t.Errorf("no %q in\n%s", part, r.Error.Traceback)
		}
	}
	for _, part := range []string{"<mayfly>", "/usr/lib"} {
		if strings.Contains(r.Error.Traceback, part) {
			t.Errorf("%q in\n%s", part, r.Error.Traceback)
		}
	}
}

func TestInterruption(t *testing.T) {
	s := newSession(t, nil)
	for name, code := range map[string]string{
		"loop":    "while True:\n    pass",
		"sleep":   "import time\ntime.sleep(1000)\nprint('late')",
		"asyncio": "import asyncio\nawait asyncio.sleep(1000)\nprint('late')",
		"stdin":   "input()\nprint('late')",
		"regex":   "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')",
		"bignum":  "9 ** 9 ** 9",
		"sqlite":  "import sqlite3\nsqlite3.connect(':memory:').execute('with recursive c(x) as (select 1 union all select x + 1 from c) select sum(x) from c').fetchall()",
	} {
		t.Run(name, func(t *testing.T) {
			in := &blockingReader{done: make(chan struct{})}
			defer close(in.done)
			r := execRequest(t, s, engine.Request{Code: code, Timeout: 200 * time.Millisecond, Stdin: in})
			if r.Status != engine.StatusTimeout || r.ExitCode != engine.ExitTimeout {
				t.Fatal(describe(r))
			}
			if r.Error.Type != "TimeoutError" || r.Error.Line == 0 || r.Error.Restored {
				t.Errorf("no TimeoutError at the program's line: %s at line %d\n%s", describe(r), r.Error.Line, r.Error.Traceback)
			}
			if strings.Contains(r.Stdout, "late") {
				t.Error("the program went on")
			}
		})
	}
}

// blockingReader is an input on which nothing arrives.
type blockingReader struct{ done chan struct{} }

func (b *blockingReader) Read([]byte) (int, error) { <-b.done; return 0, context.Canceled }

func TestCancel(t *testing.T) {
	s := newSession(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	r, err := s.Exec(ctx, engine.Request{
		Code:    "print('started')\nwhile True: pass",
		OnEvent: func(engine.Event) { cancel() },
	})
	if err != nil || r.Status != engine.StatusCancelled || r.Error.Type != "KeyboardInterrupt" {
		t.Fatalf("%v, %+v", err, r)
	}
	want(t, s, "1 + 1", "2")
}

// TestCleanup: after the time limit, finally blocks run.
func TestCleanup(t *testing.T) {
	s := newSession(t, nil)
	r := execRequest(t, s, engine.Request{
		Code:    "try:\n    while True: pass\nfinally:\n    open('log', 'w').write('cleaned')",
		Timeout: 200 * time.Millisecond,
	})
	if r.Status != engine.StatusTimeout {
		t.Fatal(describe(r))
	}
	want(t, s, "open('log').read()", "'cleaned'")
}

func TestCPULimit(t *testing.T) {
	s := newSession(t, nil)
	r := execRequest(t, s, engine.Request{Code: "while True: pass", MaxTicks: 50})
	if r.Status != engine.StatusTimeout || r.Usage.CPUTicks < 50 || r.Usage.CPUTicks > 2000 {
		t.Errorf("%s after %d ticks", describe(r), r.Usage.CPUTicks)
	}
}

func TestStreams(t *testing.T) {
	s := newSession(t, nil)
	var events []string
	r := execRequest(t, s, engine.Request{
		Code:    "import sys\nname = input('who? ')\nprint('hello', name)\nprint('careful', file=sys.stderr)\nsys.stdin.read()",
		Stdin:   strings.NewReader("Ada\nrest"),
		OnEvent: func(e engine.Event) { events = append(events, string(e.Kind)+":"+string(e.Data)) },
	})
	if r.Stdout != "who? hello Ada\n" || r.Stderr != "careful\n" || r.ResultRepr != "'rest'" {
		t.Fatalf("%q, %q, %s, %s", r.Stdout, r.Stderr, r.ResultRepr, describe(r))
	}
	if got := strings.Join(events, "|"); got != "stdout:who? |stdout:hello Ada\n|stderr:careful\n" {
		t.Errorf("events %q", got)
	}
	// Input that one execution left is not the next one's.
	r = exec(t, s, "input()")
	if r.Status != engine.StatusError || r.Error.Type != "EOFError" {
		t.Error(describe(r))
	}
}

func TestOutputLimit(t *testing.T) {
	s := newSession(t, nil)
	r := exec(t, s, "for _ in range(300): print('x' * 9999)")
	if r.Status != engine.StatusOK || len(r.Stdout) != engine.DefaultOutput || r.Truncated.Stdout != 3_000_000-engine.DefaultOutput {
		t.Errorf("%s: %d bytes kept, %d dropped", describe(r), len(r.Stdout), r.Truncated.Stdout)
	}
}

func TestArgsAndEnv(t *testing.T) {
	r, err := testEngine(t).Run(t.Context(), engine.Request{
		Code: "import os, sys\n[sys.argv, dict(os.environ), os.getcwd(), __file__]",
		Args: []string{"-v", "file"}, Env: map[string]string{"KEY": "value"}, Filename: "prog.py",
	})
	if err != nil {
		t.Fatal(err)
	}
	if w := "[['prog.py', '-v', 'file'], {'HOME': '/workspace', 'KEY': 'value'}, '/workspace', 'prog.py']"; r.ResultRepr != w {
		t.Errorf("%s, want %s", r.ResultRepr, w)
	}
}

func TestExitCodes(t *testing.T) {
	for code, wantCode := range map[string]int{
		"import sys; sys.exit()": 0, "import sys; sys.exit(3)": 3, "raise SystemExit('text')": 1, "import os; os._exit(9)": 9,
		"1 / 0": 1, "import atexit; atexit.register(print, 'bye')": 0,
	} {
		r, err := testEngine(t).Run(t.Context(), engine.Request{Code: code})
		if err != nil || r.ExitCode != wantCode || (r.Status == engine.StatusOK) != (wantCode == 0) {
			t.Errorf("%s: %v, exit code %d, %s", code, err, r.ExitCode, describe(r))
		}
		if strings.Contains(code, "atexit") && r.Stdout != "bye\n" {
			t.Errorf("exit handler printed %q", r.Stdout)
		}
	}
}
