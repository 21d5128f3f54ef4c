package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mayfly-run/mayfly/internal/testcache"
)

var update = flag.Bool("update", false, "write what commands print into the scripts' golden files")

// TestMain makes this test binary the commands of the scripts as well.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"mayfly":    func() { os.Exit(run(os.Args[1:])) },
		"exits":     func() { os.Exit(exits(os.Args[1:])) },
		"holdstore": func() { os.Exit(holdStore(os.Args[1])) },
		// The server that scripts name in their mcp.json.
		"toolserver": func() { os.Exit(toolServer(os.Args[1:])) },
		"questionid": func() { os.Exit(questionID(os.Args[1:])) },

		"untilsuspended": func() { os.Exit(untilSuspended(os.Args[1:])) },
	})
}

// exits is the command `exits CODE COMMAND ARG...`: it succeeds when the command ends with this exit code.
func exits(args []string) int {
	want, err := strconv.Atoi(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, "exits:", err)
		return 1
	}
	c := exec.Command(args[1], args[2:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = c.Run()
	var e *exec.ExitError
	if err != nil && !errors.As(err, &e) {
		fmt.Fprintln(os.Stderr, "exits:", err)
		return 1
	}
	if got := c.ProcessState.ExitCode(); got != want {
		fmt.Fprintf(os.Stderr, "exits: %s ended with %d, not %d\n", strings.Join(args[1:], " "), got, want)
		return 1
	}
	return 0
}

// warmCache compiles the guest once, so that tests do not do it all at the same time.
func warmCache(t *testing.T) {
	t.Helper()
	out, err := mayfly(t, "run", "-c", "1+1").CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "2\n") {
		t.Fatalf("mayfly run -c 1+1: %v\n%s", err, out)
	}
}

// mayfly returns the command, with the tests' cache.
func mayfly(t *testing.T, args ...string) *exec.Cmd {
	c := exec.CommandContext(t.Context(), "mayfly", args...)
	c.Env = append(os.Environ(), "MAYFLY_CACHE="+testcache.Dir())
	return c
}

func TestScripts(t *testing.T) {
	cache := testcache.Dir()
	warmCache(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("MAYFLY_CACHE", cache)
			env.Setenv(storeVariable, filepath.Join(env.WorkDir, "store"))
			env.Values[backgroundKey{}] = map[string]*background{}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"json":  jsonCommand,
			"scrub": scrubCommand,
			"start": startCommand,
			"end":   endCommand,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
	})
}

// jsonCommand is `[!] json FILE PATH [WANT]`: the value at a dotted path, compared as JSON, or as text if WANT is none.
// Without WANT the path has to be there; with ! it must not be.
func jsonCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: [!] json FILE PATH [WANT]")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	found := true
	for _, key := range strings.Split(args[1], ".") {
		if list, ok := v.([]any); ok {
			i, err := strconv.Atoi(key)
			found = err == nil && i < len(list)
			if found {
				v = list[i]
			}
		} else {
			m, _ := v.(map[string]any)
			v, found = m[key]
		}
		if !found {
			break
		}
	}
	if len(args) == 2 || !found {
		if found == neg {
			ts.Fatalf("%s is there: %v, in\n%s", args[1], found, ts.ReadFile(args[0]))
		}
		return
	}
	got, err := json.Marshal(v)
	ts.Check(err)
	var want any = args[2]
	if json.Unmarshal([]byte(args[2]), &want) != nil {
		want = args[2]
	}
	wantJSON, err := json.Marshal(want)
	ts.Check(err)
	if (string(got) == string(wantJSON)) == neg {
		ts.Fatalf("%s is %s, want %s (negated: %v)", args[1], got, wantJSON, neg)
	}
}

// scrubbed are the fields of a result that differ from run to run.
var scrubbed = []*regexp.Regexp{
	regexp.MustCompile(`("(?:execution_id|started|created|last_active|time|modified)": )"[^"]*"`),
	regexp.MustCompile(`("(?:hash|previous|record|image|guest|files|tree|memory)": )"[0-9a-f]{64}"`),
	regexp.MustCompile(`("session_id": )"se_[^"]*"`), // a made-up one
	regexp.MustCompile(`("(?:wall_ms|cpu_ticks|queue_ms|fork_us|memory_peak_bytes|host_call_ms|store_ms|monotonic_ns|objects)": )[0-9.e+-]+`),
}

// dropped are those that are not even there in each run.
var dropped = regexp.MustCompile(`,\s*"stacks_peak_bytes": [0-9]+`)

// scrubCommand is `scrub FILE OUT`: OUT is FILE with the fields that differ from run to run replaced.
func scrubCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: scrub FILE OUT")
	}
	text := dropped.ReplaceAllString(ts.ReadFile(args[0]), "")
	for _, re := range scrubbed {
		text = re.ReplaceAllString(text, `${1}"..."`)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o644))
}

// TestExitCodeTable keeps the table of the help and the constants of the code together.
func TestExitCodeTable(t *testing.T) {
	for _, code := range []int{exitUsage, exitFailure, 124, 130, 137, exitPipe} {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^  %d +\S`, code)).MatchString(exitCodes) {
			t.Errorf("the table does not have %d", code)
		}
	}
}

// TestEveryCommandHasHelp walks all commands.
func TestEveryCommandHasHelp(t *testing.T) {
	commands := newRoot().Commands()
	for len(commands) > 0 {
		c := commands[0]
		commands = slices.Concat(commands[1:], c.Commands())
		if c.Short == "" {
			t.Errorf("%s: no short description", c.CommandPath())
		}
		if !c.HasSubCommands() && !c.Hidden && c.Name() != "help" && !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s: no example", c.CommandPath())
		}
	}
}
