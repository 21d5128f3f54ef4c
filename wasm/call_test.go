package wasm_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/mayfly-run/mayfly/wasm"
	tg "github.com/mayfly-run/mayfly/wasm/internal/testguest"
	"github.com/mayfly-run/mayfly/wasm/wasi"
)

func TestEcho(t *testing.T) {
	b := newBox(t, newImage(t), nil)
	for _, n := range []int{0, 1, 100, pageSize, 5 << 20} {
		body := bytes.Repeat([]byte{0xa5}, n)
		answer, _, err := b.try(tg.RequestBytes(tg.Echo, body))
		if err != nil || !bytes.Equal(answer, body) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	answer, _, err := b.try(tg.RequestBytes(tg.Echo, []byte("mine")))
	if err != nil {
		t.Fatal(err)
	}
	b.call(tg.Count, 1)
	if string(answer) != "mine" {
		t.Errorf("the answer changed under the caller: %q", answer)
	}
	if _, _, err := b.try(make([]byte, wasm.MaxFrame+1)); !errors.Is(err, wasm.ErrFrame) {
		t.Errorf("request above the limit: %v", err)
	}
	b.count(0) // not suspect
}

// Whatever stops a guest half-way leaves a suspect memory, which only Restore mends.
func TestFaults(t *testing.T) {
	trap := func(err error) bool { return errors.As(err, new(*wasm.TrapError)) }
	tests := []struct {
		name    string
		request []byte
		is      func(error) bool
		text    string
	}{
		{"unreachable", tg.Request(tg.Trap), trap, "unreachable"},
		{"load outside", tg.Request(tg.Load, 0xfffffff0), trap, "out of bounds"},
		{"store outside", tg.Request(tg.Poke, 0xfffffff0, 1), trap, "out of bounds"},
		{"fill outside", tg.Request(tg.Fill, guest-10, 1, 4<<20), trap, "out of bounds"},
		{"copy outside", tg.Request(tg.Copy, 0, 0, 0xffffffff), trap, "out of bounds"},
		{"stack overflow", tg.Request(tg.Recurse), trap, "stack overflow"},
		{"exit", tg.Request(tg.Exit, 7), func(err error) bool {
			var e *wasi.ExitError
			return errors.As(err, &e) && e.Code == 7
		}, "code 7"},
		{"exit 0", tg.Request(tg.Exit, 0), func(err error) bool {
			var e *wasi.ExitError
			return errors.As(err, &e) && e.Code == 0
		}, "code 0"},
	}
	im := newImage(t)
	b := newBox(t, im, nil)
	b.count(1)
	before := b.snapshot()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b.t = t
			if _, _, err := b.try(tt.request); !tt.is(err) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %T %v", err, err)
			}
			if _, _, err := b.try(tg.Request(tg.Status)); !errors.Is(err, wasm.ErrSuspect) {
				t.Errorf("next call: %v", err)
			}
			// Others do not notice, though they run on the same worker.
			newBox(t, im, nil).wantCount(0, tg.Pages)
			b.restore(before)
			b.wantCount(1, tg.Pages)
		})
	}
}

// A guest that lies about pointers and lengths.
func TestBogusAnswers(t *testing.T) {
	const ptr = tg.Heap
	tests := []struct {
		name     string
		len, ptr uint32
		want     error
	}{
		{"no memory", 0xffffffff, 0xffffffff, wasm.ErrNoMemory},
		{"not handled", 0xfffffffe, 0xffffffff, wasm.ErrGuest},
		{"another negative number", 0xfffffff0, 0xffffffff, wasm.ErrGuest},
		{"outside", 16, 0xfffffff0, wasm.ErrFrame},
		{"ends outside", 2 * pageSize, guest, wasm.ErrFrame},
		{"too long", wasm.MaxFrame + 1, 0, wasm.ErrFrame},
		{"negative length", 0x80000000, ptr, wasm.ErrFrame},
		{"pointer and length at their ends", 0xffffffef, 0xffffffff, wasm.ErrFrame},
		{"empty", 0, ptr, nil},
		{"empty at null", 0, 0, nil},
	}
	b := newBox(t, newImage(t), nil)
	for _, tt := range tests {
		answer, _, err := b.try(tg.Request(tg.Answer, tt.len, tt.ptr))
		if !errors.Is(err, tt.want) || len(answer) != 0 {
			t.Errorf("%s: %v, %d bytes", tt.name, err, len(answer))
		}
		b.restore(nil)
	}
	if _, _, err := b.try(tg.Request(9999)); !errors.Is(err, wasm.ErrGuest) {
		t.Errorf("unknown operation: %v", err)
	}
	b.wantCount(0, tg.Pages) // the guest answered properly, so it is not suspect

	b.call(tg.Poke, tg.AllocMode, 1)
	if _, _, err := b.try(tg.Request(tg.Status)); !errors.Is(err, wasm.ErrNoMemory) {
		t.Errorf("guest_alloc returns null: %v", err)
	}
	b.restore(nil)
	b.call(tg.Poke, tg.AllocMode, 0xfffffff0)
	if _, _, err := b.try(tg.Request(tg.Status)); !errors.As(err, new(*wasm.TrapError)) {
		t.Errorf("guest_alloc returns a wild pointer: %v", err)
	}
	b.restore(nil)
	b.wantCount(0, tg.Pages)
}

func TestHostCall(t *testing.T) {
	frame := wasm.Frame{Code: 3, Head: []byte(`{"a":1}`), Body: []byte("body")}.Append(nil)
	large := make([]byte, 1<<20)
	const malformed, tooLarge, failed = 0xffffffffffffffff, 0xfffffffffffffffe, 0xffffffff
	tests := []struct {
		name           string
		pointer, n     uint32
		delta          int32
		payload, reply []byte
		call           uint64
		recv           uint32
	}{
		{"answered", 0, 0, 0, frame, []byte("answer"), 6, 0},
		{"large answer", 0, 0, 0, frame, large, 1 << 20, 0},
		{"empty answer", 0, 0, 0, frame, nil, 0, 0},
		{"recv of less", 0, 0, -1, frame, []byte("answer"), 6, failed},
		{"recv of more", 0, 0, 1, frame, []byte("answer"), 6, failed},
		{"answer above the limit", 0, 0, 0, frame, make([]byte, wasm.MaxFrame+1), tooLarge, 0},
		{"not a frame", 0, 0, 0, []byte("short"), nil, malformed, 0},
		{"head longer than frame", 0, 0, 0, []byte("\x01\x00\x00\x00\x09\x00\x00\x00{}"), nil, malformed, 0},
		{"outside of the memory", 0xfffffff0, 8, 0, nil, nil, malformed, 0},
		{"ends outside of the memory", guest, 2 * pageSize, 0, nil, nil, malformed, 0},
		{"above the limit", 16, wasm.MaxFrame + 1, 0, nil, nil, tooLarge, 0},
		{"wrapped around", 0xfffffff0, 0xffffffff, 0, nil, nil, tooLarge, 0},
	}
	b := newBox(t, newImage(t), nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b.t = t
			b.restore(nil)
			var got []byte
			b.o.Handle = func(_ context.Context, request []byte) []byte { got = request; return tt.reply }
			answer, _, err := b.try(tg.RequestBytes(tg.HostCall, tg.HostCallBody(tt.pointer, tt.n, tt.delta, tt.payload)))
			if err != nil {
				t.Fatal(err)
			}
			w := words(answer)
			if n := uint64(w[0]) | uint64(w[1])<<32; n != tt.call {
				t.Fatalf("call returned %#x", n)
			}
			if int64(tt.call) < 0 {
				if len(tt.reply) == 0 && got != nil {
					t.Errorf("the handler got %q", got)
				}
				return
			}
			if !bytes.Equal(got, tt.payload) || w[2] != tt.recv {
				t.Errorf("the handler got %q, recv returned %d", got, int32(w[2]))
			}
			if tt.recv == 0 && !bytes.Equal(answer[12:], tt.reply) {
				t.Errorf("%d wrong bytes", len(answer)-12)
			}
			// The next call drops the request's bytes in guest memory, but not the handler's copy.
			b.call(tg.Fill, tg.Heap+1000, 0xee, 1000)
			if !bytes.Equal(got, tt.payload) {
				t.Error("the handler's request is a view of guest memory")
			}
		})
	}
	b.t = t
	b.restore(nil)
	b.o.Handle = nil
	answer, _, err := b.try(tg.RequestBytes(tg.HostCall, tg.HostCallBody(0, 0, 0, frame)))
	if err != nil || words(answer)[0] != 0xffffffff {
		t.Errorf("without a handler: %v, %v", answer, err)
	}
}

// A panic of a host function is an error of the call.
func TestHandlerPanics(t *testing.T) {
	b := newBox(t, newImage(t), nil)
	b.o.Handle = func(context.Context, []byte) []byte { panic("oh no") }
	frame := wasm.Frame{}.Append(nil)
	_, _, err := b.try(tg.RequestBytes(tg.HostCall, tg.HostCallBody(0, 0, 0, frame)))
	if !errors.As(err, new(*wasm.TrapError)) || !strings.Contains(err.Error(), "oh no") {
		t.Errorf("got %v", err)
	}
	b.restore(nil)
	b.wantCount(0, tg.Pages)
}

// WASI calls go to the process of the call, not to one of an earlier call on the same worker.
func TestProcess(t *testing.T) {
	im := newImage(t)
	for _, name := range []string{"first", "second"} {
		b := newBox(t, im, nil)
		var out bytes.Buffer
		b.process(wasi.Options{Stdout: &out, Rand: strings.NewReader(strings.Repeat(name[:1], 16))})
		answer, _, err := b.try(tg.RequestBytes(tg.Write, append([]byte{1, 0, 0, 0}, name...)))
		if w := words(answer); err != nil || w[0] != 0 || int(w[1]) != len(name) || out.String() != name {
			t.Errorf("write: %v, %v, %q", w, err, out.String())
		}
		if got := string(b.call(tg.Random)); got != strings.Repeat(name[:1], 16) {
			t.Errorf("random numbers %q", got)
		}
	}
	b := newBox(t, im, nil)
	answer, _, err := b.try(tg.RequestBytes(tg.Write, []byte{1, 0, 0, 0, 'x'}))
	if err != nil || words(answer)[0] == 0 {
		t.Errorf("write without a process: %v, %v", answer, err)
	}
}

// Calls on one memory wait for each other, and so does Close.
func TestOneCallAtATime(t *testing.T) {
	b := newBox(t, newImage(t), nil)
	inside := make(chan struct{})
	release := make(chan struct{})
	b.o.Handle = func(context.Context, []byte) []byte {
		close(inside)
		<-release
		return nil
	}
	frame := wasm.Frame{}.Append(nil)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, _, err := b.try(tg.RequestBytes(tg.HostCall, tg.HostCallBody(0, 0, 0, frame))); err != nil {
			t.Errorf("call in flight: %v", err)
		}
	})
	<-inside
	for range 4 {
		wg.Go(func() {
			if _, _, err := b.try(tg.Request(tg.Count, 1)); err != nil && !errors.Is(err, wasm.ErrClosed) {
				t.Errorf("waiting call: %v", err)
			}
		})
	}
	wg.Go(func() {
		if err := b.m.Close(); err != nil {
			t.Error(err)
		}
	})
	close(release)
	wg.Wait()
}
