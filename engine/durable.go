package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// Latest stands for the last step of a session.
const Latest = -1

// SessionOptions describe a durable session, see Engine.Open. Nil and the zero value are the good defaults.
type SessionOptions struct {
	// Sandbox is what the session has and may use. Default: for a new session the defaults of Sandbox, for one that exists
	// what it has. Fields that are not zero replace those of a session that exists, save for Language.
	Sandbox *Sandbox
	// Labels are for the caller to find sessions by. Default: none, or those that it has.
	Labels map[string]string
	// Tenant is whose session it is, see Options.MaxSessions. It cannot be changed. An Open with another tenant finds no
	// session. That is all: the methods that take a name reach every session, so who serves several tenants checks first.
	Tenant string
	// IdleTTL is how long the session is kept when nobody uses it, MaxAge how long at all. Default: Options.IdleTTL and
	// Options.MaxAge, or what it has; negative: for ever.
	IdleTTL, MaxAge time.Duration
	// Snapshots says when the interpreter's memory is stored. Default: after every step, all are kept.
	Snapshots *SnapshotPolicy
	// Existing refuses to make a session (ErrNoSession), New to open one (ErrSessionExists).
	Existing, New bool
}

// SnapshotPolicy says when snapshots of the interpreter's memory are stored. A step without one is had again by running
// what came after the last one, from the journal. Steps that cannot be repeated exactly, for example as they had threads or
// were interrupted, always have one.
type SnapshotPolicy struct {
	// Every is the number of steps from one snapshot to the next. Default 1; negative: none but those that Session.Snapshot
	// takes.
	Every int `json:"every,omitempty"`
	// Keep is the number of steps whose snapshots and files are kept, the latest ones, and what they are relative to. Default
	// 0: all. The journal is kept anyway.
	Keep int `json:"keep,omitempty"`
}

// due tells whether the policy wants a snapshot after a step.
func (p SnapshotPolicy) due(step int) bool { return p.Every >= 0 && step%max(p.Every, 1) == 0 }

// SessionInfo describes a durable session.
type SessionInfo struct {
	ID       string            `json:"id"`
	Language string            `json:"language"`
	Step     int               `json:"step"`
	Created  time.Time         `json:"created"`
	Active   time.Time         `json:"last_active"`
	Expires  time.Time         `json:"expires,omitzero"`
	Parent   *StepRef          `json:"parent,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Tenant   string            `json:"tenant,omitempty"`
	Sandbox  Sandbox           `json:"sandbox"`
	// Snapshots is the policy, and Snapshot the last step that has one.
	Snapshots SnapshotPolicy `json:"snapshots"`
	Snapshot  int            `json:"snapshot"`
	// Open tells that this process has the session in memory, Running that code runs in it.
	Open    bool `json:"open"`
	Running bool `json:"running"`
	// Record is the hash of the last record.
	Record cas.Hash `json:"record"`
}

// sessionHead is what the store keeps of a session besides its journal. It changes with each step.
type sessionHead struct {
	Version  int      `json:"version"`
	ID       string   `json:"id"`
	Sandbox  Sandbox  `json:"sandbox"`
	Step     int      `json:"step"`
	First    int      `json:"first,omitempty"` // the step of the first record
	Record   cas.Hash `json:"record"`
	Snapshot int      `json:"snapshot"`
	// The states of the steps before Kept are given up, those from Dropped on by the last commit.
	Kept      int               `json:"kept,omitempty"`
	Dropped   int               `json:"dropped,omitempty"`
	Parent    *StepRef          `json:"parent,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Tenant    string            `json:"tenant,omitempty"`
	Created   time.Time         `json:"created"`
	Active    time.Time         `json:"active"`
	IdleTTL   time.Duration     `json:"idle_ttl_ns,omitempty"`
	MaxAge    time.Duration     `json:"max_age_ns,omitempty"`
	Snapshots SnapshotPolicy    `json:"snapshots"`
	// Waiting is what the last step waits for, if it is a RecordWait.
	Waiting *hostfns.Question `json:"waiting,omitempty"`
	// Imported is the last step that an import brought: random numbers up to there are shared with where it came from.
	Imported int `json:"imported,omitempty"`
	// Importing tells that an import has not come to its end: there is no such session yet.
	Importing bool `json:"importing,omitempty"`
}

const headVersion = 1

func parseHead(b []byte) (*sessionHead, error) {
	h := &sessionHead{}
	if err := json.Unmarshal(b, h); err != nil {
		return nil, fmt.Errorf("%w: head of a session: %w", ErrStoreDamaged, err)
	}
	if h.Version != headVersion || CheckSessionName(h.ID) != nil || h.Step < 0 || h.First < 0 || h.First > h.Step || h.Kept < 0 || h.Kept > h.Step || h.Dropped < 0 || h.Dropped > h.Kept {
		return nil, fmt.Errorf("%w: head of session %.80q, version %d", ErrStoreDamaged, h.ID, h.Version)
	}
	return h, nil
}

func (h *sessionHead) encode() ([]byte, error) { return json.Marshal(h) }

// expires returns when the session may be removed, the zero time for never.
func (h *sessionHead) expires() (t time.Time) {
	if h.MaxAge > 0 {
		t = h.Created.Add(h.MaxAge)
	}
	if h.IdleTTL > 0 {
		if idle := h.Active.Add(h.IdleTTL); t.IsZero() || idle.Before(t) {
			t = idle
		}
	}
	return t
}

func (h *sessionHead) info() SessionInfo {
	return SessionInfo{
		ID: h.ID, Language: h.Sandbox.Language, Step: h.Step, Created: h.Created, Active: h.Active, Expires: h.expires(),
		Parent: h.Parent, Labels: maps.Clone(h.Labels), Tenant: h.Tenant, Sandbox: h.Sandbox, Snapshots: h.Snapshots, Snapshot: h.Snapshot,
		Record: h.Record,
	}
}

// CheckSessionName returns an error unless name can name a durable session.
func CheckSessionName(name string) error {
	ok := len(name) > 0 && len(name) <= MaxSessionName && name[0] != '.' && name[0] != '-'
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
	}
	if !ok {
		return requestError(fmt.Sprintf("1 to %d letters, digits and . _ -, not beginning with . or -", MaxSessionName), "session name %.80q", name)
	}
	return nil
}
