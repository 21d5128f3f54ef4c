package tools

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// reference is what stands for something else in a configuration. What looks otherwise stays as it is.
var reference = regexp.MustCompile(`^\$\{(?:([A-Za-z]+):)?([A-Za-z_][A-Za-z0-9_.-]*)(?::-([^}]*))?\}`)

// expander expands variables and secrets. It does not look at what it put in.
type expander struct {
	getenv func(string) (string, bool)
	secret func(string) (string, error)
	dir    string // of the configuration
}

// expand returns text with its references replaced. The error names the one that cannot be.
func (x *expander) expand(text string) (string, error) {
	var b strings.Builder
	for {
		before, _, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		text = text[len(before):]
		m := reference.FindStringSubmatchIndex(text)
		if m == nil {
			b.WriteString("${")
			text = text[2:]
			continue
		}
		value, err := x.value(text[:m[1]], group(text, m, 1), group(text, m, 2), group(text, m, 3), m[6] >= 0)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		text = text[m[1]:]
	}
}

func group(text string, m []int, i int) string {
	if m[2*i] < 0 {
		return ""
	}
	return text[m[2*i]:m[2*i+1]]
}

func (x *expander) value(whole, kind, name, fallback string, hasFallback bool) (string, error) {
	switch kind {
	case "secret":
		if x.secret == nil {
			return "", fmt.Errorf("%s: there are no secrets here", whole)
		}
		v, err := x.secret("${secret:" + name + "}")
		if err != nil {
			return "", fmt.Errorf("%s: %w", whole, err)
		}
		return v, nil
	case "input":
		return "", fmt.Errorf("%s: prompts for inputs are not supported; use ${VARIABLE} or ${secret:NAME}", whole)
	case "", "env":
		if strings.ContainsAny(name, ".-") {
			return whole, nil // which is no name of a variable
		}
	default:
		return whole, nil
	}
	if kind == "" {
		// These two are VS Code's and Cursor's.
		switch name {
		case "workspaceFolder":
			return x.folder()
		case "userHome":
			return os.UserHomeDir()
		}
	}
	v, ok := x.getenv(name)
	if hasFallback && v == "" {
		return fallback, nil
	}
	if !ok {
		return "", fmt.Errorf("the variable %s is not set; set it, or write ${%s:-DEFAULT}", name, name)
	}
	return v, nil
}

func (x *expander) folder() (string, error) {
	if x.dir != "" {
		return x.dir, nil
	}
	return os.Getwd()
}

// server returns a copy of s in which all is expanded.
func (x *expander) server(s *Server) (*Server, error) {
	out := *s
	var errs []error
	put := func(to *string, what, text string) {
		v, err := x.expand(text)
		if err == nil && strings.ContainsRune(v, 0) {
			err = errors.New("it has a NUL byte")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
		*to = v
	}
	put(&out.Command, "command", s.Command)
	put(&out.Cwd, "cwd", s.Cwd)
	put(&out.URL, "url", s.URL)
	out.Args = make([]string, len(s.Args))
	for i := range s.Args {
		put(&out.Args[i], fmt.Sprintf("args[%d]", i), s.Args[i])
	}
	texts := func(what string, in map[string]string) map[string]string {
		m := make(map[string]string, len(in))
		for name, text := range in {
			var v string
			put(&v, what+"."+name, text)
			m[name] = v
		}
		return m
	}
	out.Env, out.Headers = texts("env", s.Env), texts("headers", s.Headers)
	return &out, errors.Join(errs...)
}
