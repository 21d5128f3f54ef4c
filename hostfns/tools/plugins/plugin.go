package plugins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// plugin is one tool server.
type plugin struct {
	owner    *Plugins
	name     string
	file     string // that it is known by
	manifest *manifest
	slots    chan struct{} // calls that run
	lock     chan struct{} // guards what follows, and can be waited for together with a context
	set      *toolset
	compiled *extism.CompiledPlugin
	exports  map[string]bool // of the main module, what can be called
	files    []mount
	client   *http.Client

	mu   sync.Mutex
	idle []*instance // with Options.Reuse
}

// mount is a directory that the manifest allows.
type mount struct {
	fs    sys.FS
	at    string
	close func() error
}

func newPlugin(owner *Plugins, name, file string, m *manifest, set *toolset) *plugin {
	return &plugin{
		owner: owner, name: name, file: file, manifest: m, set: set,
		slots: make(chan struct{}, owner.o.MaxParallel), lock: make(chan struct{}, 1),
	}
}

func (p *plugin) errorf(code, format string, args ...any) *hostfns.Error {
	e := hostfns.Errorf(code, format, args...)
	e.Message = "plug-in " + p.name + ": " + e.Message
	e.Server = p.name
	return e
}

// acquire waits for room in a channel.
func acquire(ctx context.Context, c chan struct{}) error {
	select {
	case c <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// compile makes sure that the plug-in is compiled. That goes on when ctx is done, for whoever comes next.
func (p *plugin) compile(ctx context.Context) (*extism.CompiledPlugin, error) {
	if err := acquire(ctx, p.lock); err != nil {
		return nil, err
	}
	if p.compiled != nil {
		defer func() { <-p.lock }()
		return p.compiled, nil
	}
	done := make(chan error, 1)
	// Close waits for it, as it does for the call that this is part of.
	p.owner.calls.Go(func() {
		defer func() { <-p.lock }()
		defer func() {
			if v := recover(); v != nil {
				done <- p.errorf(hostfns.CodeServer, "%s cannot be compiled: panic: %s", p.file, clip(fmt.Sprint(v)))
			}
		}()
		done <- p.compileNow(p.owner.ctx)
	})
	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}
		return p.compiled, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *plugin) compileNow(ctx context.Context) error {
	// One worker alone does not look at the context.
	ctx = experimental.WithCompilationWorkers(ctx, max(2, runtime.GOMAXPROCS(0)))
	m, exports, err := p.load(ctx)
	if err != nil {
		return err
	}
	if p.files == nil {
		if err := p.mount(); err != nil {
			return err
		}
	}
	p.client = p.newClient()
	config := extism.PluginConfig{
		// Without debug information: it is for stack traces only, and hostile.
		RuntimeConfig: wazero.NewRuntimeConfig().WithCloseOnContextDone(true).WithDebugInfoEnabled(false).
			WithMemoryLimitPages(m.Memory.MaxPages).WithCompilationCache(p.owner.cache),
		EnableWasi:                true,
		EnableHttpResponseHeaders: true,
	}
	c, err := extism.NewCompiledPlugin(ctx, *m, config, p.functions())
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return p.errorf(hostfns.CodeServer, "%s cannot be compiled: %s", p.file, clip(err.Error()))
	}
	p.compiled, p.exports = c, exports
	return nil
}

// load reads the modules and makes Extism's manifest of ours. It has neither hosts nor paths: we do those ourselves.
func (p *plugin) load(ctx context.Context) (*extism.Manifest, map[string]bool, error) {
	m := &extism.Manifest{
		Memory: &extism.ManifestMemory{MaxPages: p.manifest.pages(&p.owner.o), MaxVarBytes: 1 << 20},
		Config: map[string]string{},
	}
	if n := p.manifest.Memory.MaxVarBytes; n != nil {
		m.Memory.MaxVarBytes = *n
	}
	for k, v := range p.manifest.Config {
		var err error
		if m.Config[k], err = p.owner.o.Secrets.Expand(v); err != nil {
			return nil, nil, p.errorf(hostfns.CodeServer, "%s: config %q: %w", p.file, clip(k), err)
		}
	}
	var others []string
	main := len(p.manifest.Wasm) - 1
	for i, w := range slices.Backward(p.manifest.Wasm) {
		others = append(others, w.Name)
		if w.Name == "" {
			main = i
		}
	}
	if i := slices.Index(others, "main"); i >= 0 {
		main = len(others) - 1 - i
	}
	var exports map[string]bool
	for i, w := range p.manifest.Wasm {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		data, file := w.Data, p.file
		if w.Path != "" {
			file = w.Path
			var err error
			if data, err = p.owner.readFile(w.Path, maxModule); err != nil {
				return nil, nil, p.errorf(hostfns.CodeServer, "%s: %w", file, err)
			}
		}
		if w.Hash != "" {
			if sum := sha256.Sum256(data); !strings.EqualFold(hex.EncodeToString(sum[:]), w.Hash) {
				return nil, nil, p.errorf(hostfns.CodeServer, "%s: its hash is not the one in %s", file, p.file)
			}
		}
		pre, err := prepare(data, others)
		if err != nil {
			return nil, nil, p.errorf(hostfns.CodeServer, "%s: %w", file, err)
		}
		if i == main {
			w.Name, exports = "main", pre.exports
		} else if w.Name == "" {
			return nil, nil, p.errorf(hostfns.CodeServer, "%s: of several modules, all but the main one need a name", p.file)
		}
		m.Wasm = append(m.Wasm, extism.WasmData{Data: pre.wasm, Name: w.Name})
	}
	return m, exports, nil
}

// mount opens the directories that the manifest allows. The SDK would mount them so that symbolic links lead out of them.
func (p *plugin) mount() error {
	var all []mount
	for host, guest := range p.manifest.AllowedPaths {
		dir, readOnly := strings.CutPrefix(host, "ro:")
		if !filepath.IsAbs(dir) {
			dir = p.owner.path(dir)
		}
		fs, closeFS, err := vfs.OpenHost(dir, !readOnly)
		if err != nil {
			for _, m := range all {
				_ = m.close()
			}
			return p.errorf(hostfns.CodeServer, "%s: allowed_paths: %w", p.file, err)
		}
		all = append(all, mount{fs, guest, closeFS})
	}
	p.files = all
	return nil
}

// tools returns what the plug-in has.
func (p *plugin) tools(ctx context.Context) (*toolset, error) {
	if err := acquire(ctx, p.lock); err != nil {
		return nil, err
	}
	set := p.set
	<-p.lock
	if set != nil {
		return set, nil
	}
	set, err := p.describe(ctx)
	if err != nil {
		return nil, err
	}
	if err := acquire(ctx, p.lock); err != nil {
		return nil, err
	}
	defer func() { <-p.lock }()
	if p.set == nil {
		p.set = set
	}
	return p.set, nil
}

// close frees what is left; no call runs any more.
func (p *plugin) close() error {
	ctx := context.Background()
	var errs []error
	for _, i := range p.idle {
		errs = append(errs, i.close())
	}
	p.idle = nil
	if p.compiled != nil {
		errs = append(errs, p.compiled.Close(ctx))
	}
	for _, m := range p.files {
		errs = append(errs, m.close())
	}
	if p.client != nil && p.owner.o.Transport == nil {
		p.client.CloseIdleConnections()
	}
	return errors.Join(errs...)
}

func (p *plugin) limits() string {
	mib := int64(p.manifest.pages(&p.owner.o)) * pageSize >> 20
	return fmt.Sprintf("it may use %d MiB of memory, memory.max_pages in %s.json", mib, p.name)
}
