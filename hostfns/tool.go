package hostfns

import (
	"context"
	"encoding/json"
)

// Provider has tools, grouped by servers. Implementations are safe for concurrent use.
type Provider interface {
	// Servers returns the names of its servers, sorted. It is instant: no server is started for it.
	Servers() []string
	// Tools returns what a server has. It may start the server, when there is no listing in a cache. A server that cannot be
	// listed is an error, never an empty listing.
	Tools(ctx context.Context, server string) (*Listing, error)
	// Call calls a tool. The error is a *ToolError, or one of ctx. A result with IsError is none: the caller decides.
	Call(ctx context.Context, c *ToolCall) (*ToolResult, error)
	// Close ends all servers, with their process trees, and waits for that.
	Close() error
}

// Refresher is implemented by providers that cache listings.
type Refresher interface {
	// Refresh lists a server anew, past the cache.
	Refresh(ctx context.Context, server string) (*Listing, error)
}

// Listing is the tools of a server at some time. It does not change once it is returned.
type Listing struct {
	// Version is different when the tools are: a hash of them.
	Version string
	// Title and Instructions are what the server says of itself, both optional.
	Title, Instructions string
	Tools               []*Tool
}

// Tool describes a tool, as MCP does. It does not change once it is returned.
type Tool struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// InputSchema is a JSON schema of an object. None means that it takes no arguments.
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	// OutputSchema is a JSON schema of the structured result, optional.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  Annotations     `json:"annotations,omitzero"`
}

// Annotations are hints of the tool's server, as in MCP. Nil: it does not say.
type Annotations struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

// ToolCall is a call of a tool.
type ToolCall struct {
	Server, Tool string
	// Args is a JSON object. It was checked against the tool's schema.
	Args json.RawMessage
	// Emit is told of progress and log messages while the call runs; nil: nobody listens. It may be called from any goroutine
	// until Call returns.
	Emit func(Event)
	// Ask asks a person (elicitation); nil: there is nobody to ask, which counts as declined.
	Ask func(ctx context.Context, q *Question) (*Reply, error)
}

// ToolResult is what a tool returned. Whoever returned it must not change it any more: large ones are kept.
type ToolResult struct {
	Content    []Block
	Structured json.RawMessage // a JSON object, nil if there is none
	// IsError tells that the tool failed; Content says how.
	IsError bool
}

// BlockType says what a Block is.
type BlockType string

// Types of blocks.
const (
	BlockText     BlockType = "text"
	BlockImage    BlockType = "image"
	BlockAudio    BlockType = "audio"
	BlockResource BlockType = "resource" // embedded: Text or Data, with a URI
	BlockLink     BlockType = "link"     // a URI alone
)

// Block is a piece of a tool's result.
type Block struct {
	Type     BlockType
	Text     string
	Data     []byte
	MIMEType string
	URI      string
	Name     string
	Title    string
}

// EventKind says what an Event tells.
type EventKind string

// Kinds of events.
const (
	EventProgress EventKind = "tool_progress" // Data: {"server", "tool", "progress", "total", "message"}
	EventLog      EventKind = "tool_log"      // Data: {"server", "level", "logger", "data"}
	EventModel    EventKind = "llm"           // Data: {"call", "delta"}
	EventQuestion EventKind = "question"      // Data: a Question; somebody has to reply to it
	EventReplied  EventKind = "replied"       // Data: {"id", "action"}
)

// Event is something that happened during a host call.
type Event struct {
	Kind EventKind       `json:"kind"`
	Data json.RawMessage `json:"data"`
}
