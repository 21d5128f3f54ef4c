package tape

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// A series is a list of numbers, short when they are small or the same many times. Its tokens begin with a byte:
//
//	0x00-0x7f  the number itself
//	0x80-0xfc  three numbers below 5: 0x80 + a + 5b + 25c
//	0xfe       a number, as uvarint
//	0xff       a run: the number and how often it comes, each as uvarint
type series struct {
	data  []byte
	count uint64
}

const (
	tokenThree  = 0x80
	tokenNumber = 0xfe
	tokenRun    = 0xff
	smallBase   = 5 // 5*5*5 fits in seven bits
	smallMax    = smallBase * smallBase * smallBase
	minRun      = 12 // shorter ones take as little without
)

// seriesWriter makes a series.
type seriesWriter struct {
	data  []byte
	count uint64
	run   uint64 // the number that comes now, how often so far
	n     uint64
	small [3]byte // numbers that are waiting to be three
	waits int
}

func (w *seriesWriter) add(v uint64) {
	w.count++
	if v == w.run {
		w.n++
		return
	}
	w.flushRun()
	w.run, w.n = v, 1
}

// size is about what the series takes so far, in bytes.
func (w *seriesWriter) size() int { return len(w.data) }

func (w *seriesWriter) flushRun() {
	v, n := w.run, w.n
	w.n = 0
	if n >= minRun {
		w.flushSmall()
		w.data = append(w.data, tokenRun)
		w.data = binary.AppendUvarint(w.data, v)
		w.data = binary.AppendUvarint(w.data, n)
		return
	}
	for ; n > 0; n-- {
		w.put(v)
	}
}

func (w *seriesWriter) put(v uint64) {
	if v < smallBase {
		w.small[w.waits] = byte(v)
		if w.waits++; w.waits == len(w.small) {
			w.data = append(w.data, tokenThree+w.small[0]+smallBase*w.small[1]+smallBase*smallBase*w.small[2])
			w.waits = 0
		}
		return
	}
	w.flushSmall()
	if v < tokenThree {
		w.data = append(w.data, byte(v))
		return
	}
	w.data = append(w.data, tokenNumber)
	w.data = binary.AppendUvarint(w.data, v)
}

func (w *seriesWriter) flushSmall() {
	w.data = append(w.data, w.small[:w.waits]...)
	w.waits = 0
}

// finish returns the series. The writer must not be used any more.
func (w *seriesWriter) finish() series {
	w.flushRun()
	w.flushSmall()
	return series{w.data, w.count}
}

// check makes sure that the numbers are as many as count says, and returns their sum, which is at most limit.
func (s series) check(limit uint64) (sum uint64, err error) {
	var count uint64
	for b := s.data; len(b) > 0; {
		c, total, n := uint64(1), uint64(b[0]), 1
		var high uint64
		switch k := b[0]; {
		case k < tokenThree:
		case k < tokenThree+smallMax:
			v := uint64(k - tokenThree)
			c, total = 3, v%smallBase+v/smallBase%smallBase+v/(smallBase*smallBase)
		case k == tokenNumber:
			v, m := binary.Uvarint(b[n:])
			if m <= 0 {
				return 0, fmt.Errorf("%w: a number is cut off", ErrDamaged)
			}
			total, n = v, n+m
		case k == tokenRun:
			v, m := binary.Uvarint(b[n:])
			if m <= 0 {
				return 0, fmt.Errorf("%w: a number is cut off", ErrDamaged)
			}
			n += m
			if c, m = binary.Uvarint(b[n:]); m <= 0 || c == 0 {
				return 0, fmt.Errorf("%w: a run is cut off", ErrDamaged)
			}
			n += m
			high, total = bits.Mul64(v, c)
		default:
			return 0, fmt.Errorf("%w: unknown token %#x", ErrDamaged, k)
		}
		if high > 0 || total > limit-sum || c > s.count-count {
			return 0, fmt.Errorf("%w: numbers are too large or too many", ErrDamaged)
		}
		sum, count, b = sum+total, count+c, b[n:]
	}
	if count != s.count {
		return 0, fmt.Errorf("%w: %d numbers instead of %d", ErrDamaged, count, s.count)
	}
	return sum, nil
}

func (s series) reader() seriesReader { return seriesReader{data: s.data} }

// seriesReader goes through a series that was checked.
type seriesReader struct {
	data  []byte
	run   uint64 // comes n times more
	n     uint64
	small byte // holds that many numbers more
	waits int
}

func (r *seriesReader) next() (v uint64, ok bool) {
	switch {
	case r.n > 0:
		r.n--
		return r.run, true
	case r.waits > 0:
		v = uint64(r.small % smallBase)
		r.small /= smallBase
		r.waits--
		return v, true
	case len(r.data) == 0:
		return 0, false
	}
	k := r.data[0]
	r.data = r.data[1:]
	switch {
	case k < tokenThree:
		return uint64(k), true
	case k == tokenNumber:
		return r.uvarint(), true
	case k == tokenRun:
		r.run = r.uvarint()
		r.n = r.uvarint()
	default:
		r.small, r.waits = k-tokenThree, 3
	}
	return r.next()
}

func (r *seriesReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	r.data = r.data[n:]
	return v
}

// left is how many numbers are to come.
func (r *seriesReader) left() (n uint64) {
	c := *r
	for {
		n += c.n + uint64(c.waits)
		c.n, c.waits = 0, 0
		if _, ok := c.next(); !ok {
			return n
		}
		n++
	}
}
