package store

import (
	"encoding/binary"
	"fmt"
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

// encodeObject returns the row of an object:
// encoding (1 byte), number of references (varint), references, length of the data (varint), data.
func encodeObject(o cas.Object) []byte {
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
				return z
			}
			b[0] = encRaw
		}
	}
	return append(b, o.Data...)
}

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
	rest = rest[w:]
	data := make([]byte, 0, size)
	switch row[0] {
	case encRaw:
		if uint64(len(rest)) != size {
			return bad("its size is wrong")
		}
		data = append(data, rest...)
	case encZstd:
		dec, err := decoder()
		if err != nil {
			return cas.Object{}, err
		}
		if data, err = dec.DecodeAll(rest, data); err != nil || uint64(len(data)) != size {
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
