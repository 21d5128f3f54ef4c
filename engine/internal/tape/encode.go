package tape

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"
)

// version is the first byte of an encoded recording.
const version = 1

// Parts of an encoded recording that may be missing.
const (
	partClock = 1 << iota
	partFiles
	partInput
	partCalls
	partReasons
	partAll = 1<<iota - 1
)

// Encode returns the recording as bytes: the version, which parts there are, the seed, the clocks at the beginning, the
// parts. Numbers are unsigned varints.
func (r *Recording) Encode() []byte {
	parts := part(partClock, r.clock.count > 0) | part(partFiles, r.fileCalls > 0) | part(partInput, r.Input) |
		part(partCalls, len(r.Calls) > 0) | part(partReasons, len(r.Incomplete) > 0)
	b := append([]byte{version, parts}, r.Seed[:]...)
	b = binary.AppendUvarint(b, uint64(r.Start.UnixMicro()))
	b = binary.AppendUvarint(b, uint64(r.Base.Microseconds()))
	if parts&partClock != 0 {
		b = appendSeries(b, r.clock)
	}
	if parts&partFiles != 0 {
		b = binary.AppendUvarint(b, r.fileCalls)
		b = appendBytes(b, r.files)
	}
	if parts&partInput != 0 {
		b = appendSeries(append(b, r.end), r.chunks)
		b = appendBytes(b, r.Stdin)
	}
	if parts&partCalls != 0 {
		b = binary.AppendUvarint(b, uint64(len(r.Calls)))
		for _, c := range r.Calls {
			b = append(b, c.Request[:]...)
			if c.Answer == nil {
				b = append(b, 0)
				continue
			}
			b = binary.AppendUvarint(b, uint64(len(c.Answer))+1)
			b = append(b, c.Answer...)
		}
	}
	if parts&partReasons != 0 {
		b = binary.AppendUvarint(b, uint64(len(r.Incomplete)))
		for _, s := range r.Incomplete {
			b = appendBytes(b, []byte(s))
		}
	}
	return b
}

func part(bit byte, there bool) byte {
	if there {
		return bit
	}
	return 0
}

func appendSeries(b []byte, s series) []byte {
	return appendBytes(binary.AppendUvarint(b, s.count), s.data)
}

func appendBytes(b, p []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(p))), p...)
}

// Decode reads what Encode wrote. The bytes need not be trusted; what it allocates is in proportion to them. The error
// wraps ErrDamaged or ErrVersion.
func Decode(b []byte) (*Recording, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrDamaged)
	}
	if b[0] != version {
		return nil, fmt.Errorf("%w: %d; this Mayfly knows %d", ErrVersion, b[0], version)
	}
	d := decoder{b: bytes.Clone(b[1:])}
	r := &Recording{}
	parts := d.byte()
	if parts&^partAll != 0 {
		d.fail("has unknown parts")
	}
	copy(r.Seed[:], d.take(uint64(len(r.Seed))))
	r.Start = time.UnixMicro(int64(d.upTo(maxClock))).UTC()
	r.Base = micros(int64(d.upTo(maxClock)))
	if parts&partClock != 0 {
		r.clock = d.series()
	}
	if parts&partFiles != 0 {
		r.fileCalls = d.uvarint()
		r.files = d.bytes()
	}
	if parts&partInput != 0 {
		r.Input, r.end = true, d.byte()
		r.chunks = d.series()
		r.Stdin = d.bytes()
	}
	if parts&partCalls != 0 {
		r.Calls = d.calls()
	}
	if parts&partReasons != 0 {
		for n := d.upTo(MaxReasons); n > 0 && d.err == nil; n-- {
			r.Incomplete = append(r.Incomplete, string(d.bytes()))
		}
	}
	if len(d.b) > 0 {
		d.fail("has bytes after its end")
	}
	if d.err != nil {
		return nil, d.err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return r, nil
}

// decoder takes bytes off its beginning. After an error it gives zeros.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: it %s", ErrDamaged, what)
	}
	d.b = nil
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.fail("is cut off")
		return nil
	}
	p := d.b[:n:n]
	d.b = d.b[n:]
	return p
}

func (d *decoder) byte() byte {
	if p := d.take(1); len(p) > 0 {
		return p[0]
	}
	return 0
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail("is cut off")
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) upTo(limit uint64) uint64 {
	v := d.uvarint()
	if v > limit {
		d.fail("has a number that is too large")
		return 0
	}
	return v
}

// bytes returns nil for none.
func (d *decoder) bytes() []byte {
	if n := d.uvarint(); n > 0 {
		return d.take(n)
	}
	return nil
}

func (d *decoder) series() series {
	count := d.uvarint()
	return series{d.bytes(), count}
}

func (d *decoder) calls() []HostCall {
	n := d.uvarint()
	if n > uint64(len(d.b))/(RequestSize+1) {
		d.fail("is cut off")
		return nil
	}
	list := make([]HostCall, n)
	for i := range list {
		copy(list[i].Request[:], d.take(RequestSize))
		if size := d.uvarint(); size > 0 {
			list[i].Answer = d.take(size - 1)
		}
	}
	return list
}
