//go:build unix && !linux

package tools

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a program into a process group of its own.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
