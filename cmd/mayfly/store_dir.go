package main

import (
	"os"
	"path/filepath"
	"runtime"
)

// storeVariable names the store when --store does not.
const storeVariable = "MAYFLY_STORE"

// directory returns the absolute path of the store.
func (f *storeFlags) directory() (string, error) {
	dir := f.dir
	if dir == "" {
		dir = os.Getenv(storeVariable)
	}
	if dir == "" {
		var err error
		if dir, err = dataDir(runtime.GOOS, os.Getenv, os.UserHomeDir); err != nil {
			return "", usageError("name a directory with --store or "+storeVariable, "no place for the store: %v", err)
		}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", usageError("", "--store: %v", err)
	}
	return abs, nil
}

// dataDir is where programs of a system keep the data of a user.
func dataDir(system string, getenv func(string) string, home func() (string, error)) (string, error) {
	variable, below := "XDG_DATA_HOME", []string{".local", "share"}
	switch system {
	case "windows":
		variable, below = "LOCALAPPDATA", []string{"AppData", "Local"}
	case "darwin":
		variable, below = "", []string{"Library", "Application Support"}
	}
	if variable != "" {
		if dir := getenv(variable); filepath.IsAbs(dir) { // others are to be ignored, says XDG
			return filepath.Join(dir, "mayfly"), nil
		}
	}
	dir, err := home()
	if err != nil {
		return "", err
	}
	return filepath.Join(append(append([]string{dir}, below...), "mayfly")...), nil
}
