package store

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
)

// This file reads Badger's logs (.mem and .vlog), without Badger: it takes whatever follows a damaged entry for nothing
// and cuts it off. The format: 8 bytes key id (0 for us), 12 random bytes, then entries of
// meta, user meta (1 byte each), key length, value length, expiry (varints), key, value, CRC-32C of all that.

const (
	logHeader  = 20
	maxKeyLen  = 128     // ours, with the version
	maxValue   = 2 << 20 // ours are below 1 MiB
	metaDelete = 1 << 0
	metaPtr    = 1 << 1
	metaTxn    = 1 << 6
	metaFin    = 1 << 7
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// keyKinds are the first bytes of our keys, and of Badger's own.
var keyKinds = []byte("ocgsjhdm!")

// rawEntry is an entry of a log or a table. The slices are parts of the file.
type rawEntry struct {
	key     []byte // with the version
	meta    byte
	value   []byte
	version uint64
	size    int // of the entry in a log
}

// name is the key without the version.
func (e rawEntry) name() []byte { return e.key[:len(e.key)-8] }

func keyVersion(k []byte) uint64 { return math.MaxUint64 - binary.BigEndian.Uint64(k[len(k)-8:]) }

// searchBytes bounds the bytes whose checksums are computed in search of entries after a damaged one.
const searchBytes = 4 << 30

// parseLogEntry reads the entry at the beginning of b. It is not ok unless the checksum is right. The bytes that the
// checksum took are subtracted from the budget, if there is one.
func parseLogEntry(b []byte, budget *int64) (e rawEntry, ok bool) {
	if len(b) < 2+3+crc32.Size {
		return e, false
	}
	p := 2
	var lens [3]uint64
	for i := range lens {
		v, n := binary.Uvarint(b[p:min(len(b), p+binary.MaxVarintLen64)])
		if n <= 0 {
			return e, false
		}
		lens[i] = v
		p += n
	}
	// The checksum is looked at last: it takes its time, and parseLogEntry is called for each byte after damage.
	klen, vlen := lens[0], lens[1]
	if b[1] != 0 || lens[2] != 0 || klen < 9 || klen > maxKeyLen || vlen > maxValue ||
		uint64(len(b)-p) < klen+vlen+crc32.Size || bytes.IndexByte(keyKinds, b[p]) < 0 {
		return e, false
	}
	end := p + int(klen+vlen)
	if budget != nil {
		*budget -= int64(end)
	}
	if crc32.Checksum(b[:end], castagnoli) != binary.BigEndian.Uint32(b[end:]) {
		return e, false
	}
	e = rawEntry{key: b[p : p+int(klen)], meta: b[0], value: b[p+int(klen) : end], size: end + crc32.Size}
	e.version = keyVersion(e.key)
	return e, true
}

// logState is what a log looks like.
type logState struct {
	// badHeader: the first bytes are not ours.
	badHeader bool
	// end is where the intact entries end, and with transactions the last finished one.
	end int
	// tail is the number of bytes after end that are not 0.
	tail int
	// more tells that whole entries follow what is damaged, lost that these are of later transactions: the damaged one was
	// acknowledged then.
	more, lost bool
}

// scanLog goes through a log and calls each for all entries that belong to finished transactions, where txns tells that
// there are any (in .mem files), and for all intact entries otherwise. With beyond it also gives those that follow damage.
func scanLog(b []byte, txns, beyond bool, each func(off int, e rawEntry)) (st logState) {
	if len(b) < logHeader {
		return logState{end: len(b)}
	}
	st.badHeader = binary.BigEndian.Uint64(b) != 0
	p := logHeader
	st.end = p
	type at struct {
		off int
		e   rawEntry
	}
	var open []at // of the transaction that is not finished
	emit := func() {
		for _, a := range open {
			if each != nil {
				each(a.off, a.e)
			}
		}
		open = open[:0]
	}
	var inTxn uint64
	for {
		e, ok := parseLogEntry(b[p:], nil)
		if !ok {
			break
		}
		switch {
		case txns && e.meta&metaTxn != 0:
			if len(open) > 0 && e.version != inTxn {
				ok = false
				break
			}
			inTxn = e.version
			open = append(open, at{p, e})
			p += e.size
			continue
		case txns && e.meta&metaFin != 0:
			emit()
		default:
			open = append(open, at{p, e})
			emit()
		}
		if !ok {
			break
		}
		p += e.size
		st.end = p
	}
	rest := bytes.TrimRight(b[st.end:], "\x00")
	st.tail = len(rest)
	if st.tail == 0 {
		return st
	}
	// Look for what follows the damage.
	current, known := inTxn, len(open) > 0
	// The search ends when it took too long: then there is more, as far as we know.
	budget := int64(searchBytes)
	for q := p + 1; q < st.end+len(rest); {
		e, ok := parseLogEntry(b[q:], &budget)
		if budget < 0 {
			st.more, st.lost = true, true
			break
		}
		if !ok {
			q++
			continue
		}
		st.more = true
		if !txns || e.meta&(metaTxn|metaFin) != 0 {
			if known && e.version != current {
				st.lost = true
			}
			current, known = e.version, true
		}
		if beyond && each != nil {
			each(q, e)
		}
		q += e.size
	}
	return st
}
