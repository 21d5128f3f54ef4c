package plugins

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/mayfly-run/mayfly/hostfns"
)

// describe asks a plug-in what it has, or takes its exports.
func (p *plugin) describe(ctx context.Context) (*toolset, error) {
	if _, err := p.compile(ctx); err != nil {
		return nil, err
	}
	if !p.exports[exportDescribe] {
		set, err := toolsOf(p.exports)
		if err != nil {
			return nil, p.errorf(hostfns.CodeServer, "%s: %w", p.file, err)
		}
		return set, nil
	}
	rc, out, err := p.run(ctx, exportDescribe, nil, nil, min(describeTimeout, p.manifest.timeout(&p.owner.o)))
	switch {
	case err != nil:
		return nil, err
	case rc != 0:
		return nil, p.errorf(hostfns.CodeServer, "describe returned %d", rc)
	case len(out) > maxListing:
		return nil, p.errorf(hostfns.CodeTooLarge, "describe returned %d bytes; %d are allowed", len(out), maxListing)
	}
	set, err := parseTools(out)
	if err != nil {
		return nil, p.errorf(hostfns.CodeServer, "what describe returned: %w", err)
	}
	return set, nil
}

func (p *plugin) call(ctx context.Context, c *hostfns.ToolCall) (*hostfns.ToolResult, error) {
	set, err := p.tools(ctx)
	if err != nil {
		return nil, err
	}
	t := set.tools[c.Tool]
	if t == nil {
		return nil, p.errorf(hostfns.CodeUnknownTool, "it has no tool %q", clip(c.Tool))
	}
	if _, err := p.compile(ctx); err != nil {
		return nil, err
	}
	args := c.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	export, wrapped := t.export, false
	if export == "" {
		export = t.name
		if !p.exports[export] || export == exportDescribe || export == exportCall {
			if !p.exports[exportCall] {
				return nil, p.errorf(hostfns.CodeServer, "it exports neither %q nor %q", clip(t.name), exportCall)
			}
			export, wrapped = exportCall, true
		}
	}
	input := []byte(args)
	switch {
	case wrapped:
		params := map[string]any{"name": t.name, "arguments": args}
		input, err = json.Marshal(map[string]any{"method": "tools/call", "params": params})
	case t.free:
		input, err = freeInput(args)
	}
	if err != nil {
		return nil, p.errorf(hostfns.CodeInvalidArguments, "the arguments of %q: %w", clip(t.name), err)
	}
	rc, out, err := p.run(ctx, export, input, c.Emit, p.manifest.timeout(&p.owner.o))
	if err != nil {
		return nil, err
	}
	if rc != 0 {
		e := p.errorf(hostfns.CodeToolFailed, "%q returned %d", clip(t.name), int32(rc))
		if len(out) > 0 {
			e.Message += ": " + clip(string(out))
		}
		return nil, e
	}
	if wrapped {
		r, err := parseResult(out)
		if err != nil {
			return nil, p.errorf(hostfns.CodeInvalidResult, "what %q returned: %w", clip(t.name), err)
		}
		return r, nil
	}
	return result(out), nil
}

// freeInput is the argument "input" of a tool that has no description.
func freeInput(args json.RawMessage) ([]byte, error) {
	var a struct {
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	var text string
	if len(a.Input) > 0 && a.Input[0] == '"' && json.Unmarshal(a.Input, &text) == nil {
		return []byte(text), nil
	}
	return a.Input, nil
}

// result is what an export of its own returned.
func result(out []byte) *hostfns.ToolResult {
	if t := bytes.TrimSpace(out); len(t) > 0 && t[0] == '{' && utf8.Valid(t) && json.Valid(t) {
		return &hostfns.ToolResult{Structured: t}
	}
	if !utf8.Valid(out) {
		return &hostfns.ToolResult{Content: []hostfns.Block{
			{Type: hostfns.BlockResource, Data: out, MIMEType: "application/octet-stream"},
		}}
	}
	return &hostfns.ToolResult{Content: []hostfns.Block{{Type: hostfns.BlockText, Text: string(out)}}}
}

// parseResult reads a result as MCP has it.
func parseResult(out []byte) (*hostfns.ToolResult, error) {
	type content struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Data     []byte `json:"data"`
		MIMEType string `json:"mimeType"`
		URI      string `json:"uri"`
		Name     string `json:"name"`
		Title    string `json:"title"`
		Resource *struct {
			URI      string  `json:"uri"`
			MIMEType string  `json:"mimeType"`
			Text     *string `json:"text"`
			Blob     []byte  `json:"blob"`
		} `json:"resource"`
	}
	var r struct {
		Content    []content       `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    *bool           `json:"isError"`
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return nil, fmt.Errorf("no result as MCP has it: %s", clip(err.Error()))
	}
	if r.Content == nil && r.Structured == nil {
		return nil, fmt.Errorf("no result as MCP has it: there is no content")
	}
	res := &hostfns.ToolResult{IsError: r.IsError != nil && *r.IsError}
	if s := r.Structured; len(s) > 0 && string(s) != "null" {
		if s[0] != '{' {
			return nil, fmt.Errorf("structuredContent is not an object")
		}
		res.Structured = s
	}
	for i, c := range r.Content {
		b := hostfns.Block{Type: hostfns.BlockType(c.Type), MIMEType: c.MIMEType, Name: c.Name, Title: c.Title}
		switch c.Type {
		case "text":
			b.Text = c.Text
		case "image", "audio":
			b.Data = c.Data
		case "resource_link":
			b.Type, b.URI = hostfns.BlockLink, c.URI
		case "resource":
			if c.Resource == nil {
				return nil, fmt.Errorf("content[%d]: there is no resource", i)
			}
			b.URI, b.MIMEType, b.Data = c.Resource.URI, c.Resource.MIMEType, c.Resource.Blob
			if c.Resource.Text != nil {
				b.Text = *c.Resource.Text
			}
		default:
			return nil, fmt.Errorf("content[%d]: type %q is not known", i, clip(c.Type))
		}
		res.Content = append(res.Content, b)
	}
	return res, nil
}
