package tools

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"sync"
)

// jsonBody is a JSON response: one message, that the intake has seen.
type jsonBody struct {
	body io.ReadCloser
	in   *intake
	// request is the ID of the request that this answers.
	request string
	out     *bytes.Reader
}

func (b *jsonBody) Read(p []byte) (int, error) {
	if b.out == nil {
		frame, err := b.message()
		if err != nil {
			return 0, err
		}
		b.out = bytes.NewReader(frame)
	}
	return b.out.Read(p)
}

func (b *jsonBody) message() ([]byte, error) {
	frame, err := io.ReadAll(io.LimitReader(b.body, int64(b.in.max)+1))
	if err != nil {
		return nil, err
	}
	if len(frame) <= b.in.max {
		frames := b.in.take(frame)
		if len(frames) > 1 {
			return nil, errors.New("the response is a batch of messages, which nobody asked for")
		}
		return bytes.Join(frames, nil), nil
	}
	return b.in.tooLarge(&idScanner{id: []byte(b.request)}), nil
}

func (b *jsonBody) Close() error { return b.body.Close() }

// eventBody is a stream of server-sent events: those with messages, which the intake has seen.
type eventBody struct {
	mu    sync.Mutex // of Read
	body  io.ReadCloser
	lines *bufio.Reader
	in    *intake
	out   bytes.Buffer
	err   error // after out
}

func newEventBody(body io.ReadCloser, in *intake) *eventBody {
	return &eventBody{body: body, lines: bufio.NewReaderSize(body, 32<<10), in: in}
}

func (b *eventBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.out.Len() == 0 {
		if b.err != nil {
			return 0, b.err
		}
		if b.out.Cap() > 1<<20 {
			b.out = bytes.Buffer{}
		}
		b.event()
	}
	return b.out.Read(p)
}

func (b *eventBody) Close() error { return b.body.Close() }

// maxEventField bounds what an event has besides its data, in bytes.
const maxEventField = 64 << 10

// event is a server-sent event.
type event struct {
	name, id, retry []byte
	data            []byte
	hasData         bool
	scan            *idScanner // instead of data, when that is too large
}

// event reads an event, and puts into out what is to be passed on.
func (b *eventBody) event() {
	var e event
	for {
		field, value, err := b.line(&e)
		if err != nil {
			if b.err = err; errors.Is(err, io.EOF) {
				b.pass(&e) // some servers leave out the last empty line
			}
			return
		}
		switch string(field) {
		case "event":
			e.name = value
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				e.id = value
			}
		case "retry":
			e.retry = clampRetry(value)
		case "":
			if value == nil { // an empty line
				b.pass(&e)
				return
			}
		}
	}
}

// Bounds of when a server may have its clients connect again: not in a loop, and before everybody forgot.
const (
	minRetry = 50     // milliseconds
	maxRetry = 60_000 // milliseconds
)

func clampRetry(value []byte) []byte {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return nil
	}
	return strconv.AppendInt(nil, min(max(n, minRetry), maxRetry), 10)
}

// line reads a line. Data is added to the event; of other fields, name and value are returned. Nil and nil is an empty line,
// and a comment has a value.
func (b *eventBody) line(e *event) (field, value []byte, err error) {
	var line []byte
	isData := false
	for first := true; ; first = false {
		part, err := b.lines.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !more && (len(part) == 0 && first || !errors.Is(err, io.EOF)) {
			return nil, nil, err
		}
		if !more {
			part = bytes.TrimSuffix(bytes.TrimSuffix(part, []byte("\n")), []byte("\r"))
		}
		if first {
			if rest, ok := bytes.CutPrefix(part, []byte("data:")); ok || string(part) == "data" && !more {
				isData, part = true, bytes.TrimPrefix(rest, []byte(" "))
				if !ok {
					part = nil
				}
				if e.hasData {
					e.add([]byte("\n"), b.in.max)
				}
				e.hasData = true
			}
		}
		switch {
		case isData:
			e.add(part, b.in.max)
		case len(line)+len(part) <= maxEventField:
			line = append(line, part...)
		}
		if !more {
			break
		}
	}
	switch {
	case isData:
		return []byte("data"), nil, nil
	case len(line) == 0:
		return nil, nil, nil
	}
	field, value, _ = bytes.Cut(line, []byte(":"))
	return field, append([]byte{}, bytes.TrimPrefix(value, []byte(" "))...), nil
}

func (e *event) add(p []byte, limit int) {
	if e.scan == nil && len(e.data)+len(p) > limit {
		e.scan = &idScanner{}
		e.scan.feed(e.data)
		e.data = nil
	}
	if e.scan != nil {
		e.scan.feed(p)
		return
	}
	e.data = append(e.data, p...)
}

func (b *eventBody) pass(e *event) {
	var frames [][]byte
	switch name := string(e.name); {
	case e.scan != nil:
		if f := b.in.tooLarge(e.scan); f != nil {
			frames = [][]byte{f}
		}
		e.name = nil
	case name == "" || name == "message":
		frames = b.in.take(e.data)
	case name == "endpoint" && len(e.data) <= maxEventField:
		frames = [][]byte{e.data}
	}
	for len(frames) > 1 {
		b.write(e.name, frames[0])
		frames = frames[1:]
	}
	b.field("id", e.id)
	b.field("retry", e.retry)
	var data []byte
	if len(frames) == 1 {
		data = frames[0]
	}
	b.write(e.name, data)
}

// write writes an event; one without data has its other fields only.
func (b *eventBody) write(name, data []byte) {
	if data != nil {
		b.field("event", name)
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			b.out.WriteString("data: ")
			b.out.Write(bytes.TrimSuffix(line, []byte("\r")))
			b.out.WriteByte('\n')
		}
	}
	if b.out.Len() > 0 {
		b.out.WriteByte('\n')
	}
}

func (b *eventBody) field(name string, value []byte) {
	if len(value) > 0 && bytes.IndexByte(value, '\n') < 0 && bytes.IndexByte(value, '\r') < 0 {
		b.out.WriteString(name)
		b.out.WriteString(": ")
		b.out.Write(value)
		b.out.WriteByte('\n')
	}
}
