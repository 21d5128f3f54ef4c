package hostfns

import (
	"context"
	"encoding/json"
)

// Function is a host function other than a tool, for example "llm.ask". It has to be safe for concurrent use. Its error is
// an *Error, or one of ctx.
type Function func(ctx context.Context, c *FunctionCall) (*Value, error)

// FunctionCall is a call of a Function.
type FunctionCall struct {
	// Name is that of the function.
	Name string
	// Args is a JSON value, hostile; Body are raw bytes that came with it.
	Args json.RawMessage
	Body []byte
	// Scope is that of the execution; never nil.
	Scope *Scope
	// Emit tells of what happens meanwhile; never nil.
	Emit func(Event)
}

// ValueKind says what a Value is.
type ValueKind string

// Kinds of values.
const (
	ValueNone   ValueKind = "none"
	ValueJSON   ValueKind = "json"   // Data is JSON
	ValueText   ValueKind = "text"   // Data is UTF-8
	ValueBytes  ValueKind = "bytes"  // Data is anything
	ValueBlocks ValueKind = "blocks" // Blocks
	// ValueHandle: Data stays on the host, and the guest gets a handle that it can slice. Only the dispatcher makes these.
	ValueHandle ValueKind = "handle"
)

// Value is what a host call returns to guest code.
type Value struct {
	Kind   ValueKind
	Data   []byte
	Blocks []Block
	// Head are further fields for the guest's support library, a JSON object; optional.
	Head json.RawMessage
}
