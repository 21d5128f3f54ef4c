package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/internal/testcache"
)

// TestImageIsTheSameEverywhere: snapshots are relative to the memory that the guest's initialisation left. It has to come out
// the same whenever it is made, or sessions would not survive their cache.
func TestImageIsTheSameEverywhere(t *testing.T) {
	want := imageOf(t, testcache.Dir())
	dir := t.TempDir()
	// The compiled code is of no interest here, and takes ten seconds.
	if err := os.CopyFS(filepath.Join(dir, "compiled"), os.DirFS(filepath.Join(testcache.Dir(), "compiled"))); err != nil {
		t.Fatal(err)
	}
	if got := imageOf(t, dir); got != want || len(got) != 64 {
		t.Errorf("image %s, and made again %s", want, got)
	}
}

func imageOf(t *testing.T, cache string) string {
	d := newDurable(t, func(o *engine.Options) { o.CacheDir = cache })
	exec(t, d.session("demo", nil), "1")
	r, err := d.journal("demo").Record(t.Context(), engine.Latest)
	if err != nil {
		t.Fatal(err)
	}
	return r.State.Image
}
