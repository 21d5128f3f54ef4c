package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// cacheSuffix ends the names of files with answers; others are not touched. A file has the hash of its text, then the text.
const cacheSuffix = ".answer"

// diskCache keeps answers in a directory, one per file. What fails is as if it was not there: a cache must not fail a call.
type diskCache struct {
	dir    string
	max    int64
	logger *slog.Logger

	mu      sync.Mutex
	counted bool
	bytes   int64
	warned  bool
}

func (d *diskCache) path(key cacheKey) string {
	name := hex.EncodeToString(key[:])
	return filepath.Join(d.dir, name[:2], name+cacheSuffix)
}

func (d *diskCache) get(key cacheKey) (string, bool) {
	path := d.path(key)
	file, err := os.Open(path)
	if err != nil {
		d.failed(err)
		return "", false
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, sha256.Size+maxAnswer+1))
	if err != nil || len(data) < sha256.Size || len(data) > sha256.Size+maxAnswer {
		return "", false
	}
	text := data[sha256.Size:]
	if sha256.Sum256(text) != [sha256.Size]byte(data) {
		return "", false // somebody else's, or what a crash left
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // the last used stay longest; if it fails, it goes earlier
	return string(text), true
}

func (d *diskCache) put(key cacheKey, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	size := int64(sha256.Size + len(text))
	if size > d.max/2 {
		return
	}
	if err := d.write(d.path(key), text); err != nil {
		d.failedLocked(err)
		return
	}
	if d.counted {
		d.bytes += size
	}
	if !d.counted || d.bytes > d.max {
		d.shrink()
	}
}

// write replaces a file at once, so that readers of other processes see the old or the new one.
func (d *diskCache) write(path, text string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, "new-*"+cacheSuffix)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(text))
	_, err = file.Write(append(sum[:], text...))
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

// shrink counts what is there, and removes what was not used for longest when it is too much.
func (d *diskCache) shrink() {
	type answerFile struct {
		path string
		size int64
		used time.Time
	}
	var files []answerFile
	d.bytes, d.counted = 0, true
	_ = filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !strings.HasSuffix(path, cacheSuffix) {
			return nil // gone meanwhile, or not ours
		}
		if info, err := e.Info(); err == nil {
			files = append(files, answerFile{path, info.Size(), info.ModTime()})
			d.bytes += info.Size()
		}
		return nil
	})
	if d.bytes <= d.max {
		return
	}
	slices.SortFunc(files, func(a, b answerFile) int { return a.used.Compare(b.used) })
	for _, f := range files {
		if d.bytes <= d.max/4*3 { // some room, so that this is rare
			return
		}
		if err := os.Remove(f.path); err == nil || errors.Is(err, fs.ErrNotExist) {
			d.bytes -= f.size
		}
	}
}

func (d *diskCache) failed(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failedLocked(err)
}

// failedLocked tells the operator once.
func (d *diskCache) failedLocked(err error) {
	if d.warned || errors.Is(err, fs.ErrNotExist) {
		return
	}
	d.warned = true
	d.logger.Warn("answers of models are not kept on disk", "dir", d.dir, "error", err)
}
