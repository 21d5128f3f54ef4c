package python

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/internal/nativepython"
)

var update = flag.Bool("update", false, "write the .out files from what native Python prints")

// program is a line of programs.json: how NAME.py is run. What it prints is in NAME.out.
type program struct {
	Name     string   `json:"name"`
	Args     []string `json:"args"`
	Stdin    string   `json:"stdin"` // a file's name; empty means no input
	ExitCode int      `json:"exit_code"`
}

func programs(t *testing.T) []program {
	t.Helper()
	data, err := os.ReadFile("programs.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []program
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func (p program) stdin(t *testing.T) []byte {
	t.Helper()
	if p.Stdin == "" {
		return nil
	}
	data, err := os.ReadFile(p.Stdin)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestListed sees to it that no program is forgotten.
func TestListed(t *testing.T) {
	files, err := filepath.Glob("*.py")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, p := range programs(t) {
		listed = append(listed, p.Name+".py")
		if _, err := os.Stat(p.Name + ".out"); err != nil && !*update {
			t.Error(err)
		}
	}
	slices.Sort(listed)
	if !slices.Equal(files, listed) {
		t.Errorf("programs.json lists %v, here are %v", listed, files)
	}
}

// TestNative checks the expected output against Debian's own Python, each program in an empty directory.
func TestNative(t *testing.T) {
	python, ok := nativepython.Find()
	if !ok {
		t.Skip("no native python3.13: run .ci/debian-python and set " + nativepython.PathVariable)
	}
	for _, p := range programs(t) {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			source, err := filepath.Abs(p.Name + ".py")
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), python, append([]string{source}, p.Args...)...)
			cmd.Dir = t.TempDir()
			cmd.Env = []string{"LC_ALL=C.UTF-8", "TZ=UTC", "PYTHONDONTWRITEBYTECODE=1", "PATH=" + os.Getenv("PATH")}
			cmd.Stdin = bytes.NewReader(p.stdin(t))
			var stdout, stderr strings.Builder
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err = cmd.Run()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if code := cmd.ProcessState.ExitCode(); code != p.ExitCode {
				t.Errorf("exit code %d, want %d", code, p.ExitCode)
			}
			if stderr.String() != "" {
				t.Errorf("stderr: %s", stderr.String())
			}
			if *update {
				if err := os.WriteFile(p.Name+".out", []byte(stdout.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(p.Name + ".out")
			if err != nil {
				t.Fatal(err)
			}
			if stdout.String() != string(want) {
				t.Errorf("output differs from %s.out:\n%s", p.Name, stdout.String())
			}
		})
	}
}
