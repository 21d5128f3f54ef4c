// Package nativepython finds the native CPython that tests and benchmarks compare the sandbox with.
// `.ci/debian-python DIR` makes one and prints the values for both variables.
package nativepython

import (
	"os"
	"os/exec"
	"path/filepath"
)

const (
	// PathVariable names the interpreter: Debian's python3.13.
	PathVariable = "MAYFLY_NATIVE_PYTHON"
	// LibVariable names the directory of the standard library with CPython's tests in test/.
	LibVariable = "MAYFLY_CPYTHON_LIB"
)

// Find returns the absolute path of the interpreter: what PathVariable says, else python3.13 on PATH. It does not run it.
func Find() (path string, ok bool) {
	name := os.Getenv(PathVariable)
	if name == "" {
		name = "python3.13"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", false
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", false
	}
	return path, true
}

// Lib returns the directory that LibVariable names, if CPython's tests are in it.
func Lib() (path string, ok bool) {
	path = os.Getenv(LibVariable)
	if path == "" {
		return "", false
	}
	if _, err := os.Stat(filepath.Join(path, "test", "support", "__init__.py")); err != nil {
		return "", false
	}
	return path, true
}
