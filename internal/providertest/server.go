// Package providertest has the conformance suite of hostfns.Provider. Each implementation serves the same few tools, and runs
// Suite against them.
package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mayfly-run/mayfly/hostfns"
)

// Names of the tools.
const (
	Echo     = "echo"     // {"text"}: a text block with it
	Add      = "add"      // {"a", "b"}: structured {"sum"}
	Fail     = "fail"     // {"message"}: a failure with that text
	Slow     = "slow"     // {}: waits until it is cancelled
	Blocks   = "blocks"   // {}: the blocks of SomeBlocks
	Big      = "big"      // {"bytes"}: a text block of so many x
	Progress = "progress" // {"steps"}: tells of progress so often
	Ask      = "ask"      // {"message"}: asks a person for {"name"}; text: the action, a space, the name
)

// Definitions returns the tools that a server under test has.
func Definitions() []*hostfns.Tool {
	yes := true
	def := func(name, text, input string) *hostfns.Tool {
		return &hostfns.Tool{Name: name, Description: text, InputSchema: json.RawMessage(input)}
	}
	text := `{"type":"object","properties":{"%s":{"type":"string"}},"required":["%[1]s"]}`
	number := `{"type":"object","properties":{"%s":{"type":"integer","minimum":0}},"required":["%[1]s"]}`
	echo := def(Echo, "Returns the text.", fmt.Sprintf(text, "text"))
	echo.Annotations = hostfns.Annotations{ReadOnly: &yes, Idempotent: &yes}
	add := def(Add, "Adds two numbers.",
		`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`)
	add.OutputSchema = json.RawMessage(`{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}`)
	return []*hostfns.Tool{
		echo, add,
		def(Fail, "Fails.", fmt.Sprintf(text, "message")),
		def(Slow, "Never returns.", `{"type":"object"}`),
		def(Blocks, "Returns blocks.", `{"type":"object"}`),
		def(Big, "Returns a large text.", fmt.Sprintf(number, "bytes")),
		def(Progress, "Tells of progress.", fmt.Sprintf(number, "steps")),
		def(Ask, "Asks a person.", fmt.Sprintf(text, "message")),
	}
}

// SomeBlocks is what the tool Blocks returns.
func SomeBlocks() []hostfns.Block {
	return []hostfns.Block{
		{Type: hostfns.BlockText, Text: "zwölf"},
		{Type: hostfns.BlockImage, Data: []byte("\x89PNG\x00\xff"), MIMEType: "image/png"},
		{Type: hostfns.BlockAudio, Data: []byte{0, 1, 2}, MIMEType: "audio/wav"},
		{Type: hostfns.BlockResource, URI: "test://text", Text: "in a resource", MIMEType: "text/plain"},
		{Type: hostfns.BlockResource, URI: "test://data", Data: []byte{0xff, 0xfe}, MIMEType: "application/octet-stream"},
		{Type: hostfns.BlockLink, URI: "test://link", Name: "a link"},
	}
}

// AskSchema is the schema of what the tool Ask wants to know.
const AskSchema = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`

// Serve is the tools in Go, for servers that can use it.
func Serve(ctx context.Context, c *hostfns.ToolCall) (*hostfns.ToolResult, error) {
	var a struct {
		Text, Message      string
		A, B, Bytes, Steps int
	}
	if err := json.Unmarshal(c.Args, &a); err != nil {
		return nil, err
	}
	switch c.Tool {
	case Echo:
		return textResult(a.Text), nil
	case Add:
		return &hostfns.ToolResult{Structured: json.RawMessage(fmt.Sprintf(`{"sum":%d}`, a.A+a.B))}, nil
	case Fail:
		r := textResult(a.Message)
		r.IsError = true
		return r, nil
	case Slow:
		<-ctx.Done()
		return nil, ctx.Err()
	case Blocks:
		return &hostfns.ToolResult{Content: SomeBlocks()}, nil
	case Big:
		return textResult(strings.Repeat("x", a.Bytes)), nil
	case Progress:
		for i := range a.Steps {
			if c.Emit != nil {
				data := fmt.Sprintf(`{"server":%q,"tool":%q,"progress":%d,"total":%d}`, c.Server, c.Tool, i+1, a.Steps)
				c.Emit(hostfns.Event{Kind: hostfns.EventProgress, Data: json.RawMessage(data)})
			}
		}
		return textResult("done"), nil
	case Ask:
		return serveAsk(ctx, c, a.Message)
	}
	return nil, errors.New("there is no such tool")
}

func serveAsk(ctx context.Context, c *hostfns.ToolCall, message string) (*hostfns.ToolResult, error) {
	if c.Ask == nil {
		return textResult(hostfns.ActionDecline + " "), nil
	}
	r, err := c.Ask(ctx, &hostfns.Question{Message: message, Schema: json.RawMessage(AskSchema)})
	if err != nil {
		return nil, err
	}
	var content struct{ Name string }
	if r.Action == hostfns.ActionAccept {
		if err := json.Unmarshal(r.Content, &content); err != nil {
			return nil, err
		}
	}
	return textResult(r.Action + " " + content.Name), nil
}

func textResult(text string) *hostfns.ToolResult {
	return &hostfns.ToolResult{Content: []hostfns.Block{{Type: hostfns.BlockText, Text: text}}}
}
