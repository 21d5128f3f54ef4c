package store

import (
	"context"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/internal/storetest"
)

// TestOften opens a store for each step, as commands do. It must not get more and more files by that.
func TestOften(t *testing.T) {
	dir := fastDir(t) + "/store"
	const n = 60
	most := 0
	for i := range n {
		s := open(t, dir, nil)
		mustCommit(t, s, storetest.Step("a", i, cas.Object{Data: storetest.Data("x", 5000+i)}))
		if i%20 == 19 { // a process that lives long enough
			if err := s.Collect(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := listFiles(dir + "/" + badgerDir)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, len(f.values)+len(f.tables))
	}
	t.Logf("at most %d files", most)
	if most > 4*manySmall {
		t.Errorf("%d files after %d steps", most, n)
	}
	wantClean(t, dir)
	s := open(t, dir, nil)
	for i := range n {
		if _, err := s.Get(storetest.Step("a", i, cas.Object{Data: storetest.Data("x", 5000+i)}).Holds[0]); err != nil {
			t.Error(err)
		}
	}
}

// TestReclaim tells that the space of removed sessions goes back to the disk.
func TestReclaim(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, &Options{Durability: None})
	ctx := context.Background()
	for i := range 120 {
		for _, name := range []string{"keep", "drop"} {
			if name == "keep" && i%10 > 0 {
				continue
			}
			step := i
			if name == "keep" {
				step /= 10
			}
			mustCommit(t, s, storetest.Step(name, step, cas.Object{Data: storetest.Data(name, 1000+i)},
				cas.Object{Data: append(storetest.Data(name, 500_000), byte(i))}, cas.Object{Data: storetest.Data(name+"x", 400_000+i)}))
		}
	}
	before, err := diskUse(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(ctx, "drop"); err != nil {
		t.Fatal(err)
	}
	if err := s.Collect(ctx); err != nil {
		t.Fatal(err)
	}
	after, err := diskUse(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s before, %s after removing nine tenths", mib(before), mib(after))
	if after > before/2 { // the latest value log stays as it is
		t.Errorf("%s before, %s after removing nine tenths", mib(before), mib(after))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantClean(t, dir)
}
