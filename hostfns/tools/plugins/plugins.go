// Package plugins has Extism plug-ins as tool servers.
//
// A directory has, for each plug-in, NAME.wasm or a manifest NAME.json in Extism's format, or both; the name of the
// server is NAME. What its tools are stands in NAME.tools.json, or the module says it itself through its export
// "describe", or else every export without parameters is a tool with one argument "input" of any type.
//
// NAME.tools.json and what describe returns are a list of tools as MCP has them, or {"tools": LIST, "title",
// "instructions"}:
//
//	[{"name": "count", "description": "...", "inputSchema": {...}, "outputSchema": {...}, "annotations": {...}, "export": "count"}]
//
// A call of a tool calls the export that "export" names, else the one that is called like the tool, with the arguments
// as a JSON object. A JSON object that it returns is a structured result, all else is text. A tool that has no such
// export is called through the export "call", with {"params": {"name", "arguments"}}, and returns {"content": [...]},
// as MCP does.
//
// # What a plug-in may do
//
// Nothing but compute, unless its manifest says more: there are no files without allowed_paths, and no network without
// allowed_hosts. A call has its own instance, so that nothing of one caller is left for the next, unless Options.Reuse.
// Memory, time and output are bounded, and the end of a call's context ends it.
//
// # What a plug-in costs
//
// Go cannot stop WebAssembly that only computes, and one such loop would hold up the next garbage collection and with
// it the whole process. So plug-ins are compiled with checks (wazero's WithCloseOnContextDone), which return to Go in
// every turn of a loop: that makes them several times slower than WebAssembly can be, and what should compute a lot
// does not belong here. A plug-in that computes occupies a core, which Options.MaxParallel bounds.
package plugins

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// Options of New. Nil and the zero value are the good defaults.
type Options struct {
	// CacheDir keeps compiled modules from one process to the next. Nobody else may write there: what is in it is run.
	// Default: none, they are compiled when they are first used.
	CacheDir string
	// Timeout bounds a call, unless the manifest says timeout_ms. Default: DefaultTimeout.
	Timeout time.Duration
	// MaxMemory bounds the memory of an instance in bytes, unless the manifest says memory.max_pages. What goes in and
	// out is in a second memory with the same bound. Default: DefaultMaxMemory.
	MaxMemory int64
	// MaxOutput bounds what a call returns, in bytes. Default: DefaultMaxOutput.
	MaxOutput int
	// MaxParallel bounds the calls of one plug-in that run at once; more wait for their turn. Default: the number of
	// cores.
	MaxParallel int
	// Reuse keeps instances for the next call, which is faster; but what a call leaves in the plug-in's memory is there
	// for the next, whoever makes it.
	Reuse bool
	// Secrets replaces ${secret:NAME} in the manifest's config.
	Secrets *secrets.Set
	// Transport makes the HTTP requests of plug-ins. Host names were checked against allowed_hosts before, redirects
	// too. Default: direct connections; only where the manifest names the host without a wildcard may its address be a
	// private one.
	Transport http.RoundTripper
}

// Defaults of Options.
const (
	DefaultTimeout = 30 * time.Second
	// DefaultMaxMemory is plenty for what a plug-in written in any language needs.
	DefaultMaxMemory = 128 << 20
	// DefaultMaxOutput is as much as an MCP server may reasonably send.
	DefaultMaxOutput = 32 << 20

	// describeTimeout bounds what a plug-in takes to say what it has.
	describeTimeout = 10 * time.Second

	// outputVariable makes Extism's SDK hand plug-ins the standard output, on which servers speak their protocol.
	outputVariable = "EXTISM_ENABLE_WASI_OUTPUT"
)

// Plugins are the plug-ins of a directory. It is a hostfns.Provider.
type Plugins struct {
	o     Options
	dir   string
	root  *os.Root
	cache wazero.CompilationCache
	names []string
	all   map[string]*plugin

	ctx    context.Context // done when Close begins
	cancel context.CancelFunc

	mu     sync.Mutex // guards closed, and calls.Add against Wait
	closed bool
	calls  sync.WaitGroup
	once   sync.Once // for what Close does last
}

var _ hostfns.Provider = (*Plugins)(nil)

// New reads the manifests and tool lists in a directory. Modules are read and compiled when they are first used. An error
// names the file that is at fault.
func New(dir string, o *Options) (*Plugins, error) {
	p := &Plugins{dir: dir}
	if o != nil {
		p.o = *o
	}
	if p.o.Timeout <= 0 {
		p.o.Timeout = DefaultTimeout
	}
	if p.o.MaxMemory <= 0 {
		p.o.MaxMemory = DefaultMaxMemory
	}
	if p.o.MaxOutput <= 0 {
		p.o.MaxOutput = DefaultMaxOutput
	}
	if p.o.MaxParallel <= 0 {
		p.o.MaxParallel = runtime.GOMAXPROCS(0)
	}
	if _, set := os.LookupEnv(outputVariable); set {
		return nil, fmt.Errorf("plug-ins: unset %s: with it they would write to the standard output of this process", outputVariable)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("plug-ins: %w", err)
	}
	p.root = root
	if err := p.scan(); err != nil {
		root.Close()
		return nil, err
	}
	// Shared by all, so that Extism's own module is compiled once.
	p.cache = wazero.NewCompilationCache()
	if p.o.CacheDir != "" {
		if p.cache, err = wazero.NewCompilationCacheWithDir(p.o.CacheDir); err != nil {
			root.Close()
			return nil, fmt.Errorf("plug-ins: cache of compiled modules: %w", err)
		}
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// Servers implements hostfns.Provider.
func (p *Plugins) Servers() []string { return slices.Clone(p.names) }

// begin counts a call that Close has to wait for; its context ends when Close begins.
func (p *Plugins) begin(ctx context.Context, server string) (*plugin, context.Context, func(), *hostfns.Error) {
	pl := p.all[server]
	if pl == nil {
		return nil, nil, nil, &hostfns.Error{Code: hostfns.CodeUnavailable, Message: "there is no such plug-in", Server: server}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, nil, pl.errorf(hostfns.CodeUnavailable, "plug-ins are closed")
	}
	p.calls.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(p.ctx, cancel)
	return pl, ctx, func() {
		stop()
		cancel()
		p.calls.Done()
	}, nil
}

// Tools implements hostfns.Provider.
func (p *Plugins) Tools(ctx context.Context, server string) (*hostfns.Listing, error) {
	pl, inner, end, bad := p.begin(ctx, server)
	if bad != nil {
		return nil, bad
	}
	defer end()
	t, err := pl.tools(inner)
	if err != nil {
		return nil, p.final(ctx, pl, "", err)
	}
	return t.listing, nil
}

// Call implements hostfns.Provider.
func (p *Plugins) Call(ctx context.Context, c *hostfns.ToolCall) (*hostfns.ToolResult, error) {
	pl, inner, end, bad := p.begin(ctx, c.Server)
	if bad != nil {
		bad.Tool = c.Tool
		return nil, bad
	}
	defer end()
	r, err := pl.call(inner, c)
	if err != nil {
		return nil, p.final(ctx, pl, c.Tool, err)
	}
	return r, nil
}

// final makes any error one of those that a provider returns.
func (p *Plugins) final(ctx context.Context, pl *plugin, tool string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if p.ctx.Err() != nil {
		err = pl.errorf(hostfns.CodeUnavailable, "plug-ins are closed")
	}
	var e *hostfns.Error
	if !errors.As(err, &e) {
		e = pl.errorf(hostfns.CodeServer, "%s", clip(err.Error()))
		e.Err = err
	}
	e.Tool = tool
	return e
}

// Close ends all calls and waits for that.
func (p *Plugins) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.calls.Wait()
	var errs []error
	p.once.Do(func() {
		for _, name := range p.names {
			errs = append(errs, p.all[name].close())
		}
		errs = append(errs, p.cache.Close(context.Background()), p.root.Close())
	})
	return errors.Join(errs...)
}

func (p *Plugins) path(name string) string { return filepath.Join(p.dir, name) }
