package httpapi_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/internal/httpapi"
)

// endless is far more than any buffer between the two sides has room for.
func endless() io.Reader { return io.LimitReader(zeros{}, 256<<20) }

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// TestUploadRefused: why an upload is refused is told although most of it was not read.
func TestUploadRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, &httpapi.Options{MaxUpload: 1000})
	s.run(t, "s", "1")
	for range 20 {
		if _, err := s.PutFile(t.Context(), "s", "big", 0o644, endless()); !errors.Is(err, httpapi.ErrTooLarge) {
			t.Fatalf("put: %v", err)
		}
		if _, err := s.Import(t.Context(), endless(), "x"); !errors.Is(err, engine.ErrArchive) {
			t.Fatalf("import: %v", err)
		}
	}
	if _, err := s.PutFile(t.Context(), "none", "x", 0o644, strings.NewReader("small")); !errors.Is(err, engine.ErrNoSession) {
		t.Errorf("put: %v", err)
	}
}
