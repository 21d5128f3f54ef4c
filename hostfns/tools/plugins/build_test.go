package plugins

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/internal/providertest"
)

// build builds a plug-in written in Go.
func build(t testing.TB, pkg, file string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", file, pkg)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		if _, missing := exec.LookPath("go"); missing != nil {
			t.Skipf("there is no go tool to build the plug-in with: %v", err)
		}
		t.Fatalf("build the plug-in %s: %v\n%s", pkg, err, out)
	}
}

func TestConformance(t *testing.T) {
	wasm := filepath.Join(t.TempDir(), "suite.wasm")
	build(t, "./testdata/suite", wasm)
	// Nobody is asked by a plug-in, and it has no progress to tell of.
	without := []string{providertest.Progress, providertest.Ask}
	tools := slices.DeleteFunc(providertest.Definitions(), func(d *hostfns.Tool) bool {
		return slices.Contains(without, d.Name)
	})
	definitions, err := json.Marshal(tools)
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]*Options{"fresh": nil, "reused": {Reuse: true}} {
		t.Run(name, func(t *testing.T) {
			providertest.Suite(t, &providertest.Options{Without: without}, func(t *testing.T, server string) hostfns.Provider {
				dir := t.TempDir()
				if err := os.Link(wasm, filepath.Join(dir, server+".wasm")); err != nil {
					t.Fatal(err)
				}
				m, err := json.Marshal(map[string]any{"config": map[string]string{"definitions": string(definitions)}})
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, server+".json"), m, 0o600); err != nil {
					t.Fatal(err)
				}
				p, err := New(dir, cached(o))
				if err != nil {
					t.Fatal(err)
				}
				return p
			})
		})
	}
}
