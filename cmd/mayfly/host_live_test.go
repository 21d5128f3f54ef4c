package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/internal/llmtest"
)

// output runs mayfly and returns what it prints; it has to end with the exit code.
func output(t *testing.T, env []string, code int, args ...string) string {
	t.Helper()
	c := mayfly(t, args...)
	c.Env = append(c.Env, env...)
	out, _ := c.CombinedOutput()
	if got := c.ProcessState.ExitCode(); got != code {
		t.Fatalf("mayfly %q ended with %d, not %d:\n%s", args, got, code, out)
	}
	return string(out)
}

// TestRunWithModel: a program asks a model, whose key it never sees.
func TestRunWithModel(t *testing.T) {
	t.Parallel()
	warmCache(t)
	const key = "sk-0123456789abcdef"
	s, err := llmtest.Start(&llmtest.Script{Key: key, Func: func(_ int, r *llmtest.Request) llmtest.Answer {
		return llmtest.Answer{Text: "You said " + r.Prompt() + " to " + r.Model + " with " + key}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const code = "from mayfly import ask_llm; print(ask_llm('hello'))"
	env := []string{"OPENAI_API_KEY=" + key}
	got := output(t, env, 0, "run", "--llm-base-url", s.URL, "--llm-model", "test-model", "-c", code)
	if want := "You said hello to test-model with {{secret:LLM_API_KEY}}\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	env = []string{"ANOTHER_KEY=" + key, "OPENAI_API_KEY=wrong-wrong-wrong", "OPENAI_BASE_URL=" + s.URL}
	got = output(t, env, 0, "run", "--llm-model", "m", "--secret", "K=env:ANOTHER_KEY", "--llm-key", "K", "-c", code)
	if want := "You said hello to m with {{secret:K}}\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// A variable of the environment alone offers no model.
	if got = output(t, env, 1, "run", "-c", code); !strings.Contains(got, "LLMError") {
		t.Errorf("without flags:\n%s", got)
	}
}

// TestRunWithHTTP: a program reaches what it may, with a secret that it never sees.
func TestRunWithHTTP(t *testing.T) {
	t.Parallel()
	warmCache(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "got ", r.Header.Get("Authorization"))
	}))
	defer s.Close()
	code := fmt.Sprintf(`
import urllib.request, mayfly
r = urllib.request.Request(%q, headers={"Authorization": "Bearer " + mayfly.secret("TOKEN")})
print(urllib.request.urlopen(r).read().decode())
`, s.URL)
	host := strings.TrimPrefix(s.URL, "http://")
	env := []string{"MY_TOKEN=hunter2hunter2"}
	args := []string{"run", "--secret", "TOKEN=env:MY_TOKEN", "--allow-secret", "TOKEN=http:" + host, "-c", code}
	if got := output(t, env, 0, append(args, "--allow-http", s.URL)...); got != "got Bearer {{secret:TOKEN}}\n" {
		t.Errorf("%q", got)
	}
	for _, args := range [][]string{
		args, // no rule
		append(args, "--allow-http", "https://example.com"),
		{"run", "--secret", "TOKEN=env:MY_TOKEN", "--allow-http", s.URL, "-c", code}, // not for this destination
	} {
		if got := output(t, env, 1, args...); strings.Contains(got, "got Bearer") || strings.Contains(got, "hunter2") {
			t.Errorf("%q:\n%s", args, got)
		}
	}
}

// TestRunWithPlugin: a directory of plug-ins is a tool server for each.
func TestRunWithPlugin(t *testing.T) {
	t.Parallel()
	warmCache(t)
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no Go here to build the plug-in")
	}
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-o", filepath.Join(dir, "text.wasm"), "../../examples/plugin")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := output(t, nil, 0, "tools", "list", "--plugins", dir); !strings.Contains(got, "text.count") {
		t.Errorf("list:\n%s", got)
	}
	got := output(t, nil, 0, "run", "--plugins", dir, "-c", "from tools.text import count; count(text='one two')['words']")
	if got != "2\n" {
		t.Errorf("run: %q", got)
	}
	if got := output(t, nil, 2, "run", "--plugins", filepath.Join(dir, "none"), "-c", "1"); !strings.Contains(got, "plugins: ") {
		t.Errorf("a directory that is not there:\n%s", got)
	}
}
