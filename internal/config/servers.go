package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
	"github.com/mayfly-run/mayfly/hostfns/tools"
)

// ToolFile is a file with tool servers, read.
type ToolFile struct {
	// Path is absolute; empty: there is no file.
	Path string `json:"path,omitempty"`
	Text string `json:"text"`
}

// maxTools bounds the text of all files with tool servers together, in bytes.
const maxTools = 32 << 20

// SetTools replaces all tool servers by those of files, and of directories of plug-ins.
func (c *Config) SetTools(files, plugins []string) {
	c.MCPServers, c.Tools, c.Plugins = nil, files, plugins
}

// readTools reads the files with tool servers, and takes along what of the environment they need.
func (c *Config) readTools(s *Spec) error {
	if c.MCPServers != nil {
		text, err := json.Marshal(map[string]json.RawMessage{"mcpServers": c.MCPServers})
		if err != nil {
			return c.wrong("mcpServers", err)
		}
		if c.file == "" {
			if s.Dir, err = os.Getwd(); err != nil {
				return c.wrong("mcpServers", err)
			}
		}
		err = s.addTools(ToolFile{c.file, string(text)})
		var wrong *tools.ConfigError
		if errors.As(err, &wrong) {
			wrong.Line = 0 // of the text here, which is not that of the file
		}
		if err != nil {
			return err
		}
	}
	for _, path := range c.Tools {
		abs, err := filepath.Abs(path)
		if err != nil {
			return c.wrong("tools", err)
		}
		text, err := readFile(abs)
		if err != nil {
			return c.wrong("tools", err)
		}
		if err := s.addTools(ToolFile{abs, string(text)}); err != nil {
			return err
		}
	}
	size := 0
	for _, t := range s.Tools {
		size += len(t.Text)
	}
	if size > maxTools {
		return c.wrong("tools", fmt.Errorf("they are larger than %d MiB", maxTools>>20))
	}
	return nil
}

func (s *Spec) addTools(t ToolFile) error {
	parsed, err := tools.Parse([]byte(t.Text), t.Path)
	if err != nil {
		return err
	}
	for _, other := range s.Tools {
		if err := distinct(&t, parsed, &other); err != nil {
			return err
		}
	}
	s.Tools = append(s.Tools, t)
	s.Warnings = append(s.Warnings, parsed.Warnings...)
	for _, name := range startVariables() {
		s.carry(name)
	}
	for _, server := range parsed.Servers {
		texts := append([]string{server.Command, server.Cwd, server.URL}, server.Args...)
		for _, m := range []map[string]string{server.Env, server.Headers} {
			for _, v := range m {
				texts = append(texts, v)
			}
		}
		for _, text := range texts {
			for _, name := range variables(text) {
				s.carry(name)
			}
		}
	}
	return nil
}

// distinct finds a server of t that another file has as well.
func distinct(t *ToolFile, parsed *tools.Config, other *ToolFile) error {
	before, err := tools.Parse([]byte(other.Text), other.Path)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(parsed.Servers)) {
		if _, ok := before.Servers[name]; !ok {
			continue
		}
		err := fmt.Errorf("there are two of this name, the other one is in %s; give one another name, or leave it out", other.Path)
		if other.Path == t.Path {
			err = errors.New("there are two of this name; the file is named twice")
		}
		return &tools.ConfigError{File: t.Path, Server: name, Err: err}
	}
	return nil
}

// startVariables are those that programs need to start at all, see tools.Server.
func startVariables() []string {
	names := []string{"PATH", "HOME", "TMPDIR"}
	if runtime.GOOS == "windows" {
		names = append(names, "PATHEXT", "COMSPEC", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "TEMP", "TMP", "USERPROFILE", "HOMEDRIVE",
			"HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROCESSOR_ARCHITECTURE")
	}
	return names
}

// carry takes a variable of the environment along.
func (s *Spec) carry(name string) {
	v, ok := os.LookupEnv(name)
	if !ok {
		return
	}
	if s.Env == nil {
		s.Env = map[string]string{}
	}
	s.Env[name] = v
}

// variable is ${NAME}, perhaps with something before or after the name: which forms there are is up to package tools.
var variable = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)`)

// variables returns the names of the variables that a text may have.
func variables(text string) (names []string) {
	for _, m := range variable.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// providers makes the tool servers. Those that were made are returned with an error as well.
func (s *Spec) providers(set *secrets.Set, o *HostOptions) (all []hostfns.Provider, err error) {
	for _, t := range s.Tools {
		parsed, err := tools.Parse([]byte(t.Text), t.Path)
		if err != nil {
			return all, err
		}
		if parsed.Dir == "" {
			parsed.Dir = s.Dir
		}
		servers, err := tools.New(parsed, &tools.Options{
			CacheDir: o.CacheDir, Getenv: s.getenv, Expand: set.Expand, ClientVersion: o.Version, Started: o.Started,
			Logger: o.Logger, Stderr: o.Stderr,
		})
		if err != nil {
			return all, err
		}
		all = append(all, servers)
	}
	for _, dir := range s.Plugins {
		p, err := openPlugins(dir, set, o)
		if err != nil {
			return all, err
		}
		all = append(all, p)
	}
	return all, nil
}

func (s *Spec) getenv(name string) (string, bool) {
	v, ok := s.Env[name]
	return v, ok
}
