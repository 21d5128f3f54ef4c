package wasm_test

import (
	"context"
	"encoding/binary"
	"testing"

	"go.uber.org/goleak"

	"github.com/mayfly-run/mayfly/wasm"
	tg "github.com/mayfly-run/mayfly/wasm/internal/testguest"
	"github.com/mayfly-run/mayfly/wasm/wasi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	pageSize = 65536
	guest    = tg.Pages * pageSize // bytes of a fresh memory
)

// newRuntime returns a runtime that is closed with the test; dir "" means no cache.
func newRuntime(t testing.TB, dir string) *wasm.Runtime {
	t.Helper()
	if dir == "" {
		dir = wasm.CacheOff
	}
	r, err := wasm.NewRuntime(t.Context(), &wasm.RuntimeOptions{CacheDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// newGuest returns the test guest; its warm-up changes a few pages.
func newGuest(o *tg.Options) *wasm.Guest {
	return &wasm.Guest{
		Name:   "tiny",
		ID:     "test",
		Module: func() ([]byte, error) { return tg.Guest(o), nil },
		Boot:   tg.BootOK,
		Warm: func(ctx context.Context, im *wasm.Image, m *wasm.Memory) error {
			_, _, err := im.Call(ctx, m, tg.Request(tg.Touch, 3*pageSize, pageSize, 1), nil)
			return err
		},
	}
}

func newImage(t testing.TB) *wasm.Image {
	t.Helper()
	im, err := newRuntime(t, "").Image(t.Context(), newGuest(nil))
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// box is a sandbox under test.
type box struct {
	t  testing.TB
	im *wasm.Image
	m  *wasm.Memory
	o  wasm.CallOptions // for the calls that follow
}

func newBox(t testing.TB, im *wasm.Image, o *wasm.MemoryOptions) *box {
	t.Helper()
	m, err := im.NewMemory(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return &box{t: t, im: im, m: m}
}

func (b *box) try(request []byte) ([]byte, wasm.Usage, error) {
	return b.im.Call(b.t.Context(), b.m, request, &b.o)
}

// call runs a request that must succeed.
func (b *box) call(op tg.Op, args ...uint32) []byte {
	b.t.Helper()
	answer, _, err := b.try(tg.Request(op, args...))
	if err != nil {
		b.t.Fatalf("operation %d%v: %v", op, args, err)
	}
	return answer
}

func (b *box) state() tg.State {
	b.t.Helper()
	return tg.ParseState(b.call(tg.Status))
}

// count adds to everything that a state consists of, and wantCount checks that it was added.
func (b *box) count(n uint32) { b.t.Helper(); b.call(tg.Count, n) }

func (b *box) wantCount(n uint32, pages uint32) {
	b.t.Helper()
	want := tg.State{
		Counter: n, I32: tg.GlobalI32 + n, I64: tg.GlobalI64 + uint64(n), F64: tg.GlobalF64 + float64(n),
		F32: tg.GlobalF32 + float32(n), Pages: pages, Inits: 1, Startups: 1,
	}
	if got := b.state(); got != want {
		b.t.Errorf("state %+v, want %+v", got, want)
	}
}

// process gives the calls that follow a process of their own.
func (b *box) process(o wasi.Options) {
	o.Block = wasm.Block
	b.o.Process = wasi.NewProcess(&o)
	b.t.Cleanup(func() {
		if err := b.o.Process.Close(); err != nil {
			b.t.Error(err)
		}
	})
}

func words(b []byte) []uint32 {
	w := make([]uint32, len(b)/4)
	for i := range w {
		w[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return w
}
