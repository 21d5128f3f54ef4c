package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mayfly-run/mayfly/engine/internal/guest"
	"github.com/mayfly-run/mayfly/engine/internal/tape"
	"github.com/mayfly-run/mayfly/wasm"
	"github.com/mayfly-run/mayfly/wasm/wasi"
)

// wasmExecutor is the Executor of WebAssembly guests.
type wasmExecutor struct {
	rt     *wasm.Runtime
	guests []Guest
	loaded sync.Map // language to *wasm.Image
	forks  forks
}

func newWasmExecutor(ctx context.Context, o *Options) (*wasmExecutor, error) {
	rt, err := wasm.NewRuntime(ctx, &wasm.RuntimeOptions{
		CacheDir: o.CacheDir, MaxIdleWorkers: o.MaxInFlight, ReadyMemories: o.ReadySandboxes, Progress: o.Progress,
	})
	if err != nil {
		return nil, err
	}
	if _, err := rt.Cache(); err != nil {
		o.Logger.Warn("compiled guests are not kept, each start takes seconds", "reason", err)
	}
	return &wasmExecutor{rt: rt, guests: o.Guests, forks: newForks()}, nil
}

func (w *wasmExecutor) Name() string { return "wasm" }

func (w *wasmExecutor) Languages() []string {
	names := make([]string, len(w.guests))
	for i, g := range w.guests {
		names[i] = g.Language()
	}
	return names
}

// image returns the guest of a language, loading it when it is first asked for.
func (w *wasmExecutor) image(ctx context.Context, language string) (*wasm.Image, error) {
	if im, ok := w.loaded.Load(language); ok {
		return im.(*wasm.Image), nil
	}
	for _, g := range w.guests {
		if g.Language() != language {
			continue
		}
		// The template gets the directories that every sandbox has, so that it can make one of them its current one.
		f, err := newFiles(&Spec{Sandbox: Sandbox{Workspace: DefaultWorkspace, Files: DefaultFiles}, now: templateTime})
		if err != nil {
			return nil, err
		}
		im, err := w.rt.Image(ctx, &wasm.Guest{
			Name: language, ID: g.ID(), Module: g.Module, Boot: wasm.BootFrame(g.Boot()), FS: f.tree, Warm: warmUp,
		})
		if err == nil {
			w.loaded.Store(language, im)
		}
		return im, err
	}
	return nil, fmt.Errorf("%w: language %q", ErrUnavailable, language)
}

// warmUp is the typical first call by which the image learns its hot pages.
func warmUp(ctx context.Context, im *wasm.Image, m *wasm.Memory) error {
	req, err := guest.Request(guest.OpExec, guest.ExecHead{
		Filename: "<step 1>", Argv: []string{""}, Reseed: true, Result: true,
	}, []byte("1+1"))
	if err != nil {
		return err
	}
	f, err := newFiles(&Spec{Sandbox: Sandbox{Workspace: DefaultWorkspace, Files: DefaultFiles}})
	if err != nil {
		return err
	}
	p := wasi.NewProcess(&wasi.Options{FS: f.tree, Block: wasm.Block, Shared: wasm.Shared})
	defer p.Close()
	b, _, err := im.Call(ctx, m, req, &wasm.CallOptions{Process: p})
	if err != nil {
		return err
	}
	a, err := guest.ParseAnswer(b)
	if err == nil && a.ValueRepr != "2" {
		err = fmt.Errorf("1+1 gave %q: %+v", a.ValueRepr, a.Error)
	}
	return err
}

// Open forks a sandbox.
func (w *wasmExecutor) Open(ctx context.Context, spec Spec) (Sandboxed, error) {
	im, err := w.image(ctx, spec.Language)
	if err != nil {
		return nil, err
	}
	fs, err := newFiles(&spec)
	if err != nil {
		return nil, err
	}
	m, err := newMemory(im, &spec)
	if err != nil {
		fs.close()
		return nil, err
	}
	return w.sandbox(im, m, fs, spec), nil
}

func newMemory(im *wasm.Image, spec *Spec) (*wasm.Memory, error) {
	m, err := im.NewMemory(&wasm.MemoryOptions{Limit: spec.Memory})
	if err != nil && errors.Is(err, wasm.ErrLimit) {
		return nil, requestError(fmt.Sprintf("%s needs at least %d MiB, and can have nearly 4 GiB", spec.Language, im.Size()>>20), "%w", err)
	}
	return m, err
}

// sandbox puts the parts of a sandbox together.
func (w *wasmExecutor) sandbox(im *wasm.Image, m *wasm.Memory, fs *files, spec Spec) *wasmSandbox {
	s := &wasmSandbox{im: im, mem: m, files: fs, forks: w.forks, spec: spec, guest: w.guestID(spec.Language), fresh: true, reseed: true}
	o := &wasi.Options{FS: fs.tree, Block: wasm.Block, Shared: wasm.Shared}
	if t := spec.tape; t != nil {
		o.Rand, o.Walltime, o.Monotonic, o.CPUTime = t.Rand(), t.Walltime, t.Monotonic, t.CPUTime
		o.NoWait, o.ForkSources = t.Playing, t.Fork
		o.NotReady = func() { t.Unsteady(tape.ReasonStdin) }
	}
	s.process = wasi.NewProcess(o)
	return s
}

func (w *wasmExecutor) guestID(language string) string {
	for _, g := range w.guests {
		if g.Language() == language {
			return g.ID()
		}
	}
	return ""
}

func (w *wasmExecutor) Close(ctx context.Context) error { return w.rt.Close(ctx) }
