//go:build !unix

package wasm

// checkPrivate relies on the permissions of the user's profile directory.
func checkPrivate(string) error { return nil }
