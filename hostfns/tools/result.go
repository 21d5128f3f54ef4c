package tools

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mayfly-run/mayfly/hostfns"
)

// maxBlocks bounds the blocks of a result: each costs much more memory than its bytes.
const maxBlocks = 100_000

// content is a block as servers write it.
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MIMEType string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	Resource *struct {
		URI      string  `json:"uri"`
		MIMEType string  `json:"mimeType"`
		Text     string  `json:"text"`
		Blob     *string `json:"blob"`
	} `json:"resource"`
}

// readResult reads what a tool returned.
func readResult(raw json.RawMessage) (*hostfns.ToolResult, error) {
	var r struct {
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
		// ToolResult is how servers of the first protocol answer.
		ToolResult json.RawMessage `json:"toolResult"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, invalid("the result makes no sense: %.500s", err)
	}
	blocks, err := elements(r.Content, maxBlocks)
	if err != nil {
		return nil, invalid("the content of the result: %w", err)
	}
	out := &hostfns.ToolResult{IsError: r.IsError, Structured: compact(r.Structured)}
	if out.Structured != nil && out.Structured[0] != '{' {
		return nil, invalid("the structured result is no object, but %s", kindOf(out.Structured))
	}
	for i, b := range blocks {
		block, err := readBlock(b)
		if err != nil {
			return nil, invalid("content[%d] of the result: %w", i, err)
		}
		out.Content = append(out.Content, block)
	}
	if blocks == nil && out.Structured == nil && len(r.ToolResult) > 0 {
		out.Content = []hostfns.Block{{Type: hostfns.BlockText, Text: string(r.ToolResult)}}
	}
	return out, nil
}

func invalid(format string, args ...any) error {
	e := hostfns.Errorf(hostfns.CodeInvalidResult, format, args...)
	e.Hint = "the tool ran, and may have had effects"
	return e
}

func readBlock(raw json.RawMessage) (b hostfns.Block, err error) {
	var c content
	if err := json.Unmarshal(raw, &c); err != nil {
		return b, err
	}
	b = hostfns.Block{MIMEType: c.MIMEType}
	switch c.Type {
	case "text":
		b.Type, b.Text = hostfns.BlockText, c.Text
	case "image", "audio":
		if b.Type = hostfns.BlockImage; c.Type == "audio" {
			b.Type = hostfns.BlockAudio
		}
		b.Data, err = decodeBase64(c.Data)
	case "resource_link":
		b.Type, b.URI, b.Name, b.Title = hostfns.BlockLink, c.URI, c.Name, c.Title
	case "resource":
		if c.Resource == nil {
			return b, fmt.Errorf("there is no resource in it")
		}
		b.Type, b.URI, b.MIMEType, b.Text = hostfns.BlockResource, c.Resource.URI, c.Resource.MIMEType, c.Resource.Text
		if c.Resource.Blob != nil {
			b.Text = ""
			b.Data, err = decodeBase64(*c.Resource.Blob)
		}
	default:
		// Something newer than this program: better shown as it is than lost.
		b = hostfns.Block{Type: hostfns.BlockText, Text: string(raw)}
	}
	return b, err
}

// decodeBase64 decodes what servers take for base64: with or without padding, of either alphabet, with line breaks.
func decodeBase64(s string) ([]byte, error) {
	if strings.ContainsAny(s, " \r\n\t") {
		s = strings.NewReplacer(" ", "", "\r", "", "\n", "", "\t", "").Replace(s)
	}
	s = strings.TrimRight(s, "=")
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		encoding = base64.RawURLEncoding
	}
	b, err := encoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("its data is no base64: %w", err)
	}
	return b, nil
}
