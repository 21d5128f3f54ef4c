package httpapi

import (
	"io"
	"strings"
	"sync"
)

// stdinPipe is the input of a program while it is sent. It asks for it when the program first reads, so that what nobody
// reads is not taken from its source either.
type stdinPipe struct {
	r     *io.PipeReader
	w     *io.PipeWriter
	asked sync.Once
	ask   func()

	mu    sync.Mutex
	taken bool
}

func newStdinPipe(ask func()) *stdinPipe {
	p := &stdinPipe{ask: ask}
	p.r, p.w = io.Pipe()
	return p
}

func (p *stdinPipe) Read(b []byte) (int, error) {
	p.asked.Do(p.ask)
	return p.r.Read(b)
}

// Close ends reads and writes that wait.
func (p *stdinPipe) Close() error { return p.r.Close() }

// take tells whether the caller is the first and may send.
func (p *stdinPipe) take() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.taken
	p.taken = true
	return first
}

func newStdinText(s string) io.Reader { return strings.NewReader(s) }
