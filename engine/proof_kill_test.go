package engine_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// killPrefix marks the lines that a child means for its parent.
const killPrefix = "event: "

// TestKillNine kills a process that runs durable sessions, at random points, and sees each time that the next one finds
// all that was acknowledged: steps, variables, files and databases. MAYFLY_KILLS says how often.
func TestKillNine(t *testing.T) {
	slowUnderRace(t)
	kills := 30
	if testing.Short() {
		kills = 5
	}
	if v := os.Getenv("MAYFLY_KILLS"); v != "" {
		var err error
		if kills, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	k := &killer{t: t, dir: filepath.Join(t.TempDir(), "store"), sessions: map[string]*killSession{}}
	k.random = rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for i := range kills {
		k.cycle()
		if i%5 == 4 || i == kills-1 || t.Failed() {
			checkStore(t, k.dir)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d kills, %d of them before the child was ready: %d steps acknowledged, %d more found stored, %d sessions removed",
		kills, k.early, k.steps, k.ahead, k.removed)
	if k.steps == 0 {
		t.Error("nothing ran")
	}
	k.verifyRest()
}

type killer struct {
	t        *testing.T
	dir      string
	random   *rand.Rand
	sessions map[string]*killSession

	steps, ahead, removed, early int
}

// cycle starts a child and kills it.
func (k *killer) cycle() {
	k.t.Helper()
	task, err := json.Marshal(killTask{k.random.Uint64(), k.sessions})
	if err != nil {
		k.t.Fatal(err)
	}
	cmd := osexec.Command(os.Args[0], "-test.run=^TestKillChild$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), killDir+"="+k.dir)
	cmd.Stdin = bytes.NewReader(task)
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	// Some die while they start, the others after a number of events, at any point of what comes next.
	lines, delay := k.random.IntN(60), time.Duration(k.random.IntN(int(20*time.Millisecond)))
	early := k.random.IntN(8) == 0
	if early {
		time.AfterFunc(time.Duration(k.random.IntN(int(600*time.Millisecond))), func() { _ = cmd.Process.Kill() })
	}
	ready, killed := false, early
	other := &strings.Builder{}
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break // what is left has no end: it was not told
		}
		text, ok := strings.CutPrefix(line, killPrefix)
		if !ok {
			other.WriteString(line)
			continue
		}
		var e killEvent
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			k.t.Errorf("%q: %v", line, err)
			continue
		}
		ready = ready || e.Event == "ready"
		k.event(e)
		if ready && !killed {
			if lines--; lines < 0 {
				killed = true
				time.AfterFunc(delay, func() { _ = cmd.Process.Kill() })
			}
		}
	}
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err == nil || !killed {
		k.t.Errorf("the child ended by itself: %v\n%s%s", err, other, stderr)
	}
	if !ready {
		k.early++
	}
	if stderr.Len() > 0 {
		k.t.Logf("the child said: %.2000s", stderr)
	}
}

// event notes what a child did.
func (k *killer) event(e killEvent) {
	s := k.sessions[e.Session]
	switch e.Event {
	case "making":
		k.sessions[e.Session] = &killSession{Steps: map[int]string{}}
	case "step":
		s.Steps[e.Step] = e.Summary
		s.Last = max(s.Last, e.Step)
		k.steps++
	case "found":
		// The step after the last acknowledged one may be there.
		s.Last += e.Step
		k.ahead += e.Step
	case "removing":
		s.Removing = true
	case "removed":
		delete(k.sessions, e.Session)
		k.removed++
	case "failed":
		k.t.Error(e.Summary)
	}
}

// verifyRest runs all sessions again that are left.
func (k *killer) verifyRest() {
	d := &durable{t: k.t, dir: k.dir, o: options()}
	d.open()
	defer d.close()
	executed, identical := 0, 0
	for name, s := range k.sessions {
		if len(s.Steps) == 0 || s.Removing || executed > 100 && testing.Short() {
			continue
		}
		v := d.verify(name)
		if !v.OK {
			k.t.Errorf("%s: %+v, %v", name, v, v.Divergence)
		}
		executed, identical = executed+v.Executed, identical+v.Identical
	}
	k.t.Logf("%d steps went the same way again, %d with identical memory", executed, identical)
}
