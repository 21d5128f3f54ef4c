package store

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// How the data of an object is kept: the first byte of its row.
const (
	encRaw  = 0
	encZstd = 1
)

// minCompress is the smallest data that is worth a try.
const minCompress = 96

// The encoder and the decoder are shared by all stores: they have no state between calls, but tables that cost memory.
var (
	encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
			zstd.WithWindowSize(cas.MaxData), zstd.WithLowerEncoderMem(true))
	})
	// The capacity of the buffer bounds what comes out, so that a small row cannot become a large object.
	decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxWindow(8<<20),
			zstd.WithDecoderMaxMemory(cas.MaxData), zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true))
	})
)

// encodeObject returns the row of an object with the hash h:
// encoding (1 byte), number of references (varint), references, length of the data (varint), masked data.
func encodeObject(h cas.Hash, o cas.Object) []byte {
	b := make([]byte, 0, 1+2*binary.MaxVarintLen32+len(o.Refs)*len(cas.Hash{})+len(o.Data))
	b = append(b, encRaw)
	b = binary.AppendUvarint(b, uint64(len(o.Refs)))
	for i := range o.Refs {
		b = append(b, o.Refs[i][:]...)
	}
	b = binary.AppendUvarint(b, uint64(len(o.Data)))
	if len(o.Data) >= minCompress {
		if enc, err := encoder(); err == nil {
			// Below an eighth the gain is not worth the time that each read takes.
			if z := enc.EncodeAll(o.Data, b); len(z)-len(b) < len(o.Data)-len(o.Data)/8 {
				z[0] = encZstd
				mask(z[len(b):], h)
				return z
			}
			b[0] = encRaw
		}
	}
	n := len(b)
	b = append(b, o.Data...)
	mask(b[n:], h)
	return b
}

// mask makes bytes look different, and the same again when it is called twice. A guest chooses what is in an object. It must
// not be able to make data that looks like entries of Badger's logs, since the repair of a damaged log looks for entries
// between the bytes of others. It would have to know the hash of the object before it has the data.
func mask(b []byte, pad [sha256.Size]byte) {
	for len(b) > 0 {
		b = b[subtle.XORBytes(b, b, pad[:]):]
	}
}

// maskRow returns what a guest has a part in, masked with a number that it cannot know.
func maskRow(b []byte) []byte {
	row := make([]byte, nonceLen, nonceLen+len(b))
	binary.LittleEndian.PutUint64(row, rand.Uint64())
	row = append(row, b...)
	mask(row[nonceLen:], sha256.Sum256(row[:nonceLen]))
	return row
}

// unmaskRow is the reverse; it keeps no reference to row.
func unmaskRow(row []byte) ([]byte, bool) {
	if len(row) < nonceLen {
		return nil, false
	}
	b := append([]byte{}, row[nonceLen:]...)
	mask(b, sha256.Sum256(row[:nonceLen]))
	return b, true
}

const nonceLen = 8

// decodeRefs returns what an object names, and what is left of its row. It checks the form only.
func decodeRefs(row []byte) (refs []cas.Hash, rest []byte, ok bool) {
	if len(row) < 2 {
		return nil, nil, false
	}
	n, w := binary.Uvarint(row[1:])
	if w <= 0 || n > cas.MaxRefs {
		return nil, nil, false
	}
	row = row[1+w:]
	if uint64(len(row)) < n*uint64(len(cas.Hash{})) {
		return nil, nil, false
	}
	if n > 0 {
		refs = make([]cas.Hash, n)
	}
	for i := range refs {
		refs[i] = cas.Hash(row)
		row = row[len(cas.Hash{}):]
	}
	return refs, row, true
}

// decodeObject returns the object of a row, which it keeps no reference to. The error wraps cas.ErrDamaged unless the
// object has the hash.
func decodeObject(h cas.Hash, row []byte) (cas.Object, error) {
	bad := func(what string) (cas.Object, error) {
		return cas.Object{}, fmt.Errorf("%w: %v: %s", cas.ErrDamaged, h, what)
	}
	refs, rest, ok := decodeRefs(row)
	if !ok {
		return bad("its references cannot be read")
	}
	size, w := binary.Uvarint(rest)
	if w <= 0 || size > cas.MaxData {
		return bad("its size cannot be read")
	}
	rest = append([]byte{}, rest[w:]...)
	mask(rest, h)
	var data []byte
	switch row[0] {
	case encRaw:
		if uint64(len(rest)) != size {
			return bad("its size is wrong")
		}
		data = rest
	case encZstd:
		dec, err := decoder()
		if err != nil {
			return cas.Object{}, err
		}
		if data, err = dec.DecodeAll(rest, make([]byte, 0, size)); err != nil || uint64(len(data)) != size {
			return bad("it cannot be decompressed")
		}
	default:
		return bad("its encoding is unknown")
	}
	o := cas.Object{Refs: refs, Data: data}
	if o.Sum() != h {
		return bad("it has another hash")
	}
	return o, nil
}
