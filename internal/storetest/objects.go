package storetest

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

func testObjects(t *testing.T, s engine.Store) {
	_, err := s.Get(cas.Object{Data: []byte("nothing")}.Sum())
	wantErr(t, "get", err, cas.ErrMissing)
	_, err = s.Get(cas.Hash{})
	wantErr(t, "get none", err, cas.ErrMissing)
	leaf := cas.Object{Data: []byte("leaf")}
	many := make([]cas.Hash, cas.MaxRefs)
	for i := range many {
		many[i] = leaf.Sum()
	}
	objects := []cas.Object{
		leaf,
		{},
		{Data: bytes.Repeat([]byte("compressible "), 3000)},
		{Data: make([]byte, cas.MaxData)},
		{Data: Data("largest", cas.MaxData)},
		{Refs: many, Data: Data("largest of all", cas.MaxData)},
		{Refs: []cas.Hash{leaf.Sum(), leaf.Sum()}},
	}
	for n := range 200 {
		objects = append(objects, cas.Object{Data: Data("small", n)})
	}
	commit(t, s, Step("a", 0, objects...))
	for i, o := range objects {
		got, err := s.Get(o.Sum())
		if err != nil || !bytes.Equal(got.Data, o.Data) || len(got.Refs) != len(o.Refs) {
			t.Errorf("object %d: %d bytes, %d references, %v", i, len(got.Data), len(got.Refs), err)
		}
	}
	commit(t, s, Step("a", 1, objects...)) // all are there
	if err := s.Release(context.Background(), "a", 0, Step("a", 0, objects...).Holds); err != nil {
		t.Fatal(err)
	}
	wantObject(t, s, objects[5].Sum())
}

func testMissing(t *testing.T, s engine.Store) {
	ctx := context.Background()
	nowhere := cas.Object{Data: []byte("nowhere")}.Sum()
	c := Step("a", 0)
	c.Holds = append(c.Holds, nowhere)
	wantErr(t, "hold", s.Commit(ctx, c), cas.ErrMissing)
	c = Step("a", 0, cas.Object{Refs: []cas.Hash{nowhere}})
	wantErr(t, "reference", s.Commit(ctx, c), cas.ErrMissing)
	if got := heads(t, s); len(got) != 0 {
		t.Errorf("a commit that failed left %q", got)
	}
	commit(t, s, Step("a", 0))
	c = Step("a", 1)
	c.Holds = append(c.Holds, nowhere)
	wantErr(t, "hold", s.Commit(ctx, c), cas.ErrMissing)
	commit(t, s, Step("a", 1))
	// Objects may come in any order, and name what earlier commits stored.
	b := new(cas.Batch)
	leaf := cas.Object{Data: []byte("a leaf")}
	top := add(t, b, cas.Object{Refs: []cas.Hash{leaf.Sum(), Step("a", 0).Holds[0]}})
	add(t, b, leaf)
	commit(t, s, &engine.Commit{Session: "a", Step: 2, Objects: b, Holds: []cas.Hash{top}})
	wantObject(t, s, leaf.Sum())
}

func testAtomic(t *testing.T, s engine.Store) {
	ctx := context.Background()
	commit(t, s, Step("a", 0))
	c := Step("a", 5)
	wantErr(t, "conflict", s.Commit(ctx, c), engine.ErrConflict)
	_, err := s.Get(c.Holds[0])
	wantErr(t, "object of a failed commit", err, cas.ErrMissing)
	if rs := records(t, s, "a", 0); len(rs) != 1 {
		t.Errorf("%d records", len(rs))
	}
	if h, _ := s.Head(ctx, "a"); string(h) != string(Step("a", 0).Head) {
		t.Errorf("head %q", h)
	}
}

func testPut(t *testing.T, s engine.Store) {
	ctx := context.Background()
	leaf := cas.Object{Data: Data("put", 100_000)}
	h, err := s.Put(leaf)
	if err != nil || h != leaf.Sum() {
		t.Fatal(h, err)
	}
	wantObject(t, s, h)
	top, err := s.Put(cas.Object{Refs: []cas.Hash{h}})
	if err != nil {
		t.Fatal(err)
	}
	// Each Put needs a Forget; what is named stays.
	if _, err := s.Put(leaf); err != nil {
		t.Fatal(err)
	}
	s.Forget(h)
	s.Forget(h)
	wantObject(t, s, h)
	commit(t, s, &engine.Commit{Session: "a", Create: true, Holds: []cas.Hash{top}})
	s.Forget(top)
	wantObject(t, s, h)
	wantObject(t, s, top)
	if _, err := s.Put(cas.Object{Refs: []cas.Hash{{}}}); err == nil {
		t.Error("an object that names nothing was put")
	}
	if _, err := s.Put(cas.Object{Data: make([]byte, cas.MaxData+1)}); err == nil {
		t.Error("an object that is too large was put")
	}
	// More than a store would keep in memory.
	var all []cas.Hash
	for i := range 100 {
		h, err := s.Put(cas.Object{Data: Data(fmt.Sprint(i), cas.MaxData)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
	for _, h := range all {
		wantObject(t, s, h)
	}
	commit(t, s, &engine.Commit{Session: "a", Step: 1, Holds: all})
	s.Forget(all...)
	s.Forget(all...) // more than were put: ignored
	if err := s.Release(ctx, "a", 1, all[1:]); err != nil {
		t.Fatal(err)
	}
	wantObject(t, s, all[0])
}

func testRelease(t *testing.T, s engine.Store) {
	ctx := context.Background()
	one, two := cas.Object{Data: []byte("one")}, cas.Object{Data: []byte("two")}
	commit(t, s, Step("a", 0, one, two))
	commit(t, s, Step("a", 1, two))
	other := cas.Object{Data: []byte("other")}.Sum()
	for _, hs := range [][]cas.Hash{nil, {other}, {one.Sum(), other, one.Sum()}, {one.Sum()}} {
		if err := s.Release(ctx, "a", 0, hs); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []int{-1, 2, 1 << 40} {
		if err := s.Release(ctx, "a", step, []cas.Hash{two.Sum()}); err != nil {
			t.Errorf("release of step %d: %v", step, err)
		}
	}
	wantObject(t, s, two.Sum())
	if err := s.Release(ctx, "a", 1, []cas.Hash{two.Sum()}); err != nil {
		t.Fatal(err)
	}
	wantObject(t, s, two.Sum())
	if rs := records(t, s, "a", 0); len(rs) != 2 {
		t.Errorf("%d records", len(rs))
	}
	// It can come back while it is being deleted.
	for range 50 {
		c := Step("a", len(records(t, s, "a", 0)), one)
		commit(t, s, c)
		wantObject(t, s, one.Sum())
		if err := s.Release(ctx, "a", c.Step, c.Holds); err != nil {
			t.Fatal(err)
		}
	}
}

func testLarge(t *testing.T, s engine.Store) {
	b := new(cas.Batch)
	var refs []cas.Hash
	for i := range 20 << 20 / (64 << 10) {
		refs = append(refs, add(t, b, cas.Object{Data: Data(fmt.Sprint("large", i), 64<<10)}))
	}
	top := add(t, b, cas.Object{Refs: refs})
	c := &engine.Commit{Session: "a", Create: true, Objects: b, Holds: []cas.Hash{top}}
	commit(t, s, c)
	for _, h := range refs {
		wantObject(t, s, h)
	}
	// One that fails leaves the session as it was.
	bad := new(cas.Batch)
	refs = refs[:0]
	for i := range 100 {
		refs = append(refs, add(t, bad, cas.Object{Data: Data(fmt.Sprint("bad", i), 64<<10)}))
	}
	refs = append(refs, cas.Object{Data: []byte("nowhere")}.Sum())
	top = add(t, bad, cas.Object{Refs: refs})
	c = &engine.Commit{Session: "a", Step: 1, Objects: bad, Holds: []cas.Hash{top}}
	wantErr(t, "large commit", s.Commit(context.Background(), c), cas.ErrMissing)
	commit(t, s, Step("a", 1))
}

func testDeep(t *testing.T, s engine.Store) {
	// A chain, the top added first, in a batch that takes several transactions.
	const n = 6000
	objects := make([]cas.Object, n)
	for i := range objects {
		objects[i].Data = fmt.Appendf(nil, "link %d", i)
		if i > 0 {
			objects[i].Refs = []cas.Hash{objects[i-1].Sum()}
		}
	}
	b := new(cas.Batch)
	for i := n - 1; i >= 0; i-- {
		add(t, b, objects[i])
	}
	top := objects[n-1].Sum()
	commit(t, s, &engine.Commit{Session: "a", Create: true, Objects: b, Holds: []cas.Hash{top}})
	for h := top; ; {
		o, err := s.Get(h)
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Refs) == 0 {
			break
		}
		h = o.Refs[0]
	}
	if err := s.Remove(context.Background(), "a"); err != nil {
		t.Fatal(err)
	}
}
