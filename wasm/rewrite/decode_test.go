package rewrite_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/mayfly-run/mayfly/wasm/internal/testguest"
	"github.com/mayfly-run/mayfly/wasm/rewrite"
)

// replaced is a small module with one section exchanged.
func replaced(id byte, body ...byte) []byte {
	m := newModule(1)
	m.Export("f", testguest.KindFunc, m.Func(":", "", code()))
	m.Table(1)
	m.Data(8, []byte("x"))
	m.Replace = map[byte][]byte{id: body}
	return m.Bytes()
}

func function(c *testguest.Code) []byte { return module1(1, ":", "i", c) }

func TestRefused(t *testing.T) {
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x0f}
	tests := []struct {
		name string
		bin  []byte
		want string
	}{
		{"empty", nil, "not a WebAssembly"},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), "not a WebAssembly"},
		{"header only", []byte("\x00asm\x01\x00\x00\x00"), "no memory"},
		{"section longer than file", []byte("\x00asm\x01\x00\x00\x00\x01\x7f"), "wanted"},
		{"sections out of order", append(function(code()), 1, 1, 0), "out of order"},
		{"section twice", append(replaced(11, 0), 11, 1, 0), "out of order"},
		{"unknown section", replaced(13, 0), "not known"},
		{"bytes after a section's items", replaced(3, 1, 0, 0), "too many"},
		{"overlong number", replaced(3, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00), "too long"},
		{"number of 33 bits", replaced(3, 0xff, 0xff, 0xff, 0xff, 0x1f), "too large"},
		{"huge count of types", replaced(1, huge...), "vector"},
		{"huge count of functions", replaced(3, huge...), "vector"},
		{"huge count of globals", replaced(6, huge...), "vector"},
		{"huge count of exports", replaced(7, huge...), "vector"},
		{"huge count of bodies", replaced(10, huge...), "vector"},
		{"huge body", replaced(10, append([]byte{1}, huge...)...), "wanted"},
		{"type of a function unknown", replaced(3, 1, 9), "type 9"},
		{"not a function type", replaced(1, 1, 0x5f, 0, 0), "function type"},
		{"imported memory", replaced(2, append([]byte{1, 1, 'e', 1, 'm', 2}, 0, 1)...), "not a function"},
		{"imported table", replaced(2, append([]byte{1, 1, 'e', 1, 't', 1}, 0x70, 0, 1)...), "not a function"},
		{"imported global", replaced(2, append([]byte{1, 1, 'e', 1, 'g', 3}, 0x7f, 0)...), "not a function"},
		{"two tables", replaced(4, 2, 0x70, 0, 1, 0x70, 0, 1), "table"},
		{"two memories", replaced(5, 2, 0, 1, 0, 1), "memory"},
		{"shared memory", replaced(5, 1, 3, 1, 1), "shared"},
		{"64-bit memory", replaced(5, 1, 4, 1), "64-bit"},
		{"empty memory", replaced(5, 1, 0, 0), "0 pages"},
		{"no room for the guard page", replaced(5, 1, 0, 0x80, 0x80, 0x04), "65536 pages"},
		{"global of a reference", replaced(6, 1, 0x70, 1, 0xd0, 0x70, 0x0b), "global of type"},
		{"global of a vector", replaced(6, 1, 0x7b, 0, 0xfd, 12), "global of type"},
		{"computed global", replaced(6, 1, 0x7f, 0, 0x41, 1, 0x41, 1, 0x6a, 0x0b), "one instruction"},
		{"no exports", replaced(7, 0), "no exports"},
		{"start function", replaced(8, 0), "start"},
		{"passive elements", replaced(9, 1, 1, 0, 1, 0), "kind 1"},
		{"declared elements", replaced(9, 1, 3, 0, 1, 0), "kind 3"},
		{"no bodies", replaced(10, 0), "0 bodies"},
		{"passive data", replaced(11, 1, 1, 1, 'x'), "kind 1"},
		{"data at a global", replaced(11, 1, 0, 0x23, 0, 0x0b, 1, 'x'), "not a constant"},
		{"data behind the memory", replaced(11, 1, 0, 0x41, 0xff, 0xff, 3, 0x0b, 2, 'x', 'y'), "outside"},
		{"data at a negative offset", replaced(11, 1, 0, 0x41, 0x7f, 0x0b, 1, 'x'), "outside"},

		{"more locals than allowed", body(1, 0xd1, 0x86, 0x03, 0x7f, 0x0b), "locals"},
		{"locals in many groups", body(2, 0xa8, 0xc3, 1, 0x7f, 0xd0, 0x86, 3, 0x7f, 0x0b), "locals"},
		{"body without end", body(0), "without end"},
		{"body that ends early", body(0, 0x0b, 0x0b), "after the end"},
		{"operand missing", function(code().Op(0x1a)), "empty"},
		{"operand too many", function(code().I32(1)), "instead of 0"},
		{"local unknown", function(code().Get(1).Op(0x1a)), "local 1"},
		{"global unknown", function(code().Op(0x23, 0).Op(0x1a)), "global 0"},
		{"function unknown", function(code().Call(2)), "function 2"},
		{"block type unknown", function(code().Raw(0x02, 0x0f).End()), "block type"},
		{"else without if", function(code().Else()), "else"},
		{"branch too far", function(code().I32(0).Op(0x0d, 3)), "branch"},
		{"alignment", function(code().I32(0).Raw(0x28, 5, 0).Op(0x1a)), "alignment"},
		{"huge br_table", function(code().I32(0).Raw(0x0e).Raw(huge...)), "vector"},
		{"table.get", function(code().I32(0).Raw(0x25, 0).Op(0x1a)), "0x25"},
		{"table.set", function(code().I32(0).Raw(0xd0, 0x70, 0x26, 0)), "0xd0"},
		{"ref.func", function(code().Raw(0xd2, 1).Op(0x1a)), "0xd2"},
		{"memory.init", function(code().I32(0).I32(0).I32(0).Raw(0xfc, 8, 0, 0)), "0xfc 8"},
		{"data.drop", function(code().Raw(0xfc, 9, 0)), "0xfc 9"},
		{"table.init", function(code().I32(0).I32(0).I32(0).Raw(0xfc, 12, 0, 0)), "0xfc 12"},
		{"table.copy", function(code().I32(0).I32(0).I32(0).Raw(0xfc, 14, 0, 0)), "0xfc 14"},
		{"table.grow", function(code().Raw(0xd0, 0x70).I32(0).Raw(0xfc, 15, 0).Op(0x1a)), "0xd0"},
		{"SIMD", function(code().I32(0).Raw(0xfd, 0, 0, 0).Op(0x1a)), "0xfd"},
		{"atomics", function(code().Raw(0xfe, 3, 0)), "0xfe"},
		{"try", function(code().Raw(0x06, 0x40).End()), "0x6"},
		{"throw", function(code().Raw(0x08, 0)), "0x8"},
		{"tail call", function(code().Raw(0x12, 1)), "0x12"},
		{"tick with a result", tickWithResult(), "tick"},
		{"operands without end", manyOperands(), "operands"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := rewrite.Rewrite(tt.bin, nil)
			if !errors.Is(err, rewrite.ErrFormat) {
				t.Fatalf("got %v, want an ErrFormat", err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q does not tell of %q", err, tt.want)
			}
		})
	}
}

// body is a module whose only function has these bytes.
func body(b ...byte) []byte {
	m := newModule(1)
	m.Export("f", testguest.KindFunc, m.RawFunc(m.TypeIndex(":"), b))
	return m.Bytes()
}

func tickWithResult() []byte {
	m := &testguest.Module{MinPages: 1}
	m.Import("mayfly", "tick", ":i")
	m.Export("f", testguest.KindFunc, m.Func(":", "", code()))
	return m.Bytes()
}

// manyOperands pushes a thousand values with each two bytes of code.
func manyOperands() []byte {
	m := newModule(1)
	results := ":" + strings.Repeat("i", 1000)
	c := code()
	for range 10_000 {
		c.Call(1)
	}
	m.Func(results, "", code().Op(0))
	m.Export("f", testguest.KindFunc, m.Func(":", "", c))
	return m.Bytes()
}

// Every prefix of a module is refused, as whole sections are missing at least, until the code is there.
func TestTruncated(t *testing.T) {
	bin := testguest.Guest(nil)
	code := bytes.LastIndex(bin, []byte(testguest.Hello)) - 16
	for n := range bin {
		if _, err := rewrite.Rewrite(bin[:n], nil); err == nil && n < code {
			t.Fatalf("the first %d bytes of %d are accepted", n, len(bin))
		}
	}
}

// The form of the result: no data, no start, no custom sections, all mutable globals exported.
func TestResult(t *testing.T) {
	bin := append(testguest.Guest(nil), 0, 5, 4, 'n', 'o', 't', 'e')
	res := rewritten(t, bin, nil)
	if len(res.Data) != 1 || string(res.Data[0].Bytes) != testguest.Hello || res.Data[0].Offset != testguest.Greeting {
		t.Errorf("data segments %v", res.Data)
	}
	if bytes.Contains(res.Module, []byte(testguest.Hello)) || bytes.Contains(res.Module, []byte("note")) {
		t.Error("data or custom section is still there")
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, interpreter())
	defer r.Close(ctx)
	m, err := r.CompileModule(ctx, res.Module)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Globals) != 5 || res.Globals[0].Name != res.Countdown || res.Countdown == "" {
		t.Errorf("globals %v, countdown %q", res.Globals, res.Countdown)
	}
	mem := m.ExportedMemories()["memory"]
	if max, ok := mem.Max(); mem.Min() != testguest.Pages+1 || !ok || max != page {
		t.Errorf("memory of %d to %d pages", mem.Min(), max)
	}
	for name := range m.ExportedFunctions() {
		if strings.HasPrefix(name, "mayfly_") {
			t.Errorf("export %s is still there", name)
		}
	}
	if _, again := res, rewritten(t, bin, nil); !bytes.Equal(again.Module, res.Module) {
		t.Error("the result is not the same each time")
	}
}

// A module without mayfly.tick is stripped only.
func TestWithoutTick(t *testing.T) {
	res := rewritten(t, testguest.Guest(&testguest.Options{NoTick: true}), nil)
	if res.Stats.Safepoints != 0 || res.Countdown != "" || len(res.Globals) != 4 {
		t.Errorf("%d safepoints, countdown %q, globals %v", res.Stats.Safepoints, res.Countdown, res.Globals)
	}
}
