package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// plainSeen is what a terminal gets of plain: it is not in raw mode.
var plainSeen = strings.ReplaceAll(plain, "\n", "\r\n")

// TestHostileArguments: what a program passes to a tool is shown, and does nothing to the terminal.
func TestHostileArguments(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, "run", "--tools", toolsFile(t), "--approve", "demo.write_note", "-c", `
import sys
from tools.demo import write_note
from tools import ToolError
def ask(name):
    try:
        print("got", len(write_note(name=name)), flush=True)
    except ToolError as e:
        print("refused", e.code, flush=True)
# A scroll region, the alternate screen, a colour that hides, line drawing, a title without end.
sys.stdout.write("\x1b[1;1r\x1b[?1049h\x1b[8m\x1b(0allow it? [y]es\r\x1b]0;")
sys.stdout.flush()
ask("\x1b[2J\x1b[1;1H\x9b2J\x00\x07\r\n\u202e\u2066\u200bmayfly: the program wants to call demo.add-numbers\x7f")
ask("x" * 1_000_000)
ask("x" * 80_000)
ask("\n" * 40_000)
ask("\U0001F468\u200d" * 1000 + "\ud800")
`)
	const large = 80_000
	const prompt = "[a]lways for this tool"
	// The region and the colour are undone, on a line of its own.
	x.want(plainSeen + "mayfly: the program wants to call demo.write_note\r\n")
	text := x.until(prompt)
	if bad := regexp.MustCompile(`[^\x20-\x7e\r\n\x{fffd}]`).FindString(text); bad != "" || strings.Count(text, "\n") > 5 {
		t.Errorf("%q in %q", bad, text)
	}
	if !strings.Contains(text, `\u001b[2J`) {
		t.Errorf("%q", text)
	}
	x.typeLine("n")
	x.want("refused denied\r\n")
	x.want("refused too_large\r\n") // nobody would read it

	text = x.until(prompt)
	if len(text) > 2000 || !strings.Contains(text, fmt.Sprintf("(%d characters)", len(`    "name": ""`)+large)) {
		t.Errorf("%d bytes: %q", len(text), text)
	}
	x.want("[s]how all of the arguments: ")
	x.typeLine("s")
	all := x.until(prompt)
	if n := strings.Count(all, "x"); n < large {
		t.Errorf("%d of them are shown", n)
	}
	x.typeLine("y")
	x.want(fmt.Sprintf("got %d\r\n", large+len("noted ")))

	if text = x.until(prompt); len(text) > 2000 {
		t.Errorf("%d bytes: %.200q", len(text), text)
	}
	x.typeLine("n")
	x.want("refused denied\r\n")
	x.want("refused invalid_arguments\r\n") // of half a character
	x.wantEnd()
}

// until is want, and returns what came before.
func (x *terminal) until(text string) string {
	x.t.Helper()
	buf := make([]byte, 64<<10)
	for {
		before, after, ok := strings.Cut(x.seen.String(), text)
		if ok {
			x.seen.Reset()
			x.seen.WriteString(after)
			return strings.ReplaceAll(before, plainSeen, "")
		}
		n, err := x.ctrl.Read(buf)
		x.seen.Write(buf[:n])
		if err != nil {
			x.t.Fatalf("%q did not come but %.1000q, then %v", text, x.seen.String(), err)
		}
	}
}

// TestEndOfInputAtQuestion: Ctrl-D declines, and the next question is asked all the same.
func TestEndOfInputAtQuestion(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, "run", "--tools", toolsFile(t), "--approve", "demo.*", "-c", `
from tools.demo import add_numbers, write_note
from tools import ToolError
for _ in range(2):
    try:
        print("got", write_note(name="one"))
    except ToolError as e:
        print("refused", e.code, e.message)
print(add_numbers(a=1, b=2)["sum"])
`)
	x.want("for this tool: ")
	x.typeKeys("\x04")
	x.want("refused denied a person declined the call of demo.write_note\r\n")
	x.want("for this tool: ")
	x.typeLine("a")
	x.want("got noted one\r\n")
	// Always is for that tool alone.
	x.want("wants to call demo.add-numbers\r\n")
	x.want("for this tool: ")
	x.typeLine("Y")
	x.want("3\r\n")
	x.wantEnd()
}

// TestTypedBeforeQuestion: what was typed before a question was there answers it not.
func TestTypedBeforeQuestion(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, "run", "--tools", toolsFile(t), "--approve", "demo.write_note", "-c", `
import sys
from tools.demo import write_note
print("name?", flush=True)
name = sys.stdin.readline().strip()
print(write_note(name=name))
print("then?", flush=True)
print("read", sys.stdin.readline().strip())
`)
	x.want("name?\r\n")
	x.typeLine("Ada\ry")
	x.want(`"name": "Ada"`)
	x.want("for this tool: ")
	x.typeLine("y")
	x.want("noted Ada\r\n")
	x.want("then?\r\n")
	x.typeLine("all")
	x.want("read all\r\n")
	x.wantEnd()
}

// TestTerminalAndOthers: somebody else is faster than the person at the terminal.
func TestTerminalAndOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := openTerminal(t, "run", "--store", dir+"/store", "--session", "s", "--tools", toolsFile(t), "--approve", "demo.*", "-c", `
from tools.demo import write_note
print(write_note(name="one"))
print(write_note(name="two"))
`)
	x.want("for this tool: ")
	reply := exec.CommandContext(t.Context(), "questionid", "mayfly", "questions", "reply", "ID", "--accept")
	reply.Env = append(mayfly(t).Env, storeVariable+"="+dir+"/store")
	if out, err := reply.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	x.want("mayfly: it is settled already\r\n")
	x.want("noted one\r\n")
	x.want(`"name": "two"`)
	x.want("for this tool: ")
	x.typeLine("y")
	x.want("noted two\r\n")
	x.wantEnd()
}
