package rewrite_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/mayfly-run/mayfly/wasm/internal/testguest"
	"github.com/mayfly-run/mayfly/wasm/rewrite"
)

// FuzzRewrite feeds arbitrary bytes. Nothing may panic, and a valid module that is accepted must give a valid module.
func FuzzRewrite(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(replaced(13, 0))
	f.Add(body(0, 0x0b))
	f.Add(aroundCalls(testguest.F64T))
	for seed := range byte(8) {
		f.Add(generate([]byte{seed, 3 * seed, 5, 77, seed}))
	}
	f.Add(testguest.Guest(nil))
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, interpreter())
	f.Cleanup(func() { r.Close(ctx) })
	f.Fuzz(func(t *testing.T, bin []byte) {
		res, err := rewrite.Rewrite(bin, nil)
		if err != nil {
			if !errors.Is(err, rewrite.ErrFormat) {
				t.Fatalf("not an ErrFormat: %v", err)
			}
			return
		}
		if len(res.Module) > 64*len(bin)+1024 {
			t.Errorf("%d bytes became %d", len(bin), len(res.Module))
		}
		// wazero trusts some sizes of the input, which would be its own problem here.
		if len(bin) > 1<<16 {
			return
		}
		m, err := r.CompileModule(ctx, bin)
		if err != nil {
			return // the rewriter does not check types
		}
		m.Close(ctx)
		if m, err = r.CompileModule(ctx, res.Module); err != nil {
			t.Fatalf("rewritten module: %v", err)
		}
		m.Close(ctx)
	})
}

// FuzzEquivalence runs random programs, as they are and rewritten.
func FuzzEquivalence(f *testing.F) {
	for seed := range uint32(40) {
		f.Add(bytes.Repeat(binary.LittleEndian.AppendUint32(nil, seed*2654435761), 1+int(seed)%5))
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 256 {
			return
		}
		x := newTrio(t, generate(program), &rewrite.Options{Interval: 3})
		x.seed()
		ticks := -1
		for _, arg := range []uint64{0, 1, 2*page - 1, 0xdeadbeef} {
			if o := x.call("f", arg, arg<<33|arg); o.err != nil {
				break // the memory after a trap is not defined
			}
		}
		for _, in := range x.others {
			if ticks >= 0 && in.ticks != ticks {
				t.Errorf("%d and %d ticks", in.ticks, ticks)
			}
			ticks = in.ticks
		}
	})
}
