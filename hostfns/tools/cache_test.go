package tools

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/internal/mcptest"
)

func toolNames(l *hostfns.Listing) []string {
	var names []string
	for _, t := range l.Tools {
		names = append(names, t.Name)
	}
	return names
}

func TestCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	conf := stdio(t, mcptest.Serve)
	var starts atomic.Int32
	o := &Options{CacheDir: dir, Started: func(string) { starts.Add(1) }}
	list := func(conf Server) *hostfns.Listing {
		t.Helper()
		s, err := New(&Config{Servers: map[string]Server{"x": conf}}, o)
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.Tools(within(t), "x")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := list(conf)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	if st, err := os.Stat(files[0]); err != nil || st.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if again := list(conf); starts.Load() != 1 || again.Version != first.Version || again.Title != first.Title ||
		!bytes.Equal(again.Tools[0].InputSchema, first.Tools[0].InputSchema) {
		t.Errorf("%d starts: %+v", starts.Load(), again)
	}
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var old cached
	if err := json.Unmarshal(good, &old); err != nil {
		t.Fatal(err)
	}
	old.Saved = time.Now().Add(-2 * cacheAge)
	aged, err := json.Marshal(&old)
	if err != nil {
		t.Fatal(err)
	}
	for i, damaged := range [][]byte{
		nil, good[:len(good)/2], []byte("null"), []byte(`{"format":1,"tools":[null]}`), bytes.Replace(good, []byte("Returns"), []byte("Deletes"), 1), aged,
	} {
		if err := os.WriteFile(files[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if l := list(conf); l.Version != first.Version || int(starts.Load()) != 2+i {
			t.Errorf("%d: %d starts: %+v", i, starts.Load(), l)
		}
	}
	conf.Args = []string{"other"}
	if list(conf); int(starts.Load()) != 8 {
		t.Errorf("another configuration: %d starts", starts.Load())
	}
	// What cannot be written is not fatal.
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	list(conf)
}

// TestStaleCache starts a server whose tools are not those in the cache.
func TestStaleCache(t *testing.T) {
	dir := t.TempDir()
	conf := stdio(t, mcptest.Serve)
	s := one(t, &Options{CacheDir: dir}, conf)
	l, err := s.Tools(within(t), "x")
	if err != nil {
		t.Fatal(err)
	}
	x := s.servers["x"]
	stale := *l
	stale.Tools = append(slices.Clone(l.Tools), &hostfns.Tool{Name: "gone"})
	stale.Version = version(&stale)
	x.saveListing(&stale)
	s = open(t, &Options{CacheDir: dir}, map[string]Server{"x": conf})
	s.expander.dir = x.all.expander.dir
	l, err = s.Tools(within(t), "x")
	if err != nil || !slices.Contains(toolNames(l), "gone") || s.servers["x"].current != nil {
		t.Fatalf("it is not from the cache: %+v, %v", l, err)
	}
	_, err = call(t, s, "gone", "{}")
	if e := asError(t, err); e.Code != hostfns.CodeUnknownTool {
		t.Errorf("%+v", e)
	}
	l, err = s.Tools(within(t), "x")
	if err != nil || slices.Contains(toolNames(l), "gone") {
		t.Errorf("%v, %v", toolNames(l), err)
	}
}

// TestChangingTools adds and removes tools as they are used.
func TestChangingTools(t *testing.T) {
	for name, conf := range transportsOf(t, nil) {
		t.Run(name, func(t *testing.T) {
			s := one(t, &Options{CacheDir: t.TempDir()}, conf)
			l, err := s.Tools(within(t), "x")
			if err != nil {
				t.Fatal(err)
			}
			mustText(t, s, "add_tool", `{"name":"new"}`)
			fresh, err := s.Refresh(within(t), "x")
			if err != nil || !slices.Contains(toolNames(fresh), "new") || slices.Contains(toolNames(l), "new") || fresh.Version == l.Version {
				t.Fatalf("%+v, %v", fresh, err)
			}
			if got := mustText(t, s, "new", ""); got != "new" {
				t.Errorf("%q", got)
			}
			mustText(t, s, "remove_tool", `{"name":"new"}`)
			_, err = call(t, s, "new", "")
			if e := asError(t, err); e.Code != hostfns.CodeUnknownTool {
				t.Errorf("%+v", e)
			}
			l, err = s.Tools(within(t), "x")
			if err != nil || slices.Contains(toolNames(l), "new") {
				t.Errorf("%+v, %v", l, err)
			}
			// Without anybody asking, the notification alone has it listed anew.
			mustText(t, s, "add_tool", `{"name":"newer"}`)
			for !slices.Contains(toolNames(l), "newer") {
				if within(t).Err() != nil {
					t.Fatal("it is never listed")
				}
				if l, err = s.Tools(within(t), "x"); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
