package engine

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// maxInline is the size up to which a Blob is part of its record: records stay small enough to list thousands of them.
const maxInline = 2 << 10

// maxList is the same for lists that a record has as such.
const maxList = 8 << 10

// maxBlob bounds what is stored as one Blob, and read unless there is a lower limit: code, output and input have their own.
const maxBlob = 512 << 20

// Limits of blobs that an import may have made: of an encoded tape, whose logs have limits of their own, of JSON, and of
// the values in it, since a few bytes can become a hundred when they are decoded.
const (
	maxTape   = 64 << 20
	maxJSON   = 256 << 20
	maxListed = 1 << 20
)

// Blob is a piece of data that belongs to a record: in the record itself when it is small, else in objects.
type Blob struct {
	// Text or Base64 is the data.
	Text   string `json:"text,omitempty"`
	Base64 string `json:"base64,omitempty"`
	// Object holds the data in its parts.
	Object cas.Hash `json:"object,omitzero"`
	Size   int      `json:"size"`
}

// newBlob makes a blob of data, adding to b what does not fit into the record.
func newBlob(b *cas.Batch, data []byte) (Blob, error) {
	blob := Blob{Size: len(data)}
	switch {
	case len(data) > maxBlob:
		return blob, fmt.Errorf("%d bytes of one kind, at most %d can be stored", len(data), maxBlob)
	case len(data) > maxInline:
		top := cas.Object{}
		for len(data) > cas.MaxData {
			h, err := b.Add(cas.Object{Data: data[:cas.MaxData]})
			if err != nil {
				return blob, err
			}
			top.Refs, data = append(top.Refs, h), data[cas.MaxData:]
		}
		top.Data = data
		var err error
		blob.Object, err = b.Add(top)
		return blob, err
	case utf8.Valid(data):
		blob.Text = string(data)
	default:
		blob.Base64 = base64.StdEncoding.EncodeToString(data)
	}
	return blob, nil
}

func (b *Blob) holds() []cas.Hash {
	if b == nil || b.Object.IsZero() {
		return nil
	}
	return []cas.Hash{b.Object}
}

// read returns the data.
func (b *Blob) read(r cas.Reader) ([]byte, error) { return b.readUpTo(r, maxBlob) }

// decodeList decodes a list in JSON, refusing one with more elements than anything that is stored has.
func decodeList[T any](data []byte) ([]T, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	t, err := d.Token()
	if err != nil || t == nil {
		return nil, err
	}
	if t != json.Delim('[') {
		return nil, fmt.Errorf("%v instead of a list", t)
	}
	list := []T{}
	for d.More() {
		var v T
		if len(list) == maxListed {
			return nil, fmt.Errorf("more than %d elements", maxListed)
		}
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err = d.Token()
	return list, err
}

// countValues returns how many values there are in JSON at most.
func countValues(data []byte) (n int) {
	quoted := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n + 1
}

// readUpTo returns the data, if it is not longer than limit.
func (b *Blob) readUpTo(r cas.Reader, limit int) ([]byte, error) {
	switch {
	case b == nil:
		return nil, nil
	case b.Size < 0 || b.Size > limit:
		return nil, fmt.Errorf("%w: blob of %d bytes", ErrStoreDamaged, b.Size)
	case b.Base64 != "":
		return base64.StdEncoding.DecodeString(b.Base64)
	case b.Object.IsZero():
		return []byte(b.Text), nil
	}
	top, err := r.Get(b.Object)
	if err != nil {
		return nil, err
	}
	var data []byte
	for _, ref := range top.Refs {
		part, err := r.Get(ref)
		if err != nil {
			return nil, err
		}
		if len(data)+len(part.Data) > b.Size {
			break
		}
		data = append(data, part.Data...)
	}
	if data = append(data, top.Data...); len(data) != b.Size {
		return nil, fmt.Errorf("%w: blob of %d bytes instead of %d", ErrStoreDamaged, len(data), b.Size)
	}
	return data, nil
}
