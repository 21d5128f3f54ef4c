package tools

import (
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/internal/mcptest"
)

// BenchmarkCall calls a tool, one call after the other: through this package, and with the SDK alone.
func BenchmarkCall(b *testing.B) {
	args := []byte(`{"text":"hello"}`)
	for name, conf := range map[string]Server{
		TransportStdio: stdio(b, mcptest.Serve),
		TransportHTTP:  {URL: mcptest.HTTP(b, mcptest.New(nil), nil)},
		TransportSSE:   {URL: mcptest.SSE(b, mcptest.New(nil), nil), Transport: TransportSSE},
	} {
		b.Run(name, func(b *testing.B) {
			s := one(b, &Options{Logger: quiet}, conf)
			for b.Loop() {
				if _, err := s.Call(b.Context(), &hostfns.ToolCall{Server: "x", Tool: "echo", Args: args}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	conf := stdio(b, mcptest.Serve)
	c := exec.Command(conf.Command)
	c.Env = []string{mcptest.Variable + "=" + mcptest.Serve}
	for name, t := range map[string]mcp.Transport{
		TransportStdio: &mcp.CommandTransport{Command: c},
		TransportHTTP:  &mcp.StreamableClientTransport{Endpoint: mcptest.HTTP(b, mcptest.New(nil), nil)},
	} {
		b.Run("SDK alone/"+name, func(b *testing.B) {
			cs, err := mcp.NewClient(&mcp.Implementation{Name: "x", Version: "1"}, nil).Connect(b.Context(), t, &mcp.ClientSessionOptions{ProtocolVersion: firstProtocol})
			if err != nil {
				b.Fatal(err)
			}
			defer cs.Close()
			for b.Loop() {
				p := &mcp.CallToolParams{Name: "echo", Arguments: map[string]string{"text": "hello"}}
				if _, err := cs.CallTool(b.Context(), p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkList lists 10,000 tools: from a server, and from the cache.
func BenchmarkList(b *testing.B) {
	dir := b.TempDir()
	s := one(b, &Options{Logger: quiet, CacheDir: dir}, stdio(b, "many-tools"))
	b.Run("server", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Refresh(b.Context(), "x"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cache", func(b *testing.B) {
		for b.Loop() {
			if l := s.servers["x"].loadListing(); l == nil {
				b.Fatal("there is none")
			}
		}
	})
}
