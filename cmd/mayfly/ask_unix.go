//go:build unix

package main

import (
	"os"

	"golang.org/x/term"
)

// openDevice opens the terminal that controls this process. Its reads can be interrupted where the system is able to: that
// is why this does not ask for its Fd, which would end that.
func openDevice() (in, out *os.File, err error) {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	ok := false
	c, err := f.SyscallConn()
	if err == nil {
		err = c.Control(func(fd uintptr) { ok = term.IsTerminal(int(fd)) })
	}
	if err != nil || !ok {
		f.Close()
		return nil, nil, errNoTerminal
	}
	return f, f, nil
}

// flushTyped drops what was typed and not read.
func flushTyped(f *os.File) {
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { dropInput(int(fd)) })
	}
}
