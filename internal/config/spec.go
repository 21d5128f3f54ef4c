package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/egress"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// Spec is what a host is made of. It does not depend on the working directory or the environment of the process that makes it
// any more, so it can be sent as JSON. It has values of secrets.
type Spec struct {
	// Dir is the working directory of the process that it comes from, if tool servers of no file run there.
	Dir     string     `json:"dir,omitempty"`
	Tools   []ToolFile `json:"tools,omitempty"`
	Plugins []string   `json:"plugins,omitempty"`
	Secrets []Secret   `json:"secrets,omitempty"`
	HTTP    *HTTP      `json:"http,omitempty"`
	LLM     *LLM       `json:"llm,omitempty"`
	// Policy is that of the host.
	Policy *hostfns.Policy `json:"policy,omitempty"`
	// Env are the variables that ${NAME} may stand for.
	Env map[string]string `json:"env,omitempty"`

	// Warnings tell of what was ignored, a line each. They do not travel.
	Warnings []string `json:"-"`
}

// Secret is a secrets.Spec with its value, when that came from the environment.
type Secret struct {
	Name   string   `json:"name"`
	Source string   `json:"source,omitempty"`
	Value  string   `json:"value,omitempty"`
	Allow  []string `json:"allow,omitempty"`
}

// Spec reads what the configuration names, in this process's directory and environment.
func (c *Config) Spec() (*Spec, error) {
	s := &Spec{HTTP: c.HTTP, Policy: c.Policy.policy()}
	if err := c.readTools(s); err != nil {
		return nil, err
	}
	for _, p := range c.Plugins {
		abs, err := filepath.Abs(p)
		if err == nil {
			_, err = os.ReadDir(abs)
		}
		if err != nil {
			return nil, c.wrong("plugins", err)
		}
		s.Plugins = append(s.Plugins, abs)
	}
	if c.HTTP != nil {
		for i, rule := range c.HTTP.Allow {
			if _, err := egress.ParseRule(rule); err != nil {
				return nil, c.wrong(fmt.Sprintf("http.allow[%d]", i), err)
			}
		}
	}
	if err := c.readSecrets(s); err != nil {
		return nil, err
	}
	if err := c.readModel(s); err != nil {
		return nil, err
	}
	return s, nil
}

func (c *Config) readSecrets(s *Spec) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, spec := range c.secrets {
		sent := Secret{Name: spec.Name, Source: spec.Source, Value: spec.Value, Allow: spec.Allow}
		sent.Source = absoluteSource(spec.Source, dir)
		if kind, name := cutKind(spec.Source); kind == "env" {
			v, ok := os.LookupEnv(name)
			if !ok {
				return c.wrong("secrets."+spec.Name, fmt.Errorf("the environment has no variable %s", name))
			}
			if v == "" {
				return c.wrong("secrets."+spec.Name, fmt.Errorf("the variable %s of the environment is empty", name))
			}
			sent.Source, sent.Value = "", v
		}
		s.Secrets = append(s.Secrets, sent)
	}
	return nil
}

func cutKind(source string) (kind, rest string) {
	kind, rest, _ = strings.Cut(source, ":")
	return kind, rest
}

// absoluteSource makes the path of a secret's file absolute, and that of a command that is written with one.
func absoluteSource(source, dir string) string {
	switch kind, rest := cutKind(source); kind {
	case "file":
		if !filepath.IsAbs(rest) {
			return "file:" + filepath.Join(dir, rest)
		}
	case "cmd":
		command, args, more := strings.Cut(strings.TrimLeft(rest, " \t"), " ")
		if !strings.HasPrefix(command, "./") && !strings.HasPrefix(command, "../") || strings.ContainsAny(command, `'"\`) {
			return source
		}
		// In quotes, as a shell has them: the directory may have blanks in its name.
		command = "'" + strings.ReplaceAll(filepath.Join(dir, command), "'", `'\''`) + "'"
		if more {
			command += " " + args
		}
		return "cmd:" + command
	}
	return source
}

// ParseSpec reads what Spec became as JSON. What it says is checked when the host is made.
func ParseSpec(b []byte) (*Spec, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	s := &Spec{}
	if err := d.Decode(s); err != nil {
		return nil, err
	}
	if s.Dir != "" && !filepath.IsAbs(s.Dir) {
		return nil, fmt.Errorf("%q is not absolute", shown(s.Dir))
	}
	paths := slices.Clone(s.Plugins)
	for _, t := range s.Tools {
		if t.Path != "" {
			paths = append(paths, t.Path)
		}
	}
	for _, secret := range s.Secrets {
		switch kind, rest := cutKind(secret.Source); kind {
		case "file":
			paths = append(paths, rest)
		case "env":
			return nil, errors.New("secrets of the environment are sent as values")
		}
	}
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			return nil, fmt.Errorf("%q is not absolute", shown(p))
		}
	}
	return s, nil
}

// ErrAllow means that two policies both say which tools are allowed, which one policy cannot.
var ErrAllow = errors.New("both the configuration and the command line say which tools or functions are allowed")

// Restrict adds a policy to that of the host.
func (s *Spec) Restrict(p *hostfns.Policy) error {
	if s.Policy == nil {
		s.Policy = p
		return nil
	}
	r := *s.Policy
	if r.Allow != nil && p.Allow != nil || r.Functions != nil && p.Functions != nil {
		return ErrAllow
	}
	r.Allow, r.Functions = append(r.Allow, p.Allow...), append(r.Functions, p.Functions...)
	r.Deny, r.Approve = slices.Concat(r.Deny, p.Deny), slices.Concat(r.Approve, p.Approve)
	r.ReadOnly = r.ReadOnly || p.ReadOnly
	r.MaxCalls, r.MaxBytes = smaller(r.MaxCalls, p.MaxCalls), smaller(r.MaxBytes, p.MaxBytes)
	r.MaxParallel, r.CallTimeout = smaller(r.MaxParallel, p.MaxParallel), smaller(r.CallTimeout, p.CallTimeout)
	r.Retries = smaller(r.Retries, p.Retries)
	s.Policy = &r
	return nil
}

// smaller returns the smaller of two limits, of which zero is none.
func smaller[T ~int | ~int64](a, b T) T {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

func (s *Secret) spec() secrets.Spec {
	return secrets.Spec{Name: s.Name, Source: s.Source, Value: s.Value, Allow: s.Allow}
}
