package engine_test

import (
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
)

// TestVerifyStdinNotReady: a program that was told that it has no input yet may do something else when it is run again.
func TestVerifyStdinNotReady(t *testing.T) {
	d := newDurable(t, nil)
	for name, look := range map[string]string{
		"poll":           "found = select.select([0], [], [], 0)[0]",
		"time-limit":     "found = select.select([0], [], [], 0.001)[0]",
		"output-as-well": "found = select.select([0], [1], [])[0]",
		"read": `
os.set_blocking(0, False)
try:
    found = os.read(0, 1)
except BlockingIOError:
    found = []
os.set_blocking(0, True)`,
	} {
		t.Run(name, func(t *testing.T) {
			s := d.session(name, nil)
			exec(t, s, "import os, select")
			in, w := io.Pipe()
			defer w.Close()
			var once sync.Once
			// All input is read in the end: it is not for a read in progress that the step cannot be repeated.
			r := execRequest(t, s, engine.Request{
				Code:  look + "\nprint('looked', flush=True)\nrest = b''\nwhile b := os.read(0, 99): rest += b\nfound, rest",
				Stdin: in,
				OnEvent: func(engine.Event) {
					once.Do(func() {
						go func() {
							io.WriteString(w, "late")
							w.Close()
						}()
					})
				},
			})
			if r.ResultRepr != "([], b'late')" {
				t.Fatalf("%s %q", describe(r), r.ResultRepr)
			}
			want(t, s, "found, rest", "([], b'late')")
			v := d.verify(name)
			if !v.OK || v.Divergence != nil || len(v.Skipped) != 1 || v.Skipped[0].Step != 2 ||
				!strings.HasPrefix(v.Skipped[0].Reason, "it cannot be repeated exactly: stdin") {
				t.Errorf("%+v, %v", v, v.Divergence)
			}
		})
	}
}

// TestVerifyStdinReady: a program that looks whether it has input, and has, is repeated exactly, however fast the input is
// played back.
func TestVerifyStdinReady(t *testing.T) {
	d := newDurable(t, nil)
	s := d.session("demo", nil)
	exec(t, s, "import os, select")
	const n = 20
	for range n {
		r := execRequest(t, s, engine.Request{
			Code: `
found = [select.select([0], [], [], 60)[0], os.read(0, 1), select.select([0], [], [], 0)[0]]
os.set_blocking(0, False)
found += [os.read(0, 9), os.set_blocking(0, True), os.read(0, 9), select.select([0], [1], [])]
found`,
			Stdin: strings.NewReader("there"),
		})
		if r.ResultRepr != "[[0], b't', [0], b'here', None, b'', ([0], [1], [])]" {
			t.Fatalf("%s %q", describe(r), r.ResultRepr)
		}
	}
	if v := d.verify("demo"); !v.OK || len(v.Skipped) > 0 || v.Executed != n+1 || v.Identical != n+1 {
		t.Errorf("%+v, %v", v, v.Divergence)
	}
}
