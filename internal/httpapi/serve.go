package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server serves a handler: on the listeners that it is given, and within the process.
type Server struct {
	http *http.Server
	gate *gate
	pipe *pipeListener
	done sync.WaitGroup
}

// Start serves h until Shutdown. It takes the listeners over.
func Start(h http.Handler, log *slog.Logger, listeners ...net.Listener) *Server {
	if log == nil {
		log = slog.Default()
	}
	g := newGate(h)
	s := &Server{
		gate: g, pipe: newPipeListener(),
		http: &http.Server{
			Handler: g, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
			ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		},
	}
	for _, l := range append(listeners, s.pipe) {
		s.done.Go(func() {
			if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				log.Error("server stopped", "address", l.Addr().String(), "error", err)
			}
		})
	}
	return s
}

// Dial connects to the server from within its process.
func (s *Server) Dial(ctx context.Context) (net.Conn, error) { return s.pipe.dial(ctx) }

// Shutdown lets no new work in, which clients take elsewhere, waits until the requests under way are answered, and
// stops serving. When ctx ends before, it returns its error, and may be called again to go on waiting.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.gate.drain(ctx)
	if err == nil {
		err = s.http.Shutdown(ctx)
	}
	if err == nil {
		s.done.Wait()
	}
	return err
}

// Close ends all requests under way; the executions among them are cancelled.
func (s *Server) Close() error {
	err := s.http.Close()
	s.done.Wait()
	return err
}

// pipeListener accepts connections of its own process.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipeListener) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "this process" }
