package main

import (
	"encoding/json"
	"testing"
	"unicode"
)

// FuzzForm: whatever schema a tool server sends, a form is made of it or refused, and nothing in it moves the cursor.
func FuzzForm(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"type":"string","enum":["x"],"enumNames":["X","Y"]}},"required":["a"]}`), "x")
	f.Add([]byte(`{"properties":{"a":{"type":"array","items":{"anyOf":[{"const":1,"title":"t"}]}}}}`), "1,2")
	f.Add([]byte(`{"properties":{"a":{"type":"integer","minimum":1,"default":"\u001b"}}}`), "0")
	f.Fuzz(func(t *testing.T, schema []byte, line string) {
		fields, err := formFields(schema)
		if err != nil {
			return
		}
		for i := range fields {
			for _, r := range fields[i].prompt() {
				if !unicode.IsPrint(r) {
					t.Fatalf("%q is in a prompt", r)
				}
			}
			v, err := fields[i].parse(line)
			if err != nil {
				continue
			}
			if _, err := json.Marshal(v); err != nil {
				t.Fatalf("the answer %q is no JSON: %v", line, err)
			}
		}
	})
}
