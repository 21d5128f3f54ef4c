package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The protocol that is tried first is the newest one that begins with initialize, since all servers of today speak it, and
// some end when anything else comes first. A server that refuses it is asked for newer ones.
const (
	firstProtocol = "2025-11-25"
	wholeProtocol = "2026" // from it on, results may be questions
)

// session is a connection to a server that answers.
type session struct {
	s      *server
	in     *intake
	p      *process  // nil: it is reached over HTTP
	e      *endpoint // nil: it is not
	ctx    context.Context
	cancel context.CancelCauseFunc
	cs     *mcp.ClientSession
	began  time.Time

	mu      sync.Mutex
	conn    mcp.Connection
	users   int
	idle    *time.Timer
	ending  bool                     // for idleness
	worked  bool                     // it answered a call
	waiting map[string]chan struct{} // for pages that people were sent to, by ID

	over atomic.Bool // the connection has ended
	tidy sync.Once
}

// capture keeps the connection that a transport makes. (Wrapping it would hide what the SDK looks for in it.)
type capture struct {
	mcp.Transport
	ss *session
}

func (c capture) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := c.Transport.Connect(ctx)
	c.ss.mu.Lock()
	c.ss.conn = conn
	c.ss.mu.Unlock()
	return conn, err
}

// connect starts the server and connects to it.
func (s *server) connect(ctx context.Context) (*session, error) {
	conf, err := s.all.expander.server(&s.conf)
	if err != nil {
		return nil, s.startError(err, nil)
	}
	ss, err := s.try(ctx, conf, firstProtocol)
	if answer(err) != nil && ctx.Err() == nil {
		if newer, err2 := s.try(ctx, conf, ""); err2 == nil {
			return newer, nil
		}
	}
	return ss, err
}

// try connects with a protocol; "" is the newest.
func (s *server) try(ctx context.Context, conf *Server, protocol string) (*session, error) {
	ss := &session{s: s, in: newIntake(s.name, s.all.o.MaxResult, s.all.log), began: time.Now()}
	ss.in.changed, ss.in.elicited = s.listings.changed, ss.elicited
	ss.ctx, ss.cancel = context.WithCancelCause(ctx)
	t, err := ss.transport(conf)
	if err != nil {
		ss.cancel(nil)
		return nil, s.startError(err, nil)
	}
	o := &mcp.ClientOptions{
		Logger: quiet,
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		}},
		ElicitationHandler: ss.elicit,
		// With newer protocols, only those who have one are told.
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {},
	}
	client := mcp.NewClient(&mcp.Implementation{Name: s.all.o.ClientName, Version: s.all.o.ClientVersion}, o)
	// The SDK waits for answers when a connection is closed: what ends it has to come from below.
	stop := context.AfterFunc(ss.ctx, ss.hangUp)
	cs, err := client.Connect(ss.ctx, capture{t, ss}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		if cause := context.Cause(ss.ctx); cause != nil && isContext(err) {
			err = cause
		}
		stop()
		e := s.startError(err, ss.p)
		ss.close(err)
		return nil, e
	}
	ss.cs = cs
	if r := cs.InitializeResult(); r != nil && r.ProtocolVersion >= wholeProtocol {
		ss.in.whole.Store(true)
	} else if r != nil && r.Capabilities != nil && r.Capabilities.Logging != nil { //nolint:staticcheck // servers of today log this way
		// Many servers only log when they were told from which level on.
		ctx, cancel := context.WithTimeout(ss.ctx, levelTimeout)
		defer cancel()
		_ = cs.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"}) //nolint:staticcheck // as above
	}
	return ss, nil
}

// levelTimeout is for a server to take a log level. Nothing depends on it.
const levelTimeout = 5 * time.Second

// transport makes the transport; it starts a program.
func (ss *session) transport(conf *Server) (mcp.Transport, error) {
	if started := ss.s.all.o.Started; started != nil {
		started(ss.s.name)
	}
	var err error
	if conf.Transport == TransportStdio {
		if ss.p, err = ss.s.run(conf); err != nil {
			return nil, err
		}
		return &stdioTransport{ss.p, ss.in, ss.cancel}, nil
	}
	if ss.e, err = newEndpoint(conf, ss.in); err != nil {
		return nil, err
	}
	limit := ss.in.max + 1<<20
	if conf.Transport == TransportSSE {
		return &mcp.SSEClientTransport{Endpoint: ss.e.url.String(), HTTPClient: ss.e.client(), MaxEventSize: limit}, nil
	}
	return &mcp.StreamableClientTransport{Endpoint: ss.e.url.String(), HTTPClient: ss.e.client(), MaxEventSize: limit}, nil
}

// run starts the program of a server.
func (s *server) run(conf *Server) (*process, error) {
	dir, err := s.all.expander.folder()
	if err != nil {
		return nil, err
	}
	if conf.Cwd != "" {
		if dir = conf.Cwd; !filepath.IsAbs(dir) {
			if dir, err = filepath.Abs(filepath.Join(s.all.expander.dir, dir)); err != nil {
				return nil, err
			}
		}
	}
	if st, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("cwd: %w", err)
	} else if !st.IsDir() {
		return nil, fmt.Errorf("cwd: %s is no directory", dir)
	}
	env := environ(conf.Env, s.all.expander.getenv)
	path, err := findProgram(conf.Command, dir, env)
	if err != nil {
		return nil, err
	}
	return startProcess(s.all.spawner, path, conf.Args, env, dir, s.stderr)
}

func (s *server) stderr(line string) {
	if f := s.all.o.Stderr; f != nil {
		f(s.name, line)
		return
	}
	s.all.log.Debug("a tool server writes", "server", s.name, "line", line)
}

// hangUp ends the connection, so that nothing waits for an answer any more.
func (ss *session) hangUp() {
	ss.mu.Lock()
	conn := ss.conn
	ss.mu.Unlock()
	if conn != nil {
		_ = conn.Close()
	} else if ss.p != nil {
		ss.p.stop()
	}
}

// watch waits for the end of the connection, whatever the reason, and tidies up. It returns the reason.
func (ss *session) watch() error {
	err := ss.cs.Wait()
	ss.over.Store(true)
	if cause := context.Cause(ss.ctx); cause != nil {
		err = cause
	} else if err == nil {
		err = errDied
	}
	ss.close(err)
	return err
}

// close ends the session, and waits until its program has ended.
func (ss *session) close(why error) {
	ss.cancel(why)
	ss.tidy.Do(func() {
		ss.hangUp()
		if ss.cs != nil {
			_ = ss.cs.Close()
		}
		ss.mu.Lock()
		if ss.idle != nil {
			ss.idle.Stop()
		}
		ss.mu.Unlock()
		if ss.p != nil {
			<-ss.p.done
			_ = ss.p.stdout.Close()
		}
		if ss.e != nil {
			ss.e.base.CloseIdleConnections()
		}
	})
}

// use keeps the session from being ended for idleness until release is called. It returns nil when the session is over.
func (ss *session) use() (release func()) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.ending || ss.ctx.Err() != nil {
		return nil
	}
	ss.users++
	if ss.idle != nil {
		ss.idle.Stop()
	}
	return func() {
		ss.mu.Lock()
		defer ss.mu.Unlock()
		if ss.users--; ss.users == 0 && ss.s.conf.IdleTimeout > 0 && ss.ctx.Err() == nil {
			ss.idle = time.AfterFunc(ss.s.conf.IdleTimeout, ss.endIdle)
		}
	}
}

func (ss *session) endIdle() {
	ss.mu.Lock()
	ss.ending = ss.users == 0
	ending := ss.ending
	ss.mu.Unlock()
	if ending {
		ss.cancel(errIdle)
	}
}
