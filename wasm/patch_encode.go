package wasm

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// ErrPatch is wrapped by errors about data that is not a patch of memories of this image.
var ErrPatch = errors.New("memory patch is damaged")

// PatchData is a patch as it is kept outside of the process.
type PatchData struct {
	Head  []byte
	Parts [][]byte
}

const (
	patchVersion = 1
	// MinPart is the smallest limit of a part, in bytes.
	MinPart = 64 << 10
	// wholePart is the limit by which a patch is cut at first.
	wholePart = 512 << 10
	// maxHead bounds what is decoded as a head. Guests have a handful of globals.
	maxHead = 64 << 10
)

// patchHead is JSON outside.
type patchHead struct {
	Version int      `json:"version"`
	Size    int64    `json:"size"` // as the guest sees it
	Globals []uint64 `json:"globals"`
	Fresh   bool     `json:"fresh,omitempty"`
}

// head describes the present state.
func (m *Memory) head() patchHead {
	return patchHead{
		Version: patchVersion, Size: int64(len(m.buf) - guardSize), Globals: m.im.keptGlobals(m.globals), Fresh: m.fresh,
	}
}

// Head returns, as JSON, the version of the format, the memory's size, its globals and whether anything ever ran in it.
func (p *Patch) Head() []byte {
	b, err := json.Marshal(p.head)
	if err != nil {
		panic(err) // numbers can always be encoded
	}
	return b
}

func parseHead(b []byte) (h patchHead, err error) {
	if len(b) > maxHead {
		return h, fmt.Errorf("%w: head of %d bytes", ErrPatch, len(b))
	}
	if err := json.Unmarshal(b, &h); err != nil {
		return h, fmt.Errorf("%w: head: %w", ErrPatch, err)
	}
	if h.Version != patchVersion {
		return h, fmt.Errorf("%w: version %d; this Mayfly knows %d", ErrPatch, h.Version, patchVersion)
	}
	return h, nil
}

// Parts returns the ranges in pieces of at most limit bytes each, at least MinPart. Each piece can be applied on its own. A
// patch without ranges has no parts. The caller must not change them.
//
// A part is a list of runs: the number of words since the end of the last run, or since address 0, the number of words of
// the run, both as uvarints, and the words. Much data is cut where its address is a multiple of a power of two, so that
// what did not change makes equal parts in later patches.
func (p *Patch) Parts(limit int) [][]byte {
	if limit = max(limit, MinPart); limit >= wholePart {
		return p.parts
	}
	var runs []run
	var data [][]byte
	for _, part := range p.parts {
		err := eachRun(part, math.MaxInt, func(off int, b []byte) {
			runs = append(runs, run{uint32(off / wordSize), uint32(len(b) / wordSize)})
			data = append(data, b)
		})
		if err != nil {
			panic(err) // it is ours
		}
	}
	return cut(runs, limit, func(r run) []byte {
		if len(data[0]) == 0 {
			data = data[1:]
		}
		b := data[0][:r.n*wordSize]
		data[0] = data[0][len(b):]
		return b
	})
}

// cut encodes runs as parts; bytes returns the words of a run, or of a piece of one, in order.
func cut(runs []run, limit int, bytes func(run) []byte) (parts [][]byte) {
	// A part ends with the first window of which it has more than half, or before it would get too long.
	window := uint32(1) << (bits.Len(uint(limit/2/wordSize)) - 1)
	var part []run
	size, end, last := 0, uint32(0), uint32(0)
	flush := func() {
		if len(part) > 0 {
			parts = append(parts, encodePart(part, size, bytes))
		}
		part, size, end = part[:0], 0, 0
	}
	for _, r := range runs {
		for r.n > 0 {
			if r.off/window != last && size >= int(window)*wordSize/2 {
				flush()
			}
			last = r.off / window
			room := (limit - size - 2*binary.MaxVarintLen32) / wordSize
			if room <= 0 {
				flush()
				continue
			}
			piece := run{r.off, min(r.n, window-r.off%window, uint32(room))}
			part = append(part, piece)
			size += uvarintLen(piece.off-end) + uvarintLen(piece.n) + int(piece.n)*wordSize
			end = piece.off + piece.n
			r.off, r.n = end, r.n-piece.n
		}
	}
	flush()
	return parts
}

func uvarintLen(x uint32) int { return (bits.Len32(x|1) + 6) / 7 }

func encodePart(runs []run, size int, bytes func(run) []byte) []byte {
	b, end := make([]byte, 0, size), uint32(0)
	for _, r := range runs {
		b = binary.AppendUvarint(b, uint64(r.off-end))
		b = binary.AppendUvarint(b, uint64(r.n))
		b = append(b, bytes(r)...)
		end = r.off + r.n
	}
	return b
}

// eachRun calls f for each run of a part, which all lie in the first size bytes.
func eachRun(part []byte, size int, f func(off int, data []byte)) error {
	all := uint64(size) / wordSize
	at := uint64(0)
	for rest := part; len(rest) > 0; {
		gap, k := binary.Uvarint(rest)
		if k <= 0 || gap > all-at {
			return fmt.Errorf("%w: run begins outside of %d bytes", ErrPatch, size)
		}
		rest, at = rest[k:], at+gap
		n, k := binary.Uvarint(rest)
		if k <= 0 || n == 0 || n > all-at {
			return fmt.Errorf("%w: run ends outside of %d bytes", ErrPatch, size)
		}
		rest = rest[k:]
		if uint64(len(rest)) < n*wordSize {
			return fmt.Errorf("%w: run of %d words, of which %d bytes are there", ErrPatch, n, len(rest))
		}
		f(int(at*wordSize), rest[:n*wordSize])
		rest, at = rest[n*wordSize:], at+n
	}
	return nil
}
