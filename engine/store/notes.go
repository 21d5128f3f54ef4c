package store

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// notesName is the file of what Open found and mended, until Check has reported it.
const notesName = "notes.json"

type note struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
}

const maxNotes = 50

func readNotes(dir string) ([]note, error) {
	b, err := readSmall(filepath.Join(dir, notesName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ns []note
	if json.Unmarshal(b, &ns) != nil {
		return nil, nil // only notes
	}
	return ns, nil
}

// remember adds a note.
func remember(dir, text string) error {
	ns, err := readNotes(dir)
	if err != nil {
		return err
	}
	ns = append(ns, note{time.Now().UTC().Truncate(time.Second), text})
	if len(ns) > maxNotes {
		ns = ns[len(ns)-maxNotes:]
	}
	b, err := json.Marshal(ns)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, notesName), append(b, '\n'), true)
}

func clearNotes(dir string) error {
	err := os.Remove(filepath.Join(dir, notesName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
