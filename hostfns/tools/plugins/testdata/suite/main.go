//go:build wasip1

// Command suite is a plug-in with the tools of internal/providertest, of the kind that has all tools behind one export, call,
// and speaks MCP's results.
package main

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"strings"
	"time"

	"github.com/mayfly-run/mayfly/examples/plugin/pdk"
)

func main() {}

// The test writes the definitions into the manifest's config.
//
//go:wasmexport describe
func describe() int32 { return pdk.Output([]byte(`{"tools": ` + pdk.Config("definitions") + `}`)) }

type object map[string]any

func text(s string) object { return object{"content": []object{{"type": "text", "text": s}}} }

//go:wasmexport call
func call() int32 {
	var req struct {
		Params struct {
			Name      string
			Arguments struct {
				Text, Message string
				A, B, Bytes   int
			}
		}
	}
	if err := json.Unmarshal(pdk.Input(), &req); err != nil {
		return pdk.Fail(err.Error())
	}
	a := req.Params.Arguments
	var out object
	switch req.Params.Name {
	case "echo":
		out = text(a.Text)
	case "add":
		out = object{"structuredContent": object{"sum": a.A + a.B}}
	case "fail":
		out = text(a.Message)
		out["isError"] = true
	case "slow":
		for n := 0; ; n++ {
			if n < 0 {
				return 1
			}
		}
	case "blocks":
		out = object{"content": []object{
			{"type": "text", "text": "zwölf"},
			{"type": "image", "data": []byte("\x89PNG\x00\xff"), "mimeType": "image/png"},
			{"type": "audio", "data": []byte{0, 1, 2}, "mimeType": "audio/wav"},
			{"type": "resource", "resource": object{"uri": "test://text", "text": "in a resource", "mimeType": "text/plain"}},
			{"type": "resource", "resource": object{"uri": "test://data", "blob": []byte{0xff, 0xfe}, "mimeType": "application/octet-stream"}},
			{"type": "resource_link", "uri": "test://link", "name": "a link"},
		}}
	case "big":
		out = text(strings.Repeat("x", a.Bytes))
	default:
		return pdk.Fail("there is no such tool")
	}
	b, err := json.Marshal(out)
	if err != nil {
		return pdk.Fail(err.Error())
	}
	return pdk.Output(b)
}

// What follows is not described; tests call it through a list of tools beside the plug-in.

//go:wasmexport config
func config() int32 { return pdk.Output([]byte(pdk.Config("token"))) }

//go:wasmexport crash
func crash() int32 { panic(string(pdk.Input())) }

//go:wasmexport counter
func counter() int32 {
	count++
	return pdk.Output([]byte(strings.Repeat("I", count)))
}

var count int

//go:wasmexport host
func host() int32 {
	now := time.Now()
	var b [16]byte
	_, _ = rand.Read(b[:])
	time.Sleep(time.Millisecond)
	out, _ := json.Marshal(object{
		"year": now.Year(), "slept": time.Since(now) >= time.Millisecond, "random": b[:], "args": len(os.Args), "env": len(os.Environ()),
	})
	return pdk.Output(out)
}

// files does what {"op", "path", "text"} says.
//
//go:wasmexport files
func files() int32 {
	var a struct{ Op, Path, Text string }
	if err := json.Unmarshal(pdk.Input(), &a); err != nil {
		return pdk.Fail(err.Error())
	}
	var b []byte
	var err error
	switch a.Op {
	case "read":
		b, err = os.ReadFile(a.Path)
	case "write":
		err = os.WriteFile(a.Path, []byte(a.Text), 0o644)
	case "link":
		err = os.Symlink(a.Text, a.Path)
	}
	if err != nil {
		return pdk.Fail(err.Error())
	}
	return pdk.Output(b)
}
