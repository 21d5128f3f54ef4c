//go:build !windows

package tools

// minimalEnv are the variables of this process that every server gets.
var minimalEnv = []string{"PATH", "HOME", "TMPDIR"}
