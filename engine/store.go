package engine

import (
	"context"
	"errors"
	"iter"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// Store keeps durable sessions: their objects, journals and heads. Package engine/store has the one on Badger. It knows
// nothing of what it keeps besides what is said here. All methods are safe for concurrent use.
type Store interface {
	cas.ReadWriter
	// Commit stores a step, or nothing at all. When it returns nil the step is as safe as the store's durability says.
	// Commits of different sessions may share one write.
	Commit(ctx context.Context, c *Commit) error
	// Head returns what the latest commit of a session has as its Head; ErrNoSession when there is none.
	Head(ctx context.Context, session string) ([]byte, error)
	// SetHead replaces the head of a session, which must exist, between two steps.
	SetHead(ctx context.Context, session string, head []byte) error
	// Heads goes through the heads of all sessions in the order of their names. An error ends it.
	Heads(ctx context.Context) iter.Seq2[[]byte, error]
	// Records goes through the records of a session from a step on, in order. An error ends it.
	Records(ctx context.Context, session string, from int) iter.Seq2[StoredRecord, error]
	// Release gives up objects that a step holds; what nobody else names is deleted. The record stays. Hashes that the
	// step does not hold are ignored.
	Release(ctx context.Context, session string, step int, hashes []cas.Hash) error
	// Remove deletes a session with its journal. It is ErrNoSession when there is none.
	Remove(ctx context.Context, session string) error
	// Close waits for what is under way. Nothing else may be called afterwards.
	Close() error
}

// Commit is one step of a session as a Store keeps it.
type Commit struct {
	// Session is its name: 1 to MaxSessionName bytes of A-Z a-z 0-9 . _ -, not beginning with a dot or dash.
	Session string
	// Create tells that this is the first step of a new session: it is ErrSessionExists if there is one of this name.
	// Otherwise the session must exist (ErrNoSession), and Step be the one after its last one (ErrConflict).
	Create bool
	Step   int
	// Head replaces the session's head. Record is the step's record. Both are at most MaxRecord bytes.
	Head, Record []byte
	// Objects are stored unless the store has them.
	Objects *cas.Batch
	// Holds are the objects that the step keeps from being deleted, each of them once. All must be in Objects or in the
	// store, else the commit fails with cas.ErrMissing.
	Holds []cas.Hash
}

// StoredRecord is a record as the store has it.
type StoredRecord struct {
	Step   int
	Record []byte
}

// Limits of what a Store keeps.
const (
	MaxSessionName = 64
	MaxRecord      = 512 << 10
)

// Errors of stores and of durable sessions that callers branch on.
var (
	// ErrNoSession: there is no session of this name.
	ErrNoSession = errors.New("no such session")
	// ErrSessionExists: there is one already.
	ErrSessionExists = errors.New("the session exists already")
	// ErrConflict: the session was changed by somebody else.
	ErrConflict = errors.New("the session was changed meanwhile")
	// ErrTooManySessions: the tenant has as many as Options.MaxSessions allows.
	ErrTooManySessions = errors.New("too many sessions")
	// ErrStoreFull: the disk is full, or so nearly that nothing can be written safely.
	ErrStoreFull = errors.New("no space for the store")
	// ErrStoreDamaged: something in the store is not what it was when it was written.
	ErrStoreDamaged = errors.New("the store is damaged")
)
