//go:build wasip1

// Command plugin is an Extism plug-in with two tools for texts. Built into a directory of plug-ins, it is the tool
// server "text":
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o plugins/text.wasm ./examples/plugin
//
// In a sandbox it is then, for example,
//
//	from tools.text import count
//	print(count(text="one two"))  # {'lines': 1, 'words': 2, 'characters': 7}
//
// A plug-in says what it has through its export "describe". Every other export is a tool: it gets the arguments as a
// JSON object, and returns JSON or text.
package main

import (
	_ "embed"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mayfly-run/mayfly/examples/plugin/pdk"
)

//go:embed tools.json
var tools []byte

func main() {} // never called: the plug-in is a library

//go:wasmexport describe
func describe() int32 { return pdk.Output(tools) }

//go:wasmexport count
func count() int32 {
	var args struct{ Text string }
	if err := json.Unmarshal(pdk.Input(), &args); err != nil {
		return pdk.Fail(err.Error())
	}
	out, err := json.Marshal(map[string]int{
		"lines":      strings.Count(args.Text, "\n") + 1,
		"words":      len(strings.Fields(args.Text)),
		"characters": utf8.RuneCountInString(args.Text),
	})
	if err != nil {
		return pdk.Fail(err.Error())
	}
	return pdk.Output(out)
}

//go:wasmexport slug
func slug() int32 {
	args := struct {
		Title string
		Max   int
	}{Max: 60}
	if err := json.Unmarshal(pdk.Input(), &args); err != nil {
		return pdk.Fail(err.Error())
	}
	words := strings.FieldsFunc(strings.ToLower(args.Title), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	var s string
	for _, w := range words {
		if s == "" {
			s = w
		} else if len(s)+1+len(w) <= args.Max {
			s += "-" + w
		} else {
			pdk.Log("the title was cut")
			break
		}
	}
	if s == "" {
		return pdk.Fail("the title has neither letters nor digits")
	}
	return pdk.Output([]byte(s))
}
