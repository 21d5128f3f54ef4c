package secrets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

func placeholder(name string) string { return "{{secret:" + name + "}}" }

// Placeholder returns what stands for a secret in guest code: {{secret:NAME}}.
func (s *Set) Placeholder(name string) (string, error) {
	if _, err := s.lookup(name); err != nil {
		return "", err
	}
	return placeholder(name), nil
}

// Expand replaces ${secret:NAME} by real values, for the configuration of the host itself. A name that is not in the
// set is an error.
func (s *Set) Expand(text string) (string, error) {
	return replace(text, "${secret:", "}", func(name string) (string, error) {
		sec, err := s.lookup(name)
		if err != nil {
			return "", err
		}
		return sec.value, nil
	})
}

// Reveal replaces placeholders by real values on their way to a destination: "tool:SERVER.TOOL" or "http:HOST:PORT".
// One of a secret that is not for that destination is an error, and so is one that is not in the set. A set without
// secrets knows no placeholders, and changes nothing.
func (s *Set) Reveal(text, destination string) (string, error) {
	if s.empty() {
		return text, nil
	}
	return replace(text, "{{secret:", "}}", s.reveal(destination))
}

func (s *Set) reveal(destination string) func(string) (string, error) {
	return func(name string) (string, error) {
		sec, err := s.lookup(name)
		if err != nil {
			return "", err
		}
		if !sec.allows(destination) {
			return "", fmt.Errorf("secret %s: %w: %s", name, ErrDestination, clip(destination))
		}
		return sec.value, nil
	}
}

// cutPlaceholder finds the first OPEN NAME END in text.
func cutPlaceholder(text, open, end string) (before, name, after string, ok bool) {
	for from := 0; ; {
		i := strings.Index(text[from:], open)
		if i < 0 {
			return text, "", "", false
		}
		i += from
		rest := text[i+len(open):]
		j := strings.Index(rest[:min(len(rest), maxName+len(end))], end)
		if j >= 0 && validName(rest[:j]) {
			return text[:i], rest[:j], rest[j+len(end):], true
		}
		from = i + len(open)
	}
}

func replace(text, open, end string, value func(name string) (string, error)) (string, error) {
	before, name, after, ok := cutPlaceholder(text, open, end)
	if !ok {
		return text, nil
	}
	var b strings.Builder
	for ok {
		v, err := value(name)
		if err != nil {
			return "", err
		}
		b.WriteString(before)
		b.WriteString(v)
		before, name, after, ok = cutPlaceholder(after, open, end)
	}
	b.WriteString(before)
	return b.String(), nil
}

// RevealJSON is Reveal for the strings of a JSON value, but not for the keys of objects: two of them might become the
// same. All else stays as it is, byte by byte. A placeholder counts when it is written without escapes.
func (s *Set) RevealJSON(v json.RawMessage, destination string) (json.RawMessage, error) {
	if s.empty() || !bytes.Contains(v, []byte("{{secret:")) {
		return v, nil
	}
	if !json.Valid(v) {
		return nil, errors.New("what should have secrets revealed in it is no JSON")
	}
	reveal := s.reveal(destination)
	escaped := func(name string) (string, error) {
		real, err := reveal(name)
		if err != nil {
			return "", err
		}
		return jsonString(real, false), nil
	}
	out := make([]byte, 0, len(v)+256)
	for i := 0; i < len(v); {
		q := bytes.IndexByte(v[i:], '"')
		if q < 0 {
			out = append(out, v[i:]...)
			break
		}
		start := i + q + 1
		end := start
		for v[end] != '"' {
			if v[end] == '\\' {
				end++
			}
			end++
		}
		out = append(out, v[i:start]...)
		if next := bytes.TrimLeft(v[end+1:], " \t\r\n"); len(next) > 0 && next[0] == ':' {
			out = append(out, v[start:end]...)
		} else {
			text, err := replace(string(v[start:end]), "{{secret:", "}}", escaped)
			if err != nil {
				return nil, err
			}
			out = append(out, text...)
		}
		out = append(out, '"')
		i = end + 1
	}
	return out, nil
}
