// Package testcache says where tests keep compiled guests. Making one takes seconds, so the directory outlives the tests,
// and is not the one that people's own mayfly uses.
package testcache

import (
	"os"
	"path/filepath"
)

// Dir returns what MAYFLY_CACHE says, else "mayfly-test" in the user's cache directory, else in that for temporary files.
func Dir() string {
	if dir := os.Getenv("MAYFLY_CACHE"); dir != "" {
		return dir
	}
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	return filepath.Join(base, "mayfly-test")
}
