package python

import (
	"bytes"
	"os"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
	"github.com/mayfly-run/mayfly/internal/testcache"
)

// TestSandbox runs every program in a sandbox and compares with what native Python printed.
func TestSandbox(t *testing.T) {
	e, err := engine.New(t.Context(), &engine.Options{Guests: []engine.Guest{python.New()}, CacheDir: testcache.Dir()})
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
