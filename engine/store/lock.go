package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	lockName   = "LOCK.mayfly"
	holderName = "holder.json"
)

// ErrLocked means that another process has the store open, or that this one has it open already.
var ErrLocked = errors.New("the store is in use")

// errWouldBlock is what flock returns when somebody else has the lock.
var errWouldBlock = errors.New("locked by another process")

// Holder is the process that has a store open.
type Holder struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Started time.Time `json:"started"`
	// Socket is where the process takes requests, empty when it takes none.
	Socket string `json:"socket,omitempty"`
	// Durability is what it promises for its commits.
	Durability string `json:"durability,omitempty"`
}

// LockedError says who has the store open. It is ErrLocked for errors.Is.
type LockedError struct {
	Dir string
	// PID is 0 when the holder is not known yet: it is just starting.
	PID     int
	Command string
	Started time.Time
	Socket  string
}

// Error names the holder and what to do.
func (e *LockedError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
		var about []string
		if e.Command != "" {
			about = append(about, e.Command)
		}
		if !e.Started.IsZero() {
			layout := "15:04"
			if time.Since(e.Started) > 20*time.Hour {
				layout = "2 January 15:04"
			}
			about = append(about, "since "+e.Started.Local().Format(layout))
		}
		if len(about) > 0 {
			who += " (" + strings.Join(about, ", ") + ")"
		}
	}
	hint := "wait for it or stop it, or name another store"
	if e.Socket != "" {
		hint = "it takes requests at " + e.Socket
	}
	return fmt.Sprintf("store %s is in use by %s; %s", e.Dir, who, hint)
}

// Is makes errors.Is(err, ErrLocked) true.
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// ReadHolder returns who had the store in dir open last: while it is locked, who has it now. The error wraps
// fs.ErrNotExist when it was closed in good order.
func ReadHolder(dir string) (*Holder, error) {
	b, err := readSmall(filepath.Join(dir, holderName))
	if err != nil {
		return nil, err
	}
	h := new(Holder)
	if err := json.Unmarshal(b, h); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", filepath.Join(dir, holderName), err)
	}
	return h, nil
}

// dirLock is the lock on a directory, and the file that names its holder.
type dirLock struct {
	dir    string
	mu     sync.Mutex // guards holder once the store is open
	file   *os.File
	holder Holder
	// left is the holder file of a process that did not close the store, nil when there is none.
	left *Holder
}

// lockDir takes the lock, or returns a *LockedError.
func lockDir(dir string, o *Options) (*dirLock, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the store: %w", err)
	}
	if err := flock(f); err != nil {
		_ = f.Close()
		if !errors.Is(err, errWouldBlock) {
			return nil, fmt.Errorf("lock the store %s: %w", dir, err)
		}
		le := &LockedError{Dir: dir}
		if h, err := ReadHolder(dir); err == nil {
			le.PID, le.Command, le.Started, le.Socket = h.PID, h.Command, h.Started, h.Socket
		}
		return nil, le
	}
	l := &dirLock{dir: dir, file: f}
	l.left, err = ReadHolder(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.left = &Holder{} // it cannot be read: there was somebody
	}
	l.holder = Holder{PID: os.Getpid(), Command: o.Command, Started: time.Now().UTC().Truncate(time.Second),
		Socket: o.Socket, Durability: o.Durability.String()}
	if l.holder.Command == "" {
		l.holder.Command = commandLine(os.Args)
	}
	return l, nil
}

// commandLine is short and without control characters: it goes into messages.
func commandLine(args []string) string {
	if len(args) == 0 {
		return ""
	}
	words := append([]string{filepath.Base(args[0])}, args[1:]...)
	s := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.Join(words, " "))
	if r := []rune(s); len(r) > 80 {
		s = string(r[:77]) + "..."
	}
	return s
}

// announce writes the holder file.
func (l *dirLock) announce() error {
	b, err := json.Marshal(l.holder)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(l.dir, holderName), append(b, '\n'), false)
}

// release gives the lock back; clean removes the holder file, whose absence tells the next one that all is in order.
func (l *dirLock) release(clean bool) error {
	var err error
	if clean {
		if err = os.Remove(filepath.Join(l.dir, holderName)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return errors.Join(err, l.file.Close()) // closing unlocks
}

// replaceFile writes a file so that it has either the old or the new content at any time.
func replaceFile(path string, b []byte, sync bool) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil && sync {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
		return err
	}
	if sync {
		return syncDir(filepath.Dir(path))
	}
	return nil
}

// readSmall reads a file that is known to be small, whatever somebody put there.
func readSmall(path string) ([]byte, error) {
	const limit = 64 << 10
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() || fi.Size() > limit {
		return nil, fmt.Errorf("%s is not one of the store's files", path)
	}
	return os.ReadFile(path)
}
