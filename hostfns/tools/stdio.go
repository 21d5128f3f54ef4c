package tools

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stdioTransport is a connection to a process over its standard input and output: a message a line. The SDK's own gives up at
// the first line that is none.
type stdioTransport struct {
	p    *process
	in   *intake
	died func(error) // told when the program ends by itself
}

func (t *stdioTransport) Connect(context.Context) (mcp.Connection, error) {
	c := &stdioConn{
		p: t.p, in: t.in, died: t.died, lines: bufio.NewReaderSize(t.p.stdout, 64<<10),
		writes: make(chan []byte), closed: make(chan struct{}),
	}
	go c.write()
	return c, nil
}

type stdioConn struct {
	p     *process
	in    *intake
	died  func(error)
	lines *bufio.Reader
	queue [][]byte // messages that were read and not returned yet

	writes chan []byte // to the goroutine that writes

	once   sync.Once
	closed chan struct{}
	err    error // what Read returns at the end, once closed is closed
}

func (c *stdioConn) SessionID() string { return "" }

// Read returns the next message. Only one goroutine calls it.
func (c *stdioConn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		for len(c.queue) > 0 {
			m, err := jsonrpc.DecodeMessage(c.queue[0])
			c.queue = c.queue[1:]
			if err == nil {
				return m, nil
			}
		}
		frame, scan, err := readFrame(c.lines, c.in.max)
		switch {
		case scan != nil:
			if m := c.in.tooLarge(scan); m != nil {
				c.queue = append(c.queue, m)
			}
		case len(frame) > 0:
			c.queue = c.in.take(frame)
		}
		if err != nil && len(c.queue) == 0 {
			return nil, c.ended(err)
		}
	}
}

// ended is the error of a read that failed. The program has ended, or closed its output, which is no way to go on.
func (c *stdioConn) ended(err error) error {
	if !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", errDied, err)
	} else {
		err = errDied
	}
	c.stop(err)
	<-c.p.exited
	c.died(c.err)
	return c.err
}

// readFrame reads a line. When it has more than limit bytes, it is not kept; scan has looked at it instead.
func readFrame(r *bufio.Reader, limit int) (frame []byte, scan *idScanner, err error) {
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case scan != nil:
			scan.feed(part)
		case len(frame)+len(part) > limit:
			scan = &idScanner{}
			scan.feed(frame)
			scan.feed(part)
			frame = nil
		default:
			frame = append(frame, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return frame, scan, err
		}
	}
}

// Write hands a message to the goroutine that writes, once that has written the one before: a server that does not read must
// keep nobody longer than ctx lasts, and yet half a message must not stay.
func (c *stdioConn) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	data = append(data, '\n')
	x := exchangeOf(ctx)
	switch m := m.(type) {
	case *jsonrpc.Request:
		if x != nil && m.IsCall() {
			if id, ok := m.ID.Raw().(int64); ok {
				c.in.expect(strconv.FormatInt(id, 10), x)
			}
		}
	case *jsonrpc.Response:
		defer c.in.replied()
	}
	select {
	case c.writes <- data:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.closed:
		return errDied
	}
	if x != nil {
		x.markSent()
	}
	return nil
}

// write writes what Write is given.
func (c *stdioConn) write() {
	for {
		select {
		case data := <-c.writes:
			if _, err := c.p.stdin.Write(data); err != nil {
				c.stop(errDied)
				return
			}
		case <-c.closed:
			return
		}
	}
}

// Close begins to end the program; it does not wait for that. What the program still says is read.
func (c *stdioConn) Close() error {
	c.stop(io.EOF)
	return nil
}

func (c *stdioConn) stop(err error) {
	c.once.Do(func() {
		c.err = err
		close(c.closed)
		c.p.stop()
	})
}
