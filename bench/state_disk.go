package bench

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// FileSystem is where the stores were. What a system does not tell is empty.
type FileSystem struct {
	Type    string `json:"type,omitempty"`
	Device  string `json:"device,omitempty"`
	Options string `json:"options,omitempty"`
}

func (f FileSystem) inMemory() bool { return f.Type == "tmpfs" || f.Type == "ramfs" }

// InMemory tells whether a directory is known to be on a file system that is memory and not a disk.
func InMemory(dir string) bool {
	abs, err := filepath.Abs(dir)
	return err == nil && fileSystem(abs).inMemory()
}

// fileSystem finds the file system of an absolute path.
func fileSystem(dir string) FileSystem {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return FileSystem{}
	}
	return findMount(string(b), dir)
}

// findMount looks for the mount of a path in what Linux has in /proc/self/mountinfo.
func findMount(mountinfo, dir string) (f FileSystem) {
	best := -1
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		dash := slices.Index(fields, "-")
		if dash < 6 || len(fields) < dash+3 {
			continue
		}
		point := unescapeMount(fields[4])
		// A later mount at the same place hides an earlier one.
		if (dir == point || strings.HasPrefix(dir, strings.TrimSuffix(point, "/")+"/")) && len(point) >= best {
			best = len(point)
			f = FileSystem{Type: fields[dash+1], Device: fields[dash+2], Options: fields[5]}
		}
	}
	return f
}

var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func unescapeMount(s string) string { return mountEscapes.Replace(s) }

// diskUse returns the bytes that the files below a directory take on the disk.
func diskUse(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var fi fs.FileInfo
			if fi, err = d.Info(); err == nil {
				n += allocated(fi)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return n, err
}
