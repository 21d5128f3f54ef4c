// Package secrets has named secrets, which guest code can use but never see: it holds placeholders, which the host
// replaces on the way to destinations that the secret is for, and real values are scrubbed from everything on the way
// back.
//
// Scrubbing finds a value as it is, in base64, in hexadecimal, percent-encoded, and escaped as in JSON, Python or HTML.
// It does not find one that was taken apart, compressed, encrypted or broken into lines: a destination that is handed a
// secret has to be trusted with it. What keeps a secret is the list of its destinations; scrubbing is the second line.
package secrets

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of values.
const (
	// MinValue is the size in bytes of the shortest value: anything shorter would be found in ordinary text.
	MinValue = 6
	// MaxValue is the size in bytes of the longest value: room for a private key with its certificates.
	MaxValue = 64 << 10
	// MaxTotal is the size in bytes of all values together. What is looked for takes some thousand times as much memory
	// as a value, in the worst case.
	MaxTotal = 512 << 10
)

// ErrUnknown is wrapped by the error about a name that is not in the set, ErrDestination by the one about a secret that
// is not for a destination.
var (
	ErrUnknown     = errors.New("there is no such secret")
	ErrDestination = errors.New("the secret is not for this destination")
)

// Set is a set of named secrets. It is safe for concurrent use, and does not change. A nil *Set has none.
type Set struct {
	// One pointer, so that printing a Set by any verb shows no values.
	in *contents
}

type contents struct {
	names   []string // sorted
	secrets map[string]*secret
	find    *automaton
}

type secret struct {
	name  string
	value string
	allow []pattern
}

// New reads all secrets from their sources, at once, and returns the set of them. Commands are run once, here. An error
// names the secrets that are at fault and never has a value.
func New(ctx context.Context, specs []Spec) (*Set, error) {
	in := &contents{secrets: make(map[string]*secret, len(specs))}
	var errs []error
	for i := range specs {
		sp := &specs[i]
		s, err := sp.check()
		if err == nil && in.secrets[sp.Name] != nil {
			err = fmt.Errorf("secret %s: there are two of this name", sp.Name)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		in.secrets[s.name] = s
		in.names = append(in.names, s.name)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if err := load(ctx, specs, in.secrets); err != nil {
		return nil, err
	}
	slices.Sort(in.names)
	total := 0
	for _, s := range in.secrets {
		total += len(s.value)
	}
	if total > MaxTotal {
		return nil, fmt.Errorf("the values of all secrets have more than %d bytes together", MaxTotal)
	}
	for _, name := range in.names {
		s := in.secrets[name]
		for _, other := range in.names {
			if strings.Contains(placeholder(other), s.value) {
				errs = append(errs, fmt.Errorf("secret %s: its value is part of a placeholder, {{secret:NAME}}; such a value "+
					"cannot be kept secret", name))
				break
			}
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	in.find = newAutomaton(in.names, in.secrets)
	return &Set{in: in}, nil
}

func checkValue(name, v string) error {
	switch {
	case v == "":
		return fmt.Errorf("secret %s: its value is empty", name)
	case len(v) < MinValue:
		return fmt.Errorf("secret %s: its value is shorter than %d bytes; scrubbing it would remove ordinary text", name, MinValue)
	case len(v) > MaxValue:
		return fmt.Errorf("secret %s: its value is longer than %d bytes", name, MaxValue)
	case !utf8.ValidString(v):
		return fmt.Errorf("secret %s: its value is not UTF-8; keep it in base64", name)
	}
	if _, _, _, ok := cutPlaceholder(v, "{{secret:", "}}"); ok {
		return fmt.Errorf("secret %s: its value has a placeholder, {{secret:NAME}}, in it", name)
	}
	return nil
}

// Names returns the names, sorted.
func (s *Set) Names() []string {
	if s.empty() {
		return nil
	}
	return slices.Clone(s.in.names)
}

func (s *Set) empty() bool { return s == nil || s.in == nil || len(s.in.names) == 0 }

func (s *Set) lookup(name string) (*secret, error) {
	if !s.empty() {
		if sec := s.in.secrets[name]; sec != nil {
			return sec, nil
		}
	}
	return nil, fmt.Errorf("secret %q: %w", clip(name), ErrUnknown)
}

// clip bounds a name that comes from elsewhere for an error.
func clip(name string) string {
	if len(name) > 64 {
		return name[:64] + "..."
	}
	return name
}

// String lists the names.
func (s *Set) String() string {
	if s.empty() {
		return "secrets.Set()"
	}
	return "secrets.Set(" + strings.Join(s.in.names, ", ") + ")"
}

// GoString is String.
func (s *Set) GoString() string { return s.String() }

// MarshalText is String, so that no encoder shows more.
func (s *Set) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is String.
func (s *Set) LogValue() slog.Value { return slog.StringValue(s.String()) }
