package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/wasm/wasi"
)

// RecordKind says what a step of a session was.
type RecordKind string

// Kinds of records.
const (
	RecordCreate   RecordKind = "create"   // step 0: nothing ran yet
	RecordExec     RecordKind = "exec"     // code ran
	RecordRewind   RecordKind = "rewind"   // the state of an earlier step came back
	RecordFork     RecordKind = "fork"     // the first record of a session that began as a copy of another
	RecordFiles    RecordKind = "files"    // files were changed from outside
	RecordSnapshot RecordKind = "snapshot" // a snapshot was asked for
	RecordWait     RecordKind = "wait"     // code runs, and waits for somebody's reply; the state is that before it
	RecordMigrate  RecordKind = "migrate"  // the state was made anew, on another build of the guest for example
)

// recordVersion is the version of records; others are refused.
const recordVersion = 1

// Record is one step of a session as the journal keeps it. The journal is a chain: each record has the hash of the one
// before it, so none can be changed, left out or put in without a change of all that follow.
type Record struct {
	Version int        `json:"version"`
	Session string     `json:"session"`
	Step    int        `json:"step"`
	Kind    RecordKind `json:"kind"`
	Time    time.Time  `json:"time"`
	// Previous is the hash of the record before this one, none for a RecordCreate. That of a RecordFork is of the session that
	// was forked.
	Previous cas.Hash `json:"previous,omitzero"`
	// Origin is the step whose state a RecordRewind or RecordFork brought.
	Origin *StepRef `json:"origin,omitempty"`
	// Input is what ran, and Result what came of it, of a RecordExec.
	Input  *Input  `json:"input,omitempty"`
	Result *Result `json:"-"`
	// Outcome is the encoded Result.
	Outcome *Blob `json:"result,omitempty"`
	// Value is the value that Result.ResultRef refers to.
	Value *Blob `json:"value,omitempty"`
	// Tape holds what the code learned from outside: random numbers, clocks, input, answers of host functions.
	Tape *Blob `json:"tape,omitempty"`
	// Wait is what a RecordWait waits for. Its Tape is that of the execution so far.
	Wait *Wait `json:"wait,omitempty"`
	// Note says what a person may want to know about the step.
	Note string `json:"note,omitempty"`
	// State is the session's state after the step.
	State State `json:"state"`

	hash cas.Hash
	raw  []byte // as it is stored
}

// StepRef names a step of a session.
type StepRef struct {
	Session string `json:"session"`
	Step    int    `json:"step"`
}

// Input is a Request as the journal keeps it.
type Input struct {
	Code     Blob              `json:"code"`
	Filename string            `json:"filename,omitempty"`
	Args     []string          `json:"args,omitempty"`
	Env      map[string]string `json:"env,omitzero"`
	// Large holds Filename, Args and Env as JSON when they are too large for the record; these are empty then.
	Large    *Blob         `json:"large,omitempty"`
	Stdin    bool          `json:"stdin,omitempty"`
	NoResult bool          `json:"no_result,omitempty"`
	Timeout  time.Duration `json:"timeout_ns,omitempty"`
	MaxTicks uint64        `json:"max_ticks,omitempty"`
	// Reseed tells that the program got random numbers of its own before it ran.
	Reseed bool `json:"reseed,omitempty"`
	// Limits are those of the sandbox.
	Limits Limits `json:"limits"`
	// Policy is that of the request.
	Policy *hostfns.Policy `json:"policy,omitempty"`
	// After is the step whose state the program began in, if that is not the one before: those between wait for a reply.
	After int `json:"after,omitempty"`
}

// State is what brings a session back to where it was after a step.
type State struct {
	// Guest is the Guest.ID of the interpreter, and Image the sum of its initial memory. Memory is relative to that.
	Guest string `json:"guest,omitempty"`
	Image string `json:"image,omitempty"`
	// Files is the frame of the file system, and Tree the hash of all names and contents, whatever way they came about.
	Files cas.Hash `json:"files,omitzero"`
	Tree  cas.Hash `json:"tree,omitzero"`
	// Memory is the frame of the interpreter's memory, none when no snapshot was taken at this step.
	Memory cas.Hash `json:"memory,omitzero"`
	// Fresh tells that no code ran yet, so that there is no memory to keep.
	Fresh bool `json:"fresh,omitempty"`
	// Reseed tells that random numbers are shared with another session.
	Reseed bool `json:"reseed,omitempty"`
	// Open are the files that the program has open.
	Open []wasi.OpenFile `json:"open,omitempty"`
	// OpenList has them as JSON when they are too many for the record.
	OpenList *Blob `json:"open_list,omitempty"`
	// Monotonic is where the program's monotonic clock was.
	Monotonic time.Duration `json:"monotonic_ns,omitempty"`
}

// stored tells whether the state can be had without running anything again.
func (s *State) stored() bool { return s.Fresh || !s.Memory.IsZero() }

// holds returns the objects that keep the state.
func (s *State) holds() (h []cas.Hash) {
	for _, f := range []cas.Hash{s.Files, s.Memory} {
		if !f.IsZero() {
			h = append(h, f)
		}
	}
	return append(h, s.OpenList.holds()...)
}

// setOpen notes the open files.
func (s *State) setOpen(open []wasi.OpenFile, b *cas.Batch) error {
	list, err := json.Marshal(open)
	if err != nil {
		return err
	}
	if len(list) <= maxList {
		s.Open = open
		return nil
	}
	blob, err := newBlob(b, list)
	s.OpenList = &blob
	return err
}

// openFiles returns them.
func (s *State) openFiles(r cas.Reader) ([]wasi.OpenFile, error) {
	if s.OpenList == nil {
		return s.Open, nil
	}
	b, err := s.OpenList.readUpTo(r, maxJSON)
	if err != nil {
		return nil, err
	}
	open, err := decodeList[wasi.OpenFile](b)
	if err != nil {
		return nil, fmt.Errorf("%w: open files: %w", ErrStoreDamaged, err)
	}
	return open, nil
}

// call is the part of an Input that may be large.
type call struct {
	Filename string            `json:"filename"`
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env,omitzero"`
}

// setCall notes what the program was called with.
func (in *Input) setCall(c call, b *cas.Batch) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if len(data) <= maxList {
		in.Filename, in.Args, in.Env = c.Filename, c.Args, c.Env
		return nil
	}
	if n := countValues(data); n > maxListed {
		return fmt.Errorf("%d arguments and environment variables, at most %d can be stored", n, maxListed)
	}
	blob, err := newBlob(b, data)
	in.Large = &blob
	return err
}

// call returns it.
func (in *Input) call(r cas.Reader) (c call, err error) {
	if in.Large == nil {
		return call{in.Filename, in.Args, in.Env}, nil
	}
	data, err := in.Large.readUpTo(r, maxJSON)
	if err != nil {
		return c, err
	}
	if n := countValues(data); n > maxListed {
		return c, fmt.Errorf("%w: %d arguments and environment variables", ErrStoreDamaged, n)
	}
	return c, json.Unmarshal(data, &c)
}

// Hash returns the hash of the record as it is stored, which is what the next record has as Previous.
func (r *Record) Hash() cas.Hash { return r.hash }

// encode returns the record as it is stored, and sets its hash.
func (r *Record) encode() ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if len(b) > MaxRecord {
		return nil, fmt.Errorf("record of %d bytes, at most %d are possible", len(b), MaxRecord)
	}
	r.hash, r.raw = sha256.Sum256(b), b
	return b, nil
}

// parseRecord decodes a stored record, which an import may have made.
func parseRecord(b []byte) (*Record, error) {
	r := &Record{hash: sha256.Sum256(b), raw: b}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("%w: record: %w", ErrStoreDamaged, err)
	}
	switch {
	case r.Version != recordVersion:
		return nil, fmt.Errorf("%w: record of version %d; this Mayfly knows %d", ErrStoreDamaged, r.Version, recordVersion)
	case r.Step < 0, r.Kind == RecordExec && (r.Input == nil || r.Outcome == nil),
		r.Kind == RecordWait && (r.Input == nil || r.Tape == nil || r.Wait == nil),
		(r.Kind == RecordRewind || r.Kind == RecordFork) && r.Origin == nil:
		return nil, fmt.Errorf("%w: record of step %d is incomplete", ErrStoreDamaged, r.Step)
	}
	return r, nil
}

// holds returns the objects that the record needs, each once.
func (r *Record) holds() []cas.Hash {
	all := r.State.holds()
	for _, b := range []*Blob{r.Outcome, r.Value, r.Tape} {
		all = append(all, b.holds()...)
	}
	if r.Wait != nil {
		all = append(all, r.Wait.Underway.holds()...)
	}
	if r.Input != nil {
		all = append(all, r.Input.Code.holds()...)
		all = append(all, r.Input.Large.holds()...)
	}
	seen := map[cas.Hash]bool{}
	var out []cas.Hash
	for _, h := range all {
		if !seen[h] {
			seen[h] = true
			out = append(out, h)
		}
	}
	return out
}
