package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options of New.
type Options struct {
	// Cancelled is told when a call of the tool wait was cancelled.
	Cancelled func()
	// Waiting is told when the tool wait begins to wait.
	Waiting func()
	// PageSize is the number of tools on a page. Default: the SDK's.
	PageSize int
}

type (
	none   = struct{}
	call   = *mcp.CallToolRequest
	result = *mcp.CallToolResult
)

// New returns a server with tools for everything a tool can do.
func New(o *Options) *mcp.Server {
	if o == nil {
		o = &Options{}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "mcptest", Title: "Test server", Version: "1"},
		&mcp.ServerOptions{Instructions: "Call its tools.", PageSize: o.PageSize, Capabilities: &mcp.ServerCapabilities{
			Tools:   &mcp.ToolCapabilities{ListChanged: true},
			Logging: &mcp.LoggingCapabilities{}, //nolint:staticcheck // servers of today log this way
		}})
	yes, no := true, false
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Returns its argument.", Annotations: &mcp.ToolAnnotations{
		Title: "Echo", ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &yes,
	}}, func(_ context.Context, _ call, a struct {
		Text string `json:"text" jsonschema:"what to return"`
	}) (result, any, error) {
		return text(a.Text), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Adds two numbers."}, func(_ context.Context, _ call, a struct {
		A int `json:"a"`
		B int `json:"b"`
	}) (result, struct {
		Sum int `json:"sum"`
	}, error) {
		return nil, struct {
			Sum int `json:"sum"`
		}{a.A + a.B}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, call, none) (result, any, error) {
		return nil, nil, errors.New("it failed, as it should")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "environment"}, func(context.Context, call, none) (result, any, error) {
		dir, err := os.Getwd()
		if err != nil {
			return nil, nil, err
		}
		env := os.Environ()
		slices.Sort(env)
		b, err := json.Marshal(map[string]any{"env": env, "args": os.Args[1:], "dir": dir, "pid": os.Getpid()})
		return text(string(b)), nil, err
	})
	mcp.AddTool(s, &mcp.Tool{Name: "everything"}, everything)
	mcp.AddTool(s, &mcp.Tool{Name: "big"}, func(_ context.Context, _ call, a struct {
		Bytes int `json:"bytes"`
	}) (result, any, error) {
		return text(strings.Repeat("x", a.Bytes)), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ call, _ none) (result, any, error) {
		if o.Waiting != nil {
			o.Waiting()
		}
		<-ctx.Done()
		if o.Cancelled != nil {
			o.Cancelled()
		}
		return nil, nil, ctx.Err()
	})
	mcp.AddTool(s, &mcp.Tool{Name: "progress"}, tellProgress)
	mcp.AddTool(s, &mcp.Tool{Name: "exit"}, func(context.Context, call, none) (result, any, error) {
		fmt.Fprintln(os.Stderr, "mcptest: fatal: the tool exit was called")
		os.Exit(7)
		return nil, nil, nil
	})
	addElicitation(s)
	addChanging(s)
	return s
}

func text(s string) result {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// everything returns a block of every type.
func everything(context.Context, call, none) (result, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: "text"},
		&mcp.ImageContent{Data: []byte{0, 1, 2, 0xff}, MIMEType: "image/png"},
		&mcp.AudioContent{Data: []byte{3, 4}, MIMEType: "audio/wav"},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a.txt", MIMEType: "text/plain", Text: "a"}},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			URI: "file:///b.bin", MIMEType: "application/octet-stream", Blob: []byte{5, 6},
		}},
		&mcp.ResourceLink{URI: "file:///c", Name: "c", Title: "C", MIMEType: "text/plain"},
	}}, nil, nil
}

// tellProgress tells of progress, and logs.
func tellProgress(ctx context.Context, r call, a struct {
	Steps int `json:"steps"`
}) (result, any, error) {
	for i := range a.Steps {
		if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: float64(a.Steps),
			Message: fmt.Sprint("step ", i+1),
		}); err != nil {
			return nil, nil, err
		}
		//nolint:staticcheck // servers of today log this way
		log := &mcp.LoggingMessageParams{Level: "warning", Logger: "test", Data: map[string]int{"step": i + 1}}
		if err := r.Session.Log(ctx, log); err != nil { //nolint:staticcheck // as above
			return nil, nil, err
		}
	}
	return text("done"), nil, nil
}

func addElicitation(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r call, _ none) (result, any, error) {
		reply, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who are you?", RequestedSchema: &jsonschema.Schema{
			Type: "object", Required: []string{"name"}, Properties: map[string]*jsonschema.Schema{
				"name": {Type: "string"}, "age": {Type: "integer", Default: json.RawMessage("42")},
			},
		}})
		if err != nil {
			return nil, nil, err
		}
		b, err := json.Marshal(reply.Content)
		return text(reply.Action + " " + string(b)), nil, err
	})
	// This one asks as newer protocols have it: the result is a question, and the call is made again with the answer.
	mcp.AddTool(s, &mcp.Tool{Name: "ask_later"}, func(_ context.Context, r call, _ none) (result, any, error) {
		reply, ok := r.Params.InputResponses["colour"].(*mcp.ElicitResult)
		if !ok {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"colour": &mcp.ElicitParams{
				Message: "Which colour?", RequestedSchema: &jsonschema.Schema{
					Type: "object", Properties: map[string]*jsonschema.Schema{"colour": {Type: "string", Default: json.RawMessage(`"red"`)}},
				},
			}}}, nil, nil
		}
		return text(fmt.Sprint(reply.Action, " ", reply.Content["colour"])), nil, nil
	})
	var mu sync.Mutex
	visited := map[string]bool{}
	mcp.AddTool(s, &mcp.Tool{Name: "visit"}, func(ctx context.Context, r call, _ none) (result, any, error) {
		id := "visit-" + r.Session.ID()
		mu.Lock()
		defer mu.Unlock()
		if visited[id] {
			return text("visited"), nil, nil
		}
		visited[id] = true
		return nil, nil, mcp.URLElicitationRequiredError([]*mcp.ElicitParams{
			{Mode: "url", Message: "Sign in", URL: "https://example.com/sign-in", ElicitationID: id},
		})
	})
}

// addChanging adds tools that add and remove tools.
func addChanging(s *mcp.Server) {
	type name struct {
		Name string `json:"name"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "add_tool"}, func(_ context.Context, _ call, a name) (result, any, error) {
		mcp.AddTool(s, &mcp.Tool{Name: a.Name}, func(context.Context, call, none) (result, any, error) {
			return text(a.Name), nil, nil
		})
		return text("added"), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "remove_tool"}, func(_ context.Context, _ call, a name) (result, any, error) {
		s.RemoveTools(a.Name)
		return text("removed"), nil, nil
	})
}
