package python

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
)

// TestSandbox runs every program in a sandbox and compares with what native Python printed.
func TestSandbox(t *testing.T) {
	cache := os.Getenv("MAYFLY_CACHE")
	if cache == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(base, "mayfly-test")
	}
	e, err := engine.New(t.Context(), &engine.Options{Guests: []engine.Guest{python.New()}, CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, p := range programs(t) {
		t.Run(p.Name, func(t *testing.T) {
			code, err := os.ReadFile(p.Name + ".py")
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(p.Name + ".out")
			if err != nil {
				t.Fatal(err)
			}
			r, err := e.Run(t.Context(), engine.Request{
				Code: string(code), Filename: p.Name + ".py", Args: p.Args, Stdin: bytes.NewReader(p.stdin(t)), NoResult: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			if r.ExitCode != p.ExitCode {
				t.Errorf("exit code %d (%s), want %d\n%s", r.ExitCode, r.Status, p.ExitCode, r.Stderr)
				if r.Error != nil {
					t.Log(r.Error.Traceback)
				}
			}
			if r.Stdout != string(want) {
				t.Errorf("printed\n%s\nwant\n%s", r.Stdout, want)
			}
		})
	}
}
