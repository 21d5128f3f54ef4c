// Command mcpconformance is the client that the MCP conformance suite tests: package tools, which calls every tool of the
// server that the last argument names. Answers to the server's questions are accepted as they are proposed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/tools"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: mcpconformance URL")
		os.Exit(2)
	}
	if err := run(os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "mcpconformance:", err)
		os.Exit(1)
	}
}

const server = "server"

func run(url string) (err error) {
	s, err := tools.New(&tools.Config{Servers: map[string]tools.Server{server: {URL: url}}}, &tools.Options{
		ClientName: "mayfly-conformance", Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	l, err := s.Tools(ctx, server)
	if err != nil {
		return err
	}
	for _, t := range l.Tools {
		args, err := example(t.InputSchema)
		if err != nil {
			return fmt.Errorf("the schema of %s: %w", t.Name, err)
		}
		r, err := s.Call(ctx, &hostfns.ToolCall{
			Server: server, Tool: t.Name, Args: args,
			Emit: func(e hostfns.Event) { fmt.Println(e.Kind, string(e.Data)) },
			Ask: func(_ context.Context, q *hostfns.Question) (*hostfns.Reply, error) {
				fmt.Println("question:", q.Message, string(q.Schema))
				return &hostfns.Reply{Action: hostfns.ActionAccept}, nil
			},
		})
		if err != nil {
			return fmt.Errorf("the tool %s: %w", t.Name, err)
		}
		fmt.Printf("%s: %+v\n", t.Name, r)
	}
	return nil
}

// example returns arguments for a schema.
func example(schema json.RawMessage) (json.RawMessage, error) {
	var s struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	if len(schema) > 0 {
		if err := json.Unmarshal(schema, &s); err != nil {
			return nil, err
		}
	}
	args := map[string]any{}
	for name, p := range s.Properties {
		switch p.Type {
		case "number", "integer":
			args[name] = 5
		case "boolean":
			args[name] = true
		case "string":
			args[name] = "text"
		}
	}
	return json.Marshal(args)
}
