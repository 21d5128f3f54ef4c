package httpapi

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

const (
	typeTar  = "application/x-tar"
	typeFile = "application/octet-stream"
)

// FileInfo describes a file of a session.
type FileInfo struct {
	// Path is absolute.
	Path string `json:"path"`
	// Type is file, directory or symlink.
	Type string `json:"type"`
	// Mode has the permission bits in octal: "0644".
	Mode string `json:"mode"`
	// Size is in bytes.
	Size    int64     `json:"size"`
	ModTime time.Time `json:"modified"`
	// Target is that of a symbolic link.
	Target string `json:"target,omitempty"`
}

func fileInfo(i vfs.Info) FileInfo {
	f := FileInfo{
		Path: path.Join("/", i.Path), Type: "file", Mode: fmt.Sprintf("%04o", i.Mode.Perm()), Size: i.Size,
		ModTime: i.ModTime.UTC(), Target: i.Target,
	}
	switch {
	case i.IsDir():
		f.Type = "directory"
	case i.Mode&fs.ModeSymlink != 0:
		f.Type = "symlink"
	}
	return f
}

// fileList is what is in a directory, or one file.
type fileList struct {
	Files []FileInfo `json:"files"`
}

// GuestPath returns the absolute path of a name in a session: relative ones are below the workspace.
func GuestPath(name string) string {
	if strings.HasPrefix(name, "/") {
		return path.Clean(name)
	}
	return path.Join(engine.GuestWorkspace, name)
}

// files returns the files at the step that a request names. The caller closes them.
func (h *handler) files(r *http.Request) (*vfs.FS, error) {
	step, err := stepOf(r.URL.Query().Get("step"))
	if err != nil {
		return nil, err
	}
	j, err := h.journal(r.Context(), r)
	if err != nil {
		return nil, err
	}
	fsys, err := j.Files(r.Context(), step)
	if err != nil {
		return nil, err
	}
	// Before the first program ran there is nothing at all, not even what every program finds.
	return fsys, fsys.MkdirAll(engine.GuestWorkspace, 0o755)
}

func (h *handler) listFiles(w http.ResponseWriter, r *http.Request) error {
	fsys, err := h.files(r)
	if err != nil {
		return err
	}
	defer fsys.Close()
	q := r.URL.Query()
	name := GuestPath(q.Get("path"))
	top, err := fsys.StatFile(name)
	if err != nil {
		return err
	}
	list := fileList{Files: []FileInfo{}}
	switch {
	case !top.IsDir():
		list.Files = append(list.Files, fileInfo(top))
	case q.Get("recursive") == "true":
		err = fsys.WalkDir(name, func(i vfs.Info) error {
			if i.Path != top.Path {
				list.Files = append(list.Files, fileInfo(i))
			}
			return r.Context().Err()
		})
	default:
		var all []vfs.Info
		all, err = fsys.List(name)
		for _, i := range all {
			list.Files = append(list.Files, fileInfo(i))
		}
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (h *handler) getContent(w http.ResponseWriter, r *http.Request) error {
	fsys, err := h.files(r)
	if err != nil {
		return err
	}
	defer fsys.Close()
	name := GuestPath(r.URL.Query().Get("path"))
	info, err := fsys.StatFile(name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return download(w, typeTar, func(w io.Writer) error { return fsys.ExportTar(w, name, 0) })
	}
	f, errno := fsys.OpenFile(name, sys.O_RDONLY, 0)
	if errno != 0 {
		return &fs.PathError{Op: "open", Path: name, Err: errno}
	}
	defer f.Close()
	w.Header().Set("Mayfly-Mode", strconv.FormatUint(uint64(info.Mode.Perm()), 8))
	return download(w, typeFile, func(w io.Writer) error {
		_, err := io.Copy(w, vfsReader{f, name})
		return err
	})
}

// vfsReader and vfsWriter make wazero's files those of Go.
type vfsReader struct {
	f    sys.File
	name string
}

func (r vfsReader) Read(b []byte) (int, error) {
	n, errno := r.f.Read(b)
	if errno != 0 {
		return n, &fs.PathError{Op: "read", Path: r.name, Err: errno}
	}
	if n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

type vfsWriter struct {
	f    sys.File
	name string
}

func (w vfsWriter) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, errno := w.f.Write(b[done:])
		done += n
		if errno == 0 && n == 0 {
			errno = vfs.ENOSPC
		}
		if errno != 0 {
			return done, &fs.PathError{Op: "write", Path: w.name, Err: errno}
		}
	}
	return done, nil
}

func (h *handler) putContent(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if q.Get("path") == "" {
		return badRequest("write path=notes.txt", "no path")
	}
	name := GuestPath(q.Get("path"))
	if !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return badRequest("programs see names in UTF-8 only", "path %.80q", name)
	}
	perm := fs.FileMode(0o644)
	if s := q.Get("mode"); s != "" {
		n, err := strconv.ParseUint(s, 8, 32)
		if err != nil || fs.FileMode(n)&^fs.ModePerm != 0 {
			return badRequest("write for example mode=0755", "mode=%.20q", s)
		}
		perm = fs.FileMode(n)
	}
	// The whole body comes first: nobody has the session wait for a slow client.
	body, size, err := spool(http.MaxBytesReader(w, r.Body, h.o.MaxUpload))
	if err != nil {
		return err
	}
	defer discard(body)
	edit := func(fsys *vfs.FS) error { return writeFile(fsys, name, body, perm) }
	note := fmt.Sprintf("put %.1000q, %d bytes", name, size)
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && t == typeTar {
		edit = func(fsys *vfs.FS) error {
			_, err := fsys.ImportTar(name, body)
			var path *fs.PathError
			if err != nil && !errors.As(err, &path) {
				err = badRequest("send an uncompressed tar stream", "%w", err)
			}
			return err
		}
		note = fmt.Sprintf("put directory %.1000q", name)
	}
	var rec *engine.Record
	err = h.use(r, func(s *engine.Session) (err error) {
		rec, err = s.EditFiles(r.Context(), note, edit)
		return err
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, newStep(rec))
	return nil
}

func writeFile(fsys *vfs.FS, name string, r io.Reader, perm fs.FileMode) error {
	if err := fsys.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, errno := fsys.OpenFile(name, sys.O_WRONLY|sys.O_CREAT|sys.O_TRUNC, perm)
	if errno != 0 {
		return &fs.PathError{Op: "write", Path: name, Err: errno}
	}
	_, err := io.Copy(vfsWriter{f, name}, r)
	if errno := f.Close(); errno != 0 && err == nil {
		err = &fs.PathError{Op: "write", Path: name, Err: errno}
	}
	if errno := fsys.Chmod(name, perm); errno != 0 && err == nil { // one that was there keeps its mode otherwise
		err = &fs.PathError{Op: "chmod", Path: name, Err: errno}
	}
	return err
}

// spool keeps a body in a temporary file, positioned at its start. Where the system allows it, the file has no name
// any more, so that nothing is left of it whatever happens to this process.
func spool(r io.Reader) (*os.File, int64, error) {
	f, err := os.CreateTemp("", "mayfly-upload-*")
	if err != nil {
		return nil, 0, err
	}
	_ = os.Remove(f.Name())
	n, err := io.Copy(f, r)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		discard(f)
		return nil, 0, fmt.Errorf("upload: %w", err)
	}
	return f, n, nil
}

func discard(f *os.File) { _ = errors.Join(f.Close(), removeSpooled(f)) }

// removeSpooled is for systems where a file that is open keeps its name.
func removeSpooled(f *os.File) error {
	if runtime.GOOS != "windows" {
		return nil // the name may be somebody else's by now
	}
	return os.Remove(f.Name())
}
