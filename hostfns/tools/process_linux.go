package tools

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup puts a program into a process group of its own, and has it told when this process dies, whatever the reason.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// reap waits until a program has ended, and ends what is left of its group.
func reap(c *exec.Cmd) error {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, c.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	// Before the program is waited for, its number cannot belong to another group.
	killGroup(c)
	err := c.Wait()
	awaitGroup(c)
	return err
}

// spawner starts programs from a thread that lives as long as it does: the signal of Pdeathsig is sent when the thread that
// started the program ends, and Go ends threads when it likes.
type spawner struct {
	once sync.Once
	work chan func()
	end  chan struct{}
	gone chan struct{}
}

func newSpawner() *spawner {
	return &spawner{work: make(chan func()), end: make(chan struct{}), gone: make(chan struct{})}
}

func (s *spawner) start(c *exec.Cmd) error {
	s.once.Do(func() { go s.run() })
	err := make(chan error, 1)
	select {
	case s.work <- func() { err <- c.Start() }:
		return <-err
	case <-s.end:
		return errClosed
	}
}

func (s *spawner) run() {
	defer close(s.gone)
	runtime.LockOSThread() // and it is not unlocked: the thread ends with the goroutine
	for {
		select {
		case f := <-s.work:
			f()
		case <-s.end:
			return
		}
	}
}

// close ends the thread. All programs have ended.
func (s *spawner) close() {
	close(s.end)
	started := true
	s.once.Do(func() { started = false })
	if started {
		<-s.gone
	}
}
