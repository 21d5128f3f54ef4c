package wasm

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// worker is a warm instance of an image's module. It has no state of its own: before a call, a memory is installed.
type worker struct {
	im      *Image
	slot    slot
	mod     api.Module
	globals []api.MutableGlobal
	narrow  []bool // the globals of 32 bits
	alloc   *function
	call    *function
	threads []*function // guest_thread, for threads to come
}

// slot is the LinearMemory of a worker. The runtime takes whatever slice Reallocate returns as the memory, so the public
// Memory().Grow(1) is the way to exchange it.
type slot struct {
	mem     *Memory
	install bool
}

// parked is the memory of all workers that have none. Nothing runs on it: instances have no data segments and no start
// functions.
var parked = make([]byte, pageSize)

func (s *slot) Reallocate(size uint64) []byte {
	switch {
	case s.install && s.mem == nil:
		return parked
	case s.install:
		return s.mem.buf
	case s.mem == nil:
		return nil
	}
	return s.mem.grow(size)
}

// Free does nothing: memories belong to their sandboxes.
func (s *slot) Free() {}

// newWorker instantiates the module on m, which becomes the installed memory.
func (im *Image) newWorker(ctx context.Context, m *Memory) (*worker, error) {
	w := &worker{im: im}
	w.slot = slot{mem: m, install: true}
	alloc := experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory { return &w.slot })
	cfg := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	var err error
	w.mod, err = im.rt.wz.InstantiateModule(experimental.WithMemoryAllocator(ctx, alloc), im.compiled, cfg)
	w.slot.install = false
	if err != nil {
		return nil, fmt.Errorf("instantiate %s: %w", im.guest, err)
	}
	for _, name := range im.globalNames {
		g, ok := w.mod.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			return nil, errors.Join(fmt.Errorf("%s: no mutable global %s", im.guest, name), w.mod.Close(ctx))
		}
		w.globals = append(w.globals, g)
		w.narrow = append(w.narrow, g.Type() == api.ValueTypeI32 || g.Type() == api.ValueTypeF32)
	}
	w.refresh()
	if w.alloc == nil || w.call == nil {
		return nil, errors.Join(fmt.Errorf("%s: guest_alloc or guest_call is missing", im.guest), w.mod.Close(ctx))
	}
	return w, nil
}

// refresh drops the native stacks of the worker's functions.
func (w *worker) refresh() {
	w.alloc = newFunction(w.mod, "guest_alloc")
	w.call = newFunction(w.mod, "guest_call")
	w.threads = nil
}

// entry returns the function that serves requests on m; nil if the guest does not have it.
func (w *worker) entry(m *Memory) *function {
	if m.child {
		return newFunction(w.mod, "guest_child")
	}
	return w.call
}

// maxIdleThreads bounds the native stacks kept for threads to come: the size of a usual pool.
const maxIdleThreads = 32

// takeThread returns a guest_thread to run a thread on.
func (w *worker) takeThread() *function {
	if n := len(w.threads); n > 0 {
		f := w.threads[n-1]
		w.threads = w.threads[:n-1]
		return f
	}
	return newFunction(w.mod, "guest_thread")
}

// putThread takes back the function of a thread that came to its end.
func (w *worker) putThread(f *function) {
	f.size = 0
	if len(w.threads) < maxIdleThreads && !f.deep() {
		w.threads = append(w.threads, f)
	}
}

// install makes m, or nothing, the memory of the instance.
func (w *worker) install(m *Memory) bool {
	w.slot.mem, w.slot.install = m, true
	_, ok := w.mod.Memory().Grow(1)
	w.slot.install = false
	if ok && m != nil {
		for i, g := range w.globals {
			v := m.globals[i]
			if w.narrow[i] {
				v = uint64(uint32(v)) // the runtime would keep what does not belong there
			}
			g.Set(v)
		}
	}
	return ok
}

func (w *worker) saveGlobals(m *Memory) {
	for i, g := range w.globals {
		m.globals[i] = g.Get()
	}
}

// takeWorker returns an instance with m installed.
func (im *Image) takeWorker(ctx context.Context, m *Memory) (*worker, error) {
	im.mu.Lock()
	if im.closed {
		im.mu.Unlock()
		return nil, ErrClosed
	}
	var w *worker
	if n := len(im.idle); n > 0 {
		w, im.idle = im.idle[n-1], im.idle[:n-1]
	}
	im.mu.Unlock()
	if w == nil {
		var err error
		if w, err = im.newWorker(ctx, m); err != nil {
			return nil, err
		}
	}
	if !w.install(m) {
		return nil, errors.Join(fmt.Errorf("%s: memory could not be installed", im.guest), w.mod.Close(ctx))
	}
	return w, nil
}

// putWorker parks an instance for the next call. One that grew a deep stack, or whose functions did not return, gets new
// functions first.
func (im *Image) putWorker(ctx context.Context, w *worker, unwound bool) {
	if !w.install(nil) {
		w.mod.Close(ctx)
		return
	}
	if unwound || w.call.deep() || w.alloc.deep() {
		w.refresh()
	}
	im.mu.Lock()
	keep := !im.closed && len(im.idle) < im.rt.opts.MaxIdleWorkers
	if keep {
		im.idle = append(im.idle, w)
	}
	im.mu.Unlock()
	if !keep {
		w.mod.Close(ctx)
	}
}
