package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// tamperings spoil an archive whose hashes are right afterwards: whoever made it knew what they did.
var tamperings = map[string]func(t *testing.T, a *archive){
	"as it was": func(*testing.T, *archive) {},

	"memory of another image": func(t *testing.T, a *archive) {
		a.frame(t, "memory", func(f *cas.Frame) { f.Head = bytes.Replace(f.Head, []byte(`"image":"`), []byte(`"image":"0`), 1) })
	},
	"memory head is no JSON": func(t *testing.T, a *archive) {
		a.frame(t, "memory", func(f *cas.Frame) { f.Head = json.RawMessage(`"x"`) })
	},
	"memory larger than the limit": func(t *testing.T, a *archive) {
		a.frame(t, "memory", func(f *cas.Frame) { f.Head = memorySize(t, f.Head, 4<<30) })
	},
	"memory of the largest size": func(t *testing.T, a *archive) {
		a.frame(t, "memory", func(f *cas.Frame) { f.Head = memorySize(t, f.Head, math.MaxInt64) })
	},
	"memory of negative size": func(t *testing.T, a *archive) {
		a.frame(t, "memory", func(f *cas.Frame) { f.Head = memorySize(t, f.Head, -65536) })
	},
	"memory of no size": func(t *testing.T, a *archive) {
		a.frame(t, "memory", func(f *cas.Frame) { f.Head = memorySize(t, f.Head, 0) })
	},
	"memory globals": func(t *testing.T, a *archive) {
		a.frame(t, "memory", func(f *cas.Frame) {
			m := decodeJSON(t, f.Head)
			m["patch"].(map[string]any)["globals"] = []any{math.MaxInt32, -1, 0, 7}
			f.Head = encodeJSON(m)
		})
	},
	"memory without parts": func(t *testing.T, a *archive) { a.frame(t, "memory", func(f *cas.Frame) { f.Parts = nil }) },
	"memory parts turned round": func(t *testing.T, a *archive) {
		a.frameOf(t, 2, "memory", func(f *cas.Frame) { slices.Reverse(f.Parts) })
	},
	"memory parts of files": func(t *testing.T, a *archive) {
		a.frame(t, "memory", func(f *cas.Frame) { f.Parts = a.frameParts(t, "files") })
	},
	"memory part is noise": func(t *testing.T, a *archive) {
		a.frame(t, "memory", func(f *cas.Frame) {
			f.Parts = append(f.Parts, a.add(cas.Object{Data: bytes.Repeat([]byte{0xff, 0x80, 1, 0x7f}, 10_000)}))
		})
	},
	"memory part many times": func(t *testing.T, a *archive) {
		a.frame(t, "memory", func(f *cas.Frame) {
			for len(f.Parts) < cas.MaxRefs-1 {
				f.Parts = append(f.Parts, f.Parts[0])
			}
		})
	},
	"memory is files":          func(_ *testing.T, a *archive) { a.state(a.last())["memory"] = a.state(a.last())["files"] },
	"memory is not there":      func(_ *testing.T, a *archive) { a.state(a.last())["memory"] = strings.Repeat("ab", 32) },
	"memory is a hash of text": func(_ *testing.T, a *archive) { a.state(a.last())["memory"] = "ab" },
	"memory is fresh":          func(_ *testing.T, a *archive) { a.state(a.last())["fresh"] = true },
	"memory of depth":          func(t *testing.T, a *archive) { a.frame(t, "memory", func(f *cas.Frame) { f.Depth += 3 }) },
	"memory of negative depth": func(t *testing.T, a *archive) { a.frame(t, "memory", func(f *cas.Frame) { f.Depth = -1 }) },
	"memory of negative sizes": func(t *testing.T, a *archive) {
		a.frame(t, "memory", func(f *cas.Frame) { f.Size, f.Since, f.Key = -1, math.MinInt64, -1 })
	},
	"memory of large sizes": func(t *testing.T, a *archive) {
		a.frame(t, "memory", func(f *cas.Frame) { f.Size, f.Since, f.Key = math.MaxInt64, math.MaxInt64, math.MaxInt64 })
	},
	"memory base is files": func(t *testing.T, a *archive) {
		files, err := cas.Parse(fmt.Sprint(a.state(a.last())["files"]))
		if err != nil {
			t.Fatal(err)
		}
		a.frame(t, "memory", func(f *cas.Frame) { f.Base, f.Depth = files, max(f.Depth, 1) })
	},
	"memory chain of 255": func(t *testing.T, a *archive) { a.deepen(t, "memory", 255) },
	"memory chain of 300": func(t *testing.T, a *archive) { a.deepen(t, "memory", 300) },
	"no memory at all": func(_ *testing.T, a *archive) {
		for i := range a.records[1:] {
			delete(a.state(i+1), "memory")
		}
	},

	"files head is no JSON": func(t *testing.T, a *archive) {
		a.frame(t, "files", func(f *cas.Frame) { f.Head = json.RawMessage(`7`) })
	},
	"files without parts": func(t *testing.T, a *archive) { a.frame(t, "files", func(f *cas.Frame) { f.Parts = nil }) },
	"files are memory":    func(_ *testing.T, a *archive) { a.state(a.last())["files"] = a.state(a.last())["memory"] },
	"files are not there": func(_ *testing.T, a *archive) { a.state(a.last())["files"] = strings.Repeat("cd", 32) },
	"files are none":      func(_ *testing.T, a *archive) { delete(a.state(a.last()), "files") },
	"files chain of 255":  func(t *testing.T, a *archive) { a.deepen(t, "files", 255) },
	"files chain of 300":  func(t *testing.T, a *archive) { a.deepen(t, "files", 300) },
	"files of depth":      func(t *testing.T, a *archive) { a.frame(t, "files", func(f *cas.Frame) { f.Depth += 2 }) },
	"files part many times": func(t *testing.T, a *archive) {
		a.frame(t, "files", func(f *cas.Frame) { f.Parts = slices.Repeat(f.Parts, 1000) })
	},
	"file names out of it":    func(t *testing.T, a *archive) { a.rename(t, "log.txt", "../../x") },
	"file names with slashes": func(t *testing.T, a *archive) { a.rename(t, "log.txt", "a/b/c/d") },
	"file names with NULs":    func(t *testing.T, a *archive) { a.rename(t, "log.txt", "a\x00b\x00c\x00d") },
	"file name of dots":       func(t *testing.T, a *archive) { a.rename(t, "ab", "..") },
	"file name of a dot":      func(t *testing.T, a *archive) { a.rename(t, "\x01q", "\x01.") },
	"file name twice":         func(t *testing.T, a *archive) { a.rename(t, "\x01q", "\x01d") },
	"link out of it":          func(t *testing.T, a *archive) { a.rename(t, "d/in", "/etc") },
	"tree of other files":     func(_ *testing.T, a *archive) { a.state(a.last())["tree"] = strings.Repeat("ef", 32) },

	"open file of another number": open(func(o map[string]any) { o["ino"] = 1 }),
	"open file that is not there": open(func(o map[string]any) { o["ino"] = 123456789 }),
	"open file of the host":       open(func(o map[string]any) { o["dev"], o["path"] = 77, "etc/passwd" }),
	"open file out of it":         open(func(o map[string]any) { o["dev"], o["path"] = 77, "../../../etc/passwd" }),
	"open device":                 open(func(o map[string]any) { o["dev"], o["path"] = 2, "dev/urandom" }),
	"open file is a directory":    open(func(o map[string]any) { o["dir"] = true }),
	"open file at the end":        open(func(o map[string]any) { o["offset"] = math.MaxInt64 }),
	"open file before its begin":  open(func(o map[string]any) { o["offset"] = -1 }),
	"open file of flags":          open(func(o map[string]any) { o["flags"] = 65535 }),
	"open file to write":          open(func(o map[string]any) { o["write"], o["append"] = true, true }),
	"open file as the root":       open(func(o map[string]any) { o["fd"] = 3 }),
	"open file as the output":     open(func(o map[string]any) { o["fd"] = 1 }),
	"open file far up":            open(func(o map[string]any) { o["fd"] = uint32(math.MaxUint32) }),
	"open file below":             open(func(o map[string]any) { o["fd"] = -1 }),
	"open file twice": func(_ *testing.T, a *archive) {
		l := a.state(a.last())["open"].([]any)
		a.state(a.last())["open"] = append(l, l[0])
	},
	"many open files": func(_ *testing.T, a *archive) {
		var l []any
		for fd := range 5000 {
			l = append(l, map[string]any{"fd": fd + 4, "path": "workspace/log.txt", "read": true, "ino": 5, "dev": 1})
		}
		a.state(a.last())["open"] = l
	},
	"open list is noise": func(_ *testing.T, a *archive) {
		a.state(a.last())["open_list"] = map[string]any{"text": "{{{", "size": 3}
	},

	"clock far ahead": func(_ *testing.T, a *archive) { a.state(a.last())["monotonic_ns"] = math.MaxInt64 },
	"clock far back":  func(_ *testing.T, a *archive) { a.state(a.last())["monotonic_ns"] = math.MinInt64 },
	"time of another age": func(_ *testing.T, a *archive) {
		a.records[2]["time"], a.head["created"] = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"
	},
	"kind is unknown": func(_ *testing.T, a *archive) { a.records[2]["kind"] = "magic" },
	"steps of other kinds": func(_ *testing.T, a *archive) {
		for _, r := range a.records[1:] {
			r["kind"] = "snapshot"
		}
	},
	"create in the middle": func(_ *testing.T, a *archive) { a.records[4]["kind"] = "create" },
	"session of another name": func(_ *testing.T, a *archive) {
		for _, r := range a.records {
			r["session"] = "other"
		}
	},
	"tape is noise": func(_ *testing.T, a *archive) {
		a.records[2]["tape"] = map[string]any{"base64": "/////////w==", "size": 7}
	},
	"tape is missing":    func(_ *testing.T, a *archive) { delete(a.records[2], "tape") },
	"result is noise":    func(_ *testing.T, a *archive) { a.records[2]["result"] = map[string]any{"text": "[]", "size": 2} },
	"result is none":     func(_ *testing.T, a *archive) { a.records[2]["result"] = nil },
	"value is noise":     func(_ *testing.T, a *archive) { a.records[4]["value"] = map[string]any{"text": "x", "size": -5} },
	"times of day":       input(func(in map[string]any) { in["timeout_ns"] = math.MaxInt64 }),
	"times back":         input(func(in map[string]any) { in["timeout_ns"] = math.MinInt64 }),
	"ticks":              input(func(in map[string]any) { in["max_ticks"] = 1 }),
	"code with NULs":     input(func(in map[string]any) { in["code"] = map[string]any{"text": "x = 1\x00", "size": 6} }),
	"code of no text":    input(func(in map[string]any) { in["code"] = map[string]any{"base64": "/w==", "size": 1} }),
	"code of wrong size": input(func(in map[string]any) { in["code"] = map[string]any{"text": "x = 1", "size": 1 << 40} }),
	"names of files":     input(func(in map[string]any) { in["filename"] = "\x00" }),
	"arguments":          input(func(in map[string]any) { in["args"] = slices.Repeat([]string{"\x00"}, 10_000) }),
	"environment":        input(func(in map[string]any) { in["env"] = map[string]any{"=": "\x00", "": ""} }),
	"code is a bomb": func(_ *testing.T, a *archive) {
		part := a.add(cas.Object{Data: bytes.Repeat([]byte(" "), cas.MaxData)})
		top := a.add(cas.Object{Refs: slices.Repeat([]cas.Hash{part}, 1000)})
		a.records[2]["input"].(map[string]any)["code"] = map[string]any{"object": top.String(), "size": 1000 * cas.MaxData}
		a.state(a.last())["memory"] = strings.Repeat("ab", 32)
	},
	"code without end": func(_ *testing.T, a *archive) {
		a.records[2]["input"].(map[string]any)["code"] = map[string]any{"text": "while True: pass", "size": 16}
		for i := range a.records[1:] {
			delete(a.state(i+1), "memory")
		}
	},
	"rewind to itself":   func(_ *testing.T, a *archive) { a.goBack(5, "good", 5) },
	"rewind to the next": func(_ *testing.T, a *archive) { a.goBack(5, "good", 6) },
	"rewind to nowhere":  func(_ *testing.T, a *archive) { a.goBack(5, "good", -1) },
	"rewind to another":  func(_ *testing.T, a *archive) { a.goBack(5, "other", 1) },
	"fork of itself": func(_ *testing.T, a *archive) {
		a.goBack(5, "good", 6)
		a.records[5]["kind"] = "fork"
	},
	"fork that is first": func(_ *testing.T, a *archive) {
		a.goBack(0, "good", 0)
		a.records[0]["kind"] = "fork"
		a.state(0)["fresh"] = false
	},

	"head with limits below": func(_ *testing.T, a *archive) {
		a.head["sandbox"] = map[string]any{"language": "python", "memory": 1, "workspace": 1, "files": 1}
	},
	"head with negative limits": func(_ *testing.T, a *archive) {
		a.head["sandbox"] = map[string]any{"language": "python", "memory": -1, "workspace": math.MinInt64, "files": -1, "threads": -1, "stacks": -1}
	},
	"head of another language": func(_ *testing.T, a *archive) { a.head["sandbox"] = map[string]any{"language": "cobol"} },
	"head with a policy": func(_ *testing.T, a *archive) {
		a.head["snapshots"] = map[string]any{"every": math.MinInt64, "keep": math.MaxInt64}
	},
	"head with a negative policy": func(_ *testing.T, a *archive) { a.head["snapshots"] = map[string]any{"every": 3, "keep": -7} },
	"head that keeps one":         func(_ *testing.T, a *archive) { a.head["snapshots"] = map[string]any{"keep": 1} },
	"head with a parent":          func(_ *testing.T, a *archive) { a.head["parent"] = map[string]any{"session": "../x", "step": -4} },
	"head with labels": func(_ *testing.T, a *archive) {
		l := map[string]any{}
		for i := range 10_000 {
			l[fmt.Sprintf("label%d", i)] = "\x00"
		}
		a.head["labels"] = l
	},
}

func open(change func(o map[string]any)) func(*testing.T, *archive) {
	return func(t *testing.T, a *archive) {
		l, _ := a.state(a.last())["open"].([]any)
		if len(l) == 0 {
			t.Fatal("no open files")
		}
		change(l[0].(map[string]any))
	}
}

func input(change func(in map[string]any)) func(*testing.T, *archive) {
	return func(_ *testing.T, a *archive) { change(a.records[2]["input"].(map[string]any)) }
}

// goBack makes a record say that it goes back to a step, and leaves no snapshot that it could be had from.
func (a *archive) goBack(at int, session string, step int) {
	a.records[at]["kind"], a.records[at]["origin"] = "rewind", map[string]any{"session": session, "step": step}
	for i := range a.records[1:] {
		delete(a.state(i+1), "memory")
	}
}

func memorySize(t *testing.T, head json.RawMessage, size int64) json.RawMessage {
	m := decodeJSON(t, head)
	m["patch"].(map[string]any)["size"] = size
	return encodeJSON(m)
}

func (a *archive) frameParts(t *testing.T, kind string) (parts []cas.Hash) {
	a.frame(t, kind, func(f *cas.Frame) { parts = f.Parts })
	return parts
}

// deepen puts frames without parts on top of the last state, until the chain has a length.
func (a *archive) deepen(t *testing.T, kind string, depth int) {
	t.Helper()
	st := a.state(a.last())
	top, err := cas.Parse(fmt.Sprint(st[kind]))
	if err != nil {
		t.Fatal(err)
	}
	for {
		o := a.objects[top]
		f, err := cas.ParseFrame(o, kind)
		if err != nil || f.Depth >= depth {
			break
		}
		next, err := cas.NewFrame(&f, top, nil, 0, f.Head).Object(kind)
		if err != nil {
			t.Fatal(err)
		}
		top = a.add(next)
	}
	st[kind] = top.String()
}

// rename replaces a text in the parts of all frames of files.
func (a *archive) rename(t *testing.T, old, with string) {
	t.Helper()
	found := false
	replaced := map[cas.Hash]cas.Hash{}
	var visit func(h cas.Hash) cas.Hash
	visit = func(h cas.Hash) cas.Hash {
		if n, ok := replaced[h]; ok {
			return n
		}
		o, ok := a.objects[h]
		if !ok {
			return h
		}
		n := cas.Object{Data: bytes.ReplaceAll(o.Data, []byte(old), []byte(with))}
		found = found || !bytes.Equal(n.Data, o.Data)
		for _, r := range o.Refs {
			n.Refs = append(n.Refs, visit(r))
		}
		replaced[h] = a.add(n)
		return replaced[h]
	}
	for i := range a.records {
		h, err := cas.Parse(fmt.Sprint(a.state(i)["files"]))
		if err == nil && !h.IsZero() {
			a.state(i)["files"] = visit(h).String()
		}
	}
	if !found {
		t.Fatalf("%q is not there", old)
	}
}

// TestImportTampered uses sessions of archives that somebody made to do harm.
func TestImportTampered(t *testing.T) {
	slowUnderRace(t)
	i := newImporter(t)
	for n, name := range slices.Sorted(maps.Keys(tamperings)) {
		if testing.Short() && n%4 != 0 {
			continue
		}
		change := tamperings[name]
		t.Run(name, func(t *testing.T) {
			a := takeApart(t, i.good)
			change(t, a)
			i.used(t, a.bytes())
		})
	}
}

// TestImportTrustsNothing: what a session may have does not come from an archive.
func TestImportTrustsNothing(t *testing.T) {
	i := newImporter(t)
	a := takeApart(t, i.good)
	a.head["sandbox"] = map[string]any{
		"language": "python", "memory": 1 << 40, "workspace": 1 << 50, "files": 1 << 40, "threads": 1 << 20, "stacks": 1 << 50,
		"mounts": []any{map[string]any{"host": "/etc", "guest": "/stolen", "writable": true}},
	}
	a.head["tenant"], a.head["idle_ttl_ns"], a.head["max_age_ns"] = "somebody", 1, 1
	info, err := i.Import(t.Context(), bytes.NewReader(a.bytes()), "mine")
	if err != nil {
		t.Fatal(err)
	}
	sb := info.Sandbox
	if sb.Memory != engine.DefaultMemory || sb.Workspace != engine.DefaultWorkspace || sb.Files != engine.DefaultFiles ||
		sb.Threads != engine.DefaultThreads || sb.Stacks != engine.DefaultStacks || len(sb.Mounts) != 0 {
		t.Errorf("%+v", sb)
	}
	if info.Tenant != "" || !info.Expires.IsZero() || info.ID != "mine" {
		t.Errorf("%+v", info)
	}
	s, err := i.Open(t.Context(), "mine", nil)
	if err != nil {
		t.Fatal(err)
	}
	want(t, s, "x, os.path.exists('/stolen'), os.path.exists('/etc/passwd')", "(12, False, False)")
	if err := i.Remove(t.Context(), "mine"); err != nil {
		t.Error(err)
	}
	i.empty()
}

// TestImportTellsNoSecrets: a session that says it was forked from another one does not get what is in that.
func TestImportTellsNoSecrets(t *testing.T) {
	i := newImporter(t)
	victim, err := i.Open(t.Context(), "victim", &engine.SessionOptions{Tenant: "somebody"})
	if err != nil {
		t.Fatal(err)
	}
	exec(t, victim, "secret = 'xyzzy'; open('secret.txt', 'w').write('xyzzy')")
	for _, kind := range []string{"fork", "rewind"} {
		a := takeApart(t, i.good)
		a.goBack(6, "victim", 1)
		a.records[6]["kind"] = kind
		delete(a.records[6], "input")
		info, err := i.Import(t.Context(), bytes.NewReader(a.bytes()), "spy")
		if err != nil {
			t.Logf("%s: %v", kind, err)
			continue
		}
		s, err := i.Open(t.Context(), info.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Exec(t.Context(), engine.Request{Code: "secret, open('secret.txt').read()"})
		if err == nil && r.Status == engine.StatusOK {
			t.Errorf("%s: it knows %s", kind, r.ResultRepr)
		}
		t.Logf("%s: %v, %s", kind, err, describe(r))
		if vars, err := i.variables(t, "spy"); err == nil && slices.ContainsFunc(vars, func(v engine.Variable) bool { return v.Name == "secret" }) {
			t.Errorf("%s: %+v", kind, vars)
		}
		if err := i.Remove(t.Context(), "spy"); err != nil {
			t.Error(err)
		}
	}
}

func (i *importer) variables(t *testing.T, name string) ([]engine.Variable, error) {
	j, err := i.Journal(t.Context(), name)
	if err != nil {
		return nil, err
	}
	return j.Variables(t.Context(), engine.Latest)
}

// TestExportImported: a record is exported as it is, whoever wrote it.
func TestExportImported(t *testing.T) {
	i := newImporter(t)
	once, err := i.Import(t.Context(), bytes.NewReader(takeApart(t, i.good).bytes()), "once") // fields in another order
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []*engine.ExportOptions{nil, {LatestOnly: true}} {
		var b bytes.Buffer
		if err := i.Export(t.Context(), "once", &b, o); err != nil {
			t.Fatal(err)
		}
		twice, err := i.Import(t.Context(), &b, "twice")
		if err != nil || twice.Record != once.Record || twice.Step != once.Step || twice.Snapshot != once.Snapshot {
			t.Fatalf("%+v, %v, want %+v", twice, err, once)
		}
		s, err := i.Open(t.Context(), "twice", nil)
		if err != nil {
			t.Fatal(err)
		}
		want(t, s, "x, len(data), f.read(), g.read(1)", "(12, 1000000, '', 'y')")
		if _, err := s.Rewind(t.Context(), 2); err != nil { // rebuilt, if there is no snapshot
			t.Error(err)
		}
		if err := i.Remove(t.Context(), "twice"); err != nil {
			t.Fatal(err)
		}
	}
	if err := i.Remove(t.Context(), "once"); err != nil {
		t.Error(err)
	}
	i.empty()
}

// TestImportKnowsSnapshots: where the last snapshot is, with a policy that takes few.
func TestImportKnowsSnapshots(t *testing.T) {
	d := newDurable(t, nil)
	s := d.session("demo", &engine.SessionOptions{Snapshots: &engine.SnapshotPolicy{Every: 4}})
	for n := range 6 {
		exec(t, s, fmt.Sprintf("x = %d", n))
	}
	info, err := d.Import(t.Context(), bytes.NewReader(exportSession(t, d.Engine, "demo")), "copy")
	if err != nil || info.Snapshot != 4 || s.Info().Snapshot != 4 {
		t.Fatalf("%+v, %v", info, err)
	}
	want(t, d.session("copy", nil), "x", "5")
}
