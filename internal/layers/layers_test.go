// Package layers holds the test that imports point one way.
package layers

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mayfly-run/mayfly/"

// allowed lists for each room the rooms of ours that its packages may import; tests may import more.
var allowed = map[string][]string{
	"wasm":     {"wasm"},
	"guests":   {"guests"},
	"hostfns":  {"hostfns"},
	"engine":   {"engine", "wasm", "hostfns"},
	"fallback": {"fallback", "engine", "hostfns"},
	"skills":   {"skills", "engine", "hostfns"},
	"bench":    {"bench", "engine", "wasm", "hostfns", "guests", "fallback", "skills"},
	"internal": {"internal", "engine", "wasm", "hostfns", "guests", "fallback", "skills", "bench"},
	"examples": {"examples", "engine", "guests", "hostfns"},
	"cmd":      {"internal", "engine", "wasm", "hostfns", "guests", "fallback", "skills", "bench"},
}

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func list(t *testing.T, args ...string) (all []pkg) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Deps"}, args...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func room(path string) string {
	r, _, _ := strings.Cut(strings.TrimPrefix(path, module), "/")
	return r
}

func TestImportsPointOneWay(t *testing.T) {
	pkgs := list(t, "./...")
	if len(pkgs) < 8 {
		t.Fatalf("only %d packages", len(pkgs))
	}
	for _, p := range pkgs {
		from := room(p.ImportPath)
		rooms, ok := allowed[from]
		if !ok {
			t.Errorf("%s is in a room that is not known here", p.ImportPath)
		}
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, module) {
				continue
			}
			if to := room(imp); !slices.Contains(rooms, to) {
				t.Errorf("%s imports %s", p.ImportPath, imp)
			}
		}
	}
}

// TestEngineIsLight: a program that embeds the engine links none of the heavy clients, and no guest that it did not name.
func TestEngineIsLight(t *testing.T) {
	heavy := []string{"docker", "extism", "modelcontextprotocol", "go-openai", "badger", "cobra", module + "guests", "cgo"}
	for _, p := range list(t, "./engine") {
		for _, d := range p.Deps {
			for _, h := range heavy {
				if strings.Contains(d, h) && d != "runtime/cgo" {
					t.Errorf("engine depends on %s", d)
				}
			}
		}
	}
}

// TestSchedulerStandsAlone: the threads of wasm/sched are Go functions; it knows nothing of WebAssembly, and needs the
// standard library only.
func TestSchedulerStandsAlone(t *testing.T) {
	for _, p := range list(t, "./wasm/sched") {
		for _, d := range p.Deps {
			if first, _, _ := strings.Cut(d, "/"); strings.Contains(first, ".") {
				t.Errorf("%s depends on %s", p.ImportPath, d)
			}
		}
	}
}
