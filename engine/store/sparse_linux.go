package store

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// readSparse reads a file up to its last byte that is not in a hole. Badger makes its logs much larger than what is in
// them, and a crash leaves them so.
func readSparse(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	end := int64(0)
	for {
		data, err := unix.Seek(int(f.Fd()), end, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // no more
		}
		if err != nil {
			return os.ReadFile(path) // a file system that does not know of holes
		}
		if end, err = unix.Seek(int(f.Fd()), data, unix.SEEK_HOLE); err != nil {
			return os.ReadFile(path)
		}
	}
	b := make([]byte, end)
	_, err = io.ReadFull(io.NewSectionReader(f, 0, end), b)
	return b, err
}
