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
		f.Add(generate([]byte{seed, 3 * seed, 5, 77, seed, seed, 1})) // with threads
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

// FuzzEquivalence runs random programs, as they are and rewritten. A program that wazero's compiler gets wrong as it is,
// against its interpreter, says nothing about the rewriter; testdata has one that v1.12.0 does (V8 sides with the
// interpreter).
func FuzzEquivalence(f *testing.F) {
	for seed := range uint32(40) {
		f.Add(bytes.Repeat(binary.LittleEndian.AppendUint32(nil, seed*2654435761), 1+int(seed)%5))
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 256 {
			return
		}
		bin := generate(program)
		if miscompiled(t, bin) {
			t.Skip("wazero's compiler is wrong about the program as it is")
		}
		x := newTrio(t, bin, &rewrite.Options{Interval: 3})
		every := instantiate(t, interpreter(), rewritten(t, bin, &rewrite.Options{Interval: 1}).Module, nil)
		x.seed()
		every.seed()
		for _, arg := range fuzzArgs {
			every.call("f", arg, arg<<33|arg)
			if o := x.call("f", arg, arg<<33|arg); o.err != nil {
				break // the memory after a trap is not defined
			}
		}
		// A tick comes at every fourth loop header, and at every second. Only the interpreter is asked: where the compiler
		// is wrong about the path and not about the result, it went unnoticed above.
		if got, want := x.others["interpreter"].ticks, every.ticks/2; got != want {
			t.Errorf("%d ticks, want %d", got, want)
		}
	})
}

var fuzzArgs = []uint64{0, 1, 2*page - 1, 0xdeadbeef}

// miscompiled compares wazero's engines with each other.
func miscompiled(t *testing.T, bin []byte) bool {
	a, b := instantiate(t, interpreter(), bin, nil), instantiate(t, compiler(), bin, nil)
	a.seed()
	b.seed()
	for _, arg := range fuzzArgs {
		want, got := a.call("f", arg, arg<<33|arg), b.call("f", arg, arg<<33|arg)
		if want.err != nil {
			return false
		}
		if want.diff(got) != "" {
			return true
		}
	}
	return false
}
