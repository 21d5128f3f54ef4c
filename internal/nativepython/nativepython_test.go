package nativepython

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	python := filepath.Join(dir, "python3.13")
	if err := os.WriteFile(python, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(PathVariable, "")
	t.Setenv("PATH", dir)
	if got, ok := Find(); !ok || got != python {
		t.Errorf("on PATH: got %q, %v", got, ok)
	}
	t.Setenv("PATH", t.TempDir())
	if got, ok := Find(); ok {
		t.Errorf("nowhere: got %q", got)
	}
	t.Setenv(PathVariable, python)
	if got, ok := Find(); !ok || got != python {
		t.Errorf("by the variable: got %q, %v", got, ok)
	}
	t.Setenv(PathVariable, filepath.Join(dir, "missing"))
	if got, ok := Find(); ok {
		t.Errorf("missing: got %q", got)
	}
}

func TestLib(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(LibVariable, dir)
	if _, ok := Lib(); ok {
		t.Error("a directory without tests was accepted")
	}
	if err := os.MkdirAll(filepath.Join(dir, "test", "support"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "test", "support", "__init__.py"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, ok := Lib(); !ok || got != dir {
		t.Errorf("got %q, %v", got, ok)
	}
	t.Setenv(LibVariable, "")
	if _, ok := Lib(); ok {
		t.Error("an empty variable was accepted")
	}
}
