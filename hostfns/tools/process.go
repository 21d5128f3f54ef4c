package tools

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// Times of a process's end.
const (
	// stopGrace is how long a server has to end by itself, after its standard input was closed and after SIGTERM.
	stopGrace = 2 * time.Second
	// drainTime is how long output is still read after the end: something that left the process group may hold the pipe.
	drainTime = time.Second
)

// process is a running program, with all that it started, as far as that stays in its process group.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	tail   tail

	stopping chan struct{} // buffered: a request to stop
	exited   chan struct{} // the program itself has ended
	done     chan struct{} // everything has ended, nothing reads its stderr any more
	state    error         // how it ended, once exited is closed
}

// startProcess starts a program. onLine is told the lines of its standard error.
func startProcess(sp *spawner, path string, args, env []string, dir string, onLine func(string)) (*process, error) {
	p := &process{
		cmd:      &exec.Cmd{Path: path, Args: append([]string{path}, args...), Env: env, Dir: dir},
		stopping: make(chan struct{}, 1), exited: make(chan struct{}), done: make(chan struct{}),
	}
	var pipes [3][2]*os.File
	for i := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			closePipes(pipes[:i])
			return nil, err
		}
		pipes[i] = [2]*os.File{r, w}
	}
	p.stdin, p.stdout = pipes[0][1], pipes[1][0]
	stderr := pipes[2][0]
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = pipes[0][0], pipes[1][1], pipes[2][1]
	ownGroup(p.cmd)
	if err := sp.start(p.cmd); err != nil {
		closePipes(pipes[:])
		return nil, fmt.Errorf("the program cannot be started: %w", err)
	}
	for _, f := range []*os.File{pipes[0][0], pipes[1][1], pipes[2][1]} {
		_ = f.Close()
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		readLines(stderr, func(line string) {
			p.tail.add(line)
			onLine(line)
		})
	}()
	go p.wait(stderr, read)
	go p.stopper()
	return p, nil
}

func closePipes(pipes [][2]*os.File) {
	for _, p := range pipes {
		_, _ = p[0].Close(), p[1].Close()
	}
}

// wait waits for the end of the program, and ends what is left of its group.
func (p *process) wait(stderr *os.File, read chan struct{}) {
	p.state = reap(p.cmd)
	close(p.exited)
	_ = p.stdin.Close()
	_ = stderr.SetReadDeadline(time.Now().Add(drainTime))
	_ = p.stdout.SetReadDeadline(time.Now().Add(drainTime))
	<-read
	_ = stderr.Close()
	close(p.done)
}

// stop asks the process to end, which takes a while; done tells of it.
func (p *process) stop() {
	select {
	case p.stopping <- struct{}{}:
	default:
	}
}

// kill ends the process at once, and waits for that.
func (p *process) kill() {
	select {
	case <-p.exited:
	default:
		killGroup(p.cmd)
	}
	<-p.done
}

// stopper ends the process when it is asked to: politely, then firmly.
func (p *process) stopper() {
	select {
	case <-p.exited:
		return
	case <-p.stopping:
	}
	_ = p.stdin.Close() // which is how a server is told to end
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-p.exited:
		return
	case <-timer.C:
	}
	termGroup(p.cmd)
	timer.Reset(stopGrace)
	select {
	case <-p.exited:
	case <-timer.C:
		killGroup(p.cmd)
	}
}

// end tells how the process ended, after exited.
func (p *process) end() string {
	if exit := (*exec.ExitError)(nil); errors.As(p.state, &exit) {
		return exit.String()
	}
	if p.state != nil {
		return p.state.Error()
	}
	return "exit status 0"
}
