package httpapi_test

import (
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/internal/httpapi"
)

// BenchmarkExec is what a step of a durable session takes by way of each connection; "engine" is without any.
func BenchmarkExec(b *testing.B) {
	s := serve(b, nil)
	req := engine.Request{Code: "x = 1"}
	b.Run("engine", func(b *testing.B) {
		session, err := s.engine.Open(b.Context(), "engine", nil)
		if err != nil {
			b.Fatal(err)
		}
		defer session.Close()
		for b.Loop() {
			if _, err := session.Exec(b.Context(), req); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, c := range map[string]*httpapi.Client{"socket": s.Client, "process": httpapi.NewClient(s.server.Dial)} {
		b.Run(name, func(b *testing.B) {
			x := &httpapi.Exec{Request: req, Session: &engine.SessionOptions{}}
			for b.Loop() {
				if _, err := c.Exec(b.Context(), name, x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
