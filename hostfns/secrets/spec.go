package secrets

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
)

// Spec says where a secret comes from and what it is for. Printing or logging one does not show Value.
type Spec struct {
	// Name is what it is called: a letter or _, then letters, digits and _; at most 128 bytes.
	Name string
	// Source is one of
	//
	//	env:VARIABLE      of this process
	//	file:PATH         a regular file
	//	cmd:COMMAND LINE  what a command prints, for 30 seconds at most
	//
	// One newline at the end of a file or of what a command prints is not part of the value. Commands are run directly,
	// without a shell: words are separated by blanks, with '...', "..." and \ as in a shell, and nothing is expanded.
	// Their standard error is not shown, because it may have the secret.
	Source string
	// Value is the value itself, instead of a Source.
	Value string
	// Allow are the destinations that guest code may send it to, with * for anything: "tool:SERVER.TOOL" and
	// "http:HOST:PORT", where no port means 443; "*" alone is any destination. Default: none. The configuration of the
	// host needs no permission.
	Allow []string
}

const maxName = 128

func validName(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case '0' <= c && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return true
}

// check checks everything but the value.
func (sp *Spec) check() (*secret, error) {
	if !validName(sp.Name) {
		// What stands for the name may be a value in the wrong place, so it is not repeated.
		return nil, errors.New("the name of a secret has a letter or _ first, then letters, digits and _, 128 bytes at most")
	}
	s := &secret{name: sp.Name}
	if (sp.Source == "") == (sp.Value == "") {
		return nil, fmt.Errorf("secret %s: it needs either a source or a value, which is not empty", sp.Name)
	}
	if sp.Source != "" {
		if kind, rest, _ := strings.Cut(sp.Source, ":"); rest == "" || !slices.Contains([]string{"env", "file", "cmd"}, kind) {
			return nil, badSource(sp.Name)
		}
	}
	for _, a := range sp.Allow {
		p, err := parsePattern(a)
		if err != nil {
			return nil, fmt.Errorf("secret %s: %w", sp.Name, err)
		}
		s.allow = append(s.allow, p)
	}
	return s, nil
}

// badSource does not repeat the source: people put the value there.
func badSource(name string) error {
	return fmt.Errorf("secret %s: its source has to be env:VARIABLE, file:PATH or cmd:COMMAND LINE", name)
}

// ParseSpec reads NAME=SOURCE, as a flag has it. The secret is for no destination.
func ParseSpec(s string) (Spec, error) {
	name, source, ok := strings.Cut(s, "=")
	if !ok {
		return Spec{}, errors.New("a secret is NAME=SOURCE, for example TOKEN=env:TOKEN")
	}
	sp := Spec{Name: name, Source: source}
	if source == "" && validName(name) {
		return Spec{}, badSource(name)
	}
	if _, err := sp.check(); err != nil {
		return Spec{}, err
	}
	return sp, nil
}

// ParseConfig reads what a configuration has: an object by name, with values {"from": SOURCE, "allow":
// [DESTINATION...]} or SOURCE alone. The result is sorted by name. Nothing, or null, has none.
func ParseConfig(config json.RawMessage) ([]Spec, error) {
	if len(config) == 0 {
		return nil, nil
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(config, &all) != nil {
		// The decoder's error quotes what it read.
		return nil, errors.New(`secrets have to be an object: {"NAME": {"from": "env:VARIABLE", "allow": ["tool:SERVER.*"]}}`)
	}
	var specs []Spec
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sp := Spec{Name: name}
		if !validName(name) {
			_, err := sp.check()
			return nil, err
		}
		if err := sp.unmarshal(all[name]); err != nil {
			return nil, err
		}
		if _, err := sp.check(); err != nil {
			return nil, err
		}
		specs = append(specs, sp)
	}
	return specs, nil
}

func (sp *Spec) unmarshal(data json.RawMessage) error {
	if json.Unmarshal(data, &sp.Source) == nil && sp.Source != "" {
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return badSource(sp.Name)
	}
	for field, v := range fields {
		var err error
		switch field {
		case "from":
			err = json.Unmarshal(v, &sp.Source)
		case "allow":
			err = json.Unmarshal(v, &sp.Allow)
		default:
			return fmt.Errorf(`secret %s: it has a field other than "from" and "allow"`, sp.Name)
		}
		if err != nil {
			return fmt.Errorf(`secret %s: "from" has to be a string and "allow" a list of strings`, sp.Name)
		}
	}
	if sp.Source == "" {
		return badSource(sp.Name)
	}
	return nil
}

// String shows all but the value.
func (sp Spec) String() string {
	source := sp.Source
	if sp.Value != "" {
		source = "(value)"
	}
	return fmt.Sprintf("secret %s from %s for %q", sp.Name, source, sp.Allow)
}

// Format is String for every verb: there are some that would print the fields.
func (sp Spec) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(sp.String())) }

// GoString is String.
func (sp Spec) GoString() string { return sp.String() }

// LogValue is String.
func (sp Spec) LogValue() slog.Value { return slog.StringValue(sp.String()) }

// MarshalJSON is how ParseConfig reads it, without the value.
func (sp Spec) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		From  string   `json:"from,omitempty"`
		Allow []string `json:"allow,omitempty"`
	}{sp.Source, sp.Allow})
}
