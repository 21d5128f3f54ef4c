package wasi

import (
	"io"
	"testing"

	"github.com/tetratelabs/wazero"
)

// BenchmarkCall measures calls from wasm and back, through the compiler where there is one.
func BenchmarkCall(b *testing.B) {
	g := newGuestOn(b, wazero.NewRuntimeConfig(), &Options{FS: newMemFS(), Stdout: io.Discard})
	fd := g.open("f", openCreat, readWrite)
	g.write(fd, "content")
	g.iov(4)
	p, n := g.path("f")
	for _, bb := range []struct {
		name string
		args []uint64
	}{
		{"clock_time_get", []uint64{1, 0, resultAt}},
		{"fd_write", []uint64{1, iovAt, 1, resultAt}},
		{"fd_pread", []uint64{fd, iovAt, 1, 0, resultAt}},
		{"path_filestat_get", []uint64{rootFD, 1, p, n, resultAt}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			f := g.m.ExportedFunction(bb.name)
			stack := make([]uint64, len(bb.args))
			b.ReportAllocs()
			for b.Loop() {
				copy(stack, bb.args)
				if err := f.CallWithStack(g.ctx, stack); err != nil || stack[0] != 0 {
					b.Fatal(err, stack[0])
				}
			}
		})
	}
}
