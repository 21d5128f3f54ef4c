package tools

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	c, err := Parse([]byte("\xef\xbb\xbf"+`{ // as editors write it
  "$schema": "x", /* and
  more */ "inputs": [],
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "server", "//no comment", "/*nor this*/",], "env": {"A": "1",}, "cwd": "sub"},
    "a \"b\"\u00e9": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
    "u1": {"transport": "streamable-http", "url": "http://a"}, "u2": {"type": "streamable_http", "url": "http://a"},
    "sse": {"type": "sse", "url": "http://a", "timeout": 1.5, "startTimeout": "2m", "idleTimeout": "1h", "description": "d"},
    "plain": {"url": "http://a"}, "off": {"disabled": true}, "stdio": {"type": "stdio", "command": "x", "disabled": false, "alwaysAllow": []},
  },
  "other": 1,
}
`), "/conf/.vscode/mcp.json")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Server{
		"files":    {Transport: TransportStdio, Command: "npx", Args: []string{"-y", "server", "//no comment", "/*nor this*/"}, Env: map[string]string{"A": "1"}, Cwd: "sub"},
		"a \"b\"é": {Transport: TransportHTTP, URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer ${TOKEN}"}},
		"u1":       {Transport: TransportHTTP, URL: "http://a"},
		"u2":       {Transport: TransportHTTP, URL: "http://a"},
		"sse":      {Transport: TransportSSE, URL: "http://a", CallTimeout: 1500 * time.Millisecond, StartTimeout: 2 * time.Minute, IdleTimeout: time.Hour},
		"plain":    {Transport: TransportHTTP, URL: "http://a"},
		"stdio":    {Transport: TransportStdio, Command: "x"},
	}
	if !reflect.DeepEqual(c.Servers, want) {
		t.Errorf("%+v", c.Servers)
	}
	if c.Dir != "/conf" {
		t.Errorf("%q", c.Dir)
	}
	if len(c.Warnings) != 2 || !strings.Contains(c.Warnings[0], `/conf/.vscode/mcp.json:9: server "stdio": the field "alwaysAllow" is not known`) ||
		!strings.Contains(c.Warnings[1], `:11: the field "other" is not known`) {
		t.Errorf("%q", c.Warnings)
	}
	for _, text := range []string{
		`{"servers": {"x": {"command": "y"}}}`, `{"mcp": {"servers": {"x": {"command": "y"}}}}`, `{"mcp": {"mcpServers": {"x": {"command": "y"}}}}`,
	} {
		if c, err := Parse([]byte(text), ""); err != nil || c.Servers["x"].Command != "y" || c.Dir != "" {
			t.Errorf("%s: %+v, %v", text, c, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                                     `f.json:1: it is no valid JSON`,
		"{\n\n\"a\": }":                        `f.json:3: it is no valid JSON`,
		`{} {}`:                                `something follows the JSON value`,
		`[]`:                                   `a list where an object {...} is expected`,
		`null`:                                 `null where an object {...} is expected`,
		`{}`:                                   `there is no field "mcpServers"`,
		`{"mcp": {}}`:                          `there is no field "mcpServers"`,
		`{"mcpServers": []}`:                   `f.json:1: mcpServers: a list where an object {...} is expected`,
		`{"mcpServers": {}, "servers": {}}`:    `the servers are under "mcpServers" already`,
		`{"mcpServers": {}, "mcpServers": {}}`: `it is there twice`,
		`{"inputs": [{"id": "x"}], "servers": {}}`:                   `prompts for inputs are not supported; use ${VARIABLE}`,
		`{"servers": {"x": 1}}`:                                      `server "x": a number where an object {...} is expected`,
		`{"servers": {"x": {}, "x": {}}}`:                            `it is there twice`,
		`{"servers": {"": {"command": "x"}}}`:                        `the name of a server has 1 to 512 bytes`,
		`{"servers": {"a\nb": {"command": "x"}}}`:                    `the name of a server has 1 to 512 bytes`,
		`{"servers": {"\ud800": {"command": "x"}}}`:                  `the name of a server has 1 to 512 bytes`,
		`{"servers": {"x": {}}}`:                                     `server "x": it has no command, and no url`,
		`{"servers": {"x": {"type": "http"}}}`:                       `it has no command, and no url`,
		`{"servers": {"x": {"type": "stdio", "url": "http://a"}}}`:   `it has no command`,
		`{"servers": {"x": {"command": "y", "url": "http://a"}}}`:    `it has a command and a url`,
		`{"servers": {"x": {"type": "ws", "url": "http://a"}}}`:      `"ws" is none of stdio, streamable-http (or http) and sse`,
		`{"servers": {"x": {"type": "sse", "transport": "sse"}}}`:    `there is another one, type`,
		`{"servers": {"x": {"command": 1}}}`:                         `server "x": command: a number where a string is expected`,
		`{"servers": {"x": {"command": ["y", "z"]}}}`:                `command: a list where a string is expected`,
		`{"servers": {"x": {"command": null}}}`:                      `command: null where a string is expected`,
		"{\"servers\": {\"x\": {\"command\": \"y\",\n\"args\": 5}}}": `f.json:2: server "x": args: a number where a list of strings is expected`,
		`{"servers": {"x": {"args": [1]}}}`:                          `args: a list of something else where a list of strings is expected`,
		`{"servers": {"x": {"args": "a"}}}`:                          `args: a string where a list of strings is expected`,
		`{"servers": {"x": {"env": {"A": 1}}}}`:                      `env.A: a number where a string is expected`,
		`{"servers": {"x": {"env": ["A=1"]}}}`:                       `env: a list where an object {...} is expected`,
		`{"servers": {"x": {"command": "y", "env": {"A=B": "1"}}}}`:  `"A=B" is no name of a variable`,
		`{"servers": {"x": {"disabled": "yes"}}}`:                    `disabled: a string where true or false is expected`,
		`{"servers": {"x": {"timeout": true}}}`:                      `timeout: true or false where a time is expected: seconds, or "30s"`,
		`{"servers": {"x": {"timeout": "soon"}}}`:                    `"soon" is no time`,
		`{"servers": {"x": {"timeout": -1}}}`:                        `a time is more than 0`,
		`{"servers": {"x": {"timeout": 600000}}}`:                    `it is in seconds, and more than a day`,
		`{"servers": {"x": {"envFile": ".env"}}}`:                    `it is not supported; put variables into env`,
	} {
		c, err := Parse([]byte(text), "f.json")
		e := (*ConfigError)(nil)
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) || c != nil {
			t.Errorf("%s: %+v, %v", text, c, err)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := Parse(make([]byte, maxConfig+1), ""); err == nil {
		t.Error("it is not too large")
	}
	if _, err := New(&Config{Servers: map[string]Server{"x": {}}}, nil); err == nil || !strings.Contains(err.Error(), `"x": it has no command, and no url`) {
		t.Errorf("%v", err)
	}
}

func TestLoad(t *testing.T) {
	path := write(t, "mcp.json", `{"mcpServers": {"x": {"command": "y"}}}`)
	c, err := Load(path)
	if err != nil || c.Dir != filepath.Dir(path) || c.Servers["x"].Command != "y" {
		t.Fatalf("%+v, %v", c, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"a": {"command": "x", "args": ["y",], "env": {"A": "b"}, "timeout": "3s"}}} // z`))
	f.Add([]byte(`{"servers": {"b": {"type": "sse", "url": "http://x", "headers": {}, "timeout": 1e300}}, "inputs": [/**/]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if out := stripComments(text); len(out) != len(text) {
			t.Fatalf("%d bytes became %d", len(text), len(out))
		} else if json.Valid(text) && !slices.Equal(out, text) {
			t.Fatalf("%q became %q", text, out)
		}
		c, err := Parse(text, "f.json")
		if err != nil {
			if e := (*ConfigError)(nil); !errors.As(err, &e) || e.Line < 1 {
				t.Fatalf("%v", err)
			}
			return
		}
		s, err := New(c, nil)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		x := &expander{getenv: func(string) (string, bool) { return "", false }}
		for _, conf := range c.Servers {
			_, _ = x.server(&conf)
		}
		_ = s.Close()
	})
}

func TestExpand(t *testing.T) {
	x := &expander{
		dir: "/conf",
		getenv: func(name string) (string, bool) {
			v, ok := map[string]string{"A": "a", "EMPTY": "", "REF": "${A} ${secret:S}"}[name]
			return v, ok
		},
		secret: func(s string) (string, error) {
			if s == "${secret:S}" {
				return "${A}", nil
			}
			return "", errors.New("there is no such secret")
		},
	}
	for text, want := range map[string]string{
		"": "", "plain $A": "plain $A", "${A}${A}": "aa", "${env:A}": "a", "${B:-b c}": "b c", "${A:-b}": "a", "${EMPTY:-b}": "b",
		"${EMPTY}": "", "${REF}": "${A} ${secret:S}", "${secret:S}": "${A}", "${": "${", "${}": "${}", "${A": "${A", "${1}": "${1}",
		"$${A}": "$a", "${other:x}": "${other:x}", "${workspaceFolder}/x": "/conf/x", "${A:-${B}}": "a}", "${A-b}": "${A-b}", "${env:A.B}": "${env:A.B}", "${B:-}": "",
	} {
		if got, err := x.expand(text); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"x ${B} y": "the variable B is not set", "${env:B}": "the variable B is not set", "${input:k}": "${input:k}: prompts",
		"${secret:T}": "${secret:T}: there is no such secret",
	} {
		if _, err := x.expand(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := x.server(&Server{Command: "a", Args: []string{"${B}"}, Headers: map[string]string{"H": "${C}"}}); err == nil ||
		!strings.Contains(err.Error(), "args[0]: the variable B") || !strings.Contains(err.Error(), "headers.H: the variable C") {
		t.Errorf("%v", err)
	}
}
