package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"github.com/mayfly-run/mayfly/engine"
)

// checkSession looks at the records, the holds and the head of a session.
func (a *analysis) checkSession(ctx context.Context, si *sessionInfo) {
	row := si.row
	bad := func(l Level, format string, args ...any) {
		a.find(Finding{Level: l, Session: si.name, Text: fmt.Sprintf(format, args...)})
	}
	// Steps beyond the last one: the row that told of them is lost.
	end := row.last
	for si.records[end+1] {
		end++
	}
	if end > row.last {
		bad(Error, "there are records up to step %d; its head says that %d is the last one", end, row.last)
	}
	for _, step := range steps(si) {
		if step < row.first || step > end {
			bad(Error, "there is something of step %d; it has steps %d to %d", step, row.first, end)
		}
	}
	gap := row.first
	for gap <= end && si.records[gap] {
		gap++
	}
	for step := gap; step <= end; step++ {
		if si.unread[step] {
			bad(Error, "the record of step %d is damaged", step)
		} else if !si.records[step] {
			bad(Error, "the record of step %d is missing", step)
		}
	}
	// A record that cannot be read does not make later steps useless, but one that says something else does.
	limit := end
	if a.o.Verify != nil && gap > row.first {
		if good, err := a.o.Verify(si.name, a.s.recordsUpTo(ctx, si, gap-1)); err != nil {
			bad(Error, "%v", firstLine(err))
			limit = min(good, gap-1)
		}
	}
	for step := end; step >= row.first; step-- {
		if !a.stepWhole(si, step) {
			bad(Error, "what step %d holds is damaged", step)
		}
	}
	si.lastGood = a.target(si, limit)
	a.checkHead(si, bad)
}

// target returns the newest step, not after limit, that a session can end with, first-1 when there is none: its record can
// be read, and what it holds is whole. A step of which the head does not know must hold something, since what it held
// may be lost as well, unless no step does.
func (a *analysis) target(si *sessionInfo, limit int) int {
	for step := limit; step >= si.row.first; step-- {
		if si.records[step] && a.stepWhole(si, step) && (step <= si.row.last || len(si.holds[step]) > 0 || len(si.holds) == 0) {
			return step
		}
	}
	return si.row.first - 1
}

func (a *analysis) stepWhole(si *sessionInfo, step int) bool {
	if si.badHold[step] {
		return false
	}
	for _, h := range si.holds[step] {
		if !a.whole(h) {
			return false
		}
	}
	return true
}

func (a *analysis) checkHead(si *sessionInfo, bad func(l Level, format string, args ...any)) {
	if !json.Valid(si.row.head) {
		si.headBad = true
		bad(Error, "its head is not JSON")
		return
	}
	if a.o.HeadStep == nil {
		return
	}
	step, err := a.o.HeadStep(si.row.head)
	if err != nil {
		si.headBad = true
		bad(Error, "its head: %v", firstLine(err))
	} else if step != si.row.last {
		si.headBad = true
		bad(Error, "its head speaks of step %d; the last one is %d", step, si.row.last)
	}
}

// steps returns all steps of which there is anything, in order.
func steps(si *sessionInfo) []int {
	all := map[int]bool{}
	for s := range si.records {
		all[s] = true
	}
	for s := range si.unread {
		all[s] = true
	}
	for s := range si.holds {
		all[s] = true
	}
	for s := range si.badHold {
		all[s] = true
	}
	out := make([]int, 0, len(all))
	for s := range all {
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// recordsUpTo goes through the records of a session as the analysis sees it.
func (s *Store) recordsUpTo(ctx context.Context, si *sessionInfo, last int) func(func(engine.StoredRecord, error) bool) {
	row := si.row
	row.last = last
	return func(yield func(engine.StoredRecord, error) bool) {
		for step := row.first; step <= last; {
			var page []engine.StoredRecord
			err := s.peek(func(txn *badger.Txn) (err error) {
				page, err = recordPage(txn, si.name, row, step, pageRecords)
				return err
			})
			if err == nil {
				err = ctx.Err()
			}
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
			}
			if err != nil {
				yield(engine.StoredRecord{}, err)
				return
			}
			step += len(page)
		}
	}
}
