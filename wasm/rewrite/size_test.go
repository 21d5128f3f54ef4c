package rewrite_test

import (
	"context"
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/mayfly-run/mayfly/wasm/internal/testguest"
	"github.com/mayfly-run/mayfly/wasm/rewrite"
)

// nativeSize returns the bytes that a module takes in wazero's compilation cache, which holds its machine code.
func nativeSize(t *testing.T, bin []byte) (n int64) {
	t.Helper()
	ctx := context.Background()
	dir := t.TempDir()
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close(ctx)
	r := wazero.NewRuntimeWithConfig(ctx, compiler().WithCompilationCache(cache).WithDebugInfoEnabled(false))
	defer r.Close(ctx)
	if _, err := r.CompileModule(ctx, bin); err != nil {
		t.Fatal(err)
	}
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return err
	})
	return n
}

// What merge.go relies on: wazero drops a load whose value is not used, keeps its check, and leaves the check of a later
// access out. If this fails after an update of wazero, merging is no gain any more.
func TestCompilerUsesMergedChecks(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("no compiler")
	}
	load := func() *testguest.Code { return code().Get(0).Mem(0x28, 100) }
	plain := nativeSize(t, module1(1, "i:i", "", load()))
	checked := nativeSize(t, module1(1, "i:i", "", code().Get(0).Mem(0x2d, 103).Raw(0x1a).Raw(load().B...)))
	if checked != plain {
		t.Errorf("%d bytes of machine code with an early check for the same end, %d without", checked, plain)
	}

	c := code().Get(0).Mem(0x28, 800)
	for off := uint32(780); off > 0; off -= 20 {
		c.Get(0).Mem(0x28, off).Raw(0x6a)
	}
	bin := module1(1, "i:i", "", c)
	c = code().Get(0).Mem(0x28, 0)
	for off := uint32(20); off <= 800; off += 20 {
		c.Get(0).Mem(0x28, off).Raw(0x6a)
	}
	rising := module1(1, "i:i", "", c)
	size := func(bin []byte, keep bool) int64 {
		return nativeSize(t, rewritten(t, bin, &rewrite.Options{KeepChecks: keep}).Module)
	}
	kept, merged := size(rising, true), size(rising, false)
	t.Logf("40 accesses with rising offsets: %d bytes with their own checks, %d merged", kept, merged)
	if merged*3 > kept*2 {
		t.Errorf("merging saves too little")
	}
	// Falling offsets need one check anyway.
	if kept, merged := size(bin, true), size(bin, false); merged > kept {
		t.Errorf("falling offsets: %d bytes merged, %d before", merged, kept)
	}
}
