package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/internal/storetest"
)

const fullEnv = "MAYFLY_STORE_FULL_DIR"

// TestFull fills a small disk, in a process of its own, since a full disk may end it.
func TestFull(t *testing.T) {
	if dir := os.Getenv(fullEnv); dir != "" {
		fillDisk(t, dir)
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=160m"); err != nil {
		t.Skipf("a small disk cannot be made here: mount: %v", err)
	}
	defer func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	cmd := exec.Command(os.Args[0], "-test.run=^TestFull$", "-test.v")
	cmd.Env = append(os.Environ(), fullEnv+"="+dir+"/store")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wantClean(t, dir+"/store")
}

func fillDisk(t *testing.T, dir string) {
	ctx := context.Background()
	s := open(t, dir, nil)
	mustCommit(t, s, storetest.Step("small", 0))
	step := func(i int) *engine.Commit {
		b := new(cas.Batch)
		var refs []cas.Hash
		for j := range 16 {
			h, err := b.Add(cas.Object{Data: storetest.Data(fmt.Sprint(i, j), 128<<10)})
			if err != nil {
				t.Fatal(err)
			}
			refs = append(refs, h)
		}
		h, err := b.Add(cas.Object{Refs: refs})
		if err != nil {
			t.Fatal(err)
		}
		return &engine.Commit{Session: "large", Create: i == 0, Step: i, Objects: b, Holds: []cas.Hash{h}, Head: []byte("{}")}
	}
	n := 0
	for ; n < 200; n++ {
		err := s.Commit(ctx, step(n))
		if errors.Is(err, engine.ErrStoreFull) {
			t.Logf("after %d steps of 2 MiB: %v", n, err)
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < 10 || n == 200 {
		t.Errorf("%d steps", n)
	}
	for i := range n { // all can be read
		for h := range step(i).Objects.All {
			if _, err := s.Get(h); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, nil)
	if err := s.Commit(ctx, step(n)); !errors.Is(err, engine.ErrStoreFull) {
		t.Errorf("commit after opening again: %v", err)
	}
	if err := s.Remove(ctx, "large"); err != nil {
		t.Fatal(err)
	}
	if err := s.Collect(ctx); err != nil {
		t.Fatal(err)
	}
	free, _, err := freeSpace(dir)
	t.Logf("free after removing: %d MiB, %v", free>>20, err)
	mustCommit(t, s, storetest.Step("small", 1))
	if err := s.Commit(ctx, step(0)); err != nil {
		t.Errorf("commit after removing: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
