package wasm_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/wasm"
)

// load makes or loads the image in a runtime of its own, as another process would, and checks that it works.
func load(t *testing.T, dir string) (fromCache bool, cacheErr error) {
	t.Helper()
	r, err := wasm.NewRuntime(t.Context(), &wasm.RuntimeOptions{CacheDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(t.Context())
	im, err := r.Image(t.Context(), newGuest(nil))
	if err != nil {
		t.Fatal(err)
	}
	m, err := im.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &box{t: t, im: im, m: m}
	defer m.Close()
	b.count(3)
	b.wantCount(3, 8)
	_, cacheErr = r.Cache()
	return im.FromCache(), cacheErr
}

func TestCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "cache")
	for i := range 3 {
		fromCache, err := load(t, dir)
		if err != nil || fromCache != (i > 0) {
			t.Errorf("load %d: from cache %v, %v", i, fromCache, err)
		}
	}
	// Nothing temporary is left, and nobody else can look in.
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			t.Error(err)
			return nil
		}
		if strings.HasPrefix(d.Name(), ".") || strings.HasSuffix(d.Name(), ".tmp") {
			t.Errorf("%s is left", path)
		}
		return nil
	})
}

// cachedFile finds one of the image's files, or the compiled code.
func cachedFile(t *testing.T, dir, name string) string {
	t.Helper()
	pattern := filepath.Join(dir, "images", "*", name)
	if name == "compiled" {
		pattern = filepath.Join(dir, "compiled", "*", "*")
	}
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found[0]
}

// Whatever happens to the files of the cache, the image is made anew, and the entry is whole again after it.
func TestCacheDamaged(t *testing.T) {
	change := func(f func(b []byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, f(b), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	damages := map[string]func(t *testing.T, path string){
		"empty":     change(func([]byte) []byte { return nil }),
		"truncated": change(func(b []byte) []byte { return b[:len(b)/2] }),
		"last byte": change(func(b []byte) []byte { return b[:len(b)-1] }),
		"longer":    change(func(b []byte) []byte { return append(b, "more"...) }),
		"bit":       change(func(b []byte) []byte { b[len(b)/2] ^= 4; return b }),
		"zeros":     change(func(b []byte) []byte { return make([]byte, len(b)) }),
		"text":      change(func([]byte) []byte { return []byte("{}") }),
		"removed": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"directory": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(path, "x"), 0o700); err != nil {
				t.Fatal(err)
			}
		},
	}
	template := filepath.Join(t.TempDir(), "template")
	load(t, template)
	for _, name := range []string{"image.json", "memory.pages", "module.wasm", "compiled"} {
		for damage, f := range damages {
			t.Run(name+" "+damage, func(t *testing.T) {
				if name == "compiled" && damage == "directory" {
					t.Skip("not a file that the runtime could replace")
				}
				dir := t.TempDir()
				if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				path := cachedFile(t, dir, name)
				before, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				f(t, path)
				fromCache, err := load(t, dir)
				if err != nil {
					t.Errorf("cache: %v", err)
				}
				if name != "compiled" && fromCache {
					t.Error("the damage was not noticed")
				}
				if fromCache, err = load(t, dir); !fromCache || err != nil {
					t.Errorf("afterwards: from cache %v, %v", fromCache, err)
				}
				after, err := os.ReadFile(cachedFile(t, dir, name))
				if err != nil || name != "compiled" && !bytes.Equal(after, before) { // the runtime may not notice a longer file
					t.Errorf("the file was not mended: %v", err)
				}
			})
		}
	}
}

func TestCacheUnusable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open := t.TempDir()
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	blocked := t.TempDir() // the sub-directories are in the way
	noCompiled := t.TempDir()
	for dir, name := range map[string]string{blocked: "images", noCompiled: "compiled"} {
		err := errors.Join(os.Chmod(dir, 0o700), os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct{ dir, want string }{
		"file in the way":          {file, "not a directory"},
		"below a file":             {filepath.Join(file, "x"), "not a directory"},
		"writable by others":       {open, "can be written by others"},
		"no directory for images":  {blocked, "not a directory"},
		"no directory for modules": {noCompiled, "not"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && name == "writable by others" {
				t.Skip("permissions are another matter there")
			}
			for range 2 {
				fromCache, err := load(t, tt.dir)
				if fromCache || err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("from cache %v, %v", fromCache, err)
				}
			}
		})
	}
	if fromCache, err := load(t, wasm.CacheOff); fromCache || err != nil {
		t.Errorf("off: from cache %v, %v", fromCache, err)
	}
}

// Processes that make the same image at the same time do not get into each other's way.
func TestCacheRace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	t.Run("group", func(t *testing.T) {
		for range 6 {
			t.Run("load", func(t *testing.T) {
				t.Parallel()
				load(t, dir)
			})
		}
	})
	if fromCache, err := load(t, dir); !fromCache || err != nil {
		t.Errorf("afterwards: from cache %v, %v", fromCache, err)
	}
}
