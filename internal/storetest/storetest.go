// Package storetest is what an engine.Store must do, as tests. Each implementation runs them.
package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// Run runs the suite. Open returns a new, empty store; the test closes it.
func Run(t *testing.T, open func(t *testing.T) engine.Store) {
	tests := []struct {
		name string
		f    func(t *testing.T, s engine.Store)
	}{
		{"Sessions", testSessions},
		{"Order", testOrder},
		{"Names", testNames},
		{"Limits", testLimits},
		{"Heads", testHeads},
		{"Records", testRecords},
		{"Objects", testObjects},
		{"Missing", testMissing},
		{"Atomic", testAtomic},
		{"Put", testPut},
		{"Release", testRelease},
		{"Remove", testRemove},
		{"Reuse", testReuse},
		{"Cancelled", testCancelled},
		{"Large", testLarge},
		{"Deep", testDeep},
		{"Parallel", testParallel},
		{"SameSession", testSameSession},
		{"ReadersAndRemove", testReadersAndRemove},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t)
			tt.f(t, s)
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// Data returns n bytes that depend on the seed and do not compress.
func Data(seed string, n int) []byte {
	b := make([]byte, 0, n+sha256.Size)
	for i := uint64(0); len(b) < n; i++ {
		h := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(seed), i))
		b = append(b, h[:]...)
	}
	return b[:n]
}

// Step returns the commit of a step with one object of its own, which it holds.
func Step(session string, step int, objects ...cas.Object) *engine.Commit {
	c := &engine.Commit{Session: session, Step: step, Create: step == 0, Objects: new(cas.Batch)}
	c.Head = fmt.Appendf(nil, `{"session":%q,"step":%d}`, session, step)
	c.Record = fmt.Appendf(nil, `{"record":%q,"step":%d}`, session, step)
	if len(objects) == 0 {
		objects = []cas.Object{{Data: fmt.Appendf(nil, "object of %s %d", session, step)}}
	}
	for _, o := range objects {
		h, err := c.Objects.Add(o)
		if err != nil {
			panic(err)
		}
		c.Holds = append(c.Holds, h)
	}
	return c
}

func commit(t *testing.T, s engine.Store, c *engine.Commit) {
	t.Helper()
	if err := s.Commit(context.Background(), c); err != nil {
		t.Fatalf("commit step %d of %s: %v", c.Step, c.Session, err)
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

func add(t *testing.T, b *cas.Batch, o cas.Object) cas.Hash {
	t.Helper()
	h, err := b.Add(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// wantObject reads an object.
func wantObject(t *testing.T, s cas.Reader, h cas.Hash) {
	t.Helper()
	o, err := s.Get(h)
	if err != nil {
		t.Errorf("get: %v", err)
	} else if o.Sum() != h {
		t.Errorf("get %v returned %v", h, o.Sum())
	}
}

func heads(t *testing.T, s engine.Store) (out []string) {
	t.Helper()
	for h, err := range s.Heads(context.Background()) {
		if err != nil {
			t.Fatalf("heads: %v", err)
		}
		out = append(out, string(h))
	}
	return out
}

func records(t *testing.T, s engine.Store, session string, from int) (out []engine.StoredRecord) {
	t.Helper()
	for r, err := range s.Records(context.Background(), session, from) {
		if err != nil {
			t.Fatalf("records: %v", err)
		}
		out = append(out, r)
	}
	return out
}
