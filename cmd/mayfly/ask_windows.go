package main

import "os"

// openDevice opens the console of this process.
func openDevice() (in, out *os.File, err error) {
	if in, err = os.OpenFile("CONIN$", os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	if out, err = os.OpenFile("CONOUT$", os.O_RDWR, 0); err != nil {
		in.Close()
		return nil, nil, err
	}
	return in, out, nil
}

// flushTyped does nothing: a console has no such queue of lines.
func flushTyped(*os.File) {}
