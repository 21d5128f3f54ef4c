package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/engine/store"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// importer is an engine with an empty store in memory, and an archive to spoil.
type importer struct {
	*engine.Engine
	t     testing.TB
	store *store.Store
	good  []byte
}

// newImporter makes an archive with a step of each kind.
func newImporter(t testing.TB) *importer {
	t.Helper()
	i := &importer{t: t}
	var err error
	if i.store, err = store.OpenMemory(nil); err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Store, o.Timeout, o.Grace, o.Logger = i.store, 500*time.Millisecond, 100*time.Millisecond, slog.New(slog.DiscardHandler)
	if i.Engine, err = engine.New(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(i.Engine.Close(), i.store.Close()); err != nil {
			t.Error(err)
		}
	})
	s, err := i.Open(t.Context(), "good", nil)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, s, "import os\nx = 1; f = open('log.txt', 'w+'); f.write('hello'); f.flush(); os.mkdir('d'); os.mkdir('ab')\nopen('d/in', 'w').write('y' * 5000); open('q', 'w').close(); os.symlink('d/in', 'sl')")
	exec(t, s, "x = 2; open('big', 'wb').write(os.urandom(400_000)); data = bytearray(b'x' * 1_000_000)")
	if _, err := s.EditFiles(t.Context(), "upload", func(f *vfs.FS) error { return f.WriteFile("workspace/up", []byte("up"), 0o600) }); err != nil {
		t.Fatal(err)
	}
	exec(t, s, "x = 3; long = 'z' * 5000; long")
	if _, err := s.Rewind(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	exec(t, s, "x += 10; open('after', 'w').write('z'); g = open('d/in')")
	i.good = exportSession(t, i.Engine, "good")
	if err := i.Remove(t.Context(), "good"); err != nil {
		t.Fatal(err)
	}
	i.empty()
	return i
}

// empty sees that neither sessions nor objects are left in the store.
func (i *importer) empty() {
	i.t.Helper()
	if err := i.store.Collect(i.t.Context()); err != nil {
		i.t.Fatal(err)
	}
	st, err := i.store.Stats(i.t.Context())
	if err != nil || st.Sessions+st.Steps+st.Objects+st.Garbage != 0 {
		i.t.Errorf("left in the store: %+v, %v", st, err)
	}
}

// refused imports an archive that must be refused for what it is.
func (i *importer) refused(t *testing.T, b []byte) {
	t.Helper()
	info, err := i.Import(t.Context(), bytes.NewReader(b), "")
	var e *engine.Error
	if !errors.Is(err, engine.ErrArchive) || !errors.As(err, &e) {
		t.Errorf("%+v, %v", info, err)
	}
	if info != nil {
		_ = i.Remove(t.Context(), info.ID)
	}
	i.empty()
	t.Log(err)
}

// used imports an archive, and uses the session in every way unless it is refused. Everything may fail, but with an error,
// and in time.
func (i *importer) used(t *testing.T, b []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	defer i.empty()
	info, err := i.Import(ctx, bytes.NewReader(b), "")
	if err != nil {
		if !errors.Is(err, engine.ErrArchive) && !errors.Is(err, engine.ErrRequest) {
			t.Errorf("import: %v", err)
		}
		t.Log("refused:", err)
		return
	}
	problems := i.use(ctx, info)
	if ctx.Err() != nil {
		t.Error("it does not end:", problems)
	}
	if err := i.Remove(t.Context(), info.ID); err != nil {
		t.Error("remove:", err)
	}
	t.Logf("%d problems", len(problems))
	for _, p := range problems {
		t.Logf("%.300s", p)
	}
}

// use does everything that can be done with a session, and returns what went wrong.
func (i *importer) use(ctx context.Context, info *engine.SessionInfo) (problems []string) {
	note := func(what string, err error) bool {
		if err != nil {
			problems = append(problems, what+": "+err.Error())
		}
		return err == nil
	}
	j, err := i.Journal(ctx, info.ID)
	if !note("journal", err) {
		return problems
	}
	first := info.Step
	for r, err := range j.Records(ctx, 0) {
		if !note("records", err) {
			break
		}
		first = min(first, r.Step)
		_, err = j.Record(ctx, r.Step)
		note("record", err)
		_, err = j.Code(r)
		note("code", err)
	}
	for _, chainOnly := range []bool{true, false} {
		v, err := j.Verify(ctx, &engine.VerifyOptions{ChainOnly: chainOnly})
		if note("verify", err) && !v.OK {
			problems = append(problems, fmt.Sprintf("verification: %v %v", v.Damage, v.Divergence))
		}
	}
	for _, step := range []int{first, info.Step} {
		note("files", readFiles(ctx, j, step))
		_, err := j.Variables(ctx, step)
		note("variables", err)
	}
	_, err = j.Diff(ctx, first, info.Step)
	note("diff", err)
	note("export", i.Export(ctx, info.ID, io.Discard, nil))
	s, err := i.Open(ctx, info.ID, &engine.SessionOptions{Existing: true})
	if !note("open", err) {
		return problems
	}
	defer s.Close()
	run := func(s *engine.Session, code string) {
		r, err := s.Exec(ctx, engine.Request{Code: code, Timeout: 10 * time.Second})
		if note("exec", err) && r.Status != engine.StatusOK {
			problems = append(problems, "exec: "+describe(r))
		}
	}
	run(s, "1 + 1")
	run(s, hostileLook)
	_, err = s.Variables(ctx)
	note("variables", err)
	_, err = s.Snapshot(ctx)
	note("snapshot", err)
	run(s, "open('new', 'w').write('new' * 100_000)")
	for _, step := range []int{info.Step, first, info.Step / 2} {
		_, err := s.Rewind(ctx, step)
		note("rewind", err)
	}
	run(s, "2 + 2")
	fork, err := i.Fork(ctx, info.ID, info.Step, "")
	if note("fork", err) {
		run(fork, hostileLook)
		note("remove fork", i.Remove(ctx, fork.ID()))
	}
	return problems
}

// hostileLook reads all files and variables from the inside.
const hostileLook = `
import os
for at, dirs, files in os.walk('/workspace'):
    for n in dirs + files:
        p = os.path.join(at, n)
        try:
            os.lstat(p)
            with open(p, 'rb') as file: file.read(1 << 20)
        except OSError: pass
for name, value in list(globals().items()):
    try: repr(value); value.read(10)
    except Exception: pass
`

func readFiles(ctx context.Context, j *engine.Journal, step int) error {
	fs, err := j.Files(ctx, step)
	if err != nil {
		return err
	}
	defer fs.Close()
	n := 0
	return fs.WalkDir(".", func(f vfs.Info) error {
		if n++; n > 100_000 {
			return errors.New("too many files")
		}
		for _, part := range strings.Split(f.Path, "/") {
			if part == ".." || part == "" || f.Path != "." && part == "." || strings.ContainsRune(part, 0) {
				return fmt.Errorf("PATH %q", f.Path)
			}
		}
		if f.Mode.IsRegular() {
			_, err = fs.ReadFile(f.Path)
		}
		return nil
	})
}

// TestImportRefuses: archives that are not whole.
func TestImportRefuses(t *testing.T) {
	i := newImporter(t)
	files := untar(t, i.good)
	raw := decompress(t, i.good)
	find := func(prefix string, n int) int {
		for k, f := range files {
			if strings.HasPrefix(f.name, prefix) {
				if n == 0 {
					return k
				}
				n--
			}
		}
		t.Fatal(prefix)
		return 0
	}
	// with returns an archive in which one file is another, or without it when that has no name.
	with := func(at int, f archiveFile) []byte {
		var out []archiveFile
		for k, old := range files {
			switch {
			case k != at:
				out = append(out, old)
			case f.name != "":
				out = append(out, f)
			}
		}
		return pack(out)
	}
	insert := func(at int, f archiveFile) []byte {
		return pack(append(append(append([]archiveFile(nil), files[:at]...), f), files[at:]...))
	}
	swap := func(a, b int) []byte {
		out := append([]archiveFile(nil), files...)
		out[a], out[b] = out[b], out[a]
		return pack(out)
	}
	edit := func(at int, old, with string) []byte {
		out := append([]archiveFile(nil), files...)
		data := bytes.Replace(out[at].data, []byte(old), []byte(with), 1)
		if bytes.Equal(data, out[at].data) {
			t.Fatalf("no %q in %s", old, out[at].data)
		}
		out[at].data = data
		return pack(out)
	}
	object, record, end := find("objects/", 3), find("records/", 2), find("end.json", 0)
	flipped := bytes.Clone(files[object].data)
	flipped[len(flipped)/2] ^= 1
	big := make([]byte, 256<<20)
	for name, b := range map[string][]byte{
		"empty":                        nil,
		"text":                         []byte("not an archive"),
		"tar that is not zipped":       raw,
		"nothing in it":                compress(nil),
		"zeros":                        compress(make([]byte, 10240)),
		"without a head":               with(0, archiveFile{}),
		"head twice":                   insert(1, files[0]),
		"head later":                   swap(0, 1),
		"head is no JSON":              with(0, archiveFile{files[0].name, []byte("{")}),
		"head of another format":       edit(0, `"format":1`, `"format":2`),
		"head of another version":      edit(0, `"version":1`, `"version":9`),
		"head with a bad name":         edit(0, `"id":"good"`, `"id":"../x"`),
		"head with bad steps":          edit(0, `"step":6`, `"step":-6`),
		"head with less steps":         edit(0, `"step":6`, `"step":5`),
		"head with more steps":         edit(0, `"step":6`, `"step":7`),
		"head begins later":            edit(0, `"step":6`, `"step":6,"first":1`),
		"head begins at the end":       edit(0, `"step":6`, `"step":9223372036854775807,"first":9223372036854775807`),
		"object missing":               with(object, archiveFile{}),
		"object flipped":               with(object, archiveFile{files[object].name, flipped}),
		"object of other name":         with(object, archiveFile{files[object+1].name, files[object].data}),
		"objects swapped":              pack(swapData(files, object, find("objects/", 5))),
		"object without a hash":        with(object, archiveFile{"objects/x", files[object].data}),
		"object named badly":           with(object, archiveFile{"objects/../../" + files[object].name, files[object].data}),
		"object is empty":              insert(1, archiveFile{files[object].name, nil}),
		"object of many references":    insert(1, archiveFile{"objects/" + strings.Repeat("ab", 32), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}}),
		"object above what it names":   pack(reversed(files, record)),
		"record missing":               with(record, archiveFile{}),
		"first record missing":         with(find("records/", 0), archiveFile{}),
		"last record missing":          with(find("records/", 6), archiveFile{}),
		"record twice":                 insert(record+1, files[record]),
		"records swapped":              swap(record, find("records/", 3)),
		"record edited":                edit(record, `"kind":"exec"`, `"kind":"EXEC"`),
		"last record edited":           edit(find("records/", 6), `"kind":"exec"`, `"kind":"EXEC"`),
		"record is no JSON":            with(record, archiveFile{files[record].name, []byte("[]")}),
		"record with an unknown field": edit(record, `"kind"`, `"new":1,"kind"`),
		"end missing":                  with(end, archiveFile{}),
		"end is no JSON":               with(end, archiveFile{"end.json", nil}),
		"end counts wrong":             edit(end, `"records":7`, `"records":6`),
		"end too early":                swap(end, record),
		"unknown file":                 insert(2, archiveFile{"extra", []byte("x")}),
		"path out of it":               insert(2, archiveFile{"../../../tmp/x", []byte("x")}),
		"absolute path":                insert(2, archiveFile{"/etc/passwd", []byte("x")}),
		"large file":                   insert(2, archiveFile{"objects/" + strings.Repeat("ab", 32), big}),
		"bomb":                         compress(append(bytes.Clone(raw[:1024]), big...)),
		"window of the decompressor":   {0x28, 0xb5, 0x2f, 0xfd, 0, 0xb8, 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			i.refused(t, b)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 128<<20 {
				t.Errorf("%d MiB were allocated", n>>20)
			}
		})
	}
	t.Run("truncated", func(t *testing.T) {
		for n := 0; n < len(i.good)-1; n += len(i.good)/20 + 1 {
			i.refused(t, i.good[:n])
		}
		for n := 0; n < len(raw)-2048; n += len(raw)/20 + 1 {
			i.refused(t, compress(raw[:n]))
		}
	})
	t.Run("flipped", func(t *testing.T) {
		for n := 0; n < len(i.good); n += len(i.good)/50 + 1 {
			b := bytes.Clone(i.good)
			b[n] ^= 0x10
			i.refused(t, b)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := io.MultiReader(bytes.NewReader(i.good[:len(i.good)/2]), readerFunc(func() { cancel() }), bytes.NewReader(i.good[len(i.good)/2:]))
		if info, err := i.Import(ctx, r, ""); !errors.Is(err, context.Canceled) {
			t.Errorf("%+v, %v", info, err)
		}
		i.empty()
	})
	t.Run("intact", func(t *testing.T) {
		i.used(t, i.good)
		if info, err := i.Import(t.Context(), bytes.NewReader(pack(files)), "again"); err != nil || info.ID != "again" {
			t.Fatal(err)
		}
		if info, err := i.Import(t.Context(), bytes.NewReader(i.good), "again"); !errors.Is(err, engine.ErrSessionExists) {
			t.Errorf("%+v, %v", info, err)
		}
		if info, err := i.Import(t.Context(), bytes.NewReader(i.good), "../x"); !errors.Is(err, engine.ErrRequest) {
			t.Errorf("%+v, %v", info, err)
		}
		s, err := i.Open(t.Context(), "again", nil)
		if err != nil {
			t.Fatal(err)
		}
		want(t, s, "x, f.read(), g.read(2), len(data), sorted(os.listdir())", "(12, '', 'yy', 1000000, ['ab', 'after', 'big', 'd', 'log.txt', 'q', 'sl'])")
		if err := i.Remove(t.Context(), "again"); err != nil {
			t.Error(err)
		}
		i.empty()
	})
}

// swapData exchanges what is in two files.
func swapData(files []archiveFile, a, b int) []archiveFile {
	out := append([]archiveFile(nil), files...)
	out[a].data, out[b].data = files[b].data, files[a].data
	return out
}

// reversed turns the order of the objects before a file round.
func reversed(files []archiveFile, before int) []archiveFile {
	out := append([]archiveFile(nil), files...)
	for a, b := 1, before-1; a < b; a, b = a+1, b-1 {
		out[a], out[b] = out[b], out[a]
	}
	return out
}

// readerFunc is at its end at once, and calls a function.
type readerFunc func()

func (f readerFunc) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}
