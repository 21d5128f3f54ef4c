package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// elements returns the elements of a JSON array, at most limit: each costs more memory than its bytes. Null is an empty array.
func elements(raw json.RawMessage, limit int) ([]json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] != '[' || !json.Valid(raw) {
		return nil, errors.New("it is no list")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	out := []json.RawMessage{}
	for d.More() {
		if len(out) == limit {
			return nil, fmt.Errorf("it has more than %d elements", limit)
		}
		var e json.RawMessage
		if err := d.Decode(&e); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}
