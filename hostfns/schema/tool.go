package schema

import (
	"encoding/json"
	"errors"
	"sync"
)

// Errors of CheckArgs and CheckResult. Both are reasons that errors.Is finds; the message is for whoever made the
// call.
var (
	// ErrInvalid means that a value does not match the schema, or is no JSON that can be sent.
	ErrInvalid = errors.New("does not match the schema")
	// ErrTooComplex means that a value is too large or too deep, or that checking it would take too long.
	ErrTooComplex = errors.New("too large or complex to check")
)

// Input is a tool as its server describes it. All of it is hostile.
type Input struct {
	Name, Title, Description string
	// InputSchema and OutputSchema are JSON schemas; nil: none.
	InputSchema, OutputSchema json.RawMessage
	// ReadOnly, Destructive, Idempotent and OpenWorld are hints. Nil: the server does not say.
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// Tool is a tool whose schemas are understood. It is safe for concurrent use.
type Tool struct {
	server, module, name string
	in                   Input

	parse    sync.Once
	args     *document
	result   *document
	describe sync.Once
	sig      *Signature
}

// Compile prepares the tools of a server. Module is the server's name in Python. Only the names are made at once, the
// rest of a tool when it is asked for: a server may have thousands. Nothing here fails: see Tool.Problem.
func Compile(server, module string, tools []Input) []*Tool {
	originals := make([]string, len(tools))
	for i := range tools {
		originals[i] = tools[i].Name
	}
	all := make([]Tool, len(tools))
	out := make([]*Tool, len(tools))
	for i, name := range PythonNames(originals) {
		t := &all[i]
		t.server, t.module, t.name, t.in = server, module, name, tools[i]
		out[i] = t
	}
	return out
}

// Server returns the original name of the tool's server, Module the one in Python.
func (t *Tool) Server() string { return t.server }

// Module returns the name of the server's module in Python.
func (t *Tool) Module() string { return t.module }

// Original returns the name that the server knows the tool by.
func (t *Tool) Original() string { return t.in.Name }

// Name returns the name of the function in Python.
func (t *Tool) Name() string { return t.name }

// schemas reads both schemas, once.
func (t *Tool) schemas() (args, result *document) {
	t.parse.Do(func() {
		t.args = readSchema(t.in.InputSchema)
		t.args.close()
		t.result = readSchema(t.in.OutputSchema)
	})
	return t.args, t.result
}

// Problem tells why a schema of the tool could not be used, in one line; empty when nothing is wrong. The tool can be
// called all the same: what is wrong is just not checked.
func (t *Tool) Problem() string {
	args, result := t.schemas()
	switch a, r := args.problem(), result.problem(); {
	case a != "":
		return "input schema: " + a
	case r != "":
		return "output schema: " + r
	default:
		return ""
	}
}
