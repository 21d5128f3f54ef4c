package httpapi_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/engine/store"
	"github.com/mayfly-run/mayfly/guests/python"
	"github.com/mayfly-run/mayfly/internal/httpapi"
	"github.com/mayfly-run/mayfly/internal/testcache"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is a store in a directory, served on its socket.
type service struct {
	*httpapi.Client
	engine *engine.Engine
	server *httpapi.Server
	socket string
}

func serve(t testing.TB, o *httpapi.Options) *service {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	st, err := store.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(t.Context(), &engine.Options{
		Guests: []engine.Guest{python.New()}, CacheDir: testcache.Dir(), Store: st, ReadySandboxes: -1, Questions: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := httpapi.ListenUnix(dir)
	if err != nil {
		t.Fatal(err)
	}
	if o == nil {
		o = &httpapi.Options{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	h := httpapi.New(e, o)
	s := &service{engine: e, socket: l.Addr().String(), server: httpapi.Start(h, o.Logger, l)}
	s.Client = httpapi.NewClient(httpapi.DialUnix(s.socket))
	t.Cleanup(func() {
		err := errors.Join(s.server.Shutdown(context.Background()), e.Close())
		h.Close()
		if err = errors.Join(err, st.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// request sends what the client would not.
func (s *service) request(t testing.TB, method, path, contentType, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://mayfly"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := httpapi.Transport(s.socket).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// run runs code in a session, which is made, and fails unless that goes well.
func (s *service) run(t testing.TB, session, code string) *engine.Result {
	t.Helper()
	r, err := s.Exec(t.Context(), session, &httpapi.Exec{
		Request: engine.Request{Code: code}, Session: &engine.SessionOptions{},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != engine.StatusOK {
		t.Fatalf("%s: %s: %+v", code, r.Status, r.Error)
	}
	return r
}
