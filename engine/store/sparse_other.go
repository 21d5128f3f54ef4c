//go:build !linux

package store

import "os"

// readSparse reads a file.
func readSparse(path string) ([]byte, error) { return os.ReadFile(path) }
