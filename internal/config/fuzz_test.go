package config

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzParse: no text makes it panic, and what is no JSON with comments is refused.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"http": {"allow": ["a"], "timeout": "1s"}}`, `{"secrets": {"A": "env:B"}} // c`, `{"tools": /* "x" */ "y",}`, `{"a":"\`, "/*", "//",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		stripped := stripComments(text)
		if len(stripped) != len(text) || bytes.Count(stripped, []byte("\n")) != bytes.Count(text, []byte("\n")) {
			t.Fatalf("offsets changed: %q became %q", text, stripped)
		}
		if json.Valid(text) && !bytes.Equal(stripped, text) {
			t.Fatalf("JSON without comments changed: %q became %q", text, stripped)
		}
		if _, err := Parse(text, "/c.json"); err == nil && !json.Valid(stripped) {
			t.Fatalf("%q was taken", text)
		}
		_, _ = ParseSpec(text)
	})
}
