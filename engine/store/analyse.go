package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/dgraph-io/badger/v4"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// analysis is what is in the database and how it fits together.
type analysis struct {
	s        *Store
	o        *CheckOptions
	findings []Finding
	stats    Stats

	objects map[cas.Hash]*objectInfo
	want    map[cas.Hash]int64 // counts as they should be
	have    map[cas.Hash]int64 // as they are; -1 when one cannot be read
	marks   map[cas.Hash]bool

	sessions []*sessionInfo
	doomed   map[genKey]bool
	lost     []*sessionInfo // records without a head
	maxGen   uint64
}

type genKey struct {
	name string
	gen  uint64
}

type objectInfo struct {
	refs  []cas.Hash
	bad   bool
	whole int8 // 0: unknown, 1: it and all below is there and intact, -1: not
}

type sessionInfo struct {
	genKey
	row   sessionRow
	noRow bool // the row cannot be read
	// records are the steps of which there is a readable record; steps with bad ones are in unread.
	records map[int]bool
	unread  map[int]bool
	holds   map[int][]cas.Hash
	badHold map[int]bool
	// lastGood is the last step that the session can be cut to, first-1 when there is none.
	lastGood int
	headBad  bool
}

func (a *analysis) find(f Finding) { a.findings = append(a.findings, f) }

// analyse reads all that is in the database.
func (s *Store) analyse(ctx context.Context, o *CheckOptions) (*analysis, error) {
	a := &analysis{s: s, o: o, objects: map[cas.Hash]*objectInfo{}, want: map[cas.Hash]int64{}, have: map[cas.Hash]int64{},
		marks: map[cas.Hash]bool{}, doomed: map[genKey]bool{}}
	if err := s.peek(func(txn *badger.Txn) error { return a.rows(ctx, txn) }); err != nil {
		return nil, err
	}
	a.checkObjects()
	for i, si := range a.sessions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a.checkSession(ctx, si)
		a.progress("sessions", i+1)
	}
	for _, si := range a.lost {
		a.find(Finding{Level: Error, Session: si.name, Text: fmt.Sprintf("%d records without a head", len(si.records))})
	}
	a.checkCounts()
	return a, nil
}

func (a *analysis) progress(phase string, n int) {
	if a.o.Progress != nil {
		a.o.Progress(Progress{phase, n})
	}
}

// rows goes through all rows.
func (a *analysis) rows(ctx context.Context, txn *badger.Txn) error {
	steps := map[genKey]*sessionInfo{}
	at := func(k genKey) *sessionInfo {
		if steps[k] == nil {
			steps[k] = &sessionInfo{genKey: k, records: map[int]bool{}, unread: map[int]bool{}, holds: map[int][]cas.Hash{},
				badHold: map[int]bool{}}
		}
		a.maxGen = max(a.maxGen, k.gen)
		return steps[k]
	}
	rows := map[string]sessionRow{}
	var unread []string
	var gen uint64
	it := newIterator(txn, nil)
	defer it.Close()
	for n := 0; ; n++ {
		if n == 0 {
			it.Rewind()
		} else {
			it.Next()
		}
		if !it.Valid() {
			break
		}
		if n%1000 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			a.progress("objects", len(a.objects))
		}
		item := it.Item()
		k := item.KeyCopy(nil)
		var h cas.Hash
		isHash := len(k) == 1+len(h)
		if isHash {
			h = cas.Hash(k[1:])
		}
		switch name, g, step, ok := splitKey(k, k[0] != keyDoomed); {
		case k[0] == keyObject && isHash:
			a.object(item, h)
		case k[0] == keyCount && isHash:
			a.have[h] = -1
			_ = value(item, func(b []byte) error {
				if c, err := decodeCount(b); err == nil {
					a.have[h] = c
				}
				return nil
			})
		case k[0] == keyMark && isHash:
			a.marks[h] = true
		case k[0] == keySession && validName(string(k[1:])):
			var row sessionRow
			err := value(item, func(b []byte) (err error) {
				row, err = decodeSession(string(k[1:]), b)
				return err
			})
			if err != nil {
				unread = append(unread, string(k[1:]))
				break
			}
			a.stats.Logical, a.stats.Compressed = a.stats.Logical+item.ValueSize(), a.stats.Compressed+item.ValueSize()
			rows[string(k[1:])] = row
			a.maxGen = max(a.maxGen, row.gen)
		case k[0] == keyDoomed && ok:
			a.doomed[genKey{name, g}] = true
		case k[0] == keyRecord && ok:
			si := at(genKey{name, g})
			if err := value(item, func(b []byte) error {
				if len(b) < nonceLen {
					return damaged("it is too short")
				}
				return nil
			}); err != nil {
				si.unread[step] = true
				break
			}
			si.records[step] = true
			a.stats.Logical, a.stats.Compressed = a.stats.Logical+item.ValueSize(), a.stats.Compressed+item.ValueSize()
		case k[0] == keyHolds && ok:
			si := at(genKey{name, g})
			if err := value(item, func(b []byte) (err error) {
				si.holds[step], err = decodeHolds(b)
				return err
			}); err != nil {
				si.badHold[step] = true
				break
			}
			for _, h := range si.holds[step] {
				a.want[h]++
			}
		case string(k) == string(keyGeneration):
			_ = value(item, func(b []byte) error {
				if len(b) == 8 {
					gen = binary.BigEndian.Uint64(b)
				}
				return nil
			})
		default:
			a.find(Finding{Level: Warning, Text: fmt.Sprintf("a row of an unknown kind: %.60q", k)})
		}
	}
	for name, row := range rows {
		si := at(genKey{name, row.gen})
		si.row = row
		a.sessions = append(a.sessions, si)
		delete(steps, si.genKey)
	}
	for k, si := range steps {
		if a.doomed[k] {
			continue
		}
		si.noRow = true
		if slices.Contains(unread, k.name) {
			unread = slices.DeleteFunc(unread, func(n string) bool { return n == k.name })
			a.find(Finding{Level: Error, Session: k.name, Text: "its head cannot be read"})
		}
		a.lost = append(a.lost, si)
	}
	for _, name := range unread {
		a.find(Finding{Level: Error, Session: name, Text: "its head cannot be read, and it has no records"})
	}
	if gen < a.maxGen {
		a.find(Finding{Level: Warning, Text: "the number of generations is wrong"})
	}
	byName := func(l []*sessionInfo) {
		sort.Slice(l, func(i, j int) bool {
			return l[i].name < l[j].name || l[i].name == l[j].name && l[i].gen < l[j].gen
		})
	}
	byName(a.sessions)
	byName(a.lost)
	a.stats.Sessions, a.stats.Objects = len(a.sessions), len(a.objects)
	for _, si := range a.sessions {
		a.stats.Steps += len(si.records)
	}
	return nil
}

// object verifies an object. What a damaged one names is not known for sure, and counted only if its form is right.
func (a *analysis) object(item *badger.Item, h cas.Hash) {
	info := &objectInfo{}
	a.objects[h] = info
	err := value(item, func(b []byte) error {
		a.stats.Compressed += int64(len(b))
		a.stats.Logical += logicalSize(b)
		info.refs, _, _ = decodeRefs(b)
		_, err := decodeObject(h, b)
		return err
	})
	for _, r := range info.refs {
		a.want[r]++
	}
	if err != nil {
		info.bad = true
		a.find(Finding{Level: Error, Object: h.String(), Text: fmt.Sprintf("object %v: %v", h, firstLine(err))})
	}
}

// checkObjects finds objects that name what is not there.
func (a *analysis) checkObjects() {
	for h, o := range a.objects {
		for _, r := range o.refs {
			if a.objects[r] == nil {
				a.find(Finding{Level: Error, Object: h.String(), Text: fmt.Sprintf("object %v names %v, which is missing", h, r)})
				break
			}
		}
	}
	for h := range a.objects {
		if a.want[h] == 0 {
			a.stats.Garbage++
		}
	}
	sort.Slice(a.findings, func(i, j int) bool { return a.findings[i].String() < a.findings[j].String() })
}

// whole reports whether an object and all below it is there and intact.
func (a *analysis) whole(h cas.Hash) bool {
	stack := []cas.Hash{h}
	for len(stack) > 0 {
		h := stack[len(stack)-1]
		o := a.objects[h]
		switch {
		case o == nil:
			return false // not below h only, but then h is not whole either
		case o.whole != 0:
			stack = stack[:len(stack)-1]
			continue
		case o.bad:
			o.whole = -1
			continue
		}
		wait, ok := false, true
		for _, r := range o.refs {
			switch c := a.objects[r]; {
			case c == nil || c.whole < 0:
				ok = false
			case c.whole == 0:
				wait = true
				stack = append(stack, r)
			}
			if !ok || wait {
				break
			}
		}
		switch {
		case !ok:
			o.whole = -1
		case !wait:
			o.whole = 1
		}
	}
	o := a.objects[h]
	return o.whole > 0
}

// checkCounts compares the counts with what they should be.
func (a *analysis) checkCounts() {
	low, high, unmarked := 0, 0, 0
	for h, n := range a.want {
		switch have := a.have[h]; {
		case have < n:
			low++
		case have > n:
			high++
		}
	}
	for h, n := range a.have {
		if n != 0 && a.want[h] == 0 {
			high++
		}
	}
	for h := range a.objects {
		if a.want[h] == 0 && !a.marks[h] {
			unmarked++
		}
	}
	if low > 0 {
		a.find(Finding{Level: Error, Text: fmt.Sprintf("%d objects are named more often than their counts say", low)})
	}
	if high > 0 {
		a.find(Finding{Level: Warning, Text: fmt.Sprintf("%d objects are named less often than their counts say", high)})
	}
	if unmarked > 0 {
		a.find(Finding{Level: Warning, Text: fmt.Sprintf("%d objects that nobody names are not marked", unmarked)})
	}
}
