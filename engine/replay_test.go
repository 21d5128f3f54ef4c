package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/wasm"
)

// TestVerifyHostCalls: what a host function answered comes from the journal when a session is run again.
func TestVerifyHostCalls(t *testing.T) {
	d := newDurable(t, nil)
	var calls atomic.Int64
	engine.SetHostFunction(d.Engine, func(context.Context, []byte) []byte {
		return wasm.Frame{Head: []byte("{}"), Body: fmt.Appendf(nil, "answer %d", calls.Add(1))}.Append(nil)
	})
	s := d.session("demo", nil)
	exec(t, s, "import _mayfly\nask = lambda q: bytes(_mayfly.call(b'\\7\\0\\0\\0\\2\\0\\0\\0{}' + q))[10:]")
	want(t, s, "a = [ask(b'x'), ask(b'y')]; a", "[b'answer 1', b'answer 2']")
	v := d.verify("demo")
	if !v.OK || v.Executed != 2 || v.Identical != 2 || calls.Load() != 2 {
		t.Errorf("%+v, %v, %d calls", v, v.Divergence, calls.Load())
	}
}

// TestVerifyFindsDivergence: a session whose host answers differently than the program remembers.
func TestVerifyFindsDivergence(t *testing.T) {
	d := newDurable(t, nil)
	engine.SetHostFunction(d.Engine, func(_ context.Context, r []byte) []byte {
		return wasm.Frame{Head: []byte("{}"), Body: []byte("answer")}.Append(nil)
	})
	s := d.session("demo", nil)
	exec(t, s, "import _mayfly\nquestion = b'x'")
	exec(t, s, "answer = bytes(_mayfly.call(b'\\7\\0\\0\\0\\2\\0\\0\\0{}' + question))[10:]")
	if _, err := d.Fork(t.Context(), "demo", 1, "other"); err != nil {
		t.Fatal(err)
	}
	// The journal of the fork is given a step that does not follow from what the fork is.
	exec(t, d.session("other", nil), "question = b'y'")
	if err := engine.Graft(t.Context(), d.Engine, "demo", 2, "other"); err != nil {
		t.Fatal(err)
	}
	v := d.verify("other")
	if v.OK || v.Divergence == nil || v.Divergence.Step != 3 {
		t.Fatalf("%+v", v)
	}
	if s := v.Divergence.String(); !strings.Contains(s, "calls") {
		t.Error(s)
	}
}
