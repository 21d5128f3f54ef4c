package hostfns

import (
	"encoding/json"
	"fmt"
)

type readArgs struct {
	Handle int     `json:"handle"`
	Start  *int    `json:"start"`
	Stop   *int    `json:"stop"`
	Index  *int    `json:"index"`
	Key    *string `json:"key"`
	Keys   bool    `json:"keys"`
	All    bool    `json:"all"`
	Page   bool    `json:"page"`
}

func parseRead(args json.RawMessage) (a readArgs, e *Error) {
	if err := json.Unmarshal(args, &a); err != nil {
		return a, Errorf(CodeRequest, "arguments of a handle: %w", err)
	}
	return a, nil
}

// read serves FnRead.
func (h *handles) read(args json.RawMessage) ([]byte, *Error) {
	a, e := parseRead(args)
	if e != nil {
		return nil, e
	}
	h.mu.Lock()
	hd := h.byID[a.Handle]
	h.mu.Unlock()
	if hd == nil {
		return nil, &Error{
			Code:    CodeHandle,
			Message: fmt.Sprintf("the result %d is not kept any more", a.Handle),
			Hint:    "call the tool again, and use its result sooner or copy what is needed",
		}
	}
	switch {
	case a.Key != nil:
		return h.part(hd, *a.Key)
	case a.Index != nil:
		return h.item(hd, *a.Index)
	}
	start, stop := bounds(a.Start, a.Stop, hd.src.len())
	if a.All {
		start, stop = 0, hd.src.len()
	}
	var v *Value
	var end int
	if d, ok := hd.src.(*dictSource); ok && a.Keys {
		v, end, e = d.keys(start, stop, a.Page)
	} else {
		v, end, e = hd.src.slice(start, stop, a.Page)
	}
	if e != nil {
		return nil, e
	}
	if a.Page {
		v.Head = json.RawMessage(`{"start":` + itoa(start) + `,"stop":` + itoa(end) + `}`)
	}
	return valueFrame(v)
}

// bounds are those of a slice in Python: negative ones count from the end, and none is an error.
func bounds(from, to *int, n int) (start, stop int) {
	at := func(p *int, otherwise int) int {
		if p == nil {
			return otherwise
		}
		i := *p
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	start, stop = at(from, 0), at(to, n)
	return start, max(start, stop)
}

// part answers the value of a key of a dict: no value, which is not null, if there is no such key.
func (h *handles) part(hd *handle, key string) ([]byte, *Error) {
	d, ok := hd.src.(*dictSource)
	if !ok {
		return nil, Errorf(CodeRequest, "a %s has no keys", hd.of)
	}
	data := d.get(key)
	if data == nil {
		return valueFrame(nil)
	}
	return h.inner(hd, data)
}

// item answers an item of a list by itself.
func (h *handles) item(hd *handle, i int) ([]byte, *Error) {
	n := hd.src.len()
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return valueFrame(nil)
	}
	if l, ok := hd.src.(*listSource); ok {
		at, _ := l.item(i)
		return h.inner(hd, l.data[at:skipValue(l.data, at)])
	}
	v, _, e := hd.src.slice(i, i+1, true)
	if e != nil {
		return nil, e
	}
	return valueFrame(v)
}

// inner answers a value inside another, which becomes a handle of its own when it is large.
func (h *handles) inner(hd *handle, data []byte) ([]byte, *Error) {
	v := &Value{Kind: ValueJSON, Data: data}
	if int64(len(data)) > h.inline {
		if in := newHandle(v); in != nil {
			if in.of != "text" { // which is a copy
				in.mem = hd.mem
			}
			return h.add(in)
		}
	}
	return valueFrame(v)
}

func tooLarge() *Error {
	return &Error{Code: CodeTooLarge, Message: fmt.Sprintf("this part of the result has more than %d bytes", MaxPage),
		Hint: "read it in smaller slices"}
}
