package engine_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// twoQuestions asks twice. What it passes to count are random numbers and clock readings: the file of calls says what the
// process that was killed had, and the result what the one had that went on.
const twoQuestions = `
import os, random, time, uuid
from tools import ToolError, t
def numbers():
    return [random.getrandbits(40), uuid.uuid4().int >> 88, int.from_bytes(os.urandom(5)), time.time_ns(), time.monotonic_ns()]
def ask(x):
    try:
        return t.danger(x=x)
    except ToolError as e:
        return f"{e.code}: {e.message}"
print("begin", flush=True)
first = numbers()
results = [t.count(x=n) for n in first]
os.makedirs("made/here")
with open("made/here/log.txt", "w") as f:
    f.write(repr(first))
    f.flush()
    results.append(ask(1))
    second = numbers()
    f.write(repr(second))
print("between", flush=True)
results += [t.count(x=n) for n in second]
os.rename("made/here", "moved")
results.append(ask(2))
results.append(t.count(x=3))
third = numbers()
print("end", flush=True)
increasing = all(a < b < c for a, b, c in zip(first[3:], second[3:], third[3:]))
distinct = len({*first, *second, *third}) == 15
[first, second, results, open("moved/log.txt").read() == repr(first) + repr(second), increasing, distinct]
`

var (
	accepted = hostfns.Reply{Action: hostfns.ActionAccept}
	declined = hostfns.Reply{Action: hostfns.ActionDecline, Reason: "not today"}
)

// TestApprovalsSurviveKillNine kills processes that wait for approvals. The step goes on in another one: what was called is
// not called again, and the program cannot tell.
func TestApprovalsSurviveKillNine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		// Each task but the last is killed when it asks.
		tasks []suspendTask
		// danger are the outcomes of the two calls of it.
		danger [2]string
	}{
		{"at the first question", []suspendTask{
			{Code: twoQuestions}, {Replies: []hostfns.Reply{accepted, accepted}},
		}, [2]string{"danger is call 6", "danger is call 12"}},
		{"at the second question", []suspendTask{
			{Code: twoQuestions, Replies: []hostfns.Reply{accepted}}, {Replies: []hostfns.Reply{accepted}},
		}, [2]string{"danger is call 6", "danger is call 12"}},
		{"at both", []suspendTask{
			{Code: twoQuestions}, {Replies: []hostfns.Reply{accepted}}, {Replies: []hostfns.Reply{accepted}},
		}, [2]string{"danger is call 6", "danger is call 12"}},
		{"again before a reply", []suspendTask{
			{Code: twoQuestions}, {}, {}, {Replies: []hostfns.Reply{accepted}}, {}, {Replies: []hostfns.Reply{accepted}},
		}, [2]string{"danger is call 6", "danger is call 12"}},
		{"declined", []suspendTask{
			{Code: twoQuestions}, {Replies: []hostfns.Reply{declined}}, {Replies: []hostfns.Reply{accepted}},
		}, [2]string{"denied: a person declined the call of t.danger: not today", "danger is call 11"}},
		{"always", []suspendTask{
			{Code: twoQuestions}, {Replies: []hostfns.Reply{{Action: hostfns.ActionAccept, Always: true}}},
		}, [2]string{"danger is call 6", "danger is call 12"}},
		{"always declined", []suspendTask{
			{Code: twoQuestions}, {Replies: []hostfns.Reply{{Action: hostfns.ActionDecline, Always: true}}},
		}, [2]string{"denied: a person declined the call of t.danger", "denied: a person declined the call of t.danger"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &suspender{t: t, dir: t.TempDir()}
			for i, task := range test.tasks {
				if e := s.run(task, i == len(test.tasks)-1, "asked"); e.Result != nil {
					s.check(e.Result, test.danger)
				}
			}
			s.verify(1, 1)
		})
	}
}

// suspender runs processes one after the other, which have the same store.
type suspender struct {
	t   *testing.T
	dir string
	// before are the calls that were made when a process was killed: they stay as they are.
	before []string
}

// run starts a process and returns what it tells at its end, or, unless it is the last one, what it told when it was killed:
// that is at the event.
func (s *suspender) run(task suspendTask, last bool, kill string) (e suspendEvent) {
	s.t.Helper()
	in, err := json.Marshal(task)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := osexec.CommandContext(s.t.Context(), os.Args[0], "-test.run=^TestSuspendChild$", "-test.timeout=2m")
	cmd.Env = append(os.Environ(), suspendDir+"="+s.dir)
	cmd.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	killed := false
	sc := bufio.NewScanner(out)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		text, ok := strings.CutPrefix(sc.Text(), killPrefix)
		if !ok {
			continue
		}
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			s.t.Errorf("%q: %v", text, err)
		}
		if e.Event == kill && !last {
			killed = true
			_ = cmd.Process.Kill()
		}
	}
	err = cmd.Wait()
	if (err != nil) != killed || e.Event == "failed" || killed == last {
		s.t.Fatalf("the process ended: %v, it was killed: %v, it told %+v\n%s", err, killed, e, &stderr)
	}
	calls := s.calls()
	if len(calls) < len(s.before) || !slices.Equal(calls[:len(s.before)], s.before) {
		s.t.Errorf("the calls were %v, now they are %v", s.before, calls)
	}
	s.before = calls
	return e
}

func (s *suspender) calls() []string {
	s.t.Helper()
	all, err := notedCalls(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// check compares what the program says at its end with the calls that were made.
func (s *suspender) check(r *engine.Result, danger [2]string) {
	s.t.Helper()
	var value []any
	if r.Status != engine.StatusOK || json.Unmarshal(r.Result, &value) != nil || len(value) != 6 {
		s.t.Fatalf("%s %s", describe(r), r.Result)
	}
	if r.Stdout != "begin\nbetween\nend\n" {
		s.t.Errorf("stdout is %q", r.Stdout)
	}
	var calls, results []string
	call := func(text string) {
		calls = append(calls, text)
		name, _, _ := strings.Cut(text, ":")
		results = append(results, name+" is call "+strconv.Itoa(len(calls)))
	}
	for i, list := range value[:2] {
		for _, n := range list.([]any) {
			call("count:" + strconv.FormatInt(int64(n.(float64)), 10))
		}
		if strings.HasPrefix(danger[i], "danger") {
			call("danger:" + strconv.Itoa(i+1))
		} else {
			results = append(results, danger[i])
		}
	}
	call("count:3")
	got := s.calls()
	for i := range got { // floats do not hold nanoseconds
		name, n, _ := strings.Cut(got[i], ":")
		v, err := strconv.ParseInt(n, 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		got[i] = name + ":" + strconv.FormatInt(int64(float64(v)), 10)
	}
	if !slices.Equal(got, calls) {
		s.t.Errorf("the calls were\n%v, the program made\n%v", got, calls)
	}
	var told []string
	for _, v := range value[2].([]any) {
		told = append(told, v.(string))
	}
	if !slices.Equal(told, results) {
		s.t.Errorf("the results were\n%q, want\n%q", told, results)
	}
	for i, what := range []string{"the file is right", "clocks go on", "random numbers differ"} {
		if value[3+i] != true {
			s.t.Errorf("not: %s", what)
		}
	}
	if n := len(r.HostCalls); n != 13 {
		s.t.Errorf("%d host calls are told of", n)
	}
}

// verify sees that the session is sound, goes on, and does the same again.
func (s *suspender) verify(executed, identical int) {
	s.t.Helper()
	d := suspendEngine(s.t, s.dir)
	if open, err := d.Questions(s.t.Context()); err != nil || len(open) > 0 {
		s.t.Errorf("%v %+v", err, open)
	}
	if v := d.verify("demo"); !v.OK || v.Executed != executed || v.Identical != identical || len(v.Skipped) > 0 {
		s.t.Errorf("%+v %v", v, v.Divergence)
	}
	want(s.t, d.session("demo", nil), "sorted(os.listdir()), sorted(os.listdir('moved'))", "(['made', 'moved'], ['log.txt'])")
	if got := s.calls(); !slices.Equal(got, s.before) {
		s.t.Errorf("calls were made again: %v", got)
	}
	d.close()
	checkStore(s.t, filepath.Join(s.dir, "store"))
}

// TestKilledAfterAReply kills a process that goes on after somebody allowed a call. Nobody is asked again, as the call would
// be made twice: the step is lost, like any other whose process is killed while it runs.
func TestKilledAfterAReply(t *testing.T) {
	t.Parallel()
	const code = "from tools import t\na = t.count(x=1)\nb = t.danger(x=2)\nc = t.hang(x=3)\n"
	for _, test := range []struct {
		name  string
		tasks []suspendTask
	}{
		{"in the process that asked", []suspendTask{{Code: code, Replies: []hostfns.Reply{accepted}}}},
		{"in one that went on", []suspendTask{{Code: code}, {Replies: []hostfns.Reply{accepted}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &suspender{t: t, dir: t.TempDir()}
			for i, task := range test.tasks {
				kill := "asked"
				if i == len(test.tasks)-1 {
					kill = "hanging"
				}
				s.run(task, false, kill)
			}
			d := suspendEngine(t, s.dir)
			if open, err := d.Questions(t.Context()); err != nil || len(open) > 0 {
				t.Errorf("%v %+v", err, open)
			}
			session := d.session("demo", nil)
			want(t, session, "[n for n in 'abc' if n in globals()]", "[]")
			if got := s.calls(); !slices.Equal(got, []string{"count:1", "danger:2", "hang:3"}) {
				t.Errorf("the calls were %v", got)
			}
			if v := d.verify("demo"); !v.OK || v.Executed != 1 || v.Identical != 1 {
				t.Errorf("%+v %v", v, v.Divergence)
			}
		})
	}
}
