package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
	"github.com/mayfly-run/mayfly/internal/testcache"
)

// restoreVariable has this test program do what the hidden command of mayfly does: restore a session.
const restoreVariable = "MAYFLY_TEST_RESTORE"

func TestMain(m *testing.M) {
	if os.Getenv(restoreVariable) == "" {
		os.Exit(m.Run())
	}
	args := append(os.Args[1:], "", "")
	t, err := Restore(context.Background(), os.Getenv("MAYFLY_CACHE"), args[0], args[1])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(t)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestState takes few samples of everything, natively too where that is possible, and looks at the shape of the report.
func TestState(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Setenv(restoreVariable, "1")
	native := os.Getenv("MAYFLY_NATIVE_PYTHON")
	dir := t.TempDir()
	var steps []string
	r, err := State(t.Context(), &StateOptions{
		Dir: dir, Quick: true, Small: 3, Large: 1, Processes: 1, Steps: 15, CacheDir: testcache.Dir(), Native: native,
		Command: []string{os.Args[0]}, Mayfly: "test", Wazero: "v0", Progress: func(s string) { steps = append(steps, s) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if len(steps) < 10 {
		t.Errorf("told of %q only", steps)
	}
	checkState(t, r, native != "")
	checkStateText(t, r)
	checkStateJSON(t, r)
}

func checkState(t *testing.T, r *StateReport, native bool) {
	t.Helper()
	takes := func(name string, all ...Quantiles) {
		for _, q := range all {
			if q.P50 <= 0 || q.P99 < q.P50 {
				t.Errorf("%s: %+v", name, all)
			}
		}
	}
	if want := len(modes)*(len(changes)-1) + 1; len(r.Steps) != want {
		t.Errorf("%d kinds of steps, not %d", len(r.Steps), want)
	}
	for _, s := range r.Steps {
		name := s.Mode + " " + s.Change
		takes(name, s.StepMS, s.MemoryMS, s.StoreMS, s.CommitMS)
		large := strings.HasSuffix(s.Change, "20mb") && s.Mode != "sync_no_snapshots"
		if s.RecordBytes <= 0 || s.KeptBytes <= 0 || large != (s.ObjectBytes > 15e6) || s.Change == "bytes_20mb" && large && s.KeptBytes < 15e6 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	for _, c := range r.Travel {
		takes(c.Session, c.ForkMS, c.ForkExecMS, c.RewindMS, c.RewindExecMS)
	}
	for _, c := range r.Restore {
		takes(c.Session, c.ProcessMS, c.TotalMS, c.ImageMS, c.RestoreMS, c.ExecMS, c.SessionOpenMS)
		if inMemory := c.Session == memorySession; inMemory != (c.StoreOpenMS.P50 == 0) {
			t.Errorf("%+v", c)
		}
	}
	if len(r.Travel) != len(kinds) || len(r.Restore) != len(kinds)+1 {
		t.Errorf("%d and %d kinds of sessions", len(r.Travel), len(r.Restore))
	}
	places := "memory durable mount"
	if native {
		places += " native"
	} else if !strings.Contains(strings.Join(r.Notes, "\n"), "no native python3 was found") {
		t.Errorf("notes %q", r.Notes)
	}
	var got []string
	for _, f := range r.Files {
		got = append(got, f.Where)
		if min(f.CreatePerS, f.ReadPerS, f.AppendPerS, f.RemovePerS, f.WriteMiBS, f.ReadMiBS) <= 0 {
			t.Errorf("%+v", f)
		}
	}
	if strings.Join(got, " ") != places {
		t.Errorf("files in %q, want %q", got, places)
	}
	if len(r.Size) != 2 || r.Size[0].Keep != 0 || r.Size[1].Keep != 10 {
		t.Fatalf("%+v", r.Size)
	}
	for _, s := range r.Size {
		if s.Steps != 15 || s.DiskBytes <= 0 || s.LogicalBytes <= s.KeptBytes || s.ChainMS <= 0 || s.VerifyMS <= 0 || s.Executed != 15 {
			t.Errorf("%+v", s)
		}
	}
	if r.Size[0].Identical != 15 {
		t.Errorf("%+v", r.Size[0])
	}
}

func checkStateText(t *testing.T, r *StateReport) {
	t.Helper()
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"durable step", "sync_no_snapshots", "fork and rewind", "restore in another process", "create 4 KiB per s", "15 steps, keep 10",
		"mayfly test", python.New().Version(), r.FileSystem.Type,
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text does not say %q:\n%s", want, text.String())
		}
	}
}

func checkStateJSON(t *testing.T, r *StateReport) {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"file_system", "steps", "travel", "restore", "files", "size", "machine", "versions", "overhead_ms", "kept_bytes", "fork_ms",
		"rewind_ms", "total_ms", "create_per_s", "write_mib_per_s", "step_bytes",
	} {
		if !bytes.Contains(b, []byte(`"`+key+`":`)) {
			t.Errorf("no %s in %s", key, b)
		}
	}
}

func TestStateCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if _, err := State(ctx, &StateOptions{Dir: dir, Quick: true, CacheDir: testcache.Dir()}); err == nil {
		t.Error("no error")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRestoreThatIsNone(t *testing.T) {
	b := &stateRun{opts: StateOptions{Command: []string{"false"}}}
	if _, err := b.restoreProcess(t.Context(), "", ""); err == nil {
		t.Error("a process that fails is no error")
	}
	b.opts.Command = []string{"echo", "hello"}
	if _, err := b.restoreProcess(t.Context(), "", ""); err == nil || !strings.Contains(err.Error(), "hello") {
		t.Errorf("a process that says something else: %v", err)
	}
}

// TestStateMeasuresMatch keeps the names here and in state.py together.
func TestStateMeasuresMatch(t *testing.T) {
	s, err := openEngine(t).NewSession(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := define(t.Context(), s, "state.py", stateSource); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range fileMeasures {
		names = append(names, m.name)
	}
	r, err := s.Exec(t.Context(), engine.Request{Code: "' '.join(MEASURES)"})
	if want := strings.Join(names, " "); err != nil || string(r.Result) != `"`+want+`"` {
		t.Errorf("state.py has %s, want %q, %v", r.Result, want, err)
	}
}

func TestFindMount(t *testing.T) {
	const mounts = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:5 / /tmp rw,nosuid - tmpfs tmpfs rw
24 22 0:6 / /with\040space rw master:1 propagate_from:2 - xfs /dev/vdb rw
25 22 0:7 / /data rw - ext4 /dev/hidden rw
26 22 0:8 / /data rw - btrfs /dev/vdc rw
a line of something else
`
	for _, c := range []struct{ dir, kind, device string }{
		{"/", "ext4", "/dev/vda"}, {"/home/x", "ext4", "/dev/vda"}, {"/tmp", "tmpfs", "tmpfs"}, {"/tmp/a/b", "tmpfs", "tmpfs"},
		{"/tmpfoo", "ext4", "/dev/vda"}, {"/with space/x", "xfs", "/dev/vdb"}, {"/data/x", "btrfs", "/dev/vdc"},
	} {
		f := findMount(mounts, c.dir)
		if f.Type != c.kind || f.Device != c.device || f.inMemory() != (c.kind == "tmpfs") {
			t.Errorf("%s: %+v", c.dir, f)
		}
	}
	if f := findMount("", "/"); f != (FileSystem{}) || f.inMemory() {
		t.Errorf("%+v", f)
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[float64]string{0: "0 B", 1000: "1000 B", 1536: "1.50 KiB", 20 << 20: "20.0 MiB", -2048: "-2.00 KiB"} {
		if got := size(bytes); got != want {
			t.Errorf("%v: %q", bytes, got)
		}
	}
}
