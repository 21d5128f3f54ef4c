package wasi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tetratelabs/wazero/experimental/sys"
)

const (
	stdinBuffer   = 64 << 10 // bytes read from the host at once; the size of a pipe on Linux
	maxEmptyReads = 100      // reads of nothing, without error, until a reader counts as broken; as in package bufio
)

// A Stdin lets guests wait for a reader of the host without being bound to it: reading a pipe or a terminal may block
// for ever and cannot be cancelled. A goroutine runs while a Read is in progress and at no other time. A guest that stops
// waiting leaves that Read to the next one who asks, so no input is lost.
//
// It may be used from any goroutine, and by one process after another.
type Stdin struct {
	r       io.Reader
	reading sync.WaitGroup

	mu    sync.Mutex
	buf   []byte        // where the Read in progress writes
	data  []byte        // what has been read and not taken; part of buf
	err   error         // what the reader ended with; sticky
	empty int           // reads of nothing in a row
	wake  chan struct{} // closed when the Read in progress ends or Close is called; nil: nobody waits for one
}

// NewStdin returns a Stdin that reads from r, at most 64 KiB ahead of the guest and nothing before a guest asks.
func NewStdin(r io.Reader) *Stdin { return &Stdin{r: r} }

// Close makes guests see the end of input and drops what was not taken. It does not end a Read in progress: closing
// the reader itself may do that, see Wait.
func (s *Stdin) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = nil
	if s.err == nil {
		s.err = io.EOF
	}
	if s.wake != nil {
		close(s.wake)
		s.wake = nil
	}
	return nil
}

// Wait waits until no Read is in progress. Call it after Close and after whatever makes the reader return.
func (s *Stdin) Wait() { s.reading.Wait() }

// ready says whether take has an answer, and how many bytes. If not, it starts to read and returns a channel that is
// closed when it is worth asking again.
func (s *Stdin) ready() (n int, again <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.data) > 0 || s.err != nil {
		return len(s.data), nil
	}
	if s.wake == nil {
		if s.buf == nil {
			s.buf = make([]byte, stdinBuffer)
		}
		s.wake = make(chan struct{})
		wake := s.wake
		s.reading.Go(func() { s.fill(wake) })
	}
	return 0, s.wake
}

func (s *Stdin) fill(wake chan struct{}) {
	n, err := s.read()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wake != wake {
		return // closed meanwhile
	}
	s.wake = nil
	close(wake)
	if n < 0 || n > len(s.buf) {
		n, err = 0, io.ErrShortBuffer
	}
	if n > 0 || err != nil {
		s.empty = 0
	} else if s.empty++; s.empty >= maxEmptyReads {
		err = io.ErrNoProgress
	}
	s.data, s.err = s.buf[:n], err
}

// read is a Read whose panic is an error: it happens in a goroutine of ours, where nobody could recover from it.
func (s *Stdin) read() (n int, err error) {
	defer func() {
		if p := recover(); p != nil {
			n, err = 0, fmt.Errorf("reader panicked: %v", p)
		}
	}()
	return s.r.Read(s.buf) // nobody else touches buf while data is empty
}

// take moves what is there to bufs. Zero bytes and no error is the end.
func (s *Stdin) take(bufs [][]byte) (n int, e errno) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range bufs {
		k := copy(b, s.data)
		s.data = s.data[k:]
		n += k
	}
	if n == 0 && s.err != nil && !errors.Is(s.err, io.EOF) {
		return 0, streamErrno(s.err)
	}
	return n, success
}

// readStdin is fd_read of a standard input.
func (c call) readStdin(f *file) errno {
	p := c.p
	p.mu.Lock()
	s := p.stdin
	p.mu.Unlock()
	var store [8][]byte
	bufs, e := c.iovecs(store[:0], c.u32(1), c.u32(2))
	if e != success {
		return e
	}
	if s == nil || len(bufs) == 0 {
		return c.putU32(c.u32(3), 0)
	}
	if e := p.awaitStdin(c.ctx, s, f.flags&fdNonblock != 0); e != success {
		return e
	}
	// Other calls may have run, and the memory may have moved.
	if !c.writable(c.u32(3), 4) {
		return errFault
	}
	if bufs, e = c.iovecs(store[:0], c.u32(1), c.u32(2)); e != success {
		return e
	}
	n, e := s.take(bufs)
	if e != success {
		return e
	}
	return c.putU32(c.u32(3), uint32(n))
}

// input is Stdin.ready, but with Options.NoWait it waits for the answer: whether the goroutine that reads comes first is
// chance, and the reader does not block.
func (p *Process) input(ctx context.Context, s *Stdin) (n int, again <-chan struct{}) {
	for {
		n, again = s.ready()
		if again == nil || !p.noWait() || ctx.Err() != nil {
			return n, again
		}
		p.block(ctx, func() {
			select {
			case <-again:
			case <-ctx.Done():
			}
		})
	}
}

func (p *Process) awaitStdin(ctx context.Context, s *Stdin, nonblock bool) errno {
	for {
		_, again := p.input(ctx, s)
		if again == nil {
			return success
		}
		if nonblock {
			p.notReady()
			return errAgain
		}
		e := errIntr
		p.block(ctx, func() {
			select {
			case <-again:
				e = success
			case <-ctx.Done():
			}
		})
		if e != success {
			return e
		}
	}
}

// writeStream writes to the writer of a standard stream. What was written before an error is a short write.
func (p *Process) writeStream(kind fileKind, bufs [][]byte) (n int, e errno) {
	p.mu.Lock()
	w := p.stdout
	if kind == kindStderr {
		w = p.stderr
	}
	p.mu.Unlock()
	if w == nil {
		w = io.Discard
	}
	for _, b := range bufs {
		k, err := w.Write(b)
		n += min(max(k, 0), len(b))
		if err != nil || k < len(b) {
			if n > 0 {
				break
			}
			return 0, streamErrno(err)
		}
	}
	return n, success
}

// streamErrno is the error of a reader or writer of the host, as the guest sees it.
func streamErrno(err error) errno {
	var e sys.Errno
	if errors.As(err, &e) && e != 0 {
		return toErrno(e)
	}
	return errIO
}
