package hostfns

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"slices"
	"sort"
	"sync"
	"unicode/utf8"
)

// markEvery is the distance of marks in a source, in bytes: between them it is searched from the beginning.
const markEvery = 1 << 10

// textSource is UTF-8, sliced by characters, as Python does.
type textSource struct {
	data  []byte
	chars int
	// marks has, for each markEvery bytes, how many characters begin before. Nil: each is one byte.
	marks []int
}

func newTextSource(data []byte) *textSource {
	t := &textSource{data: data, chars: utf8.RuneCount(data)}
	if t.chars == len(data) {
		return t
	}
	t.marks = make([]int, 0, len(data)/markEvery+1)
	n := 0
	for i := 0; i < len(data); i += markEvery {
		t.marks = append(t.marks, n)
		for _, c := range data[i:min(len(data), i+markEvery)] {
			if utf8.RuneStart(c) {
				n++
			}
		}
	}
	return t
}

func (t *textSource) len() int        { return t.chars }
func (t *textSource) memory() int64   { return int64(len(t.data) + 8*len(t.marks)) }
func (t *textSource) preview() string { return string(t.data[:min(len(t.data), 2*maxPreview)]) }

// offset is where the i-th character begins, in bytes.
func (t *textSource) offset(i int) int {
	if t.marks == nil {
		return i
	}
	if i >= t.chars {
		return len(t.data)
	}
	m := sort.Search(len(t.marks), func(m int) bool { return t.marks[m] > i }) - 1
	at, n := m*markEvery, t.marks[m]
	for ; ; at++ {
		if utf8.RuneStart(t.data[at]) {
			if n == i {
				return at
			}
			n++
		}
	}
}

func (t *textSource) slice(start, stop int, page bool) (*Value, int, *Error) {
	from, to := t.offset(start), t.offset(stop)
	if to-from > MaxPage {
		if !page {
			return nil, 0, tooLarge()
		}
		to = from + MaxPage
		for !utf8.RuneStart(t.data[to]) {
			to--
		}
		stop = start + utf8.RuneCount(t.data[from:to])
	}
	return &Value{Kind: ValueText, Data: t.data[from:to]}, stop, nil
}

// listSource is a valid JSON array or object, sliced by items.
type listSource struct {
	data  []byte
	count int
	marks []mark
}

// mark is where an item begins.
type mark struct{ item, at int }

func newListSource(data []byte) *listSource {
	l := &listSource{data: data}
	next := 0
	for at := skipSpace(data, 1); at < len(data) && data[at] != ']' && data[at] != '}'; {
		if at >= next {
			l.marks = append(l.marks, mark{l.count, at})
			next = at + markEvery
		}
		l.count++
		at = l.after(at)
	}
	return l
}

// end is where the item at a place ends, after its value.
func (l *listSource) end(at int) int {
	if l.data[0] == '{' {
		at = skipSpace(l.data, skipValue(l.data, at))
		at = skipSpace(l.data, at+1)
	}
	return skipValue(l.data, at)
}

// after is where the item after the one at a place begins, or the closing bracket.
func (l *listSource) after(at int) int {
	at = skipSpace(l.data, l.end(at))
	if at < len(l.data) && l.data[at] == ',' {
		at = skipSpace(l.data, at+1)
	}
	return at
}

func (l *listSource) len() int        { return l.count }
func (l *listSource) memory() int64   { return int64(len(l.data) + 16*len(l.marks)) }
func (l *listSource) preview() string { return string(l.data[:min(len(l.data), 2*maxPreview)]) }

// item is where the i-th item begins, and the mark before.
func (l *listSource) item(i int) (at, m int) {
	m = sort.Search(len(l.marks), func(m int) bool { return l.marks[m].item > i }) - 1
	at = l.marks[m].at
	for n := l.marks[m].item; n < i; n++ {
		at = l.after(at)
	}
	return at, m
}

func (l *listSource) slice(start, stop int, page bool) (*Value, int, *Error) {
	out := []byte{l.data[0]}
	if start < stop {
		from, _ := l.item(start)
		last, _ := l.item(stop - 1)
		to := l.end(last)
		if to-from > MaxPage {
			if !page {
				return nil, 0, tooLarge()
			}
			to, stop = l.page(start, from)
		}
		out = append(slices.Grow(out, to-from+1), l.data[from:to]...)
	}
	return &Value{Kind: ValueJSON, Data: append(out, l.data[0]+2)}, stop, nil // ] and } are two after [ and {
}

// page returns where items from start, which begins at from, end before they are too large, but not before the first did.
func (l *listSource) page(start, from int) (to, stop int) {
	to, stop = l.end(from), start+1
	// Items up to this mark fit, so only those after it are walked.
	m := sort.Search(len(l.marks), func(m int) bool { return l.marks[m].at > from+MaxPage }) - 1
	at, n := from, start
	if m >= 0 && l.marks[m].item > start {
		at, n = l.marks[m].at, l.marks[m].item
		// The page ends where the item before the mark does, without the comma between them.
		prev, _ := l.item(n - 1)
		to, stop = l.end(prev), n
	}
	for n < l.count {
		end := l.end(at)
		if end-from > MaxPage {
			break
		}
		to, stop = end, n+1
		at, n = l.after(at), n+1
	}
	return to, stop
}

// dictSource is a valid JSON object, whose values are found by key.
type dictSource struct {
	*listSource
	once sync.Once
	seed maphash.Seed
	// index has where each key is, by hash. Nil: there are too many.
	index []keyAt
}

type keyAt struct {
	hash uint32
	at   uint32
}

// maxIndex bounds the keys that are indexed. Objects with more are searched from the beginning.
const maxIndex = 1 << 20

func (d *dictSource) memory() int64 {
	n := d.listSource.memory()
	if d.count <= maxIndex {
		n += 8 * int64(d.count)
	}
	return n
}

func (d *dictSource) hash(key []byte) uint32 { return uint32(maphash.Bytes(d.seed, key)) }

// get returns the value of a key, the last one if there are several, as Python's json does; nil if there is none.
func (d *dictSource) get(key string) []byte {
	d.once.Do(func() {
		if d.count > maxIndex || len(d.data) > 1<<32-1 {
			return
		}
		d.seed = maphash.MakeSeed()
		d.index = make([]keyAt, 0, d.count)
		d.each(0, d.count, func(at int, k []byte) bool {
			d.index = append(d.index, keyAt{d.hash(k), uint32(at)})
			return true
		})
		slices.SortStableFunc(d.index, func(a, b keyAt) int { return int(int64(a.hash) - int64(b.hash)) })
	})
	found := -1
	if d.index == nil {
		d.each(0, d.count, func(at int, k []byte) bool {
			if string(k) == key {
				found = at
			}
			return true
		})
	} else {
		h := d.hash([]byte(key))
		i := sort.Search(len(d.index), func(i int) bool { return d.index[i].hash >= h })
		for ; i < len(d.index) && d.index[i].hash == h; i++ {
			at := int(d.index[i].at)
			if string(unquote(d.data[at:skipValue(d.data, at)])) == key {
				found = at
			}
		}
	}
	if found < 0 {
		return nil
	}
	at := skipSpace(d.data, skipValue(d.data, found))
	at = skipSpace(d.data, at+1)
	return d.data[at:skipValue(d.data, at)]
}

// each calls f with the place and the key of items, until it returns false.
func (d *dictSource) each(start, stop int, f func(at int, key []byte) bool) {
	if start >= stop {
		return
	}
	at, _ := d.item(start)
	for ; start < stop; start++ {
		if !f(at, unquote(d.data[at:skipValue(d.data, at)])) {
			return
		}
		at = d.after(at)
	}
}

// keys returns keys as a JSON array.
func (d *dictSource) keys(start, stop int, page bool) (*Value, int, *Error) {
	out, end, first := []byte{'['}, start, true
	d.each(start, stop, func(at int, _ []byte) bool {
		key := d.data[at:skipValue(d.data, at)]
		if len(out)+len(key)+1 > MaxPage && !first {
			return false
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(out, key...)
		end++
		return true
	})
	if end < stop && !page {
		return nil, 0, tooLarge()
	}
	return &Value{Kind: ValueJSON, Data: append(out, ']')}, end, nil
}

// unquote returns the text of a JSON string.
func unquote(j []byte) []byte {
	if in := j[1 : len(j)-1]; bytes.IndexByte(in, '\\') < 0 {
		return in
	}
	var s string
	if json.Unmarshal(j, &s) != nil {
		return nil
	}
	return []byte(s)
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns where the value ends that begins at i. It does not check the JSON, which was found valid, but never runs
// out of it.
func skipValue(b []byte, i int) int {
	for depth := 0; i < len(b); {
		switch c := b[i]; c {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			i = min(i+1, len(b))
		case '[', '{':
			depth++
			i++
		case ']', '}':
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			i++
			continue
		default: // a number or a word
			for i < len(b) && !delimiter[b[i]] {
				i++
			}
		}
		if depth <= 0 {
			return i
		}
	}
	return len(b)
}

// delimiter has the bytes that end a number or a word.
var delimiter = [256]bool{
	',': true, ':': true, '"': true, '[': true, ']': true, '{': true, '}': true, ' ': true, '\n': true, '\t': true, '\r': true,
}
