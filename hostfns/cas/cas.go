// Package cas is what the rooms of Mayfly know about content-addressed storage: hashes, objects that name other objects,
// and frames, by which a state is kept as the difference to an earlier one. It stores nothing itself, save for [Memory].
//
// # Objects
//
// An [Object] is a piece of data and the hashes of the objects that belong to it. Its [Hash] covers both, so a hash
// stands for everything below it as well, as in a Merkle tree (R. Merkle, "A digital signature based on a conventional
// encryption function", CRYPTO '87). How a store keeps the bytes, compressed or not, does not change the hash.
//
// A store counts for each object the objects and owners that name it, and drops it when nobody does.
package cas

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

// Hash is the SHA-256 of an object. The zero Hash stands for "none".
type Hash [sha256.Size]byte

// String returns 64 hexadecimal digits, empty for the zero Hash.
func (h Hash) String() string {
	if h.IsZero() {
		return ""
	}
	return hex.EncodeToString(h[:])
}

// IsZero reports whether h stands for "none".
func (h Hash) IsZero() bool { return h == Hash{} }

// Parse reads what String wrote.
func Parse(s string) (h Hash, err error) {
	if s == "" {
		return h, nil
	}
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(h) {
		return h, fmt.Errorf("hash %.80q is not 64 hexadecimal digits", s)
	}
	return Hash(b), nil
}

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(b []byte) (err error) {
	*h, err = Parse(string(b))
	return err
}

// Limits of an object. They bound what a store reads and decompresses for one hash.
const (
	// MaxData is the largest Object.Data in bytes: small enough for Badger's in-memory mode, which cannot keep a megabyte.
	MaxData = 512 << 10
	// MaxRefs is the largest number of hashes that an object names.
	MaxRefs = 8 << 10
)

// Object is an immutable piece of data. Its fields must not be changed once it was handed over.
type Object struct {
	// Refs are the objects that belong to this one. The same one may be named several times.
	Refs []Hash
	Data []byte
}

// Sum returns the object's hash.
func (o Object) Sum() (h Hash) {
	d := sha256.New()
	d.Write(binary.AppendUvarint(nil, uint64(len(o.Refs))))
	for i := range o.Refs {
		d.Write(o.Refs[i][:])
	}
	d.Write(o.Data)
	d.Sum(h[:0])
	return h
}

// Check returns an error when the object is beyond the limits, or names "none".
func (o Object) Check() error {
	if len(o.Data) > MaxData || len(o.Refs) > MaxRefs {
		return fmt.Errorf("object of %d bytes and %d references; at most %d and %d are possible", len(o.Data), len(o.Refs), MaxData, MaxRefs)
	}
	for _, r := range o.Refs {
		if r.IsZero() {
			return errors.New("object names no object")
		}
	}
	return nil
}

// Errors of a Reader.
var (
	// ErrMissing: the store does not have the object.
	ErrMissing = errors.New("object is missing")
	// ErrDamaged: what the store has is not what the hash stands for.
	ErrDamaged = errors.New("object is damaged")
)

// Reader reads objects. It is safe for concurrent use.
type Reader interface {
	// Get returns an object, whose hash was verified. The error wraps ErrMissing, ErrDamaged, or what a disk says.
	Get(h Hash) (Object, error)
}

// Writer takes objects ahead of the commit that names them.
type Writer interface {
	// Put keeps an object for the caller until Forget, or until the process ends, whether or not anything names it. Each
	// Put needs a Forget.
	Put(o Object) (Hash, error)
	// Forget gives back what Put took. What is named elsewhere stays.
	Forget(hashes ...Hash)
}

// ReadWriter is a Reader and a Writer.
type ReadWriter interface {
	Reader
	Writer
}
