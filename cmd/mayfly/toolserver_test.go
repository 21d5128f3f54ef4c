package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolServer is the command `toolserver [FLAG...]`: an MCP server on its standard streams. The flag -broken makes it end
// before it says anything; -log FILE appends a line to the file for each start and each call.
func toolServer(args []string) int {
	if slices.Contains(args, "-broken") {
		fmt.Fprintln(os.Stderr, "toolserver: it is broken")
		return 1
	}
	note := func(string) {}
	if i := slices.Index(args, "-log"); i >= 0 {
		note = func(line string) {
			f, err := os.OpenFile(args[i+1], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
			if err != nil {
				panic(err)
			}
			defer f.Close()
			fmt.Fprintln(f, line)
		}
	}
	note("start")
	s := mcp.NewServer(&mcp.Implementation{Name: "toolserver", Version: "1"}, nil)
	addToolServerTools(s, note)
	defer note("end")
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil && !errors.Is(err, context.Canceled) {
		return 1
	}
	return 0
}

type numbers struct {
	A int `json:"a" jsonschema:"the first number"`
	B int `json:"b" jsonschema:"the second number"`
}

type sum struct {
	Sum int `json:"sum"`
}

type named struct {
	Name string `json:"name"`
}

func addToolServerTools(s *mcp.Server, note func(string)) {
	text := func(t string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: t}}}
	}
	mcp.AddTool(s, &mcp.Tool{
		Name: "add-numbers", Description: "Adds two numbers.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, func(_ context.Context, _ *mcp.CallToolRequest, n numbers) (*mcp.CallToolResult, sum, error) {
		note("add-numbers")
		return nil, sum{n.A + n.B}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "write_note", Description: "Writes a note.\nIt changes something."},
		func(_ context.Context, _ *mcp.CallToolRequest, n named) (*mcp.CallToolResult, any, error) {
			note("write_note " + n.Name)
			return text("noted " + n.Name), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "fail", Description: "Always fails."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			r := text("it failed \x1b[31mon purpose")
			r.IsError = true
			return r, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "picture", Description: "Returns an image."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			var b bytes.Buffer
			if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
				return nil, nil, err
			}
			r := text("a picture:")
			r.Content = append(r.Content, &mcp.ImageContent{Data: b.Bytes(), MIMEType: "image/png"})
			return r, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "work", Description: "Tells of its progress."},
		func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			if token := r.Params.GetProgressToken(); token != nil {
				err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: token, Progress: 1, Total: 2, Message: "half-way",
				})
				if err != nil {
					return nil, nil, err
				}
			}
			return text("done"), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "environment", Description: "Returns its environment."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			all := os.Environ()
			slices.Sort(all)
			dir, err := os.Getwd()
			return text(strings.Join(append(all, "cwd="+dir), "\n")), nil, err
		})
	mcp.AddTool(s, &mcp.Tool{Name: "greet", Description: "Asks for a name."},
		func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who is there?", RequestedSchema: map[string]any{
				"type": "object", "required": []string{"name"}, "properties": map[string]any{
					"name":  map[string]any{"type": "string", "minLength": 2},
					"age":   map[string]any{"type": "integer", "minimum": 0},
					"happy": map[string]any{"type": "boolean", "default": true},
				},
			}})
			if err != nil {
				return nil, nil, err
			}
			return text(fmt.Sprintf("%s %v %v %v", res.Action, res.Content["name"], res.Content["age"], res.Content["happy"])), nil, nil
		})
}
