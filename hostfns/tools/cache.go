package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
)

const (
	cacheFormat = 1
	// cacheAge is how long a listing is believed without asking the server. Whenever the server runs, it is asked.
	cacheAge = 7 * 24 * time.Hour
)

// cached is a listing in a file.
type cached struct {
	Format       int             `json:"format"`
	Server       string          `json:"server"`
	Saved        time.Time       `json:"saved"`
	Version      string          `json:"version"`
	Title        string          `json:"title,omitempty"`
	Instructions string          `json:"instructions,omitempty"`
	Tools        []*hostfns.Tool `json:"tools"`
}

// cacheFile returns where the listing is kept; "" if nowhere. The name is a hash of the server's configuration as it is
// written, before variables and secrets are put in.
func (s *server) cacheFile() string {
	if s.all.o.CacheDir == "" {
		return ""
	}
	conf := s.conf
	conf.StartTimeout, conf.CallTimeout, conf.IdleTimeout = 0, 0, 0
	b, err := json.Marshal(struct {
		Format int
		Name   string
		Dir    string
		Server Server
	}{cacheFormat, s.name, s.all.expander.dir, conf})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return filepath.Join(s.all.o.CacheDir, hex.EncodeToString(sum[:16])+".json")
}

// loadListing returns the listing in the cache; nil if there is none that can be used.
func (s *server) loadListing() *hostfns.Listing {
	path := s.cacheFile()
	if path == "" {
		return nil
	}
	c, err := readCache(path, int64(s.all.o.MaxResult)*2)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.all.log.Warn("the cached list of tools cannot be used; the server is asked", "server", s.name, "error", err)
		}
		return nil
	}
	if age := time.Since(c.Saved); c.Server != s.name || age > cacheAge || age < -time.Hour {
		return nil
	}
	return &hostfns.Listing{Version: c.Version, Title: c.Title, Instructions: c.Instructions, Tools: c.Tools}
}

var errDamaged = errors.New("the file is damaged")

func readCache(path string, limit int64) (*cached, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	var c cached
	if int64(len(b)) > limit || json.Unmarshal(b, &c) != nil || c.Format != cacheFormat || c.Tools == nil {
		return nil, errDamaged
	}
	for _, t := range c.Tools {
		if t == nil {
			return nil, errDamaged
		}
	}
	l := &hostfns.Listing{Title: c.Title, Instructions: c.Instructions, Tools: c.Tools}
	if version(l) != c.Version {
		return nil, errDamaged
	}
	return &c, nil
}

// saveListing puts a listing into the cache.
func (s *server) saveListing(l *hostfns.Listing) {
	path := s.cacheFile()
	if path == "" {
		return
	}
	b, err := json.Marshal(&cached{cacheFormat, s.name, time.Now(), l.Version, l.Title, l.Instructions, l.Tools})
	if err == nil {
		err = replaceFile(path, b)
	}
	if err != nil {
		s.all.log.Warn("the list of tools cannot be cached", "server", s.name, "error", err)
	}
}

// replaceFile writes a file so that nobody ever sees half of it.
func replaceFile(path string, b []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".tools-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(b); err != nil {
		_ = f.Close()
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
