package main

import (
	"bufio"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// startServer starts `mayfly serve` for a store, and waits until it listens.
func startServer(t *testing.T, store string) *started {
	t.Helper()
	s := &started{t: t, cmd: mayfly(t, "serve", "--store", store)}
	said, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.cmd.Process.Kill() })
	s.out = bufio.NewReader(said)
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			t.Fatalf("no server: %q, %v", line, err)
		}
		if strings.HasPrefix(line, "mayfly: listening on ") {
			return s
		}
	}
}

// TestInterruptSession: Ctrl-C is an exception in the program, whoever has the store. The step is stored.
func TestInterruptSession(t *testing.T) {
	t.Parallel()
	skipWithoutInterrupt(t)
	for _, remote := range []bool{false, true} {
		store := filepath.Join(t.TempDir(), "store")
		if remote {
			server := startServer(t, store)
			defer server.wantExit(0)
			defer server.interrupt()
		}
		s := start(t, "run", "--store", store, "--session", "s", "-c", `
done = []
print("started", flush=True)
try:
    while True:
        pass
finally:
    done.append("cleaned up")
    print(*done, flush=True)
`)
		s.wantLine("started")
		s.interrupt()
		s.wantLine("cleaned up")
		s.wantExit(130)
		if !strings.Contains(s.stderr.String(), "KeyboardInterrupt") {
			t.Errorf("remote %v: no traceback:\n%s", remote, &s.stderr)
		}
		s = start(t, "run", "--store", store, "--session", "s", "-c", "done")
		s.wantLine("['cleaned up']")
		s.wantExit(0)
	}
}

// TestTakeOver: a process that uses the store of another goes on when that one ends, and has the store then.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	skipWithoutInterrupt(t)
	store := filepath.Join(t.TempDir(), "store")
	server := startServer(t, store)
	repl := start(t, "repl", "--store", store, "--session", "s")
	repl.send("x = 20\nx + 1\n")
	repl.wantLine("21")
	server.interrupt()
	server.wantExit(0)
	repl.send("x + 2\n")
	repl.wantLine("22")
	// Now others come to this one.
	out, err := mayfly(t, "run", "--store", store, "--session", "s", "-c", "x + 3").CombinedOutput()
	if err != nil || string(out) != "23\n" {
		t.Errorf("%s, %v", out, err)
	}
	repl.wantExit(0)
}

// TestDrain: a process that ends waits for those that use its store.
func TestDrain(t *testing.T) {
	t.Parallel()
	skipWithoutInterrupt(t)
	store := filepath.Join(t.TempDir(), "store")
	server := startServer(t, store)
	run := start(t, "run", "--store", store, "--session", "s", "-c", `print("started", flush=True); x = input()`)
	run.wantLine("started")
	server.interrupt()
	line, err := server.out.ReadString('\n')
	if err != nil || line != "mayfly: stopping\n" {
		t.Errorf("%q, %v", line, err)
	}
	if line, err = server.out.ReadString('\n'); err != nil || !strings.HasPrefix(line, "mayfly: waiting for other processes") {
		t.Errorf("%q, %v", line, err)
	}
	run.send("last words\n")
	run.wantExit(0)
	server.wantExit(0)
	out, err := mayfly(t, "run", "--store", store, "--session", "s", "-c", "x").CombinedOutput()
	if err != nil || string(out) != "'last words'\n" {
		t.Errorf("%s, %v", out, err)
	}
}

// TestManyAtOnce: processes that start together all find their way to one store.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "store")
	var all []*exec.Cmd
	var outs []io.ReadCloser
	for range 6 {
		c := mayfly(t, "run", "--store", store, "--session", "s", "-c", "n = globals().get('n', 0) + 1; print(n)")
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		c.Stderr = t.Output()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		all, outs = append(all, c), append(outs, out)
	}
	seen := map[string]bool{}
	for i, c := range all {
		b, err := io.ReadAll(outs[i])
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
		if err != nil || seen[string(b)] {
			t.Errorf("%q, %v; seen already: %v", b, err, seen)
		}
		seen[string(b)] = true
	}
	if !seen["6\n"] {
		t.Errorf("steps %v", seen)
	}
}

// TestBrokenPipe: when nobody reads the output any more the program is interrupted and its step stored, and whoever uses
// the store of this process is not affected.
func TestBrokenPipe(t *testing.T) {
	t.Parallel()
	skipWithoutInterrupt(t)
	store := filepath.Join(t.TempDir(), "store")
	holder := mayfly(t, "run", "--store", store, "--session", "s", "-c", `
x = 1
try:
    while True:
        print("more", flush=True)
except KeyboardInterrupt:
    x = "interrupted"
`)
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	other := start(t, "run", "--store", store, "--session", "other", "-c", `print("started", flush=True); input()`)
	other.wantLine("started")
	out.Close()
	other.send("whatever\n")
	other.wantLine("'whatever'")
	other.wantExit(0)
	_ = holder.Wait()
	if got := holder.ProcessState.ExitCode(); got != exitPipe {
		t.Errorf("exit code %d", got)
	}
	last, err := mayfly(t, "run", "--store", store, "--session", "s", "-c", "x").CombinedOutput()
	if err != nil || string(last) != "'interrupted'\n" {
		t.Errorf("%s, %v", last, err)
	}
}
