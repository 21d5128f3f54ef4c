package tools

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// StartVariables returns the names of the variables that every server gets of this process's environment, besides what its
// configuration says: what programs need to start at all.
func StartVariables() []string { return slices.Clone(minimalEnv) }

// environ returns the environment of a server: what it is given, and what programs need to start at all.
func environ(env map[string]string, getenv func(string) (string, bool)) []string {
	given := map[string]bool{}
	out := []string{} // exec.Cmd takes nil for all of this process's variables
	for _, name := range slices.Sorted(maps.Keys(env)) {
		given[envKey(name)] = true
		out = append(out, name+"="+env[name])
	}
	for _, name := range minimalEnv {
		if v, ok := getenv(name); ok && !given[envKey(name)] {
			out = append(out, name+"="+v)
		}
	}
	return out
}

// envKey is the same for two spellings of a variable's name.
func envKey(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

func getFrom(environ []string, name string) string {
	for _, e := range environ {
		if n, v, _ := strings.Cut(e, "="); envKey(n) == envKey(name) {
			return v
		}
	}
	return ""
}

// findProgram looks a command up in the PATH of the server's own environment. A command with a slash is relative to the
// directory that the server runs in.
func findProgram(command, dir string, environ []string) (string, error) {
	if strings.ContainsRune(command, '/') || strings.ContainsRune(command, filepath.Separator) {
		if !filepath.IsAbs(command) {
			command = filepath.Join(dir, command)
		}
		if err := executable(command); err != nil {
			return "", fmt.Errorf("the command cannot be run: %w", err)
		}
		return command, nil
	}
	exts := extensions(command, environ)
	for _, d := range filepath.SplitList(getFrom(environ, "PATH")) {
		if !filepath.IsAbs(d) {
			continue // whoever can write to a working directory must not choose the program
		}
		for _, ext := range exts {
			if p := filepath.Join(d, command+ext); executable(p) == nil {
				return p, nil
			}
		}
	}
	return "", noProgram(command, getFrom(environ, "PATH"))
}

func noProgram(command, path string) error {
	advice := "install it, or give its path"
	if words := strings.Fields(command); len(words) > 1 {
		advice = fmt.Sprintf("if that is a program and its arguments, write \"command\": %.100q and the rest into \"args\"", words[0])
	} else if path == "" {
		advice = "PATH is empty, give the program's path"
	}
	return fmt.Errorf("there is no program %.100q in PATH; %s", command, advice)
}

// extensions are what may be missing at the end of a program's name.
func extensions(command string, environ []string) []string {
	if runtime.GOOS != "windows" || filepath.Ext(command) != "" {
		return []string{""}
	}
	list := getFrom(environ, "PATHEXT")
	if list == "" {
		list = ".COM;.EXE;.BAT;.CMD"
	}
	return strings.Split(list, ";")
}

func executable(path string) error {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case st.IsDir():
		return fmt.Errorf("%s is a directory", path)
	case runtime.GOOS != "windows" && st.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable", path)
	}
	return nil
}
