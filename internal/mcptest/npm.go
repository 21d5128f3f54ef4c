package mcptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// NPM returns the directory in which .ci/npm-tools installed its packages, or skips the test.
func NPM(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("MAYFLY_NPM_TOOLS")
	if dir == "" {
		t.Skip("MAYFLY_NPM_TOOLS is not set; .ci/npm-tools DIR installs what it names")
	}
	modules := filepath.Join(dir, "node_modules")
	if _, err := os.Stat(modules); err != nil {
		t.Fatalf("MAYFLY_NPM_TOOLS: %v; .ci/npm-tools %s installs it", err, dir)
	}
	return modules
}

// Node returns a Node.js of at least a major version: that of .ci/npm-tools, or the one in PATH. It skips the test when there
// is none.
func Node(t testing.TB, major int) string {
	t.Helper()
	candidates := []string{filepath.Join(NPM(t), "node-"+platform(), "bin", "node"), "node"}
	for _, path := range candidates {
		out, err := exec.Command(path, "--version").Output()
		if err != nil {
			continue
		}
		var v int
		if _, err := fmt.Sscanf(strings.TrimSpace(string(out)), "v%d.", &v); err == nil && v >= major {
			return path
		}
	}
	t.Skipf("there is no Node.js %d or newer: neither %s", major, strings.Join(candidates, " nor "))
	return ""
}

func platform() string {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	return runtime.GOOS + "-" + arch
}
