package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

const (
	formatName    = "format.json"
	badgerDir     = "badger"
	formatVersion = 1
)

// Errors of Open.
var (
	// ErrNewer: a newer Mayfly made the store.
	ErrNewer = errors.New("the store was made by a newer version")
	// ErrNotStore: the directory has files in it that are not those of a store.
	ErrNotStore = errors.New("the directory is not a store")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the store is closed")
)

type formatFile struct {
	Format  int       `json:"format"`
	Created time.Time `json:"created"`
}

// readFormat returns the format of the store in dir. Fresh tells that there is none yet and that one may be made here.
// Nothing is changed.
func readFormat(dir string) (version int, fresh bool, err error) {
	path := filepath.Join(dir, formatName)
	b, err := readSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return 0, true, nil
		}
		if err != nil {
			return 0, false, err
		}
		for _, e := range entries {
			switch e.Name() {
			case lockName, formatName + ".tmp": // of somebody who came as far as this
			case badgerDir:
				return 0, false, doctor(dir, damaged("%s is missing", formatName))
			default:
				return 0, false, fmt.Errorf("%w: %s has %q in it, but no %s; name an empty directory or one that Mayfly made",
					ErrNotStore, dir, e.Name(), formatName)
			}
		}
		return 0, true, nil
	}
	if err != nil {
		return 0, false, err
	}
	var f formatFile
	if err := json.Unmarshal(b, &f); err != nil || f.Format < 1 {
		return 0, false, doctor(dir, damaged("%s cannot be read", formatName))
	}
	if f.Format > formatVersion {
		return 0, false, fmt.Errorf("%w: %s has format %d, this Mayfly knows %d; upgrade mayfly",
			ErrNewer, dir, f.Format, formatVersion)
	}
	return f.Format, false, nil
}

func writeFormat(dir string) error {
	b, err := json.Marshal(formatFile{Format: formatVersion, Created: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, formatName), append(b, '\n'), true)
}

// doctor adds to an error of a damaged store what to do.
func doctor(dir string, err error) error {
	if err == nil || !errors.Is(err, engine.ErrStoreDamaged) {
		return err
	}
	var d *doctorError
	if errors.As(err, &d) {
		return err
	}
	return &doctorError{dir, err}
}

type doctorError struct {
	dir string
	err error
}

func (e *doctorError) Error() string {
	return fmt.Sprintf("%v; run `mayfly doctor --store %s`", e.err, e.dir)
}

func (e *doctorError) Unwrap() error { return e.err }
