package httpapi

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/mayfly-run/mayfly/engine"
)

// gate counts the requests under way, and lets no new work in when the server is about to end. What belongs to an
// execution that runs, its input, its cancellation and the replies to its questions, is let in as long as it runs.
type gate struct {
	h http.Handler

	mu      sync.Mutex
	active  int
	closing bool
	idle    chan struct{} // closed when closing and nothing is active
}

func newGate(h http.Handler) *gate { return &gate{h: h, idle: make(chan struct{})} }

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if !g.enter(strings.HasPrefix(path, "/v1/executions/") || path == "/v1/questions" || strings.HasPrefix(path, "/v1/questions/")) {
		w.Header().Set("Connection", "close")
		p := describe(&engine.Error{
			Err: errStopping, Phase: engine.PhaseRequest, Hint: "try again: another process will have the store then",
		})
		writeJSON(w, p.status(), p)
		return
	}
	defer g.leave()
	g.h.ServeHTTP(w, r)
}

func (g *gate) enter(always bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing && !always {
		return false
	}
	g.active++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active--
	g.look()
}

// look closes idle when it is time to.
func (g *gate) look() {
	if g.closing && g.active == 0 {
		select {
		case <-g.idle:
		default:
			close(g.idle)
		}
	}
}

// drain refuses new work, and waits until nothing is under way.
func (g *gate) drain(ctx context.Context) error {
	g.mu.Lock()
	g.closing = true
	g.look()
	g.mu.Unlock()
	select {
	case <-g.idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
