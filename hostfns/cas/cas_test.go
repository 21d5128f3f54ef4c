package cas_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

func put(t *testing.T, m *cas.Memory, o cas.Object) cas.Hash {
	t.Helper()
	h, err := m.Put(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestSumCoversReferences(t *testing.T) {
	a, b := cas.Object{Data: []byte("a")}.Sum(), cas.Object{Data: []byte("b")}.Sum()
	seen := map[cas.Hash]string{}
	for name, o := range map[string]cas.Object{
		"empty":         {},
		"data":          {Data: []byte("a")},
		"one reference": {Refs: []cas.Hash{a}},
		"in order":      {Refs: []cas.Hash{a, b}},
		"the other way": {Refs: []cas.Hash{b, a}},
		"as data":       {Data: append(a[:], b[:]...)},
		"one as data":   {Refs: []cas.Hash{a}, Data: b[:]},
	} {
		h := o.Sum()
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		seen[h] = name
	}
}

func TestHashText(t *testing.T) {
	h := cas.Object{Data: []byte("x")}.Sum()
	b, err := json.Marshal(map[string]cas.Hash{"h": h, "none": {}})
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]cas.Hash
	if err := json.Unmarshal(b, &back); err != nil || back["h"] != h || !back["none"].IsZero() {
		t.Errorf("%s: %v, %v", b, back, err)
	}
	for _, s := range []string{"x", strings.Repeat("0", 63), strings.Repeat("0", 66), strings.Repeat("g", 64)} {
		if _, err := cas.Parse(s); err == nil {
			t.Errorf("%q is taken for a hash", s)
		}
	}
}

func TestLimits(t *testing.T) {
	m := &cas.Memory{}
	for name, o := range map[string]cas.Object{
		"data":       {Data: make([]byte, cas.MaxData+1)},
		"references": {Refs: make([]cas.Hash, cas.MaxRefs+1)},
		"none":       {Refs: []cas.Hash{{}}},
	} {
		if _, err := m.Put(o); err == nil {
			t.Errorf("%s: stored", name)
		}
		if _, err := (&cas.Batch{}).Add(o); err == nil {
			t.Errorf("%s: batched", name)
		}
	}
}

func TestBatchKeepsOrderAndEachOnce(t *testing.T) {
	b := &cas.Batch{}
	for _, s := range []string{"b", "a", "b", "c"} {
		if _, err := b.Add(cas.Object{Data: []byte(s)}); err != nil {
			t.Fatal(err)
		}
	}
	var got string
	for h, o := range b.All {
		if o.Sum() != h {
			t.Errorf("%q under another hash", o.Data)
		}
		got += string(o.Data)
	}
	if got != "bac" || b.Len() != 3 || b.Size() != 3 {
		t.Errorf("%q, %d objects, %d bytes", got, b.Len(), b.Size())
	}
}

func TestMemoryTellsMissing(t *testing.T) {
	m := &cas.Memory{}
	h := put(t, m, cas.Object{Data: []byte("x")})
	if o, err := m.Get(h); err != nil || string(o.Data) != "x" {
		t.Errorf("%q, %v", o.Data, err)
	}
	if _, err := m.Get(cas.Hash{1}); !errors.Is(err, cas.ErrMissing) {
		t.Error(err)
	}
}
