package wasi

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

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
