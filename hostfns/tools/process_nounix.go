//go:build !unix

package tools

import "os/exec"

// There are no process groups here: what a program started ends when it sees the end of its input.
func ownGroup(*exec.Cmd)    {}
func killGroup(c *exec.Cmd) { _ = c.Process.Kill() }
func termGroup(c *exec.Cmd) { _ = c.Process.Kill() }
func awaitGroup(*exec.Cmd)  {}
