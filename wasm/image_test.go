package wasm_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mayfly-run/mayfly/wasm"
	tg "github.com/mayfly-run/mayfly/wasm/internal/testguest"
)

func TestImage(t *testing.T) {
	var mu sync.Mutex
	var steps []wasm.Progress
	r, err := wasm.NewRuntime(t.Context(), &wasm.RuntimeOptions{CacheDir: wasm.CacheOff, Progress: func(p wasm.Progress) {
		mu.Lock()
		defer mu.Unlock()
		steps = append(steps, p)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(t.Context())
	im, err := r.Image(t.Context(), newGuest(nil))
	if err != nil {
		t.Fatal(err)
	}
	if im.Size() != guest || im.FromCache() || !strings.HasPrefix(im.Key(), "tiny-") {
		t.Errorf("size %d, from cache %v, key %q", im.Size(), im.FromCache(), im.Key())
	}
	if n := im.HotBytes(); n < pageSize || n > 2*pageSize {
		t.Errorf("%d hot bytes", n)
	}
	if len(steps) != 4 || steps[0].Step != "compile" || steps[3] != (wasm.Progress{Guest: "tiny", Step: "initialise", Done: true}) {
		t.Errorf("progress %+v", steps)
	}
	b := newBox(t, im, nil)
	b.wantCount(0, tg.Pages)
	if got := b.call(tg.Load, tg.Greeting); string(got) != tg.Hello[:4] {
		t.Errorf("data segment starts with %q", got)
	}
}

// A guest that grows during its initialisation has the larger memory in every fork.
func TestImageGrown(t *testing.T) {
	g := newGuest(nil)
	g.Boot = tg.BootGrow
	im, err := newRuntime(t, "").Image(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	b := newBox(t, im, nil)
	if im.Size() != guest+pageSize || b.m.Size() != im.Size() {
		t.Errorf("image of %d bytes, fork of %d", im.Size(), b.m.Size())
	}
	b.wantCount(0, tg.Pages+1)
}

func TestImageErrors(t *testing.T) {
	errModule := errors.New("no module")
	tests := []struct {
		name   string
		change func(g *wasm.Guest)
		want   string
	}{
		{"module not there", func(g *wasm.Guest) { g.Module = func() ([]byte, error) { return nil, errModule } }, "no module"},
		{"not a module", func(g *wasm.Guest) { g.Module = func() ([]byte, error) { return []byte("MZ"), nil } }, "not accepted"},
		{"other ABI", options(&tg.Options{ABI: 3}), "version 3 of the ABI"},
		{"no guest_call", options(&tg.Options{Omit: "guest_call"}), "guest_call is missing"},
		{"no memory", options(&tg.Options{Omit: "memory"}), "memory is missing"},
		{"no guest_init", options(&tg.Options{Omit: "guest_init"}), "guest_init is missing"},
		{"no _initialize", options(&tg.Options{Omit: "_initialize"}), "_initialize is missing"},
		{"control block outside", options(&tg.Options{Control: -4}), "control block at 0xfffffffc"},
		{"initialisation fails", boot(tg.BootFail), "guest_init returned 3\n" + tg.Hello},
		{"initialisation traps", boot(tg.BootTrap), "unreachable"},
		{"warm-up fails", func(g *wasm.Guest) {
			g.Warm = func(context.Context, *wasm.Image, *wasm.Memory) error { return errModule }
		}, "first call: no module"},
	}
	r := newRuntime(t, t.TempDir())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGuest(nil)
			g.ID = tt.name
			tt.change(g)
			if _, err := r.Image(t.Context(), g); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// A failure is not remembered.
func TestImageSecondTry(t *testing.T) {
	r := newRuntime(t, "")
	g := newGuest(nil)
	bad := *g
	bad.Module = func() ([]byte, error) { return nil, errors.New("not yet") }
	if _, err := r.Image(t.Context(), &bad); err == nil {
		t.Error("no error")
	}
	if _, err := r.Image(t.Context(), g); err != nil {
		t.Error(err)
	}
}

func options(o *tg.Options) func(*wasm.Guest) {
	return func(g *wasm.Guest) { g.Module = func() ([]byte, error) { return tg.Guest(o), nil } }
}

func boot(b []byte) func(*wasm.Guest) { return func(g *wasm.Guest) { g.Boot = b } }

// Concurrent callers share one compilation.
func TestImageShared(t *testing.T) {
	r := newRuntime(t, "")
	var made atomic.Int32
	g := newGuest(nil)
	module := g.Module
	g.Module = func() ([]byte, error) { made.Add(1); return module() }
	images := make([]*wasm.Image, 8)
	var wg sync.WaitGroup
	for i := range images {
		wg.Go(func() {
			var err error
			if images[i], err = r.Image(t.Context(), g); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, im := range images {
		if im != images[0] {
			t.Error("two images of one guest")
		}
	}
	if made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
}

// The first caller gives up; the second, who waits for its work, does not suffer for it.
func TestImageCancelled(t *testing.T) {
	r := newRuntime(t, "")
	first, cancel := context.WithCancel(t.Context())
	started, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	g := newGuest(nil)
	warm := g.Warm
	g.Warm = func(ctx context.Context, im *wasm.Image, m *wasm.Memory) error {
		once.Do(func() {
			close(started)
			<-release
		})
		if err := ctx.Err(); err != nil {
			return err
		}
		return warm(ctx, im, m)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := r.Image(first, g); !errors.Is(err, context.Canceled) {
			t.Errorf("first caller: %v", err)
		}
	})
	<-started
	gaveUp, cancelThird := context.WithCancel(t.Context())
	cancelThird()
	if _, err := r.Image(gaveUp, g); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting with a cancelled context: %v", err)
	}
	wg.Go(func() {
		if _, err := r.Image(t.Context(), g); err != nil {
			t.Errorf("second caller: %v", err)
		}
	})
	cancel()
	close(release)
	wg.Wait()
}

// A guest that computes for ever during its initialisation is stopped by the context.
func TestImageSpins(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, err := wasm.NewRuntime(ctx, &wasm.RuntimeOptions{CacheDir: wasm.CacheOff, Progress: func(p wasm.Progress) {
		if p.Step == "initialise" {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(t.Context())
	g := newGuest(nil)
	g.Boot = tg.BootSpin
	var killed *wasm.KilledError
	if _, err := r.Image(ctx, g); !errors.Is(err, context.Canceled) || !errors.As(err, &killed) {
		t.Errorf("got %v", err)
	}
}

func TestClosedRuntime(t *testing.T) {
	r, err := wasm.NewRuntime(t.Context(), &wasm.RuntimeOptions{CacheDir: wasm.CacheOff})
	if err != nil {
		t.Fatal(err)
	}
	im, err := r.Image(t.Context(), newGuest(nil))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := r.Image(t.Context(), newGuest(nil)); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("Image: %v", err)
	}
	if _, err := im.NewMemory(nil); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("NewMemory: %v", err)
	}
}
