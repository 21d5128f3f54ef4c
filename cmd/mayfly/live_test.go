package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// started is a mayfly process that a test talks with. If something hangs, the test's deadline ends it.
type started struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
}

func start(t *testing.T, args ...string) *started {
	t.Helper()
	s := &started{t: t, cmd: mayfly(t, args...)}
	s.cmd.Stderr = &s.stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Killing it ends the reads of a test that waits for something that does not come.
	timer := time.AfterFunc(time.Minute, func() { s.cmd.Process.Kill() })
	t.Cleanup(func() { timer.Stop() })
	return s
}

func (s *started) wantLine(want string) {
	s.t.Helper()
	line, err := s.out.ReadString('\n')
	if err != nil || strings.TrimSuffix(line, "\n") != want {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		s.t.Fatalf("got %q, %v instead of %q; stderr:\n%s", line, err, want, &s.stderr)
	}
}

func (s *started) send(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, text); err != nil {
		s.t.Fatal(err)
	}
}

func (s *started) interrupt() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		s.t.Fatal(err)
	}
}

// wantExit closes the input and waits for the end.
func (s *started) wantExit(code int) {
	s.t.Helper()
	s.in.Close()
	rest, _ := io.ReadAll(s.out)
	_ = s.cmd.Wait()
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Fatalf("exit code %d instead of %d; more stdout:\n%s\nstderr:\n%s", got, code, rest, &s.stderr)
	}
}

// TestOutputStreams: output arrives while the program runs. Each line is printed only after the test has read the one
// before, so output that waits for the end would hang this.
func TestOutputStreams(t *testing.T) {
	t.Parallel()
	s := start(t, "run", "-c", `
import sys
print("first")
while (line := sys.stdin.readline()):
    print("got", line.strip())
print("end")
`)
	s.wantLine("first")
	s.send("a\n")
	s.wantLine("got a")
	s.send("b\n")
	s.wantLine("got b")
	s.in.Close()
	s.wantLine("end")
	s.wantExit(0)
}

func skipWithoutInterrupt(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("processes cannot be interrupted there")
	}
}

// TestInterrupt: the first Ctrl-C is an exception in the program, which may clean up.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	skipWithoutInterrupt(t)
	s := start(t, "run", "-c", `
print("started")
try:
    while True:
        pass
finally:
    print("cleaned up")
`)
	s.wantLine("started")
	s.interrupt()
	s.wantLine("cleaned up")
	s.wantExit(130)
	if !strings.Contains(s.stderr.String(), "line 4, in <module>") && !strings.Contains(s.stderr.String(), "line 5, in <module>") {
		t.Errorf("no traceback at the program's line:\n%s", &s.stderr)
	}
}

// TestInterruptSleep: a program that waits is interrupted as well.
func TestInterruptSleep(t *testing.T) {
	t.Parallel()
	skipWithoutInterrupt(t)
	s := start(t, "run", "--timeout", "50s", "-c", "import time\nprint('started')\ntime.sleep(40)")
	s.wantLine("started")
	before := time.Now()
	s.interrupt()
	s.wantExit(130)
	if d := time.Since(before); d > 20*time.Second {
		t.Errorf("the sleep went on for %v", d)
	}
}

// TestInterruptRepl: Ctrl-C ends what runs, and the session goes on with its state.
func TestInterruptRepl(t *testing.T) {
	t.Parallel()
	skipWithoutInterrupt(t)
	s := start(t, "repl")
	s.send("x = 41\ndef f():\n    print('started')\n    while True: pass\n\nf()\n")
	s.wantLine("started")
	s.interrupt()
	s.send("x + 1\n")
	s.wantLine("42")
	s.wantExit(0)
	if !strings.Contains(s.stderr.String(), "KeyboardInterrupt") {
		t.Errorf("the loop was not interrupted:\n%s", &s.stderr)
	}
}

// TestTruncatedOutput: a program that prints without end is no danger to mayfly's memory, and is stopped by its time.
func TestTruncatedOutput(t *testing.T) {
	t.Parallel()
	s := start(t, "run", "--max-output", "1KiB", "--timeout", "1s", "-c", "while True: print('x' * 1023)")
	s.wantLine(strings.Repeat("x", 1023))
	if _, err := s.out.ReadByte(); err != io.EOF {
		t.Errorf("more than 1 KiB came, or %v", err)
	}
	s.wantExit(124)
	if !strings.Contains(s.stderr.String(), "bytes of stdout beyond the limit were dropped (--max-output)") {
		t.Errorf("stderr does not tell:\n%s", &s.stderr)
	}
}
