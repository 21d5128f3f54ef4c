// Package tools holds the example of tool servers, and the test that it works.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/tools"
	"github.com/mayfly-run/mayfly/internal/testcache"
)

// TestReport runs the program with servers of this process, which have the same tools as those of mcp.json.
func TestReport(t *testing.T) {
	text, err := os.ReadFile("mcp.json")
	if err != nil {
		t.Fatal(err)
	}
	c, err := tools.Parse(text, "")
	if err != nil || len(c.Warnings) > 0 {
		t.Fatal(err, c.Warnings)
	}
	substitutes := map[string]*hostfns.Tools{"filesystem": filesystem(), "everything": everything()}
	var providers []hostfns.Provider
	for name := range c.Servers {
		if substitutes[name] == nil {
			t.Fatalf("there is no substitute for %s", name)
		}
		providers = append(providers, substitutes[name])
	}
	h, err := hostfns.New(&hostfns.Options{Providers: providers})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	e, err := engine.New(t.Context(), &engine.Options{
		Guests: []engine.Guest{python.New()}, CacheDir: testcache.Dir(), ReadySandboxes: -1, Host: h,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	program, err := os.ReadFile("report.py")
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Run(t.Context(), engine.Request{Code: string(program), Filename: "report.py"})
	if err != nil || r.Status != engine.StatusOK {
		t.Fatalf("%v %+v %+v", err, r, r.Error)
	}
	want := `found: from tools.everything import get_sum
[FILE] notes.txt
2 notes
The sum of 1 and 2 is 3.
The sum of 3 and 4 is 7.
refused: filesystem read_text_file tool_failed
no summary: unavailable
`
	if r.Stdout != want {
		t.Errorf("it printed\n%s\nnot\n%s", r.Stdout, want)
	}
}

func text(s string) *hostfns.ToolResult {
	return &hostfns.ToolResult{Content: []hostfns.Block{{Type: hostfns.BlockText, Text: s}}}
}

var pathSchema = json.RawMessage(`{"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}`)

func filesystem() *hostfns.Tools {
	t := hostfns.NewTools("filesystem")
	add := func(name, description string, f func(path string) (string, error)) {
		t.Add(hostfns.Tool{Name: name, Description: description, InputSchema: pathSchema},
			func(_ context.Context, c *hostfns.ToolCall) (*hostfns.ToolResult, error) {
				var args struct{ Path string }
				if err := json.Unmarshal(c.Args, &args); err != nil {
					return nil, err
				}
				if strings.HasPrefix(args.Path, "/") {
					return nil, errors.New("access denied: path outside allowed directories")
				}
				s, err := f(args.Path)
				return text(s), err
			})
	}
	add("list_directory", "Lists what is in a directory.", func(string) (string, error) { return "[FILE] notes.txt", nil })
	add("read_text_file", "Reads a file as text.", func(path string) (string, error) {
		b, err := os.ReadFile(path)
		return string(b), err
	})
	return t
}

func everything() *hostfns.Tools {
	t := hostfns.NewTools("everything")
	t.Add(hostfns.Tool{
		Name: "get-sum", Description: "Returns the sum of two numbers",
		InputSchema: json.RawMessage(`{"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}`),
	}, func(_ context.Context, c *hostfns.ToolCall) (*hostfns.ToolResult, error) {
		var args struct{ A, B json.Number }
		if err := json.Unmarshal(c.Args, &args); err != nil {
			return nil, err
		}
		a, _ := args.A.Int64()
		b, _ := args.B.Int64()
		sum, err := json.Marshal(a + b)
		return text("The sum of " + args.A.String() + " and " + args.B.String() + " is " + string(sum) + "."), err
	})
	return t
}
