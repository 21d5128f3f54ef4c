package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/internal/mcptest"
)

// clientVariable tells this test binary that it is the client.
const clientVariable = "MAYFLY_CONFORMANCE_CLIENT"

func TestMain(m *testing.M) {
	if os.Getenv(clientVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestConformance runs every scenario for clients that the suite has. What is expected to fail is in testdata/baseline.yml,
// in the suite's own format; a scenario that passes although it is there is an error as well, so that the file stays true.
func TestConformance(t *testing.T) {
	node := mcptest.Node(t, 22)
	suite := filepath.Join(mcptest.NPM(t), ".bin", "conformance")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	expected := baseline(t)
	all := scenarios(t, node, suite)
	for name := range expected {
		if !slices.Contains(all, name) {
			t.Errorf("the baseline has %s, which the suite does not have any more", name)
		}
	}
	for _, name := range all {
		t.Run(name, func(t *testing.T) {
			passed, out := scenario(t, node, suite, self, name)
			switch {
			case passed && expected[name]:
				t.Errorf("it passes, but is in the baseline; take it out")
			case !passed && !expected[name]:
				t.Errorf("it fails:\n%s", out)
			}
		})
	}
}

// scenario runs a scenario.
func scenario(t *testing.T, node, suite, client, name string) (passed bool, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	results := t.TempDir()
	c := exec.CommandContext(ctx, node, suite, "client", "--command", client, "--scenario", name, "--timeout", "30000", "--output-dir", results)
	c.Env = append(os.Environ(), clientVariable+"=1")
	c.WaitDelay = time.Second
	b, err := c.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("it hangs:\n%s", b)
	}
	// A run that checked nothing has not passed.
	checks, failed := countChecks(t, results)
	return err == nil && failed == 0 && checks > 0, string(b)
}

// countChecks reads the results of a scenario.
func countChecks(t *testing.T, dir string) (checks, failed int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var all []struct {
			Status string `json:"status"`
		}
		if err := json.Unmarshal(b, &all); err != nil {
			return err
		}
		for _, c := range all {
			switch c.Status {
			case "SUCCESS":
				checks++
			case "FAILURE":
				checks++
				failed++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return checks, failed
}

// scenarios returns the names of the scenarios for clients.
func scenarios(t *testing.T, node, suite string) []string {
	t.Helper()
	b, err := exec.Command(node, suite, "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, clients, ok := strings.Cut(string(b), "Client scenarios")
	if !ok {
		t.Fatalf("the list of scenarios is not understood:\n%s", b)
	}
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^\s*- (\S+)`).FindAllStringSubmatch(clients, -1) {
		names = append(names, m[1])
	}
	for _, must := range []string{"initialize", "tools_call", "sse-retry", "elicitation-sep1034-client-defaults"} {
		if !slices.Contains(names, must) {
			t.Errorf("the suite has no scenario %s", must)
		}
	}
	return names
}

// baseline returns the scenarios that are expected to fail.
func baseline(t *testing.T) map[string]bool {
	t.Helper()
	b, err := os.ReadFile("testdata/baseline.yml")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			names[name] = true
		}
	}
	return names
}
