package storetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

func testSessions(t *testing.T, s engine.Store) {
	ctx := context.Background()
	_, err := s.Head(ctx, "a")
	wantErr(t, "head of none", err, engine.ErrNoSession)
	wantErr(t, "set head of none", s.SetHead(ctx, "a", []byte("x")), engine.ErrNoSession)
	wantErr(t, "remove none", s.Remove(ctx, "a"), engine.ErrNoSession)
	wantErr(t, "release of none", s.Release(ctx, "a", 0, nil), engine.ErrNoSession)
	for _, err := range s.Records(ctx, "a", 0) {
		wantErr(t, "records of none", err, engine.ErrNoSession)
	}
	commit(t, s, Step("a", 0))
	commit(t, s, Step("a", 1))
	if h, err := s.Head(ctx, "a"); err != nil || string(h) != string(Step("a", 1).Head) {
		t.Errorf("head %q, %v", h, err)
	}
	if err := s.SetHead(ctx, "a", []byte(`"new"`)); err != nil {
		t.Fatal(err)
	}
	if h, err := s.Head(ctx, "a"); err != nil || string(h) != `"new"` {
		t.Errorf("head %q, %v", h, err)
	}
	commit(t, s, Step("a", 2)) // SetHead is no step
}

func testOrder(t *testing.T, s engine.Store) {
	ctx := context.Background()
	wantErr(t, "step of no session", s.Commit(ctx, Step("a", 1)), engine.ErrNoSession)
	c := Step("a", 7)
	c.Create = true
	commit(t, s, c)
	wantErr(t, "create again", s.Commit(ctx, c), engine.ErrSessionExists)
	for _, step := range []int{0, 6, 7, 9} {
		c := Step("a", step)
		c.Create = false
		wantErr(t, fmt.Sprintf("step %d after 7", step), s.Commit(ctx, c), engine.ErrConflict)
	}
	commit(t, s, Step("a", 8))
	if rs := records(t, s, "a", 0); len(rs) != 2 || rs[0].Step != 7 || rs[1].Step != 8 {
		t.Errorf("records %v", rs)
	}
}

func testNames(t *testing.T, s engine.Store) {
	for _, name := range []string{"", ".a", "-a", "a/b", "a b", "ä", "a\x00", "a\n", strings.Repeat("a", 65)} {
		if err := s.Commit(context.Background(), Step(name, 0)); err == nil {
			t.Errorf("%q may be a name", name)
		}
		if _, err := s.Head(context.Background(), name); err == nil {
			t.Errorf("%q has a head", name)
		}
	}
	for _, name := range []string{"a", "_a", "A-1.b_c", "0", strings.Repeat("a", 64), "a.", "ab"} {
		commit(t, s, Step(name, 0))
	}
	// A name that begins as another one is another session.
	commit(t, s, Step("a", 1))
	if rs := records(t, s, "ab", 0); len(rs) != 1 {
		t.Errorf("ab has %d records", len(rs))
	}
}

func testLimits(t *testing.T, s engine.Store) {
	ctx := context.Background()
	c := Step("a", 0)
	c.Head, c.Record = Data("head", engine.MaxRecord), Data("record", engine.MaxRecord)
	commit(t, s, c)
	if h, err := s.Head(ctx, "a"); err != nil || !bytes.Equal(h, c.Head) {
		t.Errorf("head of %d bytes, %v", len(h), err)
	}
	if rs := records(t, s, "a", 0); len(rs) != 1 || !bytes.Equal(rs[0].Record, c.Record) {
		t.Error("the largest record came back differently")
	}
	big := make([]byte, engine.MaxRecord+1)
	for i, c := range []*engine.Commit{
		{Session: "a", Step: 1, Head: big},
		{Session: "a", Step: 1, Record: big},
		{Session: "a", Step: 1, Holds: []cas.Hash{{}}},
		{Session: "b", Step: -1, Create: true},
	} {
		if err := s.Commit(ctx, c); err == nil {
			t.Errorf("commit %d beyond the limits succeeded", i)
		}
	}
	if err := s.SetHead(ctx, "a", big); err == nil {
		t.Error("a head that is too large was set")
	}
	c = &engine.Commit{Session: "b", Create: true} // the smallest
	commit(t, s, c)
	if rs := records(t, s, "b", 0); len(rs) != 1 || len(rs[0].Record) != 0 {
		t.Errorf("records %v", rs)
	}
}

func testHeads(t *testing.T, s engine.Store) {
	if got := heads(t, s); len(got) != 0 {
		t.Errorf("heads of nothing: %q", got)
	}
	var want []string
	for i := range 300 {
		name := fmt.Sprintf("s%03d", (i*7)%300)
		c := Step(name, 0)
		c.Head = append([]byte(name), Data(name, 6000)...) // more than one page
		commit(t, s, c)
		want = append(want, string(c.Head))
	}
	slices.Sort(want)
	if got := heads(t, s); !slices.Equal(got, want) {
		t.Errorf("%d heads, want %d in the order of names", len(got), len(want))
	}
	n := 0
	for range s.Heads(context.Background()) {
		if n++; n == 3 {
			break
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range s.Heads(ctx) {
		wantErr(t, "heads after the context ended", err, context.Canceled)
	}
}

func testRecords(t *testing.T, s engine.Store) {
	const n = 400
	for i := range n {
		c := Step("a", i)
		c.Record = append(fmt.Appendf(nil, "%d ", i), Data("r", 5000)...)
		commit(t, s, c)
	}
	for _, from := range []int{-1, 0, 1, 57, n - 1, n, n + 5} {
		rs := records(t, s, "a", from)
		first := max(from, 0)
		if len(rs) != max(n-first, 0) {
			t.Errorf("%d records from %d on", len(rs), from)
		}
		for i, r := range rs {
			if r.Step != first+i || !bytes.HasPrefix(r.Record, fmt.Appendf(nil, "%d ", first+i)) {
				t.Fatalf("record %d from %d on is of step %d: %.10q", i, from, r.Step, r.Record)
			}
		}
	}
	// The store may be used in the loop.
	for r, err := range s.Records(context.Background(), "a", n-2) {
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s, Step("a", r.Step+2))
	}
}

func testRemove(t *testing.T, s engine.Store) {
	ctx := context.Background()
	shared := cas.Object{Data: []byte("shared")}
	commit(t, s, Step("a", 0, shared))
	commit(t, s, Step("b", 0, shared))
	for i := 1; i < 100; i++ {
		commit(t, s, Step("a", i))
	}
	if err := s.Remove(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Head(ctx, "a")
	wantErr(t, "head of a removed session", err, engine.ErrNoSession)
	wantErr(t, "remove again", s.Remove(ctx, "a"), engine.ErrNoSession)
	wantErr(t, "commit", s.Commit(ctx, Step("a", 100)), engine.ErrNoSession)
	if got := heads(t, s); len(got) != 1 {
		t.Errorf("heads %q", got)
	}
	wantObject(t, s, shared.Sum())
}

func testReuse(t *testing.T, s engine.Store) {
	for round := range 5 {
		for i := range 40 {
			c := Step("a", i)
			c.Record = fmt.Appendf(nil, "round %d step %d", round, i)
			commit(t, s, c)
		}
		rs := records(t, s, "a", 0)
		if len(rs) != 40 || string(rs[39].Record) != fmt.Sprintf("round %d step 39", round) {
			t.Fatalf("round %d: %d records", round, len(rs))
		}
		for _, r := range rs {
			wantObject(t, s, Step("a", r.Step).Holds[0])
		}
		if err := s.Remove(context.Background(), "a"); err != nil {
			t.Fatal(err)
		}
	}
}

func testCancelled(t *testing.T, s engine.Store) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	wantErr(t, "commit", s.Commit(ctx, Step("a", 0)), context.Canceled)
	_, err := s.Head(context.Background(), "a")
	wantErr(t, "head", err, engine.ErrNoSession)
	_, err = s.Head(ctx, "a")
	wantErr(t, "head", err, context.Canceled)
	wantErr(t, "remove", s.Remove(ctx, "a"), context.Canceled)
}
