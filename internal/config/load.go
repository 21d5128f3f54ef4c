package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// Variable names the configuration file when nothing else does; Off stands for none.
const (
	Variable = "MAYFLY_CONFIG"
	Off      = "off"
)

// maxFile bounds a configuration file in bytes: one of a thousand servers has some hundred KiB.
const maxFile = 16 << 20

// DefaultPath returns the file that is read when none is named: $MAYFLY_CONFIG, else mayfly/config.json in the user's
// configuration directory. It is "" when there is no such directory, or $MAYFLY_CONFIG is "off". The file need not exist,
// unless the variable names it.
func DefaultPath() (path string, must bool) {
	switch path = os.Getenv(Variable); path {
	case Off:
		return "", false
	case "":
		dir, err := os.UserConfigDir()
		if err != nil {
			return "", false
		}
		return filepath.Join(dir, "mayfly", "config.json"), false
	}
	return path, true
}

// LoadDefault reads the file of DefaultPath. When there is none, the configuration is empty.
func LoadDefault() (*Config, error) {
	path, must := DefaultPath()
	if path == "" {
		return &Config{}, nil
	}
	c, err := Load(path)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return &Config{}, nil
	}
	return c, err
}

// Load reads a configuration file. An error is a *KeyError, or one of reading.
func Load(path string) (*Config, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	text, err := readFile(abs)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return Parse(text, abs)
}

// Parse reads a configuration that a file has; path is absolute, and what it names is relative to its directory.
func Parse(text []byte, path string) (*Config, error) {
	c := &Config{file: path}
	if err := decodeStrict(path, text, c); err != nil {
		return nil, err
	}
	for i := range c.Tools {
		c.Tools[i] = c.absolute(c.Tools[i])
	}
	for i := range c.Plugins {
		c.Plugins[i] = c.absolute(c.Plugins[i])
	}
	if c.LLM != nil && c.LLM.Cache != "" {
		c.LLM.Cache = c.absolute(c.LLM.Cache)
	}
	var err error
	if c.secrets, err = secrets.ParseConfig(c.Secrets); err != nil {
		return nil, c.wrong("secrets", err)
	}
	for i := range c.secrets {
		c.secrets[i].Source = absoluteSource(c.secrets[i].Source, filepath.Dir(path))
	}
	return c, nil
}

// File returns where the configuration was read from, "" if it was not.
func (c *Config) File() string { return c.file }

func (c *Config) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(c.file), path)
}

func (c *Config) wrong(key string, err error) error {
	if c.file == "" {
		return fmt.Errorf("%s: %w", key, err)
	}
	return &KeyError{File: c.file, Key: key, Err: err}
}

// readFile reads a file of bounded size.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s is larger than %d MiB", path, maxFile>>20)
	}
	return b, err
}
