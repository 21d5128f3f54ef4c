package engine

import (
	"fmt"
	"iter"
)

// The functions in this file tell a store's own check what only the engine understands, see store.CheckOptions.

// CheckRecords looks at the stored records of a session and returns the last step up to which they are a whole chain. The
// error says what is wrong with the next one; it is nil when all are right.
func CheckRecords(session string, records iter.Seq2[StoredRecord, error]) (lastGood int, err error) {
	lastGood = -1
	var last *Record
	for stored, err := range records {
		if err != nil {
			return lastGood, err
		}
		r, err := parseRecord(stored.Record)
		switch {
		case err != nil:
			return lastGood, err
		case r.Step != stored.Step:
			return lastGood, fmt.Errorf("%w: session %s: record of step %d at the place of step %d", ErrStoreDamaged, session, r.Step, stored.Step)
		case last != nil && r.Step != last.Step+1:
			return lastGood, fmt.Errorf("%w: session %s: step %d is missing", ErrStoreDamaged, session, last.Step+1)
		case last != nil && r.Previous != last.hash:
			return lastGood, fmt.Errorf("%w: session %s: the record of step %d does not follow the one before it", ErrStoreDamaged, session, r.Step)
		}
		lastGood, last = r.Step, r
	}
	return lastGood, nil
}

// HeadStep returns the last step that the head of a session speaks of.
func HeadStep(head []byte) (int, error) {
	h, err := parseHead(head)
	if err != nil {
		return 0, err
	}
	return h.Step, nil
}

// Rehead makes a head for a session whose journal ends with another record than its head says. A head that was lost, nil, is
// made anew with default limits.
func Rehead(session string, head []byte, last StoredRecord) ([]byte, error) {
	r, err := parseRecord(last.Record)
	if err != nil {
		return nil, err
	}
	h, err := parseHead(head)
	if head == nil || err != nil {
		h = &sessionHead{Version: headVersion, ID: session, Created: r.Time, Active: r.Time, First: 0}
	}
	h.ID, h.Step, h.Record = session, r.Step, r.hash
	h.First = min(h.First, r.Step)
	h.Snapshot, h.Kept, h.Dropped = min(h.Snapshot, r.Step), min(h.Kept, r.Step), min(h.Dropped, r.Step)
	if r.State.stored() {
		h.Snapshot = r.Step
	}
	return h.encode()
}
