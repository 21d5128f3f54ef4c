package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a mayfly process on a pseudo-terminal.
type terminal struct {
	t    *testing.T
	ctrl *os.File
	seen strings.Builder // not consumed yet
}

func openTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	ctrl, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { ctrl.Close() })
	fd := int(ctrl.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	defer tty.Close()
	c := mayfly(t, args...)
	c.Stdin, c.Stdout, c.Stderr = tty, tty, tty
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { c.Process.Kill() })
	t.Cleanup(func() {
		timer.Stop()
		c.Process.Kill()
		c.Wait()
	})
	return &terminal{t: t, ctrl: ctrl}
}

// typeLine sends text and a carriage return, as the Enter key does.
func (x *terminal) typeLine(text string) { x.typeKeys(text + "\r") }

func (x *terminal) typeKeys(keys string) {
	x.t.Helper()
	if _, err := x.ctrl.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// want reads until the text has come.
func (x *terminal) want(text string) {
	x.t.Helper()
	buf := make([]byte, 4096)
	for {
		before, after, ok := strings.Cut(x.seen.String(), text)
		if ok {
			x.t.Logf("%s%s", before, text)
			x.seen.Reset()
			x.seen.WriteString(after)
			return
		}
		n, err := x.ctrl.Read(buf)
		x.seen.Write(buf[:n])
		if err != nil {
			x.t.Fatalf("%q did not come but %q, then %v", text, x.seen.String(), err)
		}
	}
}

// wantEnd reads until the process has closed the terminal.
func (x *terminal) wantEnd() {
	x.t.Helper()
	buf := make([]byte, 4096)
	for {
		if _, err := x.ctrl.Read(buf); err != nil {
			return
		}
	}
}

// TestReplTerminal types into a session as a person does.
func TestReplTerminal(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, "repl")
	x.want("in a sandbox. Ctrl-D ends the session.")
	x.want(">>> ")
	x.typeLine("x = 20")
	x.want(">>> ")
	x.typeLine("x + 1")
	x.want("21\r\n>>> ")
	x.typeLine("def f():")
	x.want("... ")
	x.typeLine("    y = x * 2")
	x.want("... ")
	x.typeLine("    print('a', y, sep='\\n')")
	x.want("... ")
	x.typeLine("")
	x.want(">>> ")
	x.typeLine("f()")
	x.want("a\r\n40\r\n>>> ")

	// Ctrl-C gives up what is typed, a started block included, and not the session.
	x.typeLine("def g():")
	x.want("... ")
	x.typeKeys("    half\x03")
	x.want("^C\r\n>>> ")
	x.typeLine("x + 2")
	x.want("22\r\n>>> ")

	// Ctrl-C interrupts what runs.
	x.typeLine("for _ in iter(int, 1): print(end='started\\n' if x else ''); x = 0")
	x.want("... ")
	x.typeLine("")
	x.want("started\r\n")
	x.typeKeys("\x03")
	x.want("KeyboardInterrupt")
	x.want(">>> ")
	x.typeLine("x + 3")
	x.want("3\r\n>>> ")

	x.typeKeys("\x04")
	x.wantEnd()
}
