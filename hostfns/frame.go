package hostfns

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of frames, the same as in guests/README.md.
const (
	maxFrame = 64 << 20
	maxHead  = 16 << 20
	// maxAnswer is the largest body of an answer: a frame less room for its head, and for the frame around it that OpWait
	// answers with.
	maxAnswer = maxFrame - 64<<10
	// MaxPage is the largest part of a handle that one FnRead returns.
	MaxPage = 16 << 20
)

// Codes of answers.
const (
	answerOK    = 0
	answerError = 1
)

// parseFrame splits a frame without copying it.
func parseFrame(b []byte) (code uint32, head, body []byte, err error) {
	if len(b) < 8 || len(b) > maxFrame {
		return 0, nil, nil, Errorf(CodeRequest, "a frame of %d bytes; it has 8 to %d", len(b), maxFrame)
	}
	n := binary.LittleEndian.Uint32(b[4:])
	if n > maxHead || uint64(n) > uint64(len(b)-8) {
		return 0, nil, nil, Errorf(CodeRequest, "a head of %d bytes in a frame of %d", n, len(b))
	}
	return binary.LittleEndian.Uint32(b), b[8 : 8+n : 8+n], b[8+n:], nil
}

// newFrame returns an empty frame with room for what follows; endHead completes it.
func newFrame(code uint32, room int) []byte {
	b := make([]byte, 8, 8+room)
	binary.LittleEndian.PutUint32(b, code)
	return b
}

// endHead sets the length of the head, which is all of b so far.
func endHead(b []byte) []byte {
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-8))
	return b
}

// idFrame answers OpStart and OpWait.
func idFrame(id int, body []byte) []byte {
	b := newFrame(answerOK, 32+len(body))
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, int64(id), 10)
	b = endHead(append(b, '}'))
	return append(b, body...)
}

// valueFrame is the answer of a call that returned a value. Blocks and heads that are too large are errors.
func valueFrame(v *Value) ([]byte, *Error) {
	if v == nil {
		v = &Value{Kind: ValueNone}
	}
	var more []byte // the kind's own fields of the head
	body := [][]byte{v.Data}
	switch v.Kind {
	case ValueNone:
		body = nil
	case ValueJSON, ValueText, ValueBytes:
	case ValueBlocks:
		more, body = blockHeads(v.Blocks)
	default:
		return nil, Errorf(CodeServer, "a value of the unknown kind %.20q", v.Kind)
	}
	return frameOf(string(v.Kind), more, v.Head, body)
}

func frameOf(kind string, more, extra []byte, body [][]byte) ([]byte, *Error) {
	size := 0
	for _, b := range body {
		size += len(b)
	}
	if size > maxAnswer {
		return nil, &Error{
			Code:    CodeTooLarge,
			Message: fmt.Sprintf("the answer has %d bytes, at most %d are possible", size, maxAnswer),
			Hint:    "ask for less at once",
		}
	}
	if len(more)+len(extra) > maxHead/2 {
		return nil, Errorf(CodeTooLarge, "the answer has too many parts")
	}
	b := newFrame(answerOK, 32+len(kind)+len(more)+len(extra)+size)
	b = append(b, `{"kind":"`...)
	b = append(b, kind...)
	b = append(b, '"')
	b = append(b, more...)
	if len(extra) > 0 {
		b = append(b, `,"head":`...)
		b = append(b, extra...)
	}
	b = endHead(append(b, '}'))
	for _, p := range body {
		b = append(b, p...)
	}
	if len(b) > maxFrame-1<<10 {
		return nil, Errorf(CodeTooLarge, "the answer has %d bytes, at most %d are possible", len(b), maxAnswer)
	}
	return b, nil
}

type blockHead struct {
	Type  BlockType `json:"type"`
	Len   int       `json:"len"`
	Text  bool      `json:"text,omitempty"`
	MIME  string    `json:"mime,omitempty"`
	URI   string    `json:"uri,omitempty"`
	Name  string    `json:"name,omitempty"`
	Title string    `json:"title,omitempty"`
}

func blockHeads(blocks []Block) (head []byte, body [][]byte) {
	heads := make([]blockHead, len(blocks))
	body = make([][]byte, len(blocks))
	for i, b := range blocks {
		data, text := b.Data, false
		if data == nil {
			data, text = []byte(b.Text), b.Type == BlockText || b.Type == BlockResource
		}
		heads[i] = blockHead{b.Type, len(data), text, b.MIMEType, b.URI, b.Name, b.Title}
		body[i] = data
	}
	j, err := json.Marshal(heads)
	if err != nil { // strings and numbers: it cannot fail
		j = []byte("[]")
	}
	return append([]byte(`,"blocks":`), j...), body
}

// Bounds of errors: what a server says must not fill the guest's memory.
const (
	maxMessage   = 16 << 10
	maxErrorData = 1 << 20
	maxName      = 256
)

type errorHead struct {
	Code       string          `json:"code"`
	Message    string          `json:"message"`
	Hint       string          `json:"hint,omitempty"`
	Server     string          `json:"server,omitempty"`
	Tool       string          `json:"tool,omitempty"`
	Data       json.RawMessage `json:"data,omitempty"`
	RetryAfter float64         `json:"retry_after,omitempty"`
	Retryable  bool            `json:"retryable,omitempty"`
}

// errorFrame is the answer of a call that failed. It bounds everything.
func errorFrame(e *Error) []byte {
	h := errorHead{
		Code: e.Code, Message: cutText(e.Message, maxMessage), Hint: cutText(e.Hint, maxMessage),
		Server: cutText(e.Server, maxName), Tool: cutText(e.Tool, maxName),
		RetryAfter: max(0, e.RetryAfter.Seconds()), Retryable: e.Retryable,
	}
	if !validCode(h.Code) {
		h.Code = CodeServer
	}
	if len(e.Data) <= maxErrorData && json.Valid(e.Data) {
		h.Data = validText(e.Data)
	}
	j, err := json.Marshal(h)
	if err != nil || math.IsNaN(h.RetryAfter) {
		j = []byte(`{"code":"` + CodeServer + `","message":"the error cannot be told"}`)
	}
	b := newFrame(answerError, len(j))
	return endHead(append(b, j...))
}

func validCode(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// cutText returns valid UTF-8 of at most n bytes.
func cutText(s string, n int) string {
	const dots = "..."
	if len(s) <= n {
		if utf8.ValidString(s) {
			return s
		}
		// What replaces a bad byte is longer than it: cut again.
		s = strings.ToValidUTF8(s, "\ufffd")
		if len(s) <= n {
			return s
		}
	}
	i := max(0, n-len(dots))
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	s = s[:i]
	if !utf8.ValidString(s) {
		return cutText(strings.ToValidUTF8(s, "\ufffd"), n)
	}
	return s + dots
}
