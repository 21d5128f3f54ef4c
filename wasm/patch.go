package wasm

import (
	"bytes"
	"fmt"
	"unsafe"
)

// Patch is how one state of a Memory differs from another: ranges of bytes, the size, and the globals. It does not change.
//
// Equal states make equal patches: which pages the system reports as written, and how the state came about, does not show.
// So a patch relative to the image can stand for the whole memory, for example to compare two runs of a program.
type Patch struct {
	head  patchHead
	parts [][]byte
	bytes int
}

// run is a range of 8-byte words.
type run struct{ off, n uint32 }

const (
	wordSize = 8
	// runGap is the number of equal words between two runs up to which one run is shorter.
	runGap = 1
	// diffChunk is how many bytes are first compared as a whole.
	diffChunk = 256
)

// Patch returns what differs from a checkpoint, which has to be the latest one of this memory, or from the image when since
// is nil. It waits for a call in flight. A memory whose guest stopped half-way has no state to keep: ErrSuspect.
func (m *Memory) Patch(since *Checkpoint) (*Patch, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return nil, ErrClosed
	case m.suspect:
		return nil, ErrSuspect
	case since != nil && (since.m != m || since.seq != m.checkpoint):
		return nil, fmt.Errorf("%w: not the latest checkpoint of this memory", ErrImage)
	}
	m.forgetInterrupt()
	p := &Patch{head: m.head()}
	if m.fresh && (since == nil || since.snap.fresh) {
		return p, nil
	}
	var d difference
	var err error
	if since == nil {
		err = d.image(m)
	} else {
		err = d.checkpoint(m, &since.snap)
	}
	if err != nil {
		return nil, fmt.Errorf("compare memory: %w", err)
	}
	for _, r := range d.runs {
		p.bytes += int(r.n) * wordSize
	}
	p.parts = cut(d.runs, wholePart, func(r run) []byte {
		off := int(r.off) * wordSize
		return m.buf[off : off+int(r.n)*wordSize]
	})
	return p, nil
}

// Bytes returns the bytes of memory that the patch holds. Its parts are a little larger.
func (p *Patch) Bytes() int { return p.bytes }

// forgetInterrupt clears what is left in the control block of an interrupt that came too late, as the next call would do.
func (m *Memory) forgetInterrupt() {
	c := m.im.control
	if pending, ok := m.u32(c); !ok || pending == 0 {
		return
	}
	m.putU32(c, 0)
	m.putU32(c+12, 0)
}

// difference is what was found to differ.
type difference struct{ runs []run }

// image finds what differs from the image.
func (d *difference) image(m *Memory) error {
	spans, err := m.changed()
	if err != nil {
		return err
	}
	for _, sp := range spans {
		for off := sp.Off; off < min(sp.Off+sp.Len, len(m.buf)); off += osPage {
			d.page(off, m.buf[off:off+osPage], m.im.page(off))
		}
	}
	return nil
}

// checkpoint finds what differs from a checkpoint. A page that the checkpoint does not hold was then what lies below:
// in the layer, or in the image.
func (d *difference) checkpoint(m *Memory, s *Snapshot) error {
	spans, err := m.region.dirty(nil, len(m.buf))
	if err != nil {
		return err
	}
	below := func(off int) ([]byte, error) { return m.im.page(off), nil }
	if m.region.layered() {
		l := layerReader{region: m.region}
		below = func(off int) ([]byte, error) { return l.page(off, spans) }
	}
	now, then, data := pages{spans: spans}, pages{spans: s.spans}, s.data
	for {
		off := min(now.next(), then.next())
		if off >= len(m.buf) {
			return nil
		}
		var before []byte
		if then.next() == off {
			before, data = data[:osPage], data[osPage:]
			then.step()
		} else if before, err = below(off); err != nil {
			return err
		}
		if now.next() == off {
			now.step()
		}
		d.page(off, m.buf[off:off+osPage], before)
	}
}

// pages goes through the pages of spans.
type pages struct {
	spans []span
	done  int // bytes of the first span
}

const noPage = int(^uint(0) >> 1)

// next returns the offset of the page, noPage at the end.
func (p *pages) next() int {
	if len(p.spans) == 0 {
		return noPage
	}
	return p.spans[0].Off + p.done
}

func (p *pages) step() {
	if p.done += osPage; p.done >= p.spans[0].Len {
		p.spans, p.done = p.spans[1:], 0
	}
}

// zeros is a page.
var zeros = make([]byte, max(osPage, 4096))

// page returns a page of the image; behind its end are zeros.
func (im *Image) page(off int) []byte {
	if off >= im.base.size {
		return zeros[:osPage]
	}
	return im.base.view[off : off+osPage]
}

// layerReader reads a region's layer, in long pieces where many pages are wanted.
type layerReader struct {
	region *region
	buf    []byte
	off    int // of what is in buf
}

const layerPiece = 64 << 10

// page returns a page of the layer. Those that follow in the same one of the spans are likely to be asked for next.
func (l *layerReader) page(off int, spans []span) ([]byte, error) {
	if off < l.off || off+osPage > l.off+len(l.buf) {
		n := osPage
		for _, sp := range spans {
			if off >= sp.Off && off < sp.Off+sp.Len {
				n = min(sp.Off+sp.Len-off, max(layerPiece, osPage))
				break
			}
		}
		if cap(l.buf) < n {
			l.buf = make([]byte, max(layerPiece, osPage))
		}
		l.buf, l.off = l.buf[:n], off
		if err := l.region.readLayer(l.buf, off); err != nil {
			return nil, err
		}
	}
	return l.buf[off-l.off:][:osPage], nil
}

func words(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/wordSize)
}

// page appends the runs of a page, at offset off, that are not what they were before.
func (d *difference) page(off int, page, before []byte) {
	for at := 0; at < len(page); at += diffChunk {
		now, then := page[at:at+diffChunk], before[at:at+diffChunk]
		if bytes.Equal(now, then) {
			continue
		}
		a, b := words(now), words(then)
		b = b[:len(a)]
		first := uint32((off + at) / wordSize)
		for i := 0; i < len(a); i++ {
			if a[i] == b[i] {
				continue
			}
			end := i + 1
			for end < len(a) && a[end] != b[end] {
				end++
			}
			d.add(first+uint32(i), uint32(end-i))
			i = end
		}
	}
}

// add appends n words, or makes the last run longer.
func (d *difference) add(off, n uint32) {
	if k := len(d.runs); k > 0 {
		if r := &d.runs[k-1]; off-(r.off+r.n) <= runGap {
			r.n = off + n - r.off
			return
		}
	}
	d.runs = append(d.runs, run{off, n})
}
