package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mayfly-run/mayfly/engine/store"
)

// background is a process that a script goes on beside.
type background struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	out   bytes.Buffer // what it has said, once lines is closed
}

type backgroundKey struct{}

// startCommand is `start NAME REGEXP COMMAND ARG...`: it starts a command and waits until it has printed a line, on stdout
// or stderr, that matches. Its standard input stays open.
func startCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: start NAME REGEXP COMMAND ARG...")
	}
	want, err := regexp.Compile(args[1])
	ts.Check(err)
	path, err := exec.LookPath(args[2])
	ts.Check(err)
	b := &background{cmd: exec.Command(path, args[3:]...), lines: make(chan string)}
	b.cmd.Dir = ts.MkAbs(".")
	b.cmd.Env = os.Environ()
	for _, name := range []string{"HOME", "TMPDIR", "MAYFLY_CACHE", storeVariable} {
		b.cmd.Env = append(b.cmd.Env, name+"="+ts.Getenv(name))
	}
	b.in, err = b.cmd.StdinPipe()
	ts.Check(err)
	r, w, err := os.Pipe()
	ts.Check(err)
	b.cmd.Stdout, b.cmd.Stderr = w, w
	ts.Check(b.cmd.Start())
	w.Close()
	go func() {
		defer close(b.lines)
		for sc := bufio.NewScanner(r); sc.Scan(); {
			b.out.WriteString(sc.Text() + "\n")
			b.lines <- sc.Text()
		}
		r.Close()
	}()
	ts.Value(backgroundKey{}).(map[string]*background)[args[0]] = b
	// If something hangs this ends it, and the waits for its output with it.
	timer := time.AfterFunc(2*time.Minute, func() { b.cmd.Process.Kill() })
	ts.Defer(func() {
		timer.Stop()
		b.cmd.Process.Kill()
		b.rest()
		b.cmd.Wait()
	})
	for line := range b.lines {
		if want.MatchString(line) {
			return
		}
	}
	ts.Fatalf("%s ended without %s:\n%s", strings.Join(args[2:], " "), args[1], &b.out)
}

// rest reads the rest of what a process says.
func (b *background) rest() string {
	for range b.lines {
	}
	return b.out.String()
}

// endCommand is `end NAME SIGNAL CODE [REGEXP]`: it sends a signal (interrupt, terminate or kill; "eof" closes the
// standard input instead), and waits until the process ends with the exit code, having said what matches.
func endCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 && len(args) != 4 {
		ts.Fatalf("usage: end NAME SIGNAL CODE [REGEXP]")
	}
	b := ts.Value(backgroundKey{}).(map[string]*background)[args[0]]
	if b == nil {
		ts.Fatalf("nothing was started as %s", args[0])
	}
	code, err := strconv.Atoi(args[2])
	ts.Check(err)
	switch args[1] {
	case "eof":
		ts.Check(b.in.Close())
	case "kill":
		ts.Check(b.cmd.Process.Kill())
	case "interrupt", "terminate":
		if runtime.GOOS == "windows" {
			ts.Fatalf("processes cannot be interrupted there: skip the script with [!windows]")
		}
		signal := os.Interrupt
		if args[1] == "terminate" {
			signal = syscall.SIGTERM
		}
		ts.Check(b.cmd.Process.Signal(signal))
	default:
		ts.Fatalf("signal %s is not known here", args[1])
	}
	said := b.rest()
	_ = b.cmd.Wait()
	if got := b.cmd.ProcessState.ExitCode(); got != code {
		ts.Fatalf("%s ended with %d, not %d:\n%s", args[0], got, code, said)
	}
	if len(args) == 4 && !regexp.MustCompile(args[3]).MatchString(said) {
		ts.Fatalf("%s did not say %s:\n%s", args[0], args[3], said)
	}
}

// holdStore is the command `holdstore DIR`: a program other than ours that has a store open, until its input ends.
func holdStore(dir string) int {
	s, err := store.Open(dir, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, "holdstore:", err)
		return 1
	}
	fmt.Println("locked")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "holdstore:", err)
		return 1
	}
	return 0
}
