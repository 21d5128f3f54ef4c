package plugins

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mayfly-run/mayfly/hostfns"
)

const (
	maxListing = 16 << 20
	maxTools   = 10_000
	maxName    = 256
)

// Exports that are not tools of their own.
const (
	exportDescribe = "describe"
	exportCall     = "call"
)

// toolset is what a plug-in has.
type toolset struct {
	listing *hostfns.Listing
	tools   map[string]*tool
}

type tool struct {
	name   string
	export string // that the listing names, perhaps none
	// free tells that there is no description: what it is called with is the argument "input" alone.
	free bool
}

// parseTools reads NAME.tools.json or what describe returned: a list of tools, or an object with one.
func parseTools(b []byte) (*toolset, error) {
	type described struct {
		hostfns.Tool
		Export string `json:"export,omitempty"`
	}
	var all struct {
		Title        string      `json:"title,omitempty"`
		Instructions string      `json:"instructions,omitempty"`
		Tools        []described `json:"tools"`
	}
	var err error
	if t := bytes.TrimLeft(b, " \t\r\n"); len(t) > 0 && t[0] == '[' {
		err = json.Unmarshal(b, &all.Tools)
	} else {
		err = json.Unmarshal(b, &all)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("no list of tools: %s", clip(err.Error()))
	case len(all.Tools) == 0:
		return nil, errors.New("it lists no tools")
	case len(all.Tools) > maxTools:
		return nil, fmt.Errorf("it lists more than %d tools", maxTools)
	}
	t := &toolset{
		listing: &hostfns.Listing{Title: all.Title, Instructions: all.Instructions},
		tools:   make(map[string]*tool, len(all.Tools)),
	}
	for i := range all.Tools {
		d := &all.Tools[i]
		if d.Name == "" || len(d.Name) > maxName || !utf8.ValidString(d.Name) {
			return nil, fmt.Errorf("tools[%d]: its name is missing, or longer than %d bytes", i, maxName)
		}
		if t.tools[d.Name] != nil {
			return nil, fmt.Errorf("tools[%d]: there are two tools %q", i, clip(d.Name))
		}
		for _, s := range []struct {
			field  string
			schema *json.RawMessage
		}{{"inputSchema", &d.InputSchema}, {"outputSchema", &d.OutputSchema}} {
			if string(*s.schema) == "null" {
				*s.schema = nil
			}
			if len(*s.schema) > 0 && (*s.schema)[0] != '{' {
				return nil, fmt.Errorf("tools[%d]: %s has to be an object", i, s.field)
			}
		}
		t.tools[d.Name] = &tool{name: d.Name, export: d.Export}
		t.listing.Tools = append(t.listing.Tools, &d.Tool)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	t.listing.Version = version(text)
	return t, nil
}

func version(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

var freeSchema = json.RawMessage(`{"type":"object","properties":{"input":{"description":"What the plug-in gets: text as it is, ` +
	`anything else as JSON. Nothing means no input."}},"additionalProperties":false}`)

// toolsOf are the tools of a plug-in that describes none: what it exports that can be called.
func toolsOf(exports map[string]bool) (*toolset, error) {
	t := &toolset{listing: &hostfns.Listing{}, tools: map[string]*tool{}}
	for _, name := range slices.Sorted(maps.Keys(exports)) {
		// What compilers and their libraries export for themselves.
		if strings.HasPrefix(name, "_") || strings.HasPrefix(name, "asyncify_") || strings.HasPrefix(name, "hs_") ||
			name == exportCall || name == exportDescribe || len(name) > maxName || !utf8.ValidString(name) {
			continue
		}
		if len(t.tools) == maxTools {
			return nil, fmt.Errorf("it exports more than %d functions", maxTools)
		}
		t.tools[name] = &tool{name: name, export: name, free: true}
		t.listing.Tools = append(t.listing.Tools, &hostfns.Tool{Name: name, InputSchema: freeSchema})
	}
	if len(t.tools) == 0 {
		return nil, errors.New("it has no tools: nothing that it exports is a function without parameters")
	}
	text, err := json.Marshal(t.listing.Tools)
	if err != nil {
		return nil, err
	}
	t.listing.Version = version(text)
	return t, nil
}

// clip bounds a text that comes from a plug-in, for a message.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	const most = 2048
	if len(s) <= most {
		return s
	}
	n := most
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + " ..."
}
