package tools_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/tools"
	"github.com/mayfly-run/mayfly/internal/mcptest"
)

func Example() {
	// A server, as somebody else may run it.
	server := mcptest.New(nil)
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	defer h.Close()

	config, err := tools.Parse([]byte(`{"mcpServers": {"calculator": {"url": "${URL}"}}}`), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	servers, err := tools.New(config, &tools.Options{Getenv: func(string) (string, bool) { return h.URL, true }})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer servers.Close()
	result, err := servers.Call(context.Background(), &hostfns.ToolCall{
		Server: "calculator", Tool: "add", Args: []byte(`{"a": 2, "b": 3}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(result.Structured))
	// Output: {"sum":5}
}
