package config

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

func TestLogsHaveNoSecrets(t *testing.T) {
	const value = "swordfish-4711"
	set, err := secrets.New(context.Background(), []secrets.Spec{{Name: "TOKEN", Value: value}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	l := scrubbed(slog.New(slog.NewTextHandler(&out, nil)), set)
	l.With("header", "Bearer "+value).WithGroup("g").Warn("it said "+value, "line", value, "error", errors.New("bad "+value),
		slog.Group("deep", "x", value), "bytes", []string{value}, "number", 7)
	if got := out.String(); strings.Contains(got, value) || strings.Count(got, "{{secret:TOKEN}}") != 6 || !strings.Contains(got, "number=7") {
		t.Error(got)
	}
	if plain := slog.Default(); scrubbed(plain, nil) != plain {
		t.Error("a logger without secrets to scrub is another one")
	}
}
