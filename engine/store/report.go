package store

import (
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

// CheckOptions say what Check does. Nil and zero values are the defaults.
type CheckOptions struct {
	// Repair mends what can be mended. Without it nothing is changed but what each Open changes.
	Repair bool
	// Progress is called now and then, in one goroutine. Nil: nobody wants to know.
	Progress func(Progress)
	// Verify looks at a session's records, which the store does not understand, and returns the last step up to which they
	// are right. The error says what is wrong with the next one; nil when all are right. Nil: records are taken as they are.
	Verify func(session string, records iter.Seq2[engine.StoredRecord, error]) (lastGood int, err error)
	// HeadStep returns the last step that a head speaks of. Nil: a head need only be JSON.
	HeadStep func(head []byte) (int, error)
	// Rehead makes a head for a session that ends with another step than its head says; head is nil when it was lost. Nil:
	// such sessions stay as they are.
	Rehead func(session string, head []byte, last engine.StoredRecord) ([]byte, error)
	Logger *slog.Logger
	// MinFree is as in Options.
	MinFree int64
	// Command is as in Options.
	Command string

	free func(dir string) (free, total int64, err error)
}

// Progress is how far Check is.
type Progress struct {
	// Phase is "files", "salvage", "objects", "sessions" or "repair".
	Phase string `json:"phase"`
	// Done counts files, objects or sessions.
	Done int `json:"done"`
}

// Level is how bad a finding is.
type Level string

// Info is no damage. Warning is damage by which nothing is lost that was acknowledged, or only what is not needed. Error is
// damage by which something is, or may be, lost.
const (
	Info    Level = "info"
	Warning Level = "warning"
	Error   Level = "error"
)

// Finding is one thing that Check found.
type Finding struct {
	Level   Level  `json:"level"`
	Text    string `json:"text"`
	Session string `json:"session,omitempty"`
	Object  string `json:"object,omitempty"`
	File    string `json:"file,omitempty"`
	// Repaired tells that it is not so any more.
	Repaired bool `json:"repaired"`
}

// String returns the finding as a line of text.
func (f Finding) String() string {
	s := string(f.Level) + ": "
	if f.Session != "" {
		s += "session " + f.Session + ": "
	}
	if f.File != "" {
		s += f.File + ": "
	}
	s += f.Text
	if f.Repaired {
		s += " (repaired)"
	}
	return s
}

// maxFindings bounds a report: a store whose disk is broken has too many.
const maxFindings = 1000

// Report is the outcome of Check.
type Report struct {
	Dir    string `json:"dir"`
	Format int    `json:"format"`
	// OK tells that nothing worse than Info is left.
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings"`
	// More is the number of findings that had no room.
	More int `json:"more,omitempty"`
	// Repaired is what was done, in order.
	Repaired []string `json:"repaired,omitempty"`
	// Saved is where the damaged database is after a salvage. It is never deleted.
	Saved   string        `json:"saved,omitempty"`
	Stats   Stats         `json:"stats"`
	Started time.Time     `json:"started"`
	Took    time.Duration `json:"took_ns"`
}

func (r *Report) add(f Finding) {
	if len(r.Findings) >= maxFindings {
		r.More++
		return
	}
	r.Findings = append(r.Findings, f)
}

func (r *Report) did(format string, args ...any) {
	r.Repaired = append(r.Repaired, fmt.Sprintf(format, args...))
}

// merge takes over the findings of an analysis after repairs: what is not found any more was repaired.
func (r *Report) merge(after []Finding) {
	left := map[string]bool{}
	for _, f := range after {
		left[f.String()] = true
	}
	known := map[string]bool{}
	for i := range r.Findings {
		f := &r.Findings[i]
		known[f.String()] = true
		if !f.Repaired && f.File == "" && f.Level != Info && !left[f.String()] {
			f.Repaired = true
		}
	}
	for _, f := range after {
		if !known[f.String()] {
			r.add(f)
		}
	}
}

func (r *Report) finish() {
	r.OK = r.More == 0
	for _, f := range r.Findings {
		if f.Level != Info && !f.Repaired {
			r.OK = false
		}
	}
	r.Took = time.Since(r.Started)
}
