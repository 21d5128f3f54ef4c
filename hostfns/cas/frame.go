package cas

import (
	"encoding/json"
	"fmt"
)

// MaxChain bounds the frames that have to be read for one state: restoring it takes some ten microseconds for each.
const MaxChain = 256

// Frame is the top object of a state: its parts say what differs from the state of its base, or from nothing. A writer
// makes a frame without a base now and then (a keyframe, as video coding calls it), so that chains stay short and what
// is old can be dropped.
type Frame struct {
	// Base is the frame that this one is relative to, the zero Hash for a keyframe.
	Base Hash
	// Parts are the objects that hold the data, in order. They may name further objects.
	Parts []Hash
	// Depth is the number of frames below: 0 for a keyframe.
	Depth int
	// Size is the bytes of the parts and of what they name, and Since those of all frames since the keyframe, which is not
	// counted.
	Size, Since int64
	// Key is the size of the keyframe.
	Key int64
	// Head is what the writer wants to know before it reads the parts, as JSON.
	Head json.RawMessage
}

type frameData struct {
	Version int             `json:"version"`
	Kind    string          `json:"kind"`
	Based   bool            `json:"based,omitempty"`
	Depth   int             `json:"depth,omitempty"`
	Size    int64           `json:"size"`
	Since   int64           `json:"since,omitempty"`
	Key     int64           `json:"key"`
	Head    json.RawMessage `json:"head,omitempty"`
}

const frameVersion = 1

// NewFrame returns a frame of parts; base is nil for a keyframe. The size in bytes is counted by the caller.
func NewFrame(base *Frame, baseHash Hash, parts []Hash, size int64, head json.RawMessage) Frame {
	f := Frame{Parts: parts, Size: size, Head: head}
	if base == nil {
		f.Key = size
		return f
	}
	f.Base, f.Depth, f.Since, f.Key = baseHash, base.Depth+1, base.Since+size, base.Key
	return f
}

// Due reports whether the next frame should be a keyframe: when reading the chain would take longer than is good, or
// more bytes than a keyframe has.
func (f Frame) Due() bool { return f.Depth+2 > MaxChain || f.Since > max(f.Key, 64<<10) }

// Object encodes the frame. Kind tells one sort of frames from others.
func (f Frame) Object(kind string) (Object, error) {
	d := frameData{frameVersion, kind, !f.Base.IsZero(), f.Depth, f.Size, f.Since, f.Key, f.Head}
	b, err := json.Marshal(d)
	if err != nil {
		return Object{}, err
	}
	o := Object{Data: b}
	if d.Based {
		o.Refs = append(o.Refs, f.Base)
	}
	o.Refs = append(o.Refs, f.Parts...)
	return o, o.Check()
}

// ParseFrame decodes a frame. The data is not trusted: an import may have made it.
func ParseFrame(o Object, kind string) (Frame, error) {
	var d frameData
	if err := json.Unmarshal(o.Data, &d); err != nil {
		return Frame{}, fmt.Errorf("%w: not a frame: %w", ErrDamaged, err)
	}
	switch {
	case d.Kind != kind:
		return Frame{}, fmt.Errorf("%w: a frame of %.40q instead of %q", ErrDamaged, d.Kind, kind)
	case d.Version != frameVersion:
		return Frame{}, fmt.Errorf("%w: frame version %d; this Mayfly knows %d", ErrDamaged, d.Version, frameVersion)
	case d.Based != (d.Depth > 0), d.Depth < 0, d.Depth >= MaxChain, d.Size < 0, d.Since < 0, d.Key < 0, d.Based && len(o.Refs) == 0:
		return Frame{}, fmt.Errorf("%w: frame is inconsistent", ErrDamaged)
	}
	f := Frame{Parts: o.Refs, Depth: d.Depth, Size: d.Size, Since: d.Since, Key: d.Key, Head: d.Head}
	if d.Based {
		f.Base, f.Parts = o.Refs[0], o.Refs[1:]
	}
	return f, nil
}

// ReadChain returns the frames that make up a state, the keyframe first.
func ReadChain(r Reader, h Hash, kind string) ([]Frame, error) {
	var chain []Frame
	for depth := -1; ; {
		o, err := r.Get(h)
		if err != nil {
			return nil, err
		}
		f, err := ParseFrame(o, kind)
		if err != nil {
			return nil, err
		}
		if depth >= 0 && f.Depth != depth-1 {
			return nil, fmt.Errorf("%w: frame of depth %d under one of depth %d", ErrDamaged, f.Depth, depth)
		}
		depth = f.Depth
		chain = append(chain, f)
		if f.Base.IsZero() {
			break
		}
		h = f.Base
	}
	for i, j := 0, len(chain)-1; i < j; i, j = i+1, j-1 {
		chain[i], chain[j] = chain[j], chain[i]
	}
	return chain, nil
}
