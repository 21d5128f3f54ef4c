package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// Limits of what the server reads.
const (
	// DefaultMaxUpload bounds a file, a tar stream or an archive that is sent: twice the default workspace.
	DefaultMaxUpload = 2 << 30
	// maxRequest bounds a JSON body: the largest source code, and input that comes along with it.
	maxRequest = 64 << 20
)

// Options of New. Nil and the zero value are the good defaults.
type Options struct {
	// HostMounts lets callers mount directories of this host into sandboxes. It is for callers who could read and write
	// them anyway, as those of a socket that only its owner can open. Default: they cannot.
	HostMounts bool
	// NewHost makes a host of a configuration that a caller sends with an execution, so that the execution has the caller's
	// tools and secrets. A configuration names commands to run: this too is for callers who could run them anyway. What it
	// means is up to this function and the caller. Default: configurations are refused.
	NewHost func(ctx context.Context, config json.RawMessage) (*hostfns.Host, error)
	// OwnHost tells that the engine has a host of its own, for executions that come without or say HostIfNone.
	OwnHost bool
	// MaxUpload bounds an upload in bytes. Default: DefaultMaxUpload.
	MaxUpload int64
	// Version is what GET /v1/health tells. Default: none.
	Version string
	// Logger gets what an operator may want to know. Default: slog.Default().
	Logger *slog.Logger
}

// Handler answers the requests of all routes.
type Handler struct {
	mux http.ServeMux
	handler
}

type handler struct {
	e       *engine.Engine
	o       Options
	started time.Time
	running executions
	kept    keeper
	hosts   hosts
}

// New returns the handler of all routes. It can be used until e is closed; after that comes its own Close.
func New(e *engine.Engine, o *Options) *Handler {
	h := &Handler{handler: handler{e: e, started: time.Now()}}
	if o != nil {
		h.o = *o
	}
	if h.o.MaxUpload <= 0 {
		h.o.MaxUpload = DefaultMaxUpload
	}
	if h.o.Logger == nil {
		h.o.Logger = slog.Default()
	}
	h.hosts.build, h.hosts.keep, h.hosts.log = h.o.NewHost, keepHost, h.o.Logger
	for pattern, f := range map[string]route{
		"GET /v1/health":                         h.health,
		"GET /v1/sessions":                       h.listSessions,
		"GET /v1/sessions/{name}":                h.getSession,
		"PUT /v1/sessions/{name}":                h.putSession,
		"DELETE /v1/sessions/{name}":             h.deleteSession,
		"POST /v1/sessions/{name}/exec":          h.exec,
		"POST /v1/sessions/{name}/resume":        h.resume,
		"POST /v1/sessions/{name}/incomplete":    h.incomplete,
		"GET /v1/sessions/{name}/variables":      h.variables,
		"POST /v1/sessions/{name}/snapshot":      h.snapshot,
		"POST /v1/sessions/{name}/rewind":        h.rewind,
		"POST /v1/sessions/{name}/fork":          h.fork,
		"GET /v1/sessions/{name}/files":          h.listFiles,
		"GET /v1/sessions/{name}/content":        h.getContent,
		"PUT /v1/sessions/{name}/content":        h.putContent,
		"GET /v1/sessions/{name}/journal":        h.listSteps,
		"GET /v1/sessions/{name}/journal/{step}": h.getStep,
		"GET /v1/sessions/{name}/value":          h.getValue,
		"GET /v1/sessions/{name}/diff":           h.diff,
		"POST /v1/sessions/{name}/verify":        h.verify,
		"GET /v1/sessions/{name}/export":         h.export,
		"POST /v1/import":                        h.importArchive,
		"POST /v1/reap":                          h.reap,
		"PUT /v1/executions/{id}/stdin":          h.executionStdin,
		"DELETE /v1/executions/{id}":             h.cancelExecution,
		"GET /v1/questions":                      h.listQuestions,
		"POST /v1/questions/{id}":                h.reply,
		"/":                                      h.noRoute,
	} {
		h.mux.Handle(pattern, h.wrap(f))
	}
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// Close closes the hosts that were made for callers, and waits for those that executions still use.
func (h *Handler) Close() { h.hosts.close() }

// route answers a request, or returns the error that is the answer. It must not return one after it wrote something.
type route func(w http.ResponseWriter, r *http.Request) error

func (h *handler) wrap(f route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := f(w, r)
		if err == nil {
			return
		}
		p := describe(err)
		if p.Code == codeInternal && r.Context().Err() == nil {
			h.o.Logger.Error("request failed", "method", r.Method, "path", r.URL.Path, "error", err)
		}
		writeJSON(w, p.status(), p)
	})
}

func (h *handler) noRoute(_ http.ResponseWriter, r *http.Request) error {
	return &engine.Error{
		Err: fmt.Errorf("%w: %s %.200s", errNoRoute, r.Method, r.URL.Path), Phase: engine.PhaseRequest,
		Hint: "see the documentation of the API",
	}
}

// Health tells who serves.
type Health struct {
	PID     int       `json:"pid"`
	Version string    `json:"version,omitempty"`
	Started time.Time `json:"started"`
}

func (h *handler) health(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, Health{PID: os.Getpid(), Version: h.o.Version, Started: h.started})
	return nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client is gone
}

// readJSON decodes a body; none at all is left as it is.
func readJSON(w http.ResponseWriter, r *http.Request, v any) error {
	body := http.MaxBytesReader(w, r.Body, maxRequest)
	if r.ContentLength != 0 {
		if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
			return badRequest("send JSON with Content-Type: application/json", "content type %.80q", r.Header.Get("Content-Type"))
		}
	}
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		err = errors.Join(errors.New("something follows the JSON value"), tooLarge(err))
	}
	if tooLarge(err) != nil {
		return err
	}
	return badRequest("send one JSON value as it is documented", "body: %v", err)
}

func tooLarge(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return err
	}
	return nil
}

func badRequest(hint, format string, args ...any) error {
	return &engine.Error{
		Err: fmt.Errorf("%w: %w", engine.ErrRequest, fmt.Errorf(format, args...)), Phase: engine.PhaseRequest, Hint: hint,
	}
}

// stepOf reads the step that a request names.
func stepOf(s string) (int, error) {
	if s == "" || s == "latest" {
		return engine.Latest, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < engine.Latest {
		return 0, badRequest("steps are numbers from 0, or latest", "step %.40q", s)
	}
	return n, nil
}

func intOf(name, s string, def, limit int) (int, error) {
	if s == "" {
		return def, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > limit {
		return 0, badRequest(fmt.Sprintf("give a number from 0 to %d", limit), "%s=%.40q", name, s)
	}
	return n, nil
}

// journal returns the journal of the session that a request names.
func (h *handler) journal(ctx context.Context, r *http.Request) (*engine.Journal, error) {
	return h.e.Journal(ctx, r.PathValue("name"))
}
