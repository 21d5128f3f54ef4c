package tools

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Config says which tool servers there are.
type Config struct {
	// Servers are the servers by name. Those that the file disables are not among them.
	Servers map[string]Server
	// Dir is the directory that relative paths in the configuration are relative to: that of the file, or the one above when
	// the file is in .vscode or .cursor. Empty: the current one.
	Dir string
	// Warnings tell of what was ignored, a line each: unknown fields, for example.
	Warnings []string
}

// Kinds of transport to a server.
const (
	TransportStdio = "stdio"
	TransportHTTP  = "streamable-http"
	TransportSSE   = "sse"
)

// Server is how to reach a server. Texts may hold ${VAR}, ${VAR:-DEFAULT} and ${secret:NAME}, see Options; they are
// expanded when the server is started.
type Server struct {
	// Transport is one of the Transport constants. Default: TransportHTTP if there is a URL, else TransportStdio.
	Transport string
	// Command is a program, which is looked up in PATH of its own environment; Args are its arguments. No shell is involved.
	Command string
	Args    []string
	// Env is the environment of the program. Besides, it has what programs need to start at all: PATH, HOME and TMPDIR (on
	// Windows, the variables of the system and of the user's directories); nothing else of this process's environment.
	Env map[string]string
	// Cwd is where the program runs, relative to Config.Dir. Default: Config.Dir.
	Cwd string
	// URL is where a server is reached over HTTP. Headers are sent with every request to it, and to nobody else: servers that
	// redirect to another host are refused.
	URL     string
	Headers map[string]string
	// StartTimeout bounds the start of a server, until it answered for the first time. Default: DefaultStartTimeout.
	StartTimeout time.Duration
	// CallTimeout bounds a call. Default: none; policy has a limit as well.
	CallTimeout time.Duration
	// IdleTimeout ends a server that is not used for so long; it is started again when it is needed. Default: never.
	IdleTimeout time.Duration
}

// DefaultStartTimeout is long, because package runners download the server at the first start.
const DefaultStartTimeout = time.Minute

// maxConfig bounds a configuration in bytes.
const maxConfig = 16 << 20

// Load reads a configuration file. An error is a *ConfigError, or tells that the file cannot be read.
func Load(path string) (*Config, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(abs)
	if err != nil {
		return nil, fmt.Errorf("tool servers: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("tool servers: %w", err)
	}
	return Parse(data, abs)
}

// Parse reads a configuration; path is where it comes from, for errors and relative paths, and may be empty. The text is
// JSON with comments and trailing commas:
//
//	{"mcpServers": {"files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]}}}
//
// The servers may also be under "servers", as VS Code has it. Fields of a server are command, args, env and cwd, or url and
// headers; type (or transport), one of stdio, http, streamable-http, streamable_http and sse; timeout, startTimeout and
// idleTimeout, in seconds or as "30s"; disabled.
func Parse(data []byte, path string) (*Config, error) {
	if len(data) > maxConfig {
		return nil, &ConfigError{File: path, Err: fmt.Errorf("it is larger than %d MiB", maxConfig>>20)}
	}
	c := &Config{Servers: map[string]Server{}}
	if path != "" {
		if c.Dir = filepath.Dir(path); slices.Contains([]string{".vscode", ".cursor"}, filepath.Base(c.Dir)) {
			c.Dir = filepath.Dir(c.Dir)
		}
	}
	d := &decoder{file: path, text: stripComments(data), c: c}
	if err := d.document(); err != nil {
		return nil, err
	}
	return c, nil
}

// ConfigError tells what is wrong with a configuration, and where.
type ConfigError struct {
	File string
	// Line counts from 1; 0 when it is not known.
	Line int
	// Server and Field say what is wrong; empty when it is the file as a whole.
	Server, Field string
	Err           error
}

func (e *ConfigError) Error() string {
	s := "tool servers"
	if e.File != "" {
		s = e.File
		if e.Line > 0 {
			s += fmt.Sprintf(":%d", e.Line)
		}
	} else if e.Line > 0 {
		s += fmt.Sprintf(", line %d", e.Line)
	}
	if e.Server != "" {
		s += fmt.Sprintf(": server %.100q", e.Server)
	}
	if e.Field != "" {
		s += fmt.Sprintf(": %.100s", e.Field)
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *ConfigError) Unwrap() error { return e.Err }
