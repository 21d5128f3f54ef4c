package wasi

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
)

// FuzzCalls calls functions in any order with any arguments over any memory. Nothing may panic but proc_exit, wait, or
// make the host allocate more than its bounds allow.
//
// Input: the length of the memory image (two bytes), the image, then calls: the index of a function, and for each
// parameter a byte that says what kind of number it is, with the number.
func FuzzCalls(f *testing.F) {
	image := []byte("\x06\x00dir/ab")
	index := map[string]byte{}
	for i, fn := range functions {
		index[fn.name] = byte(i)
		f.Add(append(append([]byte{}, image...), byte(i), 1, 3, 1, 0, 1, 0, 1, 4, 1, 0, 1, 0, 1, 0))
		f.Add(append(append([]byte{}, image...), append([]byte{byte(i)}, bytes.Repeat([]byte{3}, 99)...)...))
	}
	// mkdir "dir"; open it; list it; open "ab" for writing; write; seek; read.
	f.Add(append(append([]byte{}, image...),
		index["path_create_directory"], 1, 3, 1, 0, 1, 3,
		index["path_open"], 1, 3, 1, 1, 1, 0, 1, 3, 1, 2, 2, 0xff, 2, 0xff, 1, 0, 1, 100,
		index["fd_readdir"], 1, 4, 1, 200, 1, 99, 1, 0, 1, 100,
		index["path_open"], 1, 3, 1, 1, 1, 4, 1, 2, 1, 1, 2, 0xff, 2, 0xff, 1, 0, 1, 100,
		index["fd_write"], 1, 5, 1, 0, 1, 1, 1, 100,
	))

	g := newGuest(f, nil)
	done, cancel := context.WithCancel(context.Background())
	cancel() // or a sleep would take as long as the guest wants
	blank := make([]byte, memSize)

	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 4096 {
			return
		}
		next := func() (b byte) {
			if len(in) > 0 {
				b, in = in[0], in[1:]
			}
			return b
		}
		p := NewProcess(&Options{
			Args: []string{"a", "b"}, Env: []string{"C=D"},
			FS: newMemFS(), MaxFiles: 16,
			Stdin: NewStdin(strings.NewReader("some input")), Stdout: &failingWriter{room: 1 << 20},
		})
		defer func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			p.stdin.Wait()
		}()
		ctx := withProcess(done, p)

		n := min(int(next())|int(next())<<8, len(in))
		g.put(0, blank)
		g.put(0, in[:n])
		in = in[n:]

		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		calls := uint64(0)
		for ; len(in) > 0 && calls < 64; calls++ {
			fn := functions[int(next())%len(functions)]
			args := make([]uint64, len(fn.params))
			for i := range args {
				switch next() % 5 {
				case 1: // small: descriptors, flags, lengths, pointers into the image
					args[i] = uint64(next())
				case 2: // all bits of some bytes
					args[i] = uint64(next()) * 0x0101010101010101
				case 3: // near the end of memory, and near 2^32
					args[i] = uint64(memSize) - uint64(next()%64)
				case 4:
					args[i] = 1<<uint(next()%64) - 1
				}
				if fn.params[i] == 'i' {
					args[i] = uint64(uint32(args[i]))
				}
			}
			_, err := g.m.ExportedFunction(fn.name).Call(ctx, args...)
			if err != nil && (fn.name != "proc_exit" || !errors.As(err, new(*ExitError))) {
				t.Fatalf("%s%v: %v", fn.name, args, err)
			}
		}
		runtime.ReadMemStats(&after)
		// The largest single need is a poll of all subscriptions; the test's own file system counts, too.
		if got, limit := after.TotalAlloc-before.TotalAlloc, (calls+1)*(1<<20); got > limit {
			t.Fatalf("%d calls allocated %d bytes", calls, got)
		}
	})
}
