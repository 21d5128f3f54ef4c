package main

import (
	"os"
	"path/filepath"
	"testing"
)

func toolsFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"demo": {"command": "toolserver"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestApproveAtTerminal: a person is asked before a tool is called, and nothing that the program prints gets in between.
func TestApproveAtTerminal(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, "run", "--tools", toolsFile(t), "--approve", "demo.write_note", "-c", `
import threading, time
from tools.demo import write_note
from tools import ToolError
print("begin", flush=True)
print("got", write_note(name="one"))
try:
    write_note(name="two")
except ToolError as e:
    print("refused", e.code)
print("got", write_note(name="three"))
print("got", write_note(name="four"))
`)
	x.want("begin\r\n")
	x.want("mayfly: the program wants to call demo.write_note\r\n")
	x.want(`"name": "one"`)
	x.want("allow it? [y]es, [n]o, [a]lways for this tool: ")
	x.typeLine("what?")
	x.want("[a]lways for this tool: ")
	x.typeLine("y")
	x.want("got noted one\r\n")
	x.want(`"name": "two"`)
	x.want("for this tool: ")
	x.typeLine("no")
	x.want("refused denied\r\n")
	x.want(`"name": "three"`)
	x.want("for this tool: ")
	x.typeLine("always")
	x.want("got noted three\r\ngot noted four\r\n")
	x.wantEnd()
}

// TestInterruptAtQuestion: Ctrl-C at a question ends the program, as elsewhere.
func TestInterruptAtQuestion(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, "run", "--tools", toolsFile(t), "--approve", "demo.*", "-c", `
from tools.demo import write_note
try:
    write_note(name="one")
finally:
    print("cleaned up")
`)
	x.want("for this tool: ")
	x.typeKeys("\x03")
	x.want("cleaned up")
	x.wantEnd()
}

// TestApproveInRepl: the terminal is that of the statements as well.
func TestApproveInRepl(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, "repl", "--tools", toolsFile(t), "--approve", "demo.write_note")
	x.want(">>> ")
	x.typeLine("from tools.demo import write_note")
	x.want(">>> ")
	x.typeLine("write_note(name='one')")
	x.want("for this tool: ")
	x.typeLine("y")
	x.want("'noted one'\r\n")
	x.want(">>> ")
	x.typeLine("write_note(name='two')")
	x.want("for this tool: ")
	x.typeLine("n")
	x.want("ToolError")
	x.want(">>> ")
	x.typeKeys("\x04")
	x.wantEnd()
}

// TestElicitAtTerminal: what a tool server asks is filled in field by field.
func TestElicitAtTerminal(t *testing.T) {
	t.Parallel()
	x := openTerminal(t, "run", "--tools", toolsFile(t), "-c", "from tools.demo import greet\nprint(greet())\nprint(greet())\nprint(greet())")
	x.want("mayfly: the tool server demo asks:\r\n    Who is there?\r\n")
	x.want("answer it? [y]es, [n]o: ")
	x.typeLine("y")
	x.want("age [integer; optional]: ")
	x.typeLine("many")
	x.want("that is no number")
	x.want("age [integer; optional]: ")
	x.typeLine("36")
	x.want("happy [yes or no; default true]: ")
	x.typeLine("")
	x.want("name: ")
	x.typeLine("")
	x.want("an answer is needed")
	x.want("name: ")
	x.typeLine("x")
	x.want("too few")
	x.want("name: ")
	x.typeLine("Ada")
	x.want("accept Ada 36 true\r\n")
	x.want("answer it? ")
	x.typeLine("n")
	x.want("decline")
	x.want("answer it? ")
	x.typeLine("y")
	x.want("age ")
	x.typeKeys("\x04")
	x.want("cancel")
	x.wantEnd()
}
