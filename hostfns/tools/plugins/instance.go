package plugins

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/sys"

	"github.com/mayfly-run/mayfly/hostfns"
)

const (
	// stopGrace is what a call gets to end by itself when its context is done, before its modules are closed under it.
	stopGrace = time.Second
	// stderrSize is what is kept of a plug-in's standard error, for the message of a crash.
	stderrSize = 2 << 10
	// maxIdleBytes: an instance whose input and output took more is not kept.
	maxIdleBytes = 16 << 20
)

var plainError = reflect.TypeOf(errors.New(""))

var errPanic = errors.New("in Extism's SDK")

// instance is an instance of a plug-in, for one call at a time.
type instance struct {
	plugin *extism.Plugin
	// call is what runs; the host functions of WASI have no context.
	call   *running
	stderr tail
	closed atomic.Bool // one of its modules is
}

// running is a call that runs. Host functions find it in their context.
type running struct {
	ctx    context.Context
	plugin *plugin
	emit   func(hostfns.Event)
	logged int
	// failure is why a host function ended the call.
	failure error
}

type runningKey struct{}

// CloseNotify implements experimental.CloseNotifier.
func (i *instance) CloseNotify(context.Context, uint32) { i.closed.Store(true) }

func (i *instance) close() error { return i.plugin.CloseWithContext(context.Background()) }

func (p *plugin) instantiate(ctx context.Context, c *extism.CompiledPlugin, call *running) (*instance, error) {
	i := &instance{call: call}
	// wazero's defaults are a clock that stands still, sleep that returns at once, and random numbers that are the same
	// each time.
	config := wazero.NewModuleConfig().WithSysWalltime().WithSysNanotime().WithRandSource(rand.Reader).
		WithStderr(&i.stderr).WithNanosleep(func(ns int64) {
		t := time.NewTimer(time.Duration(ns))
		defer t.Stop()
		select {
		case <-t.C:
		case <-i.call.ctx.Done():
		}
	})
	if len(p.files) > 0 {
		fs := wazero.NewFSConfig()
		for _, m := range p.files {
			fs = fs.(sysfs.FSConfig).WithSysFSMount(m.fs, m.at)
		}
		config = config.WithFSConfig(fs)
	}
	var err error
	i.plugin, err = c.Instance(experimental.WithCloseNotifier(ctx, i), extism.PluginInstanceConfig{ModuleConfig: config})
	return i, err
}

// run calls an export. The error is an *hostfns.Error, or one of ctx.
func (p *plugin) run(
	ctx context.Context, export string, input []byte, emit func(hostfns.Event), timeout time.Duration,
) (rc uint32, out []byte, err error) {
	c, err := p.compile(ctx)
	if err != nil {
		return 0, nil, err
	}
	if !p.exports[export] {
		return 0, nil, p.errorf(hostfns.CodeServer, "it has no export %q without parameters", clip(export))
	}
	if int64(len(input)) > int64(p.manifest.pages(&p.owner.o))*pageSize/2 {
		return 0, nil, p.errorf(hostfns.CodeTooLarge, "the arguments have %d bytes, too many for its memory", len(input))
	}
	if err := acquire(ctx, p.slots); err != nil {
		return 0, nil, err
	}
	defer func() { <-p.slots }()
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	call := &running{plugin: p, emit: emit}
	ctx = context.WithValue(ctx, runningKey{}, call)
	call.ctx = ctx

	i := p.take()
	if i == nil {
		if i, err = p.instantiate(ctx, c, call); err != nil {
			return 0, nil, p.explain(outer, ctx, i, err)
		}
	}
	i.call = call
	i.stderr.b = i.stderr.b[:0]
	rc, out, err = i.run(ctx, export, input)
	if err == nil && len(out) > p.owner.o.MaxOutput {
		err = p.errorf(hostfns.CodeTooLarge, "%q returned %d bytes; %d are allowed", clip(export), len(out), p.owner.o.MaxOutput)
	}
	// Those that failed are never used again.
	p.give(i, err == nil && rc == 0)
	if err != nil {
		return 0, nil, p.explain(outer, ctx, i, err)
	}
	return rc, out, nil
}

func (i *instance) run(ctx context.Context, export string, input []byte) (rc uint32, out []byte, err error) {
	// The SDK makes some calls into its own module, whose memory the plug-in can write to as it likes, without the
	// context. So a call that does not end is ended by closing that.
	done := make(chan struct{})
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		t := time.NewTimer(stopGrace)
		defer t.Stop()
		select {
		case <-done:
		case <-t.C:
			_ = i.close()
		}
	})
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v (%w)", v, errPanic)
		}
		close(done)
		if !stop() {
			<-ended
		}
	}()
	return i.plugin.CallWithContext(ctx, export, input)
}

func (p *plugin) take() *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	i := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return i
}

// give keeps an instance for the next call, or closes it.
func (p *plugin) give(i *instance, well bool) {
	if p.owner.o.Reuse && well && !i.closed.Load() && i.plugin.Memory().Size() <= maxIdleBytes {
		i.call = nil
		p.mu.Lock()
		defer p.mu.Unlock()
		p.idle = append(p.idle, i) // at most as many as there are slots
		return
	}
	_ = i.close()
}

// explain makes an *hostfns.Error of what ended a call.
func (p *plugin) explain(outer, ctx context.Context, i *instance, err error) error {
	var e *hostfns.Error
	var exit *sys.ExitError
	call, _ := ctx.Value(runningKey{}).(*running)
	switch {
	case errors.As(err, &e):
		return e
	case outer.Err() != nil:
		return outer.Err()
	case ctx.Err() != nil:
		e = p.errorf(hostfns.CodeTimeout, "it took too long")
		e.Hint = "The operator can raise timeout_ms in " + p.name + ".json."
		return e
	case call.failure != nil:
		return p.errorf(hostfns.CodeToolFailed, "%w", call.failure)
	case errors.As(err, &exit):
		err = fmt.Errorf("it exited with code %d", exit.ExitCode())
	case reflect.TypeOf(err) == plainError && !strings.HasPrefix(err.Error(), "failed to initialize runtime"):
		// What the plug-in said itself: the errors of the runtime have types of their own, except one of the SDK's.
		return p.errorf(hostfns.CodeToolFailed, "%s", clip(err.Error()))
	default:
		reason, _, _ := strings.Cut(err.Error(), "\nwasm stack trace")
		err = errors.New("it crashed: " + reason)
	}
	text := clip(err.Error())
	if said := i.stderr.String(); said != "" {
		text += "; it said: " + said
	}
	e = p.errorf(hostfns.CodeServer, "%s", text)
	e.Hint = "If that was for want of memory: " + p.limits() + "."
	return e
}

// tail keeps the end of what is written.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	p = p[max(0, len(p)-stderrSize):]
	t.b = append(t.b, p...)
	t.b = append(t.b[:0], t.b[max(0, len(t.b)-stderrSize):]...)
	return n, nil
}

func (t *tail) String() string { return strings.TrimSpace(strings.ToValidUTF8(string(t.b), "\uFFFD")) }
