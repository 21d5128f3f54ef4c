package hostfns

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// An execution that waits for a person may outlive its process: its code is run again later, and what it called before is
// answered from the journal. Calls has to know what that was, which it learns from the requests as they are made again:
// Replayed is told of each, and Continue begins what was started and not collected.

// Underway is what was started by OpStart and not collected, at some time.
type Underway struct {
	// Done are the answers of calls that had ended, by ID.
	Done map[int][]byte `json:"done,omitempty"`
	// Running are the IDs of those that were being made, save for those whose approval a person was asked for: those that a
	// server asks something about have begun.
	Running []int `json:"running,omitempty"`
	// Told is what the audit knows of the calls so far besides their answers, in the order of records.
	Told []Told `json:"told,omitempty"`
}

// Told is what a Record has that cannot be had from a call's answer.
type Told struct {
	Approved string        `json:"approved,omitempty"`
	Wall     time.Duration `json:"wall_ns,omitempty"`
}

// Underway tells what is under way.
func (c *Calls) Underway() *Underway {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := &Underway{}
	for id, k := range c.started {
		switch {
		case k.finished:
			if u.Done == nil {
				u.Done = map[int][]byte{}
			}
			u.Done[id] = k.answer
		case k.launched && !k.approval:
			u.Running = append(u.Running, id)
		}
	}
	slices.Sort(u.Running)
	for _, r := range c.records {
		u.Told = append(u.Told, Told{r.Approved, r.Wall})
	}
	return u
}

// Replayed notes a call that was answered from the journal. It has to be told of all of them, in order, before anything is
// called.
func (c *Calls) Replayed(request, answer []byte) {
	op, head, body, err := parseFrame(request)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over() {
		return
	}
	switch op {
	case OpCall, OpStart:
		h, err := parseCall(head)
		if err != nil {
			return
		}
		k := &call{c: c, fn: h.Fn, kind: kindOf(h.Fn), args: slices.Clone(h.Args), body: slices.Clone(body)}
		c.replayedCall(k, answer)
		if id := frameID(answer); op == OpStart && id > 0 && len(c.started) < c.maxStarted() {
			k.started, k.id = true, id
			if h.Queue != nil {
				k.queue = *h.Queue
			}
			c.lastID = max(c.lastID, id)
			c.started[id] = k
			if k.record != nil {
				k.record.Outcome, k.record.Bytes = CodeCancelled, 0
			}
		}
	case OpWait:
		if k := c.started[frameID(answer)]; k != nil {
			delete(c.started, k.id)
			if _, _, inner, err := parseFrame(answer); err == nil && k.record != nil {
				k.record.Outcome, k.record.Bytes = Outcome(inner), len(inner)
			}
		}
	case OpCancel:
		var h queueHead
		if json.Unmarshal(head, &h) == nil && h.ID != nil {
			if k := c.started[*h.ID]; k != nil {
				k.approved = ActionCancel // until Continue
			}
		}
	}
}

// replayedCall counts a call as begin does.
func (c *Calls) replayedCall(k *call, answer []byte) {
	if k.kind == kindQuick || k.kind == kindCatalogue {
		return
	}
	name, args, _ := k.inspect()
	k.record = &Record{Name: name, Args: c.h.RecordArgs(args), Outcome: Outcome(answer), Bytes: len(answer)}
	k.number = c.number
	c.number++
	c.bytes += int64(len(k.args) + len(k.body) + len(answer))
	if len(c.records) < MaxRecords {
		c.records = append(c.records, k.record)
	} else {
		c.more++
	}
}

// Continue begins the calls that Replayed was told of and that were not collected. What had ended has the answer that u
// knows. A call that was being made when the process ended is not made again, as nobody knows whether it happened: it
// fails with CodeLost.
func (c *Calls) Continue(u *Underway) {
	if u == nil {
		u = &Underway{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over() {
		return
	}
	for i, t := range u.Told[:min(len(u.Told), len(c.records))] {
		r := c.records[i]
		r.Wall = max(t.Wall, 0)
		switch t.Approved {
		case ActionAccept, ActionDecline, ActionCancel:
			r.Approved = t.Approved
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.started)) {
		k := c.started[id]
		k.ctx, k.cancel = context.WithCancelCause(c.ctx)
		cancelled := k.approved == ActionCancel
		k.approved = ""
		c.queue(k.queue).calls++
		c.live[k] = struct{}{}
		answer, done := u.Done[id]
		lost := &Error{
			Code: CodeLost, Message: "the process ended while this call was made; whether it happened is not known",
			Hint: "find out before calling again",
		}
		switch {
		case done:
			c.finishLocked(k, answer, nil)
		case k.kind == kindQuick:
			c.finishLocked(k, c.quickAnswer(k), nil)
		case cancelled:
			c.finishLocked(k, nil, k.name(k.toError(errCancelled)))
		case slices.Contains(u.Running, id) && k.kind != kindCatalogue:
			c.finishLocked(k, nil, k.name(lost))
		case k.kind != kindCatalogue && c.running >= c.rules.maxParallel:
			c.turns = append(c.turns, k)
		default:
			c.launch(k)
		}
	}
}

// frameID returns the ID in the answer to OpStart or OpWait, 0 if there is none.
func frameID(answer []byte) int {
	code, head, _, err := parseFrame(answer)
	var h struct{ ID int }
	if err != nil || code != 0 || json.Unmarshal(head, &h) != nil {
		return 0
	}
	return h.ID
}
