package wasm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/mayfly-run/mayfly/wasm/rewrite"
	"github.com/mayfly-run/mayfly/wasm/wasi"
)

// ABIVersion is the version of guests/README.md that this package speaks.
const ABIVersion = 2

// Image is a compiled guest and the memory that its initialisation left. It is safe for concurrent use.
type Image struct {
	rt       *Runtime
	guest    string
	key      string
	compiled wazero.CompiledModule
	base     *base
	imageState
	fromCache bool
	ready     readyPool
	// stackPointer and stackLimit name globals while the image is made.
	stackPointer, stackLimit string

	mu     sync.Mutex
	idle   []*worker
	closed bool
}

// imageState is what is kept of an image beside its module and memory.
type imageState struct {
	globalNames []string
	globals     []uint64
	countdown   string
	control     uint32
	hot         []span       // what a typical first call writes
	read        []span       // and what it touches at all
	threads     *threadBlock // nil for a guest without threads
	sum         string
}

// Size returns the bytes of guest memory after initialisation.
func (im *Image) Size() int64 { return int64(im.base.size - guardSize) }

// FromCache tells whether the guest's initialisation was skipped because an earlier process had left its result.
func (im *Image) FromCache() bool { return im.fromCache }

// HotBytes returns how much memory a typical first call changes; so much is prepared ahead in ready memories.
func (im *Image) HotBytes() int64 {
	return int64(bytesIn(im.hot))
}

// Key identifies the image in caches: guest, compiler and boot program.
func (im *Image) Key() string { return im.key }

// Sum identifies the state of the image, in 64 hexadecimal digits: equal sums mean the same code, memory and globals. Patches
// fit only images of the same sum.
func (im *Image) Sum() string { return im.sum }

// loadImage takes the image from the cache, or makes it and stores it there.
func (r *Runtime) loadImage(ctx context.Context, g *Guest, key string) (*Image, error) {
	im := &Image{rt: r, guest: g.Name, key: key}
	err := im.load(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// Whatever is wrong with the cached files, making them anew mends it.
		im = &Image{rt: r, guest: g.Name, key: key}
		if err := im.make(ctx, g); err != nil {
			if ctx.Err() != nil {
				err = errors.Join(ctx.Err(), err)
			}
			return nil, fmt.Errorf("guest %s: %w", g.Name, err)
		}
	}
	im.ready.start(im, r.opts.ReadyMemories)
	return im, nil
}

// make compiles and initialises the guest.
func (im *Image) make(ctx context.Context, g *Guest) (err error) {
	report := im.rt.opts.Progress
	report(Progress{Guest: g.Name, Step: "compile"})
	bin, err := g.Module()
	if err != nil {
		return err
	}
	res, err := rewrite.Rewrite(bin, nil)
	if err != nil {
		return err
	}
	if im.compiled, err = im.rt.compile(ctx, res.Module); err != nil {
		return fmt.Errorf("compile: %w", err)
	}
	defer func() {
		if err != nil {
			im.close(ctx)
		}
	}()
	report(Progress{Guest: g.Name, Step: "compile", Done: true})
	report(Progress{Guest: g.Name, Step: "initialise"})
	for _, gl := range res.Globals {
		im.globalNames = append(im.globalNames, gl.Name)
	}
	im.countdown = res.Countdown
	im.stackPointer, im.stackLimit = res.StackPointer, res.StackLimit
	if err := im.initialise(ctx, g, res); err != nil {
		return fmt.Errorf("initialise: %w", err)
	}
	if g.Warm != nil {
		if err := im.warm(ctx, g); err != nil {
			return fmt.Errorf("first call: %w", err)
		}
	}
	report(Progress{Guest: g.Name, Step: "initialise", Done: true})
	return im.store(res.Module)
}

// initialise runs the guest's start-up in a memory of its own and takes the base snapshot.
func (im *Image) initialise(ctx context.Context, g *Guest, res *rewrite.Result) error {
	rg, err := newRegion(nil, DefaultMemoryLimit+guardSize)
	if err != nil {
		return err
	}
	m := &Memory{im: im, region: rg, limit: DefaultMemoryLimit, globals: make([]uint64, len(im.globalNames))}
	defer m.Close()
	mem := im.compiled.ExportedMemories()["memory"]
	if mem == nil {
		return errors.New("memory is missing")
	}
	size := int(mem.Min()) * pageSize
	if m.buf = rg.bytes(size); m.buf == nil {
		return fmt.Errorf("guest needs %d bytes of memory", size)
	}
	for _, d := range res.Data {
		copy(m.buf[d.Offset:], d.Bytes)
	}
	w, err := im.newWorker(ctx, m)
	if err != nil {
		return err
	}
	defer w.mod.Close(ctx)
	var output boundedBuffer
	process := wasi.NewProcess(&wasi.Options{
		FS: g.FS, Stdout: &output, Stderr: &output, Block: Block, Shared: Shared,
		// The same image has to come out wherever and whenever it is made: snapshots are relative to it. So clocks stand
		// still, and random numbers are no secret; forks get their own before they use any.
		Rand:     rand.NewChaCha8(sha256.Sum256(nil)),
		Walltime: func() time.Time { return imageTime }, Monotonic: func() time.Duration { return time.Second },
	})
	defer process.Close()
	c := im.newCall(m, w, w.call, &CallOptions{Process: process, Grace: -1})
	_, err = c.run(ctx, func(ctx context.Context) ([]byte, error) { return nil, im.boot(ctx, w, m, g.Boot) })
	if err != nil {
		return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(output.b))
	}
	if process.OpenFiles() > 0 {
		return errors.New("guest left files open")
	}
	w.saveGlobals(m)
	im.globals = m.globals
	im.sum = sumState(res.Module, m)
	im.base, err = newBase(m.buf)
	w.install(nil)
	return err
}

// imageTime is what the clocks show while images are made.
var imageTime = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// sumState hashes all that a patch is relative to: the code, the memory and the globals.
func sumState(module []byte, m *Memory) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %d %x\n", len(module), len(m.buf), m.globals)
	h.Write(module)
	h.Write(m.buf)
	return hex.EncodeToString(h.Sum(nil))
}

// boot calls the guest's initialisation functions.
func (im *Image) boot(ctx context.Context, w *worker, m *Memory, frame []byte) error {
	call := func(name string, args ...uint64) (uint32, error) {
		f := w.mod.ExportedFunction(name)
		if f == nil {
			return 0, fmt.Errorf("%s is missing", name)
		}
		res, err := f.Call(ctx, args...)
		if err != nil || len(res) == 0 {
			return 0, err
		}
		return uint32(res[0]), nil
	}
	if _, err := call("_initialize"); err != nil {
		return err
	}
	abi, err := call("guest_abi")
	if err != nil {
		return err
	}
	if abi != ABIVersion {
		return fmt.Errorf("guest speaks version %d of the ABI, this host %d", abi, ABIVersion)
	}
	ptr, err := call("guest_alloc", uint64(len(frame)))
	if err != nil {
		return err
	}
	if ptr == 0 || !w.mod.Memory().Write(ptr, frame) {
		return ErrNoMemory
	}
	status, err := call("guest_init", uint64(ptr), uint64(len(frame)))
	if err != nil {
		return err
	}
	if status != 0 {
		return fmt.Errorf("guest_init returned %d", int32(status))
	}
	if im.control, err = call("guest_control"); err != nil {
		return err
	}
	if !w.mod.Memory().WriteUint32Le(im.control, 0) || im.control == 0 {
		return fmt.Errorf("control block at %#x", im.control)
	}
	if w.mod.ExportedFunction("guest_thread") == nil {
		return nil
	}
	block, err := call("guest_threads")
	if err != nil {
		return err
	}
	return im.readThreads(m, block)
}

// warm finds the pages that a typical first call touches.
func (im *Image) warm(ctx context.Context, g *Guest) error {
	m, err := im.newMemory(DefaultMemoryLimit)
	if err != nil {
		return err
	}
	defer m.Close()
	if err := g.Warm(ctx, im, m); err != nil {
		return err
	}
	n := min(len(m.buf), im.base.size)
	im.read = m.region.mapped(n)
	im.hot, err = m.region.dirty(nil, n)
	return err
}

// close frees everything. Workers in flight are closed by their calls.
func (im *Image) close(ctx context.Context) {
	im.ready.stop()
	im.mu.Lock()
	idle := im.idle
	im.idle, im.closed = nil, true
	im.mu.Unlock()
	for _, w := range idle {
		w.mod.Close(ctx)
	}
	if im.compiled != nil {
		im.compiled.Close(ctx)
	}
	if im.base != nil {
		im.base.close()
	}
}

// boundedBuffer keeps the first bytes written to it.
type boundedBuffer struct{ b []byte }

func (b *boundedBuffer) Write(p []byte) (int, error) {
	const limit = 64 << 10
	b.b = append(b.b, p[:min(len(p), limit-len(b.b))]...)
	return len(p), nil
}
