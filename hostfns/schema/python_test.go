package schema

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// python is a real CPython that judges text: it is started once, and asked many times.
type python struct {
	mu  sync.Mutex
	in  io.WriteCloser
	out *bufio.Reader
}

const judge = `
import ast, sys, unicodedata, keyword
sys.stdin.reconfigure(encoding="utf-8", newline="\n"); sys.stdout.reconfigure(encoding="utf-8", newline="\n")
def stubs(text):
    """Only declarations may come out of it."""
    tree = ast.parse(text)
    def walk(body, depth):
        for n in body:
            match n:
                case ast.ClassDef() if depth < 2:
                    walk(n.body, depth + 1)
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    for d in n.args.defaults + n.args.kw_defaults:
                        d is None or d.__class__ is ast.Constant or ast.literal_eval(d)
                    for a in n.args.args + n.args.posonlyargs + n.args.kwonlyargs:
                        a.annotation is None or annotation(a.annotation)
                    n.returns is None or annotation(n.returns)
                    for e in n.body:
                        if not (isinstance(e, ast.Expr) and isinstance(e.value, ast.Constant)):
                            raise SyntaxError("a statement in a function")
                case ast.Expr(value=ast.Constant()) | ast.ImportFrom() | ast.AnnAssign():
                    pass
                case ast.Assign(targets=[ast.Name(id="_P" | "_R")]):
                    pass
                case _:
                    raise SyntaxError("unexpected " + ast.dump(n)[:200])
    walk(tree.body, 0)
def annotation(n):
    for x in ast.walk(n):
        match x:
            case ast.Name(id="str" | "int" | "float" | "bool" | "list" | "dict" | "Any" | "Literal" | "_R" | "_P" | "Callable" | "_Matches"):
                pass
            case ast.Constant() | ast.Subscript() | ast.BinOp() | ast.BitOr() | ast.Load() | ast.Tuple() | ast.List() | ast.UnaryOp() | ast.USub() | ast.Attribute():
                pass
            case _:
                raise SyntaxError("annotation " + ast.dump(x)[:200])
def expr(text):
    annotation(ast.parse(text, mode="eval").body)
def line(text):
    stubs("def " + text + ": ...")
def name(text):
    if not text.isidentifier() or keyword.iskeyword(text) or unicodedata.normalize("NFKC", text) != text:
        raise SyntaxError("no name")
while line_ := sys.stdin.readline():
    what, n = line_.split()
    text = sys.stdin.read(int(n))
    try:
        globals()[what](text); print("ok")
    except Exception as e:
        print(ascii(repr(e))[:500])
    sys.stdout.flush()
`

var cpython = sync.OnceValues(func() (*python, error) {
	path := os.Getenv("MAYFLY_NATIVE_PYTHON")
	if path == "" {
		return nil, nil
	}
	cmd := exec.Command(path, "-I", "-c", judge)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	return &python{in: in, out: bufio.NewReader(out)}, cmd.Start()
})

// ask has CPython judge text: "stubs", "expr" (an annotation), "line" (a function's head) or "name". It skips without
// one.
func ask(t testing.TB, what, text string) {
	t.Helper()
	p, err := cpython()
	if err != nil {
		t.Fatal(err)
	}
	if p == nil {
		t.Skip("MAYFLY_NATIVE_PYTHON is not set: no CPython to judge")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.in, "%s %d\n%s", what, len([]rune(text)), text)
	answer, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if answer = strings.TrimSpace(answer); answer != "ok" {
		t.Fatalf("CPython says %s of the %s\n%s", answer, what, text)
	}
}
