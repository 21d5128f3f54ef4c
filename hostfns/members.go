package hostfns

import (
	"encoding/json"
	"strconv"
)

// members walks over the members of a JSON object, which was found valid. Every call passes here several times, and
// encoding/json would take most of its time.
type members struct {
	b  []byte
	at int
}

// membersOf returns false if the JSON is not an object.
func membersOf(b []byte) (m members, ok bool) {
	at := skipSpace(b, 0)
	if at == len(b) || b[at] != '{' {
		return m, false
	}
	return members{b, skipSpace(b, at+1)}, true
}

// next returns a member; the key is empty when there are no more.
func (m *members) next() (key string, value []byte, ok bool) {
	if m.at >= len(m.b) || m.b[m.at] != '"' {
		return "", nil, false
	}
	end := skipValue(m.b, m.at)
	key = string(unquote(m.b[m.at:end]))
	at := skipSpace(m.b, skipSpace(m.b, end)+1) // after the colon
	end = skipValue(m.b, at)
	value = m.b[at:end:end]
	m.at = skipSpace(m.b, end)
	if m.at < len(m.b) && m.b[m.at] == ',' {
		m.at = skipSpace(m.b, m.at+1)
	}
	return key, value, true
}

// jsonText decodes a JSON string.
func jsonText(j []byte) (string, bool) {
	if len(j) < 2 || j[0] != '"' {
		return "", false
	}
	return string(unquote(j)), true
}

// jsonInt decodes a JSON number that is an int.
func jsonInt(j []byte) (int, bool) {
	n, err := strconv.Atoi(string(j))
	return n, err == nil
}

// validObject tells whether JSON is valid and an object.
func validObject(j []byte) bool {
	at := skipSpace(j, 0)
	return at < len(j) && j[at] == '{' && json.Valid(j)
}
