//go:build !linux || mayfly_file || mayfly_copy

package wasm

func hugeCode(func() bool) {}
