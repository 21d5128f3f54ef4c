package llm_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/llm"
	"github.com/mayfly-run/mayfly/internal/llmtest"
)

// counting answers each request with its number.
func counting() *llmtest.Script {
	return &llmtest.Script{Func: func(n int, r *llmtest.Request) llmtest.Answer {
		if r.ResponseFormat != nil {
			return llmtest.Answer{Text: fmt.Sprintf(`{"n": %d}`, n)}
		}
		return llmtest.Answer{Text: fmt.Sprint(n)}
	}}
}

func TestCache(t *testing.T) {
	a := newAsker(t, counting(), &llm.Options{AllowModels: []string{"*"}})
	tests := []struct{ args, want string }{
		{`{"prompt": "x"}`, "text 0"},
		{`{"prompt": "x"}`, "text 0"},
		{`{"prompt": "x", "temperature": 0, "model": "test-model", "context": null}`, "text 0"},
		{`{"prompt": "x", "cache": true}`, "text 0"},
		{`{"prompt": "x", "cache": false}`, "text 1"},
		{`{"prompt": "x"}`, "text 0"},
		{`{"prompt": "x", "temperature": 0.5}`, "text 2"},
		{`{"prompt": "x", "temperature": 0.5}`, "text 3"},
		{`{"prompt": "x", "temperature": 0.5, "cache": true}`, "text 4"},
		{`{"prompt": "x", "model": "other"}`, "text 5"},
		{`{"prompt": "x", "system": "y"}`, "text 6"},
		{`{"prompt": "x", "context": "y"}`, "text 7"},
		{`{"prompt": "x", "max_tokens": 5}`, "text 8"},
		{`{"prompt": "x", "schema": ` + numberSchema + `}`, `json {"n":9}`},
		{`{"prompt": "x", "schema": ` + numberSchema + `}`, `json {"n":9}`},
	}
	for _, test := range tests {
		a.want(test.args, test.want)
	}
	a.in(hostfns.NewScope()).want(`{"prompt": "x"}`, "text 0")
	b := newAsker(t, counting(), &llm.Options{CacheBytes: -1, CacheDir: t.TempDir()})
	b.want(`{"prompt": "x"}`, "text 0")
	b.want(`{"prompt": "x"}`, "text 1")
}

func TestCacheIsBounded(t *testing.T) {
	a := newAsker(t, counting(), &llm.Options{CacheBytes: 3 * 300})
	for i, want := range []string{"text 0", "text 1", "text 2"} {
		a.want(fmt.Sprintf(`{"prompt": "%d"}`, i), want)
	}
	a.want(`{"prompt": "0"}`, "text 0") // used again: it stays
	a.want(`{"prompt": "3"}`, "text 3")
	a.want(`{"prompt": "0"}`, "text 0")
	a.want(`{"prompt": "1"}`, "text 4")
}

// Failures are not remembered.
func TestCacheOfFailures(t *testing.T) {
	a := newAsker(t, &llmtest.Script{Answers: []llmtest.Answer{
		{Status: 400}, {Refusal: "no"}, {Text: "cut", FinishReason: "length"}, {Text: "ok"},
	}}, nil)
	a.fail(`{"prompt": "x"}`, hostfns.CodeRequest)
	a.fail(`{"prompt": "x"}`, hostfns.CodeRefused)
	a.fail(`{"prompt": "x"}`, hostfns.CodeTooLarge)
	a.want(`{"prompt": "x"}`, "text ok")
}

func files(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestCacheDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "answers")
	// Both are the same provider only at the same address, so that a second cache has to be over the same server.
	a := newAsker(t, counting(), &llm.Options{CacheDir: dir})
	a.want(`{"prompt": "x"}`, "text 0")
	again := func() *asker { return a.again(&llm.Options{CacheDir: dir}) }
	again().want(`{"prompt": "x"}`, "text 0")
	paths := files(t, dir)
	if len(paths) != 1 {
		t.Fatalf("files: %q", paths)
	}
	if info, err := os.Stat(paths[0]); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v %v", err, info.Mode())
	}
	for name, damage := range map[string]func(b []byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"short":   func(b []byte) []byte { return b[:20] },
		"cut":     func(b []byte) []byte { return b[:len(b)-1] },
		"changed": func(b []byte) []byte { return append(b[:len(b)-1], 'x') },
		"long":    func(b []byte) []byte { return append(b, make([]byte, 9<<20)...) },
	} {
		whole, err := os.ReadFile(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(paths[0], damage(whole), 0o600); err != nil {
			t.Fatal(err)
		}
		before := len(a.server.Requests())
		again().want(`{"prompt": "x"}`, fmt.Sprintf("text %d", before))
		if n := len(a.server.Requests()); n != before+1 {
			t.Errorf("%s: a damaged answer was used", name)
		}
	}
}

// A directory that cannot be used is as good as none.
func TestCacheDirFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := newAsker(t, counting(), &llm.Options{CacheDir: filepath.Join(file, "answers")})
	a.want(`{"prompt": "x"}`, "text 0")
	a.want(`{"prompt": "x"}`, "text 0")
}

func TestCacheDirIsBounded(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "somebody else's")
	if err := os.WriteFile(other, make([]byte, 10_000), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", 1000)
	a := newAsker(t, answers(llmtest.Answer{Text: text}), &llm.Options{CacheDir: dir, CacheDirBytes: 5000, CacheBytes: 1})
	old := time.Now().Add(-time.Hour)
	for i := range 10 {
		a.want(fmt.Sprintf(`{"prompt": "%d"}`, i), "text "+text)
		for _, path := range files(t, dir) { // all that are there are older than what comes
			if err := os.Chtimes(path, old, old.Add(time.Duration(i)*time.Second)); err != nil {
				t.Fatal(err)
			}
		}
	}
	paths := files(t, dir)
	if len(paths) < 3 || len(paths) > 5 {
		t.Errorf("%d files", len(paths))
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	before := len(a.server.Requests())
	a.want(`{"prompt": "9"}`, "text "+text)
	if n := len(a.server.Requests()); n != before {
		t.Error("the newest answer was forgotten")
	}
}
