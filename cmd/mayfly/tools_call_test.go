package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns"
)

func TestValueWriter(t *testing.T) {
	blocks := &hostfns.Value{Kind: hostfns.ValueBlocks, Blocks: []hostfns.Block{
		{Type: hostfns.BlockText, Text: "a\x1b[2J"}, {Type: hostfns.BlockImage, Data: []byte("123"), MIMEType: "image/png"},
		{Type: hostfns.BlockLink, URI: "file:///x", Name: "x"}, {Type: hostfns.BlockResource, Text: "inside", URI: "mem:1"},
	}}
	for _, test := range []struct {
		name string
		v    *hostfns.Value
		o    valueWriter
		want string
	}{
		{"nothing", nil, valueWriter{}, ""},
		{"none", &hostfns.Value{Kind: hostfns.ValueNone}, valueWriter{}, ""},
		{"none as JSON", &hostfns.Value{Kind: hostfns.ValueNone}, valueWriter{raw: true}, "{\n  \"kind\": \"none\"\n}\n"},
		{"JSON", &hostfns.Value{Kind: hostfns.ValueJSON, Data: []byte(`{"a":[1]}`)}, valueWriter{}, "{\n  \"a\": [\n    1\n  ]\n}\n"},
		{"text", &hostfns.Value{Kind: hostfns.ValueText, Data: []byte("a\x1b\n")}, valueWriter{}, "a\x1b\n"},
		{"text at a terminal", &hostfns.Value{Kind: hostfns.ValueText, Data: []byte("a\x1b\nb")}, valueWriter{terminal: true}, "a\ufffd\nb\n"},
		{"bytes", &hostfns.Value{Kind: hostfns.ValueBytes, Data: []byte{0, 1}}, valueWriter{}, "[data, 2 B; --output FILE saves it]\n"},
		{"blocks", blocks, valueWriter{terminal: true}, "a\ufffd[2J\n[image image/png, 3 B; --output FILE saves it]\nx file:///x\ninside\n"},
	} {
		var b bytes.Buffer
		test.o.w = &b
		if err := test.o.write(test.v); err != nil || b.String() != test.want {
			t.Errorf("%s: %q, %v, want %q", test.name, b.String(), err, test.want)
		}
	}
	var b bytes.Buffer
	if err := (&valueWriter{w: &b, raw: true}).write(blocks); err != nil {
		t.Fatal(err)
	}
	var raw struct {
		Kind  string
		Value []struct {
			Type, Text, Mime, URI string
			Data                  []byte
		}
	}
	if err := json.Unmarshal(b.Bytes(), &raw); err != nil || len(raw.Value) != 4 || string(raw.Value[1].Data) != "123" || raw.Value[1].Mime != "image/png" {
		t.Errorf("%v %+v", err, raw)
	}
}

// TestValueFiles: data goes to the file, and more of it to files beside.
func TestValueFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	v := &hostfns.Value{Kind: hostfns.ValueBlocks, Blocks: []hostfns.Block{
		{Type: hostfns.BlockText, Text: "two images"}, {Type: hostfns.BlockImage, Data: []byte("one")}, {Type: hostfns.BlockImage, Data: []byte("two")},
	}}
	var b bytes.Buffer
	if err := (&valueWriter{w: &b, output: name}).write(v); err != nil {
		t.Fatal(err)
	}
	one, _ := os.ReadFile(name)
	two, _ := os.ReadFile(name + ".2")
	if string(one) != "one" || string(two) != "two" || b.Len() != 0 {
		t.Errorf("%q %q, and %q", one, two, &b)
	}
	if err := (&valueWriter{w: &b, output: filepath.Join(name, "below")}).write(v); err == nil || !strings.Contains(err.Error(), "below") {
		t.Errorf("a file that cannot be written: %v", err)
	}
}

func TestSplitRef(t *testing.T) {
	h, err := hostfns.New(&hostfns.Options{Providers: []hostfns.Provider{
		hostfns.NewTools("a"), hostfns.NewTools("b.c"), hostfns.NewTools("with-dash"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for ref, want := range map[string][2]string{
		"a": {"a", ""}, "a.x": {"a", "x"}, "b.c": {"b.c", ""}, "b.c.x": {"b.c", "x"}, "b.x": {"b", "x"}, "a.b.x": {"a", "b.x"},
		"with_dash.x": {"with_dash", "x"}, "with-dash.x.y": {"with-dash", "x.y"}, "none.x": {"none", "x"}, "none": {"none", ""}, "": {"", ""},
	} {
		if server, tool := splitRef(h, ref); server != want[0] || tool != want[1] {
			t.Errorf("%q is %q and %q", ref, server, tool)
		}
	}
}
