package httpapi_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/internal/httpapi"
)

// TestRoundTrip does all that a client can, over the socket and within the process.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	for name, c := range map[string]*httpapi.Client{
		"socket":  s.Client,
		"process": httpapi.NewClient(s.server.Dial),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &service{Client: c}
			a.sessions(t, name)
			a.files(t, name)
			a.journal(t, name)
			a.travel(t, name)
		})
	}
}

func (s *service) sessions(t *testing.T, name string) {
	t.Helper()
	ctx := t.Context()
	o, err := s.Open(ctx, name, &engine.SessionOptions{
		Labels: map[string]string{"transport": name}, Snapshots: &engine.SnapshotPolicy{Keep: 100}, Sandbox: &engine.Sandbox{Threads: 7},
	})
	if err != nil {
		t.Fatal(err)
	}
	if o.ID != name || o.Step != 0 || o.Sandbox.Threads != 7 || o.Snapshots.Keep != 100 {
		t.Errorf("opened %+v", o.SessionInfo)
	}
	r := s.run(t, name, `x = [1, 2]; open("a.txt", "w").write("one"); x`)
	if r.SessionID != name || r.Step != 1 || string(r.Result) != "[1,2]" || len(r.FilesChanged) != 1 {
		t.Errorf("result %+v", r)
	}
	list, err := s.Sessions(ctx, &engine.SessionFilter{Labels: map[string]string{"transport": name}})
	if err != nil || len(list) != 1 || list[0].ID != name || list[0].Step != 1 {
		t.Errorf("sessions %+v, %v", list, err)
	}
	if list, err := s.Sessions(ctx, &engine.SessionFilter{Labels: map[string]string{"transport": "none"}}); err != nil || len(list) != 0 {
		t.Errorf("sessions of no label: %+v, %v", list, err)
	}
	// Options change a session that is kept open.
	if _, err := s.Open(ctx, name, &engine.SessionOptions{Labels: map[string]string{"changed": "yes"}}); err != nil {
		t.Fatal(err)
	}
	i, err := s.Session(ctx, name)
	if err != nil || !reflect.DeepEqual(i.Labels, map[string]string{"changed": "yes"}) || i.Sandbox.Threads != 7 {
		t.Errorf("session %+v, %v", i, err)
	}
	for code, want := range map[string]bool{"if x:": true, "x = 1": false} {
		if more, err := s.Incomplete(ctx, name, code); err != nil || more != want {
			t.Errorf("incomplete %q: %v, %v", code, more, err)
		}
	}
	if _, err := s.Snapshot(ctx, name); err != nil {
		t.Error(err)
	}
	if h, err := s.Health(ctx); err != nil || h.PID == 0 {
		t.Errorf("health %+v, %v", h, err)
	}
	if names, err := s.Reap(ctx); err != nil || len(names) != 0 {
		t.Errorf("reaped %v, %v", names, err)
	}
}

func (s *service) files(t *testing.T, name string) {
	t.Helper()
	ctx := t.Context()
	step, err := s.PutFile(ctx, name, "dir/b.bin", 0o755, strings.NewReader("\x00two"))
	if err != nil {
		t.Fatal(err)
	}
	if step.Kind != engine.RecordFiles || step.Step != 2 {
		t.Errorf("put is %+v", step)
	}
	files, err := s.Files(ctx, name, "", engine.Latest, true)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Path+" "+f.Type+" "+f.Mode)
	}
	want := []string{"/workspace/a.txt file 0644", "/workspace/dir directory 0755", "/workspace/dir/b.bin file 0755"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	if files, err := s.Files(ctx, name, "a.txt", engine.Latest, false); err != nil || len(files) != 1 || files[0].Size != 3 {
		t.Errorf("one file: %+v, %v", files, err)
	}
	if files, err := s.Files(ctx, name, "/workspace", 0, false); err != nil || len(files) != 0 {
		t.Errorf("files at step 0: %+v, %v", files, err)
	}
	c, err := s.Content(ctx, name, "dir/b.bin", engine.Latest)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	c.Close()
	if err != nil || string(b) != "\x00two" || c.Tar || c.Mode != 0o755 {
		t.Errorf("content %q, %v, %+v", b, err, c)
	}
	s.tar(t, name)
	if r := s.run(t, name, `open("up/dir/b.bin", "rb").read()`); r.ResultRepr != `b'\x00two'` {
		t.Errorf("the program reads %s", r.ResultRepr)
	}
}

// tar takes a directory out and puts it elsewhere.
func (s *service) tar(t *testing.T, name string) {
	t.Helper()
	c, err := s.Content(t.Context(), name, "/workspace", engine.Latest)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	whole, err := io.ReadAll(c)
	if err != nil || !c.Tar {
		t.Fatalf("tar: %v, %+v", err, c)
	}
	var names []string
	for tr := tar.NewReader(bytes.NewReader(whole)); ; {
		h, err := tr.Next()
		if err != nil {
			break
		}
		names = append(names, h.Name)
	}
	if want := []string{"a.txt", "dir/", "dir/b.bin"}; !reflect.DeepEqual(names, want) {
		t.Errorf("tar of %q, want %q", names, want)
	}
	if _, err := s.PutTar(t.Context(), name, "up", bytes.NewReader(whole)); err != nil {
		t.Error(err)
	}
}

func (s *service) journal(t *testing.T, name string) {
	t.Helper()
	ctx := t.Context()
	s.run(t, name, "\n# a comment\ny = 'new'\nx.append(3)\nprint('out')")
	var kinds []string
	for step, err := range s.Steps(ctx, name, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if step.Result != nil || step.Session != name {
			t.Errorf("step in a list: %+v", step)
		}
		kinds = append(kinds, string(step.Kind)+" "+step.Code)
	}
	want := []string{
		`exec x = [1, 2]; open("a.txt", "w").write("one"); x`, "files ", "files ", `exec open("up/dir/b.bin", "rb").read()`, "exec # a comment",
	}
	if !reflect.DeepEqual(kinds, want) {
		t.Errorf("steps %q, want %q", kinds, want)
	}
	step, err := s.Step(ctx, name, engine.Latest)
	if err != nil || step.Step != 5 || step.Result.Stdout != "out\n" || !strings.HasPrefix(step.Code, "\n# a") || step.Hash.IsZero() {
		t.Errorf("last step %+v, %v", step, err)
	}
	vars, err := s.Variables(ctx, name, engine.Latest)
	if err != nil || len(vars) != 2 || vars[0].Name != "x" || vars[0].Repr != "[1, 2, 3]" || vars[1].Type != "str" {
		t.Errorf("variables %+v, %v", vars, err)
	}
	d, err := s.Diff(ctx, name, 1, 5)
	if err != nil || len(d.Variables) != 2 || len(d.Files) == 0 {
		t.Errorf("diff %+v, %v", d, err)
	}
	last := 0
	v, err := s.Verify(ctx, name, &engine.VerifyOptions{Progress: func(_, l int) { last = l }})
	if err != nil || !v.OK || v.Last != 5 || last != 5 {
		t.Errorf("verification %+v, %v; progress of %d", v, err, last)
	}
}

func (s *service) travel(t *testing.T, name string) {
	t.Helper()
	ctx := t.Context()
	f, err := s.Fork(ctx, name, 1, name+"-fork")
	if err != nil || f.Parent == nil || f.Parent.Step != 1 {
		t.Fatalf("fork %+v, %v", f, err)
	}
	if r := s.run(t, f.ID, "x"); r.ResultRepr != "[1, 2]" {
		t.Errorf("the fork has %s", r.ResultRepr)
	}
	step, err := s.Rewind(ctx, name, 1)
	if err != nil || step.Kind != engine.RecordRewind || step.Origin.Step != 1 {
		t.Errorf("rewind %+v, %v", step, err)
	}
	if r := s.run(t, name, "x"); r.ResultRepr != "[1, 2]" {
		t.Errorf("after the rewind there is %s", r.ResultRepr)
	}
	var archive bytes.Buffer
	if err := s.Export(ctx, name, &archive, nil); err != nil {
		t.Fatal(err)
	}
	i, err := s.Import(ctx, &archive, name+"-import")
	if err != nil || i.ID != name+"-import" {
		t.Fatalf("import %+v, %v", i, err)
	}
	if r := s.run(t, i.ID, "x"); r.ResultRepr != "[1, 2]" {
		t.Errorf("the imported session has %s", r.ResultRepr)
	}
	if err := s.Remove(ctx, name); err != nil {
		t.Error(err)
	}
	if _, err := s.Session(ctx, name); !errors.Is(err, engine.ErrNoSession) {
		t.Errorf("after its removal: %v", err)
	}
	// The name is free, and nothing of the old one is there.
	if r := s.run(t, name, "'x' in globals()"); r.ResultRepr != "False" || r.Step != 1 {
		t.Errorf("made anew: %s at step %d", r.ResultRepr, r.Step)
	}
}

// TestClientErrors: callers branch on the same errors as with an engine of their own.
func TestClientErrors(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	ctx := t.Context()
	s.run(t, "there", "open('dir-not', 'w').close()")
	exec := func(session string, o *engine.SessionOptions, r engine.Request) error {
		_, err := s.Exec(ctx, session, &httpapi.Exec{Request: r, Session: o})
		return err
	}
	for name, test := range map[string]struct {
		err  error
		want error
	}{
		"exec":           {exec("missing", nil, engine.Request{}), engine.ErrNoSession},
		"exec existing":  {exec("missing", &engine.SessionOptions{Existing: true}, engine.Request{}), engine.ErrNoSession},
		"exec new":       {exec("there", &engine.SessionOptions{New: true}, engine.Request{}), engine.ErrSessionExists},
		"exec bad name":  {exec("-x", &engine.SessionOptions{}, engine.Request{}), engine.ErrRequest},
		"exec bad name/": {exec("../x", &engine.SessionOptions{}, engine.Request{}), engine.ErrRequest},
		"exec NUL":       {exec("there", nil, engine.Request{Code: "\x00"}), engine.ErrRequest},
		"mounts":         {exec("there", &engine.SessionOptions{Sandbox: &engine.Sandbox{Mounts: []engine.Mount{{Host: "/", Guest: "/h"}}}}, engine.Request{}), engine.ErrRequest},
		"open":           {last(s.Open(ctx, "missing", &engine.SessionOptions{Existing: true})), engine.ErrNoSession},
		"show":           {last(s.Session(ctx, "missing")), engine.ErrNoSession},
		"remove":         {s.Remove(ctx, "missing"), engine.ErrNoSession},
		"rewind":         {last(s.Rewind(ctx, "missing", 0)), engine.ErrNoSession},
		"rewind step":    {last(s.Rewind(ctx, "there", 99)), engine.ErrNoStep},
		"fork step":      {last(s.Fork(ctx, "there", 99, "")), engine.ErrNoStep},
		"fork name":      {last(s.Fork(ctx, "there", 0, "there")), engine.ErrSessionExists},
		"step":           {last(s.Step(ctx, "there", 99)), engine.ErrNoStep},
		"variables":      {last(s.Variables(ctx, "there", 99)), engine.ErrNoStep},
		"diff":           {last(s.Diff(ctx, "there", 0, 99)), engine.ErrNoStep},
		"verify":         {last(s.Verify(ctx, "missing", nil)), engine.ErrNoSession},
		"files":          {last(s.Files(ctx, "there", "missing", engine.Latest, false)), fs.ErrNotExist},
		"content":        {last(s.Content(ctx, "there", "missing", engine.Latest)), fs.ErrNotExist},
		"put":            {last(s.PutFile(ctx, "missing", "x", 0o644, strings.NewReader(""))), engine.ErrNoSession},
		"put below file": {last(s.PutFile(ctx, "there", "dir-not/x", 0o644, strings.NewReader(""))), engine.ErrRequest},
		"put bad tar":    {last(s.PutTar(ctx, "there", "x", strings.NewReader("no tar"))), engine.ErrRequest},
		"export":         {s.Export(ctx, "missing", io.Discard, nil), engine.ErrNoSession},
		"import":         {last(s.Import(ctx, strings.NewReader("no archive"), "")), engine.ErrArchive},
	} {
		var e *engine.Error
		if !errors.Is(test.err, test.want) || !errors.As(test.err, &e) {
			t.Errorf("%s: %v (%T), want %v", name, test.err, test.err, test.want)
		}
	}
	for step, err := range s.Steps(ctx, "missing", 0) {
		if !errors.Is(err, engine.ErrNoSession) {
			t.Errorf("steps: %+v, %v", step, err)
		}
	}
}

func last[T any](_ T, err error) error { return err }
