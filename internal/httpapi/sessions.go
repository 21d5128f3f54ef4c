package httpapi

import (
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

// SessionOptions are engine.SessionOptions as they travel.
type SessionOptions struct {
	Sandbox *engine.Sandbox   `json:"sandbox,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Tenant  string            `json:"tenant,omitempty"`
	// IdleTTL and MaxAge are in milliseconds; negative: for ever.
	IdleTTL   int64                  `json:"idle_ttl_ms,omitempty"`
	MaxAge    int64                  `json:"max_age_ms,omitempty"`
	Snapshots *engine.SnapshotPolicy `json:"snapshots,omitempty"`
	Existing  bool                   `json:"existing,omitempty"`
	New       bool                   `json:"new,omitempty"`
}

func wireOptions(o *engine.SessionOptions) *SessionOptions {
	return &SessionOptions{
		Sandbox: o.Sandbox, Labels: o.Labels, Tenant: o.Tenant, IdleTTL: o.IdleTTL.Milliseconds(),
		MaxAge: o.MaxAge.Milliseconds(), Snapshots: o.Snapshots, Existing: o.Existing, New: o.New,
	}
}

func (o *SessionOptions) options() *engine.SessionOptions {
	return &engine.SessionOptions{
		Sandbox: o.Sandbox, Labels: o.Labels, Tenant: o.Tenant, IdleTTL: milliseconds(o.IdleTTL),
		MaxAge: milliseconds(o.MaxAge), Snapshots: o.Snapshots, Existing: o.Existing, New: o.New,
	}
}

// milliseconds makes a duration of a number that came from outside: what is too large stands for some 292 years.
func milliseconds(n int64) time.Duration {
	const most = int64(math.MaxInt64 / time.Millisecond)
	return time.Duration(min(max(n, -most), most)) * time.Millisecond
}

// Opened is a session that was opened, with what a person should know about how that went.
type Opened struct {
	engine.SessionInfo
	Notes []string `json:"notes,omitempty"`
}

// open opens the session that a request names. Without options it has to exist. The caller gives it to h.kept.
func (h *handler) open(r *http.Request, o *SessionOptions) (*engine.Session, error) {
	if o == nil {
		o = &SessionOptions{Existing: true}
	}
	if o.Sandbox != nil && len(o.Sandbox.Mounts) > 0 && !h.o.HostMounts {
		return nil, badRequest("copy files into the session instead", "this server does not mount directories of its host")
	}
	return h.e.Open(r.Context(), r.PathValue("name"), o.options())
}

// use calls f with the session that a request names, which has to exist.
func (h *handler) use(r *http.Request, f func(*engine.Session) error) error {
	s, err := h.open(r, nil)
	if err != nil {
		return err
	}
	defer h.kept.keep(s)
	return f(s)
}

func (h *handler) listSessions(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	filter := &engine.SessionFilter{Tenant: q.Get("tenant")}
	for _, label := range q["label"] {
		k, v, ok := strings.Cut(label, "=")
		if !ok || k == "" {
			return badRequest("write label=NAME=VALUE", "label %.80q", label)
		}
		if filter.Labels == nil {
			filter.Labels = map[string]string{}
		}
		filter.Labels[k] = v
	}
	all, err := h.e.Sessions(r.Context(), filter)
	if err != nil {
		return err
	}
	if all == nil {
		all = []engine.SessionInfo{}
	}
	writeJSON(w, http.StatusOK, sessionList{all})
	return nil
}

type sessionList struct {
	Sessions []engine.SessionInfo `json:"sessions"`
}

func (h *handler) getSession(w http.ResponseWriter, r *http.Request) error {
	info, err := h.e.Lookup(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, info)
	return nil
}

func (h *handler) putSession(w http.ResponseWriter, r *http.Request) error {
	o := &SessionOptions{}
	if err := readJSON(w, r, o); err != nil {
		return err
	}
	s, err := h.open(r, o)
	if err != nil {
		return err
	}
	opened := Opened{s.Info(), s.Notes()}
	h.kept.keep(s)
	writeJSON(w, http.StatusOK, opened)
	return nil
}

func (h *handler) deleteSession(w http.ResponseWriter, r *http.Request) error {
	h.kept.forget(r.PathValue("name"))
	if err := h.e.Remove(r.Context(), r.PathValue("name")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (h *handler) reap(w http.ResponseWriter, r *http.Request) error {
	names, err := h.e.Reap(r.Context())
	if err != nil {
		return err
	}
	if names == nil {
		names = []string{}
	}
	writeJSON(w, http.StatusOK, reaped{names})
	return nil
}

type reaped struct {
	Removed []string `json:"removed"`
}

// stepRequest is the body of rewind and fork.
type stepRequest struct {
	// Step has to be given: a request without it would otherwise do something to step 0.
	Step *int   `json:"step"`
	As   string `json:"as,omitempty"`
}

func (s *stepRequest) check() error {
	if s.Step == nil || *s.Step < engine.Latest {
		return badRequest(`send {"step": N}, -1 for the latest`, "no step")
	}
	return nil
}

func (h *handler) rewind(w http.ResponseWriter, r *http.Request) error {
	var q stepRequest
	if err := readJSON(w, r, &q); err != nil {
		return err
	}
	if err := q.check(); err != nil {
		return err
	}
	if q.As != "" {
		return badRequest("to keep the session as it is, fork it", `"as" in a rewind`)
	}
	var rec *engine.Record
	err := h.use(r, func(s *engine.Session) (err error) {
		rec, err = s.Rewind(r.Context(), *q.Step)
		return err
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, newStep(rec))
	return nil
}

func (h *handler) fork(w http.ResponseWriter, r *http.Request) error {
	var q stepRequest
	if err := readJSON(w, r, &q); err != nil {
		return err
	}
	if err := q.check(); err != nil {
		return err
	}
	s, err := h.e.Fork(r.Context(), r.PathValue("name"), *q.Step, q.As)
	if err != nil {
		return err
	}
	opened := Opened{s.Info(), s.Notes()}
	h.kept.keep(s)
	writeJSON(w, http.StatusCreated, opened)
	return nil
}

func (h *handler) snapshot(w http.ResponseWriter, r *http.Request) error {
	var info *engine.SnapshotInfo
	err := h.use(r, func(s *engine.Session) (err error) {
		info, err = s.Snapshot(r.Context())
		return err
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, info)
	return nil
}
