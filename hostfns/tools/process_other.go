//go:build !linux

package tools

import "os/exec"

// spawner starts programs.
type spawner struct{}

func newSpawner() *spawner { return &spawner{} }

func (*spawner) start(c *exec.Cmd) error { return c.Start() }
func (*spawner) close()                  {}

// reap waits until a program has ended, and ends what is left of its group.
func reap(c *exec.Cmd) error {
	err := c.Wait()
	killGroup(c)
	awaitGroup(c)
	return err
}
