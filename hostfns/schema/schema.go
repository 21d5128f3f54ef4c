// Package schema works with the JSON schemas of tools: it checks arguments, and tells how guest code sees a tool.
package schema

import "encoding/json"

// Signature is how guest code sees a tool. It is made on the host, so that guests need not parse schemas.
type Signature struct {
	// Server and Tool are the original names, Name is the function's in the guest's language.
	Server string  `json:"server"`
	Tool   string  `json:"tool"`
	Name   string  `json:"name"`
	Params []Param `json:"params"`
	// Extra tells that further arguments are allowed.
	Extra bool `json:"extra,omitempty"`
	// Returns is the annotation of the result.
	Returns string `json:"returns"`
	// Doc is the docstring: description, arguments, hints.
	Doc string `json:"doc"`
	// Unwrap names the one property of the structured result that is the value, empty when the whole is. MCP wants
	// structured results to be objects, so servers wrap what is none.
	Unwrap string `json:"-"`
}

// Param is a parameter. Those that are required come first.
type Param struct {
	// Name is that in the guest's language, Key the one in the schema.
	Name string `json:"name"`
	Key  string `json:"key"`
	// Type is the annotation: "str", "list[int] | None".
	Type     string `json:"type"`
	Required bool   `json:"required,omitempty"`
	// Default is the schema's, if any.
	Default json.RawMessage `json:"default,omitempty"`
	// Nullable tells that null is a value of its own; otherwise None of an optional parameter stands for "not given".
	Nullable bool   `json:"nullable,omitempty"`
	Doc      string `json:"doc,omitempty"`
}
