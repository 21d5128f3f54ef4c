package wasi

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
)

type panickingReader struct{}

func (panickingReader) Read([]byte) (int, error) { panic("no input today") }

func TestStdin(t *testing.T) {
	long := strings.Repeat("0123456789", stdinBuffer/5)
	for _, tt := range []struct {
		name string
		r    io.Reader
		want string
		end  errno
	}{
		{"string", strings.NewReader("hello"), "hello", success},
		{"byte by byte", iotest.OneByteReader(strings.NewReader("hello")), "hello", success},
		{"data with its end", iotest.DataErrReader(strings.NewReader("hello")), "hello", success},
		{"longer than the buffer", strings.NewReader(long), long, success},
		{"empty", strings.NewReader(""), "", success},
		{"error", io.MultiReader(strings.NewReader("some"), iotest.ErrReader(errors.New("x"))), "some", errIO},
		{"error of its own", iotest.ErrReader(sys.EAGAIN), "", errAgain},
		{"no progress", io.MultiReader(strings.NewReader("a"), idleReader{}), "a", errIO},
		{"lies about its length", lyingReader{}, "", errIO},
		{"panics", panickingReader{}, "", errIO},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGuest(t, &Options{Stdin: NewStdin(tt.r)})
			var got strings.Builder
			g.iov(1000)
			for {
				e := g.call("fd_read", 0, iovAt, 1, resultAt)
				if e != tt.end && e != success {
					t.Fatalf("errno %d, want %d", e, tt.end)
				}
				if e != success || g.u32(resultAt) == 0 {
					break
				}
				got.Write(g.bytes(dataAt, g.u32(resultAt)))
			}
			if got.String() != tt.want {
				t.Errorf("read %d bytes, want %d", got.Len(), len(tt.want))
			}
			g.want(tt.end, "fd_read", 0, iovAt, 1, resultAt) // stays so
		})
	}
}

type idleReader struct{}

func (idleReader) Read([]byte) (int, error) { return 0, nil }

type lyingReader struct{}

func (lyingReader) Read(b []byte) (int, error) { return len(b) + 1, nil }

// What a cancelled read has asked of the host is not lost, even to another process.
func TestStdinOutlivesRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, w := io.Pipe()
		stdin := NewStdin(in)
		g := newGuest(t, &Options{Stdin: stdin})
		stopped, cancel := context.WithCancel(g.ctx)
		cancel()
		g.iov(10)
		if e, err := g.try(stopped, "fd_read", 0, iovAt, 1, resultAt); e != errIntr || err != nil {
			t.Errorf("got %d, %v, want EINTR", e, err)
		}
		g.want(success, "fd_fdstat_set_flags", 0, fdNonblock)
		g.want(errAgain, "fd_read", 0, iovAt, 1, resultAt)

		next := NewProcess(&Options{Stdin: stdin})
		g.ctx = withProcess(g.ctx, next)
		go io.WriteString(w, "late")
		if s := g.read(0, 2) + g.read(0, 9); s != "late" {
			t.Errorf("read %q", s)
		}
		g.want(success, "fd_read", 0, iovAt, 0, resultAt) // nothing wanted: no wait
		must(t, w.Close())
		if s := g.read(0, 9); s != "" {
			t.Errorf("read %q after the end", s)
		}
		stdin.Wait()
	})
}

func TestStdinClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, w := io.Pipe()
		stdin := NewStdin(in)
		g := newGuest(t, &Options{Stdin: stdin})
		done := make(chan string)
		go func() { done <- g.read(0, 9) }()
		synctest.Wait() // the guest waits for input
		must(t, stdin.Close())
		if s := <-done; s != "" {
			t.Errorf("read %q", s)
		}
		must(t, stdin.Close())
		must(t, w.Close()) // ends the Read in progress
		stdin.Wait()
		if s := g.read(0, 9); s != "" {
			t.Errorf("read %q", s)
		}
	})
}

func TestStdinBadPointersLoseNothing(t *testing.T) {
	g := newGuest(t, &Options{Stdin: NewStdin(strings.NewReader("data"))})
	g.iov(10)
	g.want(errFault, "fd_read", 0, iovAt, 1, memSize-3)
	g.want(errFault, "fd_read", 0, memSize-7, 1, resultAt)
	g.want(errInval, "fd_read", 0, iovAt, maxIovecs+1, resultAt)
	if s := g.read(0, 10); s != "data" {
		t.Errorf("read %q", s)
	}
}

// A heldReader gives nothing until it is released.
type heldReader struct {
	io.Reader
	released chan struct{}
}

func newHeldReader(text string) *heldReader {
	return &heldReader{strings.NewReader(text), make(chan struct{})}
}

func (r *heldReader) release() { close(r.released) }

func (r *heldReader) Read(p []byte) (int, error) {
	<-r.released
	return r.Reader.Read(p)
}

// NotReady is called when the guest learns that there is no input yet, and at no other time.
func TestNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, told := newHeldReader("input"), 0
		g := newGuest(t, &Options{Stdin: NewStdin(r), NotReady: func() { told++ }})
		want := func(what string, n int) {
			t.Helper()
			if told != n {
				t.Errorf("%s: told %d times, want %d", what, told, n)
			}
			told = 0
		}
		input, now, second := sub{kind: pollRead}, sub{id: 1}, sub{id: 1, timeout: uint64(time.Second)}
		g.wantEvents(g.poll(g.ctx, second, sub{kind: pollWrite, id: 1}), pollEvent{index: 1, kind: pollWrite, nbytes: 1})
		want("nobody asks for input", 0)
		g.wantEvents(g.poll(g.ctx, now, input), pollEvent{})
		want("a poll that does not wait", 1)
		g.wantEvents(g.poll(g.ctx, input, second, input), pollEvent{index: 1})
		want("a poll that waits", 1)
		g.wantEvents(g.poll(g.ctx, sub{kind: pollWrite, id: 1}, input), pollEvent{kind: pollWrite, nbytes: 1})
		want("a poll of output as well", 1)
		g.wantEvents(g.poll(g.ctx, sub{kind: pollRead, id: 77}, input), pollEvent{kind: pollRead, err: errBadf})
		want("a poll with an error", 1)
		g.want(success, "fd_fdstat_set_flags", 0, fdNonblock)
		g.iov(9)
		g.want(errAgain, "fd_read", 0, iovAt, 1, resultAt)
		want("a read that does not block", 1)
		fork := g.p.Fork()
		defer fork.Close()
		_, err := g.try(withProcess(g.ctx, fork), "fd_read", 0, iovAt, 1, resultAt)
		must(t, err)
		want("a read of a fork, which has no input", 0)

		time.AfterFunc(time.Second/2, r.release)
		g.wantEvents(g.poll(g.ctx, input, second), pollEvent{kind: pollRead, nbytes: 5})
		g.wantEvents(g.poll(g.ctx, now, input), pollEvent{}, pollEvent{index: 1, kind: pollRead, nbytes: 5})
		g.want(success, "fd_read", 0, iovAt, 1, resultAt)
		g.want(success, "fd_fdstat_set_flags", 0, 0)
		g.want(success, "fd_read", 0, iovAt, 1, resultAt)
		g.wantEvents(g.poll(g.ctx, input, now), pollEvent{kind: pollRead, flags: pollHangup}, pollEvent{index: 1})
		want("input that is waited for, or there", 0)
	})
}

// Input that comes at the moment when the time is up comes before the time limit.
func TestInputBeforeTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHeldReader("input")
		g := newGuest(t, &Options{
			Stdin: NewStdin(r), NotReady: func() { t.Error("NotReady was called") },
			Block: func(_ context.Context, f func()) {
				f()
				r.release()
				synctest.Wait()
			},
		})
		g.wantEvents(g.poll(g.ctx, sub{id: 1, timeout: 1000}, sub{kind: pollRead}),
			pollEvent{index: 1, kind: pollRead, nbytes: 5})
	})
}
