package wasm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/mayfly-run/mayfly/wasm/wasi"
)

// CacheOff as RuntimeOptions.CacheDir keeps everything in memory.
const CacheOff = "off"

// RuntimeOptions of NewRuntime; nil and the zero value are the good defaults.
type RuntimeOptions struct {
	// CacheDir holds compiled guests and base snapshots between processes. Default: "mayfly" in os.UserCacheDir.
	// CacheOff disables it. A directory that cannot be used is not an error, see Runtime.Cache.
	CacheDir string
	// MaxIdleWorkers bounds the warm instances kept per image. Default: twice GOMAXPROCS.
	MaxIdleWorkers int
	// ReadyMemories is the number of memories prepared ahead per image, their hot pages populated. Default: twice
	// GOMAXPROCS, negative: none.
	ReadyMemories int
	// Progress is told what a slow first run is doing. It may be called from several goroutines. Default: nobody.
	Progress func(Progress)
}

// Progress is a step of loading an image that takes long enough to tell people about.
type Progress struct {
	Guest string
	// Step is "compile" or "initialise".
	Step string
	Done bool
}

// Runtime compiles guests and owns their images. It is safe for concurrent use.
type Runtime struct {
	wz       wazero.Runtime
	compiled wazero.CompilationCache
	opts     RuntimeOptions
	cacheDir string
	cacheErr error

	mu     sync.Mutex
	images map[string]*imageLoad
	closed bool
}

type imageLoad struct {
	done      chan struct{}
	image     *Image
	err       error
	cancelled bool // err came from the context of the first caller
}

// ErrClosed is returned by what belongs to a closed runtime or memory.
var ErrClosed = errors.New("closed")

// NewRuntime returns a runtime without images. Close releases it.
func NewRuntime(ctx context.Context, o *RuntimeOptions) (*Runtime, error) {
	r := &Runtime{images: map[string]*imageLoad{}}
	if o != nil {
		r.opts = *o
	}
	if r.opts.MaxIdleWorkers == 0 {
		r.opts.MaxIdleWorkers = 2 * runtime.GOMAXPROCS(0)
	}
	if r.opts.ReadyMemories == 0 {
		r.opts.ReadyMemories = 2 * runtime.GOMAXPROCS(0)
	}
	if r.opts.Progress == nil {
		r.opts.Progress = func(Progress) {}
	}
	// WithCloseOnContextDone stays off: it makes guests 3-4 times slower; ticks do its work. Debug information would
	// make each trap resolve DWARF, and guests are stripped.
	cfg := wazero.NewRuntimeConfigCompiler().WithDebugInfoEnabled(false).WithMemoryLimitPages(maxPages)
	r.openCache()
	if r.cacheDir != "" {
		c, err := wazero.NewCompilationCacheWithDir(filepath.Join(r.cacheDir, "compiled"))
		if err != nil {
			r.cacheDir, r.cacheErr = "", err
		} else {
			r.compiled = c
			cfg = cfg.WithCompilationCache(c)
		}
	}
	r.wz = wazero.NewRuntimeWithConfig(ctx, cfg)
	if _, err := wasi.Instantiate(ctx, r.wz, processOf); err != nil {
		return nil, errors.Join(fmt.Errorf("wasi host module: %w", err), r.Close(ctx))
	}
	if err := instantiateHost(ctx, r.wz); err != nil {
		return nil, errors.Join(fmt.Errorf("mayfly host module: %w", err), r.Close(ctx))
	}
	return r, nil
}

// openCache finds or makes the cache directory. Only its owner may write there: what it holds is executed.
func (r *Runtime) openCache() {
	dir := r.opts.CacheDir
	if dir == CacheOff {
		return
	}
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			r.cacheErr = err
			return
		}
		dir = filepath.Join(base, "mayfly")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.cacheErr = err
		return
	}
	if err := checkPrivate(dir); err != nil {
		r.cacheErr = err
		return
	}
	// A directory that exists but cannot be written to is found out here and not after the first compilation.
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		r.cacheErr = err
		return
	}
	f.Close()
	os.Remove(f.Name())
	r.cacheDir = dir
}

// Cache returns the cache directory in use, or "" and the reason why there is none (nil when it was disabled).
func (r *Runtime) Cache() (dir string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cacheDir, r.cacheErr
}

// Image returns the image of a guest, making it on first use: from the cache, or by compiling and initialising the guest
// (about ten seconds for CPython). Concurrent calls for one guest share the work.
func (r *Runtime) Image(ctx context.Context, g *Guest) (*Image, error) {
	key := g.key()
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, ErrClosed
	}
	l := r.images[key]
	if l == nil {
		l = &imageLoad{done: make(chan struct{})}
		r.images[key] = l
		r.mu.Unlock()
		l.image, l.err = r.loadImage(ctx, g, key)
		if l.err != nil {
			l.cancelled = ctx.Err() != nil
			// Not kept: the next call may succeed, for example after a cancelled one.
			r.mu.Lock()
			delete(r.images, key)
			r.mu.Unlock()
		}
		close(l.done)
		return l.image, l.err
	}
	r.mu.Unlock()
	select {
	case <-l.done:
		if l.err != nil && l.cancelled && ctx.Err() == nil {
			return r.Image(ctx, g) // it was the other caller who gave up
		}
		return l.image, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close frees all images. No call may be in flight and all memories must have been closed.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	images := r.images
	r.images = nil
	r.mu.Unlock()
	for _, l := range images {
		<-l.done
		if l.image != nil {
			l.image.close(ctx)
		}
	}
	err := r.wz.Close(ctx)
	if r.compiled != nil {
		err = errors.Join(err, r.compiled.Close(ctx))
	}
	return err
}

func (r *Runtime) compile(ctx context.Context, module []byte) (wazero.CompiledModule, error) {
	ctx = experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0))
	m, err := r.wz.CompileModule(ctx, module)
	if err == nil || r.compiled == nil || ctx.Err() != nil {
		return m, err
	}
	// A damaged cache file, or no space for a new one: the first is mended by removing it, and in the second case the
	// runtime has the module in memory by now.
	cacheErr := err
	err = filepath.WalkDir(filepath.Join(r.cacheDir, "compiled"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			err = os.Remove(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // another process was faster
		}
		return err
	})
	m, again := r.wz.CompileModule(ctx, module)
	if again != nil {
		return nil, errors.Join(cacheErr, again)
	}
	if err != nil {
		r.setCacheErr(errors.Join(cacheErr, err))
	}
	return m, nil
}

// setCacheErr remembers what went wrong with the cache, for Cache.
func (r *Runtime) setCacheErr(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cacheErr = err
}

// runtimeVersion identifies the compiler whose output a cache entry depends on.
var runtimeVersion = sync.OnceValue(func() string {
	if bi, ok := debug.ReadBuildInfo(); ok {
		for _, d := range bi.Deps {
			if d.Path == "github.com/tetratelabs/wazero" {
				return d.Version
			}
		}
	}
	return "unknown"
})
