package wasm

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Bounds of frames, see guests/README.md.
const (
	MaxFrame = 64 << 20
	MaxHead  = 16 << 20
)

// ErrFrame is wrapped by errors about bytes that are not a frame.
var ErrFrame = errors.New("malformed frame")

// Frame is a request or an answer between host and guest. Code is the op of a request and the status of an answer.
type Frame struct {
	Code uint32
	// Head is JSON.
	Head []byte
	Body []byte
}

// ParseFrame splits the bytes of a frame, without copying them. It does not look into the head.
func ParseFrame(b []byte) (Frame, error) {
	if len(b) < 8 {
		return Frame{}, fmt.Errorf("%w: %d bytes", ErrFrame, len(b))
	}
	if len(b) > MaxFrame {
		return Frame{}, fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrFrame, len(b), MaxFrame)
	}
	n := binary.LittleEndian.Uint32(b[4:])
	if n > MaxHead || uint64(n) > uint64(len(b)-8) {
		return Frame{}, fmt.Errorf("%w: head of %d bytes in a frame of %d", ErrFrame, n, len(b))
	}
	return Frame{Code: binary.LittleEndian.Uint32(b), Head: b[8 : 8+n : 8+n], Body: b[8+n:]}, nil
}

// Append appends the bytes of the frame to b.
func (f Frame) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, f.Code)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.Head)))
	b = append(b, f.Head...)
	return append(b, f.Body...)
}

// BootFrame builds Guest.Boot from a boot program and its payload.
func BootFrame(program, payload []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(program)))
	b = append(b, program...)
	return append(b, payload...)
}
