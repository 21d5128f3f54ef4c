package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// decoder reads a configuration. It walks objects itself, since encoding/json tells neither lines nor repeated fields.
type decoder struct {
	file string
	text []byte
	c    *Config
}

// field is a field of an object.
type field struct {
	name   string
	raw    json.RawMessage
	offset int // of raw in the text
}

func (d *decoder) wrong(offset int, server, name, format string, args ...any) error {
	return &ConfigError{File: d.file, Line: d.line(offset), Server: server, Field: name, Err: fmt.Errorf(format, args...)}
}

func (d *decoder) line(offset int) int {
	return 1 + bytes.Count(d.text[:min(offset, len(d.text))], []byte("\n"))
}

func (d *decoder) warn(offset int, server, format string, args ...any) {
	const enough = 100
	if len(d.c.Warnings) < enough {
		e := d.wrong(offset, server, "", format, args...)
		d.c.Warnings = append(d.c.Warnings, e.Error())
	}
}

// document reads all of it.
func (d *decoder) document() error {
	var raw json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(d.text))
	if err := dec.Decode(&raw); err != nil {
		offset := len(d.text)
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			offset = int(syntax.Offset)
		}
		return d.wrong(offset, "", "", "it is no valid JSON: %w", err)
	}
	end := int(dec.InputOffset())
	if rest := bytes.TrimSpace(d.text[end:]); len(rest) > 0 {
		return d.wrong(len(d.text)-len(rest), "", "", "something follows the JSON value")
	}
	return d.top(field{"", raw, end - len(raw)}, true)
}

// top reads the object that has the servers. VS Code's settings have it under "mcp".
func (d *decoder) top(f field, outer bool) error {
	fields, err := d.object(f, "", "")
	if err != nil {
		return err
	}
	found := ""
	for _, f := range fields {
		switch {
		case f.name == "mcpServers" || f.name == "servers" || f.name == "mcp" && outer && looksLikeObject(f.raw):
			if found != "" {
				return d.wrong(f.offset, "", f.name, "the servers are under %q already; put all in one place", found)
			}
			found = f.name
			if f.name == "mcp" {
				err = d.top(f, false)
			} else {
				err = d.servers(f)
			}
			if err != nil {
				return err
			}
		case f.name == "inputs":
			var inputs []any
			if json.Unmarshal(f.raw, &inputs) != nil || len(inputs) > 0 {
				return d.wrong(f.offset, "", "inputs",
					"prompts for inputs are not supported; use ${VARIABLE} for the environment or ${secret:NAME} for a secret")
			}
		case f.name == "$schema":
		default:
			d.warn(f.offset, "", "the field %.100q is not known, and ignored", f.name)
		}
	}
	if found == "" {
		return d.wrong(f.offset, "", "", `there is no field "mcpServers"; write {"mcpServers": {"NAME": {"command": "..."}}}`)
	}
	return nil
}

func looksLikeObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// object returns the fields of an object, in their order.
func (d *decoder) object(f field, server, name string) ([]field, error) {
	if !looksLikeObject(f.raw) {
		return nil, d.wrong(f.offset, server, name, "%s where an object {...} is expected", kindOf(f.raw))
	}
	dec := json.NewDecoder(bytes.NewReader(f.raw))
	_, _ = dec.Token()
	var fields []field
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		key, ok := t.(string)
		at := f.offset + int(dec.InputOffset())
		if err != nil || !ok {
			return nil, d.wrong(at, server, name, "it is no valid JSON: %w", err)
		}
		if seen[key] {
			return nil, d.wrong(at, server, key, "it is there twice")
		}
		seen[key] = true
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, d.wrong(at, server, key, "it is no valid JSON: %w", err)
		}
		fields = append(fields, field{key, raw, f.offset + int(dec.InputOffset()) - len(raw)})
	}
	return fields, nil
}

// Bounds of what a configuration has.
const (
	maxServers    = 10_000
	maxServerName = 512
)

func (d *decoder) servers(f field) error {
	fields, err := d.object(f, "", f.name)
	if err != nil {
		return err
	}
	if len(fields) > maxServers {
		return d.wrong(f.offset, "", f.name, "there are more than %d servers", maxServers)
	}
	for _, f := range fields {
		if f.name == "" || len(f.name) > maxServerName || strings.ContainsFunc(f.name, badInName) {
			return d.wrong(f.offset, f.name, "", "the name of a server has 1 to %d bytes of UTF-8, without control characters", maxServerName)
		}
		s, disabled, err := d.server(f)
		if err != nil {
			return err
		}
		if !disabled {
			d.c.Servers[f.name] = s
		}
	}
	return nil
}

func badInName(r rune) bool {
	return r < ' ' || r == 0x7f || r == utf8.RuneError || r == 0x2028 || r == 0x2029
}

// server reads a server.
func (d *decoder) server(f field) (s Server, disabled bool, err error) {
	name := f.name
	fields, err := d.object(f, name, "")
	if err != nil {
		return s, false, err
	}
	transport := ""
	for _, f := range fields {
		switch f.name {
		case "type", "transport":
			if transport != "" {
				return s, false, d.wrong(f.offset, name, f.name, "there is another one, %s", transport)
			}
			transport = f.name
			err = d.decode(f, name, &s.Transport)
			if known := transports[s.Transport]; err == nil && known == "" {
				return s, false, d.wrong(f.offset, name, f.name, "%.100q is none of stdio, streamable-http (or http) and sse",
					s.Transport)
			}
			s.Transport = transports[s.Transport]
		case "command":
			err = d.decode(f, name, &s.Command)
		case "args":
			err = d.decode(f, name, &s.Args)
		case "env":
			s.Env, err = d.texts(f, name)
		case "cwd":
			err = d.decode(f, name, &s.Cwd)
		case "url":
			err = d.decode(f, name, &s.URL)
		case "headers":
			s.Headers, err = d.texts(f, name)
		case "timeout":
			s.CallTimeout, err = d.duration(f, name)
		case "startTimeout":
			s.StartTimeout, err = d.duration(f, name)
		case "idleTimeout":
			s.IdleTimeout, err = d.duration(f, name)
		case "disabled":
			err = d.decode(f, name, &disabled)
		case "name", "description":
		case "inputs", "envFile":
			return s, false, d.wrong(f.offset, name, f.name, "it is not supported; put variables into env")
		default:
			d.warn(f.offset, name, "the field %.100q is not known, and ignored", f.name)
		}
		if err != nil {
			return s, false, err
		}
	}
	if why := s.check(); why != nil && !disabled {
		return s, false, d.wrong(f.offset, name, "", "%w", why)
	}
	return s, disabled, nil
}

var transports = map[string]string{
	"stdio": TransportStdio, "sse": TransportSSE, "http": TransportHTTP, "streamable-http": TransportHTTP,
	"streamable_http": TransportHTTP, "streamableHttp": TransportHTTP, "streamableHTTP": TransportHTTP,
}

// decode decodes a value of a fixed type.
func (d *decoder) decode(f field, server string, v any) error {
	err := json.Unmarshal(f.raw, v)
	if err == nil && string(f.raw) != "null" {
		return nil
	}
	expected := "a string"
	switch v.(type) {
	case *[]string:
		expected = "a list of strings"
	case *bool:
		expected = "true or false"
	}
	got := kindOf(f.raw)
	if _, list := v.(*[]string); list && got == "a list" {
		got = "a list of something else"
	}
	return d.wrong(f.offset, server, f.name, "%s where %s is expected", got, expected)
}

// texts decodes an object of strings.
func (d *decoder) texts(f field, server string) (map[string]string, error) {
	fields, err := d.object(f, server, f.name)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, v := range fields {
		s := ""
		if err := d.decode(field{f.name + "." + v.name, v.raw, v.offset}, server, &s); err != nil {
			return nil, err
		}
		out[v.name] = s
	}
	return out, nil
}

// duration decodes seconds, or a time with its unit.
func (d *decoder) duration(f field, server string) (time.Duration, error) {
	const longest = 24 * time.Hour
	var t time.Duration
	var seconds float64
	var text string
	if json.Unmarshal(f.raw, &seconds) == nil && string(f.raw) != "null" {
		if seconds > longest.Seconds() {
			return 0, d.wrong(f.offset, server, f.name, "it is in seconds, and more than a day; write it as \"30s\"")
		}
		t = time.Duration(math.Round(seconds * float64(time.Second)))
	} else {
		var err error
		if json.Unmarshal(f.raw, &text) != nil {
			return 0, d.wrong(f.offset, server, f.name, `%s where a time is expected: seconds, or "30s"`, kindOf(f.raw))
		}
		if t, err = time.ParseDuration(text); err != nil {
			return 0, d.wrong(f.offset, server, f.name, `%.40q is no time; write seconds, or "30s"`, text)
		}
	}
	if t <= 0 || t > longest {
		return 0, d.wrong(f.offset, server, f.name, "a time is more than 0 and at most a day")
	}
	return t, nil
}

// kindOf names the type of a JSON value.
func kindOf(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

// check finds what does not fit together. It fills in the transport.
func (s *Server) check() error {
	if s.Transport == "" {
		if s.Transport = TransportStdio; s.URL != "" {
			s.Transport = TransportHTTP
		}
	}
	switch {
	case !slices.Contains([]string{TransportStdio, TransportHTTP, TransportSSE}, s.Transport):
		return fmt.Errorf("the transport %.100q is none of stdio, streamable-http and sse", s.Transport)
	case s.Command != "" && s.URL != "":
		return errors.New("it has a command and a url; one of them is needed")
	case s.Command == "" && s.URL == "":
		return errors.New("it has no command, and no url")
	case s.Transport == TransportStdio && s.Command == "":
		return errors.New("it has no command")
	case s.Transport != TransportStdio && s.URL == "":
		return errors.New("it has no url")
	case s.StartTimeout < 0 || s.CallTimeout < 0 || s.IdleTimeout < 0:
		return errors.New("a time is negative")
	}
	for name := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("env: %.100q is no name of a variable", name)
		}
	}
	return nil
}
