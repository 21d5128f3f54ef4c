package tools

import "bytes"

// idScanner finds the "id" of a JSON-RPC message as its bytes go by, so that an answer that is too large to keep can still be
// told from others. What is no JSON gives no or a wrong ID, which does no harm: IDs are only used to fail calls.
type idScanner struct {
	id     []byte // the text of the value, once it is complete
	method bool   // there is a key "method"

	depth    int
	inString bool // within a string
	escape   bool
	isKey    bool // the next, or present, string at depth 1 is a key
	key      []byte
	value    []byte
	capture  bool // value is that of "id"
}

// Longer ones are not ours.
const maxID = 64

func (s *idScanner) feed(p []byte) {
	for len(p) > 0 {
		if s.inString && !s.escape && !s.capture && !s.isKey {
			// Most of a large message is text. The window keeps a text of backslashes from being looked through for each.
			n := min(len(p), 256)
			if e := bytes.IndexByte(p[:n], '"'); e >= 0 {
				n = e
			}
			if e := bytes.IndexByte(p[:n], '\\'); e >= 0 {
				n = e
			}
			if p = p[n:]; len(p) == 0 {
				return
			}
		}
		s.next(p[0])
		p = p[1:]
	}
}

func (s *idScanner) next(c byte) {
	if s.inString {
		switch {
		case s.escape:
			s.escape = false
		case c == '\\':
			s.escape = true
		case c == '"':
			s.inString = false
		}
		s.add(c)
		return
	}
	switch c {
	case '"':
		s.inString = true
		if s.depth == 1 && s.isKey {
			s.key = s.key[:0]
		}
		s.add(c)
	case '{', '[':
		s.capture = false
		s.depth++
		s.isKey = s.depth == 1 && c == '{'
	case '}', ']':
		s.end()
		s.depth--
	case ',':
		s.end()
		s.isKey = s.depth == 1
	case ':':
		if s.depth == 1 && s.isKey {
			s.isKey = false
			switch string(s.key) {
			case `"id"`:
				s.capture, s.value = true, s.value[:0]
			case `"method"`:
				s.method = true
			}
		}
	case ' ', '\t', '\r', '\n':
	default:
		s.add(c)
	}
}

func (s *idScanner) add(c byte) {
	switch {
	case s.depth != 1:
	case s.isKey:
		if len(s.key) < maxID {
			s.key = append(s.key, c)
		}
	case s.capture:
		if s.value = append(s.value, c); len(s.value) > maxID {
			s.capture = false
		}
	}
}

func (s *idScanner) end() {
	if s.depth == 1 && s.capture {
		s.capture = false
		s.id = append([]byte(nil), s.value...)
	}
}
