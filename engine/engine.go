package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// Engine runs code. It is safe for concurrent use. Close frees it.
type Engine struct {
	opts  Options
	exec  Executor
	wasm  *wasmExecutor
	queue *queue

	mu       sync.Mutex
	sessions map[*Session]struct{}
	durable  map[string]*Session
	imports  map[string]bool // names under which sessions are being imported
	closed   bool
	running  sync.WaitGroup

	questions questions

	opening sync.Mutex // held while a durable session is opened, made or removed
	reaper  reaper

	call hostFunction // takes the place of all host functions, in tests
}

// New returns an engine. Guests are loaded when they are first used, or by Warm.
func New(ctx context.Context, o *Options) (*Engine, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	w, err := newWasmExecutor(ctx, &opts)
	if err != nil {
		return nil, &Error{Err: err, Phase: PhaseFork}
	}
	e := &Engine{
		opts: opts, exec: w, wasm: w, queue: newQueue(opts.MaxInFlight, opts.MaxQueue, opts.MaxWaiting),
		sessions: map[*Session]struct{}{}, durable: map[string]*Session{}, imports: map[string]bool{},
	}
	e.reaper.start(e)
	return e, nil
}

// Warm loads the guest of a language, "" being the default one: a few hundred milliseconds, or some ten seconds when the
// cache does not have it yet.
func (e *Engine) Warm(ctx context.Context, language string) error {
	language, err := e.language(language)
	if err != nil {
		return err
	}
	_, err = e.wasm.image(ctx, language)
	return err
}

// Languages lists the languages of the engine's guests, the default one first.
func (e *Engine) Languages() []string { return e.exec.Languages() }

func (e *Engine) language(name string) (string, error) {
	names := e.exec.Languages()
	if name == "" {
		return names[0], nil
	}
	for _, n := range names {
		if n == name {
			return n, nil
		}
	}
	return "", requestError("known are: "+strings.Join(names, ", "), "unknown language %q", name)
}

// Run runs a program in a sandbox of its own, which is gone afterwards. An error means that Mayfly could not do it; then
// the result tells by its status whether any code ran. What the program does wrong is told by the result alone.
func (e *Engine) Run(ctx context.Context, r Request) (*Result, error) {
	started := time.Now()
	sb := Sandbox{}
	if r.Sandbox != nil {
		sb = *r.Sandbox
	}
	if sb.Language == "" {
		sb.Language = r.Language
	}
	s, err := e.newSession(sb, true)
	if err != nil {
		return notStarted(&r, started, err), err
	}
	defer s.Close()
	r.Sandbox = nil
	return s.Exec(ctx, r)
}

// NewSession returns a sandbox that keeps its variables and files. Nil stands for the defaults.
func (e *Engine) NewSession(ctx context.Context, sb *Sandbox) (*Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, &Error{Err: err, Phase: PhaseRequest}
	}
	if sb == nil {
		sb = &Sandbox{}
	}
	return e.newSession(*sb, false)
}

func (e *Engine) newSession(sb Sandbox, ephemeral bool) (*Session, error) {
	sb, err := e.fillSandbox(sb)
	if err != nil {
		return nil, err
	}
	s := &Session{e: e, id: newID("se"), turn: make(chan struct{}, 1), spec: Spec{Sandbox: sb, Ephemeral: ephemeral}}
	s.spec.audit = e.audit(s.id)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, &Error{Err: ErrClosed, Phase: PhaseRequest}
	}
	e.sessions[s] = struct{}{}
	return s, nil
}

// fillSandbox fills in the defaults of a sandbox and checks it.
func (e *Engine) fillSandbox(sb Sandbox) (Sandbox, error) {
	language, err := e.language(sb.Language)
	if err != nil {
		return sb, err
	}
	sb.Language = language
	setDefault(&sb.Memory, DefaultMemory)
	setDefault(&sb.Workspace, DefaultWorkspace)
	setDefault(&sb.Files, DefaultFiles)
	setDefault(&sb.Threads, DefaultThreads)
	setDefault(&sb.Stacks, DefaultStacks)
	if sb.Memory < 0 || sb.Memory > maxMemory || sb.Workspace < 0 || sb.Files < 0 || sb.Threads > maxThreads {
		return sb, requestError(
			fmt.Sprintf("nothing negative, at most %d GiB of memory and %d threads", maxMemory>>30, maxThreads),
			"sandbox with %d bytes of memory, %d files of %d bytes together, and %d threads",
			sb.Memory, sb.Files, sb.Workspace, sb.Threads)
	}
	if sb.Threads < 1 || sb.Stacks < minStacks {
		return sb, requestError(fmt.Sprintf("at least 1 thread and %d MiB of stacks", minStacks>>20),
			"sandbox of %d threads and %d bytes of stacks", sb.Threads, sb.Stacks)
	}
	return sb, nil
}

// audit returns what is told of the file operations of a session, nil for nobody.
func (e *Engine) audit(session string) func(vfs.Operation) {
	tell := e.opts.Audit
	if tell == nil {
		return nil
	}
	return func(o vfs.Operation) { tell(session, o) }
}

// enter counts an execution in, unless the engine is closed.
func (e *Engine) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.running.Add(1)
	return true
}

// work waits for a place to run guest code outside of a session, and returns what gives it back.
func (e *Engine) work(ctx context.Context) (leave func(), err error) {
	if !e.enter() {
		return nil, &Error{Err: ErrClosed, Phase: PhaseRequest}
	}
	p, err := e.queue.enter(ctx)
	if err != nil {
		e.running.Done()
		return nil, queueError(err)
	}
	return func() {
		p.leave()
		e.running.Done()
	}, nil
}

func (e *Engine) forget(s *Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sessions, s)
	if s.kept != nil && e.durable[s.id] == s {
		delete(e.durable, s.id)
	}
}

// Close closes all sessions, after their executions in flight, and frees the guests.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	var open []*Session
	for s := range e.sessions {
		open = append(open, s)
	}
	e.mu.Unlock()
	var errs []error
	e.reaper.stop()
	for _, s := range open {
		errs = append(errs, s.end())
	}
	e.running.Wait()
	return errors.Join(append(errs, e.exec.Close(context.Background()))...)
}

// newID returns a random identifier of 80 bits.
func newID(prefix string) string {
	return fmt.Sprintf("%s_%s", prefix, strings.ToLower(rand.Text()[:16]))
}
