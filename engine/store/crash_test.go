package store

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/internal/storetest"
)

const crashEnv = "MAYFLY_STORE_CRASH_DIR"

// crashStep is the commit of a step in the crash test: it can be made again for comparison. It holds an object of its own
// and, by way of that, the one of the step before; every 7th step is too large for one transaction.
func crashStep(name string, step int) *engine.Commit {
	b := new(cas.Batch)
	n := 40 + step*131%9000
	top := cas.Object{Data: storetest.Data(name+strconv.Itoa(step), n)}
	if step > 0 {
		prev := cas.Object{Data: storetest.Data(name+strconv.Itoa(step-1), 500)}
		h, _ := b.Add(prev)
		top.Refs = append(top.Refs, h)
	}
	if step%7 == 6 {
		for i := range 30 {
			h, _ := b.Add(cas.Object{Data: storetest.Data(fmt.Sprint(name, step, i), 200_000)})
			top.Refs = append(top.Refs, h)
		}
	}
	h, _ := b.Add(top)
	return &engine.Commit{Session: name, Create: step == 0, Step: step, Objects: b, Holds: []cas.Hash{h},
		Head: fmt.Appendf(nil, `{"step":%d}`, step), Record: fmt.Appendf(nil, "record %d", step)}
}

// crashChild commits, releases, removes and puts until it is killed. It says what is acknowledged.
func crashChild(dir string) {
	s, err := Open(dir, &Options{MinFree: 1})
	if err != nil {
		fmt.Println("open:", err)
		os.Exit(3)
	}
	ctx := context.Background()
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	for w := range 4 {
		go func() {
			name := fmt.Sprintf("w%d", w)
			step := 0
			for r, err := range s.Records(ctx, name, 0) {
				if err == nil {
					step = r.Step + 1
				}
			}
			for ; ; step++ {
				c := crashStep(name, step)
				if err := s.Commit(ctx, c); err != nil {
					say("error %v", err)
					return
				}
				say("done %s %d", name, step)
				if step >= 3 {
					if err := s.Release(ctx, name, step-3, crashStep(name, step-3).Holds); err != nil {
						say("error %v", err)
					}
				}
				if h, err := s.Put(cas.Object{Data: storetest.Data("put"+name+strconv.Itoa(step), 3000)}); err == nil && step%2 == 0 {
					s.Forget(h)
				}
				tmp := "tmp-" + name
				t := crashStep(tmp, 0)
				if err := s.Commit(ctx, t); err != nil {
					if err := s.Remove(ctx, tmp); err != nil {
						say("error %v", err)
					}
				}
			}
		}()
	}
	select {}
}

// TestCrash kills a process under load, again and again, and looks at what is there afterwards.
func TestCrash(t *testing.T) {
	if dir := os.Getenv(crashEnv); dir != "" {
		crashChild(dir)
	}
	rounds := 40
	if testing.Short() || raceEnabled {
		rounds = 8
	}
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	acked := map[string]int{}
	for round := range rounds {
		killChild(t, dir, acked, time.Duration(r.IntN(250))*time.Millisecond)
		wantCrashed(t, dir, acked)
		if t.Failed() {
			t.Fatalf("after round %d", round)
		}
		if round%8 == 7 { // what goes on when the store becomes old is another test
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			clear(acked)
		}
	}
}

// killChild runs a child until it has acknowledged something, and for a time, and kills it. It notes in acked the last
// steps that were acknowledged.
func killChild(t *testing.T, dir string, acked map[string]int, after time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrash$")
	cmd.Env = append(os.Environ(), crashEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var kill *time.Timer
	sc := bufio.NewScanner(out)
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if len(f) != 3 || f[0] != "done" {
			t.Errorf("child: %s", sc.Text())
			continue
		}
		if kill == nil {
			kill = time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
		if step, err := strconv.Atoi(f[2]); err == nil {
			acked[f[1]] = step
		}
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func wantCrashed(t *testing.T, dir string, acked map[string]int) {
	t.Helper()
	r, err := Check(context.Background(), dir, &CheckOptions{Verify: inOrder, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.File == notesName { // what was being written is not there
			continue
		}
		t.Errorf("check: %v", f)
	}
	s := open(t, dir, &Options{MinFree: 1})
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for name, last := range acked {
		n := 0
		for r, err := range s.Records(context.Background(), name, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("record %d", n); r.Step != n || string(r.Record) != want {
				t.Errorf("%s: record %d is %q", name, r.Step, r.Record)
			}
			n++
		}
		if n-1 < last || n-1 > last+1 {
			t.Errorf("%s: the last step is %d, %d was acknowledged", name, n-1, last)
		}
		head, err := s.Head(context.Background(), name)
		if want := string(crashStep(name, n-1).Head); err != nil || string(head) != want {
			t.Errorf("%s: head %q, %v, want %q", name, head, err, want)
		}
		for step := max(0, n-3); step < n; step++ { // what was not released
			for h := range crashStep(name, step).Objects.All {
				if _, err := s.Get(h); err != nil {
					t.Errorf("%s step %d: %v", name, step, err)
				}
			}
		}
	}
	if err := s.Collect(context.Background()); err != nil {
		t.Error(err)
	}
}
