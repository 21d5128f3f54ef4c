//go:build unix

package tools

import (
	"os/exec"
	"syscall"
	"time"
)

// killGroup and termGroup end a program and what it started. The program has not been waited for, or this does nothing.
func killGroup(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
func termGroup(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }

// awaitGroup waits until what is left of a killed group has ended, which takes a moment; not for ever, since it is up to
// others to reap it.
func awaitGroup(c *exec.Cmd) {
	const step = 2 * time.Millisecond
	for range time.Second / step {
		if syscall.Kill(-c.Process.Pid, 0) == syscall.ESRCH {
			return
		}
		time.Sleep(step)
	}
}
