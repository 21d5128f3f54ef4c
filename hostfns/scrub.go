package hostfns

import (
	"encoding/json"
	"slices"
)

// scrubValue returns a value without secrets, a copy: whoever made v may keep it.
func (c *Calls) scrubValue(v *Value) *Value {
	s := c.h.o.Secrets
	out := *v
	if s == nil {
		out.Blocks = slices.Clone(v.Blocks)
		return &out
	}
	out.Data = s.Scrub(v.Data)
	if v.Kind == ValueJSON && changed(v.Data, out.Data) && !json.Valid(out.Data) {
		// A value in the middle of a number, for example.
		out.Kind = ValueText
	}
	out.Head = c.h.scrubJSON(v.Head)
	out.Blocks = slices.Clone(v.Blocks)
	for i := range out.Blocks {
		b := &out.Blocks[i]
		b.Text, b.URI, b.Name = c.h.scrubText(b.Text), c.h.scrubText(b.URI), c.h.scrubText(b.Name)
		b.Title, b.MIMEType = c.h.scrubText(b.Title), c.h.scrubText(b.MIMEType)
		b.Data = s.Scrub(b.Data)
	}
	return &out
}

func (h *Host) scrubText(t string) string {
	if _, found := h.o.Secrets.Find([]byte(t)); !found {
		return t
	}
	return string(h.o.Secrets.Scrub([]byte(t)))
}

// scrubJSON scrubs JSON; what is none any more without the secret becomes a JSON string.
func (h *Host) scrubJSON(j json.RawMessage) json.RawMessage {
	if h.o.Secrets == nil || len(j) == 0 {
		return j
	}
	out := json.RawMessage(h.o.Secrets.Scrub(j))
	if changed(j, out) && !json.Valid(out) {
		out, _ = json.Marshal(string(out))
	}
	return out
}

// scrubError scrubs an error in place.
func (c *Calls) scrubError(e *Error) *Error {
	if c.h.o.Secrets != nil {
		e.Message, e.Hint, e.Data = c.h.scrubText(e.Message), c.h.scrubText(e.Hint), c.h.scrubJSON(e.Data)
		e.Server, e.Tool, e.Code = c.h.scrubText(e.Server), c.h.scrubText(e.Tool), c.h.scrubText(e.Code)
	}
	return e
}

// changed tells whether Scrub made something new.
func changed(before, after []byte) bool {
	return len(before) != len(after) || len(before) > 0 && &before[0] != &after[0]
}
