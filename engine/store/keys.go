package store

import (
	"encoding/binary"
	"fmt"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// The first byte of a key says what the row is; see the package comment.
const (
	keyObject  = 'o'
	keyCount   = 'c'
	keyMark    = 'g'
	keySession = 's'
	keyRecord  = 'j'
	keyHolds   = 'h'
	keyDoomed  = 'd'
)

var keyGeneration = []byte("mg")

func hashKey(kind byte, h cas.Hash) []byte {
	return append(append(make([]byte, 0, 1+len(h)), kind), h[:]...)
}

func sessionKey(name string) []byte { return append([]byte{keySession}, name...) }

// stepsPrefix is what the keys of all steps of a generation begin with.
func stepsPrefix(kind byte, name string, gen uint64) []byte {
	k := make([]byte, 0, 1+len(name)+1+16)
	k = append(append(append(k, kind), name...), 0)
	return binary.BigEndian.AppendUint64(k, gen)
}

func stepKey(kind byte, name string, gen uint64, step int) []byte {
	return binary.BigEndian.AppendUint64(stepsPrefix(kind, name, gen), uint64(step))
}

// splitKey is the reverse of stepKey and, with withStep false, of stepsPrefix.
func splitKey(k []byte, withStep bool) (name string, gen uint64, step int, ok bool) {
	tail := 1 + 8
	if withStep {
		tail += 8
	}
	i := len(k) - tail
	if i < 2 || k[i] != 0 {
		return "", 0, 0, false
	}
	name, gen = string(k[1:i]), binary.BigEndian.Uint64(k[i+1:])
	if withStep {
		s := binary.BigEndian.Uint64(k[i+9:])
		if s > maxStep {
			return "", 0, 0, false
		}
		step = int(s)
	}
	return name, gen, step, validName(name)
}

const maxStep = 1<<31 - 1

// validName reports whether s may be the name of a session.
func validName(s string) bool {
	if s == "" || len(s) > engine.MaxSessionName || s[0] == '.' || s[0] == '-' {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

// sessionRow is the value of a session's key.
type sessionRow struct {
	gen         uint64
	first, last int
	head        []byte
}

const (
	sessionRowVersion = 1
	sessionRowLen     = 25 // without the head
)

func (r sessionRow) encode() []byte {
	b := make([]byte, 0, sessionRowLen+nonceLen+len(r.head))
	b = append(b, sessionRowVersion)
	b = binary.BigEndian.AppendUint64(b, r.gen)
	b = binary.BigEndian.AppendUint64(b, uint64(r.first))
	b = binary.BigEndian.AppendUint64(b, uint64(r.last))
	return append(b, maskRow(r.head)...)
}

// decodeSession keeps no reference to b.
func decodeSession(name string, b []byte) (r sessionRow, err error) {
	bad := damaged("the head of session %s cannot be read", name)
	if len(b) < sessionRowLen || b[0] != sessionRowVersion {
		return r, bad
	}
	first, last := binary.BigEndian.Uint64(b[9:]), binary.BigEndian.Uint64(b[17:])
	head, ok := unmaskRow(b[sessionRowLen:])
	if first > last || last > maxStep || !ok {
		return r, bad
	}
	return sessionRow{binary.BigEndian.Uint64(b[1:]), int(first), int(last), head}, nil
}

func encodeHolds(hs []cas.Hash) []byte {
	b := make([]byte, 0, len(hs)*len(cas.Hash{}))
	for i := range hs {
		b = append(b, hs[i][:]...)
	}
	return b
}

func decodeHolds(b []byte) ([]cas.Hash, error) {
	const n = len(cas.Hash{})
	if len(b)%n != 0 {
		return nil, damaged("a list of held objects cannot be read")
	}
	hs := make([]cas.Hash, len(b)/n)
	for i := range hs {
		hs[i] = cas.Hash(b[i*n:])
	}
	return hs, nil
}

func encodeCount(n int64) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func decodeCount(b []byte) (int64, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 || n != len(b) || v > 1<<50 {
		return 0, damaged("a reference count cannot be read")
	}
	return int64(v), nil
}

// damaged makes an error that wraps engine.ErrStoreDamaged; place adds the directory and what to do.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", engine.ErrStoreDamaged, fmt.Sprintf(format, args...))
}
