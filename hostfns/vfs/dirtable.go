package vfs

import (
	"sort"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// dirTable holds the entries of a directory in the order they were made. Each
// entry has a sequence number that never changes and is never used again, so an
// open directory needs only a number as its cursor and stays right while
// entries come and go: what existed when reading began and still exists is
// returned exactly once, what was made later is not returned. No snapshot is
// taken, so many open directories cost nothing.
type dirTable struct {
	order []dirEntry
	live  int
	next  uint64         // sequence number of the next entry
	index map[string]int // name to position; nil while there are few entries
	sums  *dirSums       // parts of the canonical hash; nil unless the directory is big and was summed
}

type dirEntry struct {
	name string
	node *inode // nil: removed
	seq  uint64
}

// scanLimit is the number of positions up to which a scan beats a map.
const scanLimit = 8

func (d *dirTable) position(name string) int {
	if d == nil {
		return -1
	}
	if d.index != nil {
		if i, ok := d.index[name]; ok {
			return i
		}
		return -1
	}
	for i := range d.order {
		if d.order[i].node != nil && d.order[i].name == name {
			return i
		}
	}
	return -1
}

func (d *dirTable) lookup(name string) *inode {
	if i := d.position(name); i >= 0 {
		return d.order[i].node
	}
	return nil
}

func (d *dirTable) len() int {
	if d == nil {
		return 0
	}
	return d.live
}

// all yields the entries in order.
func (d *dirTable) all(yield func(*dirEntry) bool) {
	if d == nil {
		return
	}
	for i := range d.order {
		if e := &d.order[i]; e.node != nil && !yield(e) {
			return
		}
	}
}

// add appends an entry; the name must be free.
func (d *dirTable) add(name string, n *inode) {
	d.append(dirEntry{name, n, d.next})
	d.next++
}

func (d *dirTable) append(e dirEntry) {
	d.order = append(d.order, e)
	d.live++
	if d.index != nil {
		d.index[e.name] = len(d.order) - 1
	} else if len(d.order) > scanLimit {
		d.compact()
	}
}

// replace points an existing name at another inode and keeps its place.
func (d *dirTable) replace(name string, n *inode) { d.order[d.position(name)].node = n }

func (d *dirTable) remove(name string) {
	d.clear(d.position(name))
	if len(d.order) > 2*d.live+scanLimit {
		d.compact()
	}
}

// clear removes the entry at a position, which stays.
func (d *dirTable) clear(i int) {
	if d.index != nil {
		delete(d.index, d.order[i].name)
	}
	d.order[i] = dirEntry{seq: d.order[i].seq}
	d.live--
}

// compact drops removed entries and makes or drops the index.
func (d *dirTable) compact() {
	kept := make([]dirEntry, 0, max(d.live+d.live/4, 4))
	for _, e := range d.order {
		if e.node != nil {
			kept = append(kept, e)
		}
	}
	d.order, d.index = kept, nil
	if len(kept) > scanLimit {
		d.index = make(map[string]int, len(kept))
		for i, e := range kept {
			d.index[e.name] = i
		}
	}
}

// list returns up to n entries (all when n <= 0) with from <= seq < end, and
// the cursor to go on from.
func (d *dirTable) list(from, end uint64, n int) ([]sys.Dirent, uint64) {
	if d == nil {
		return nil, from
	}
	at := sort.Search(len(d.order), func(i int) bool { return d.order[i].seq >= from })
	var out []sys.Dirent
	for ; at < len(d.order) && d.order[at].seq < end; at++ {
		e := &d.order[at]
		if n > 0 && len(out) == n {
			return out, e.seq
		}
		if e.node != nil {
			out = append(out, sys.Dirent{Ino: e.node.ino, Name: e.name, Type: e.node.mode.Type()})
		}
	}
	return out, end
}
