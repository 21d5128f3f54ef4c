package wasm

import (
	"reflect"

	"github.com/tetratelabs/wazero/api"
)

// function is an exported function of a worker with the native stack that its calls run on. The runtime grows the stack
// with the depth of the guest's recursion, up to 100 MB, and never shrinks it.
type function struct {
	api.Function
	args  [2]uint64
	stack reflect.Value // the runtime's []byte; the zero Value if it cannot be found
	size  int           // of the stack when it was last looked at
}

// keepStack is the size in bytes up to which a stack is kept for the next call.
const keepStack = 256 << 10

// newFunction looks up an export; nil if there is none. Each result has a stack of its own.
func newFunction(mod api.Module, name string) *function {
	f := mod.ExportedFunction(name)
	if f == nil {
		return nil
	}
	return &function{Function: f, stack: stackOf(f)}
}

// stackOf returns the field that holds the native stack. It is not part of the runtime's API; nothing but the size is read
// from it. Looking it up takes longer than a switch of threads should.
func stackOf(f api.Function) (stack reflect.Value) {
	v := reflect.ValueOf(f)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return stack
	}
	if v = v.Elem().FieldByName("stack"); v.Kind() != reflect.Slice {
		return stack
	}
	return v
}

// stackSize returns the bytes of the native stack, 0 if the runtime does not tell.
func (f *function) stackSize() int {
	if !f.stack.IsValid() {
		return 0
	}
	return f.stack.Len()
}

// deep tells that the stack has grown so much that it should be given back.
func (f *function) deep() bool { return f.stackSize() > keepStack }
