package hostfns

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Tools is a Provider whose tools are Go functions of this program: one server. It is safe for concurrent use; tools may be
// added and removed at any time.
type Tools struct {
	server string

	mu      sync.RWMutex
	tools   []*Tool
	calls   map[string]ToolFunc
	listing *Listing // nil: to be made
	closed  bool
}

// ToolFunc is a tool. Arguments were checked against its schema. An *Error is passed on as it is, one of ctx as well; any
// other error is the tool's failure, whose text the guest's code is told.
type ToolFunc func(ctx context.Context, c *ToolCall) (*ToolResult, error)

// NewTools returns a provider of the named server, which has no tools yet.
func NewTools(server string) *Tools {
	return &Tools{server: server, calls: map[string]ToolFunc{}}
}

// Add adds a tool, or replaces the one of its name. It panics when there is no name or no function.
func (t *Tools) Add(def Tool, f ToolFunc) {
	if def.Name == "" || f == nil {
		panic("hostfns: a tool has a name and a function")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	own := def
	own.InputSchema, own.OutputSchema = bytes.Clone(def.InputSchema), bytes.Clone(def.OutputSchema)
	if i := t.index(def.Name); i >= 0 {
		t.tools[i] = &own
	} else {
		t.tools = append(t.tools, &own)
	}
	t.calls[def.Name] = f
	t.listing = nil
}

// Remove removes a tool, if it is there.
func (t *Tools) Remove(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := t.index(name); i >= 0 {
		t.tools = slices.Delete(t.tools, i, i+1)
		delete(t.calls, name)
		t.listing = nil
	}
}

func (t *Tools) index(name string) int {
	return slices.IndexFunc(t.tools, func(d *Tool) bool { return d.Name == name })
}

// Servers implements Provider.
func (t *Tools) Servers() []string { return []string{t.server} }

// Tools implements Provider.
func (t *Tools) Tools(_ context.Context, server string) (*Listing, error) {
	if server != t.server {
		return nil, Errorf(CodeUnavailable, "there is no tool server %.100q", server)
	}
	t.mu.RLock()
	l := t.listing
	t.mu.RUnlock()
	if l != nil {
		return l, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listing == nil {
		j, err := json.Marshal(t.tools)
		if err != nil {
			return nil, Errorf(CodeServer, "a schema is not JSON: %w", err)
		}
		sum := sha256.Sum256(j)
		t.listing = &Listing{Version: hex.EncodeToString(sum[:12]), Tools: slices.Clone(t.tools)}
	}
	return t.listing, nil
}

// Call implements Provider.
func (t *Tools) Call(ctx context.Context, c *ToolCall) (*ToolResult, error) {
	t.mu.RLock()
	f, closed := t.calls[c.Tool], t.closed
	t.mu.RUnlock()
	switch {
	case closed || c.Server != t.server:
		return nil, Errorf(CodeUnavailable, "the tool server %.100q is closed, or another one", c.Server)
	case f == nil:
		return nil, &Error{Code: CodeUnknownTool, Message: "there is no such tool", Server: c.Server, Tool: c.Tool}
	}
	res, err := f(ctx, c)
	if err == nil {
		return res, nil
	}
	if e := (*Error)(nil); errors.As(err, &e) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil, err
	}
	return &ToolResult{IsError: true, Content: []Block{{Type: BlockText, Text: err.Error()}}}, nil
}

// Close implements Provider. Calls under way are not waited for.
func (t *Tools) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return nil
}

// AddTool adds a Go function as a tool. In is a struct, or a map with string keys; it gives the schema of the arguments,
// unless def has one: see jsonschema.For. Out gives that of the result. An Out that is no object is wrapped as
// {"result": OUT}, which guest code does not see. There is no schema for an Out of any; []Block and *ToolResult are the
// result as it is. AddTool panics on types that have no JSON schema.
func AddTool[In, Out any](t *Tools, def Tool, f func(ctx context.Context, in In) (Out, error)) {
	if def.InputSchema == nil {
		def.InputSchema = mustSchema[In](&def)
	}
	result := resultOf[Out](&def)
	t.Add(def, func(ctx context.Context, c *ToolCall) (*ToolResult, error) {
		var in In
		if err := json.Unmarshal(c.Args, &in); err != nil {
			return nil, Errorf(CodeInvalidArguments, "%w", err)
		}
		out, err := f(ctx, in)
		if err != nil {
			return nil, err
		}
		return result(out)
	})
}

func mustSchema[T any](def *Tool) json.RawMessage {
	j, err := schemaOf[T]()
	if err != nil {
		panic(fmt.Sprintf("hostfns: tool %s: %v has no JSON schema: %v", def.Name, reflect.TypeFor[T](), err))
	}
	return j
}

func schemaOf[T any]() (json.RawMessage, error) {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// resultOf returns what makes a result of an Out, and completes the tool's output schema.
func resultOf[Out any](def *Tool) func(Out) (*ToolResult, error) {
	switch reflect.TypeFor[Out]() {
	case reflect.TypeFor[*ToolResult]():
		return func(o Out) (*ToolResult, error) { return any(o).(*ToolResult), nil }
	case reflect.TypeFor[[]Block]():
		return func(o Out) (*ToolResult, error) { return &ToolResult{Content: any(o).([]Block)}, nil }
	case reflect.TypeFor[any]():
		return func(o Out) (*ToolResult, error) {
			j, err := json.Marshal(o)
			if err != nil || !validObject(j) {
				return &ToolResult{Structured: wrap(j)}, err
			}
			return &ToolResult{Structured: j}, nil
		}
	}
	s := mustSchema[Out](def)
	var is struct {
		Type any `json:"type"`
	}
	if err := json.Unmarshal(s, &is); err == nil && is.Type == "object" {
		if def.OutputSchema == nil {
			def.OutputSchema = s
		}
		return func(o Out) (*ToolResult, error) {
			j, err := json.Marshal(o)
			return &ToolResult{Structured: j}, err
		}
	}
	if def.OutputSchema == nil {
		def.OutputSchema = json.RawMessage(`{"type":"object","properties":{"result":` + string(s) + `},"required":["result"]}`)
	}
	return func(o Out) (*ToolResult, error) {
		j, err := json.Marshal(o)
		return &ToolResult{Structured: wrap(j)}, err
	}
}

func wrap(j []byte) json.RawMessage {
	b := make([]byte, 0, len(j)+12)
	b = append(b, `{"result":`...)
	b = append(b, j...)
	return append(b, '}')
}
