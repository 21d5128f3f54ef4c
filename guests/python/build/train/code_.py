# Programs about programs: ast, compile, exec, tokenize, inspect, importlib, and the interpreters' own parts.
import ast, builtins, code, collections, dis, importlib, inspect, io, keyword, linecache, os, sys, tokenize, types, traceback, argparse, configparser, copyreg, fnmatch, pprint, reprlib, pathlib

SRC = '''
import os, sys as system
from collections import namedtuple as nt

LIMIT: int = 10
Pair = nt("Pair", "a b")

class Stack[T]:
    """A stack."""
    def __init__(self, items: list[T] | None = None) -> None:
        self._items = list(items or ())
    def push(self, x: T, *more, top=True, **kw) -> "Stack":
        self._items.append(x) if top else self._items.insert(0, x)
        for m in more: self._items += [m]
        return self
    @property
    def top(self):
        return self._items[-1] if self._items else None
    def __len__(self): return len(self._items)

def walk(tree, depth=0, /, *, limit=LIMIT):
    if depth > limit or not isinstance(tree, (list, tuple)):
        return [tree]
    out = []
    for i, t in enumerate(tree):
        try:
            out.extend(walk(t, depth + 1, limit=limit))
        except (ValueError, TypeError) as e:
            raise RuntimeError(f"at {i}: {e!r:>20}") from e
        else:
            continue
        finally:
            del t
    while out and out[-1] is None:
        out.pop()
    with open(os.devnull) as f, f as g:
        pass
    return [y for x in out if (y := x) is not None]

async def agen(n):
    async for x in other(n):
        yield await x
    async with lock: await nothing

def gen():
    global LIMIT
    x = yield from range(3)
    assert x is None, "msg"
    match x:
        case [1, *rest] | {"k": rest}: return rest
        case str(s) if s: pass
        case _: pass
    lambda a, *b, c=1, **d: (a, b, c, d)
    {**{1: 2}, 3: 4}; {1, *[2]}; f"{x!r:{LIMIT}} {{}}"; a = b = 1; a += 2; not a; -a ** 2 < 3 <= 4 != 5
    print(*[1], sep="", **{}) if a and b or not x else x[1:2, ::3]
result = Stack([1]).push(2, 3).top, walk([1, [2, [3, None]]]), Pair(1, b=2)._asdict()
'''

class Names(ast.NodeVisitor):
    def __init__(self): self.names, self.calls = collections.Counter(), []
    def visit_Name(self, n): self.names[n.id] += 1
    def visit_Call(self, n):
        self.calls.append(ast.unparse(n.func))
        self.generic_visit(n)

class Fold(ast.NodeTransformer):
    def visit_BinOp(self, n):
        self.generic_visit(n)
        if isinstance(n.left, ast.Constant) and isinstance(n.right, ast.Constant):
            return ast.copy_location(ast.Constant(value=eval(compile(ast.Expression(body=n), 'f', 'eval'))), n)
        return n

def one():
    tree = ast.parse(SRC)
    v = Names()
    v.visit(tree)
    fold = ast.fix_missing_locations(Fold().visit(ast.parse('x = 2 * 3 + y * (4 - 1)')))
    co = compile(SRC, '<train>', 'exec')
    ns = {'__name__': 'm'}
    exec(co, ns)
    toks = [t.type for t in tokenize.generate_tokens(io.StringIO(SRC).readline)]
    errs = 0
    for bad in ('def f(:', 'x = = 1', '(1, 2', 'if x\n  pass', 'return', "'abc", 'a b', 'print 1', 'f(**a, *b)', ' x', 'for', 'break'):
        try:
            compile(bad, '<bad>', 'exec')
        except SyntaxError as e:
            errs += e.lineno or 0
            traceback.format_exception_only(e)
    for small in ('1+1', 'x', 'a.b.c', 'x = [1, 2]', 'print("hi")', 'import json; json', 'for i in range(3):\n    i', 'df = {"a": 1}\ndf["a"]') * 10:
        compile(small, '<s>', 'exec', ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        t = ast.parse(small)
        if isinstance(t.body[-1], ast.Expr):
            compile(ast.Expression(t.body.pop().value), '<s>', 'eval')
    vals = [eval(e, {'x': i}) for i, e in enumerate(['x + 1', 'x * 2 if x else None', '[x] * 3', '{"k": x}', 'abs(-x)', 'str(x)'] * 20)]
    lits = [ast.literal_eval(s) for s in ("[1, 2.5, 'a', None]", "{'a': (1, -2), 'b': {3}}", "b'x'", 'True') * 10]
    ins = len(list(dis.get_instructions(ns['walk'])))
    sig = [str(inspect.signature(ns[f])) for f in ('walk', 'gen', 'Stack')]
    mod = types.ModuleType('made')
    exec('def f(a=1):\n "doc"\n return a\n', mod.__dict__)
    return len(v.calls), v.names.most_common(2), ast.unparse(fold), len(toks), errs, len(vals), lits[0], ins, sig, inspect.getdoc(mod.f)

def tools():
    p = argparse.ArgumentParser(prog='x')
    p.add_argument('-n', type=int, default=3)
    p.add_argument('--flag', action='store_true')
    p.add_argument('files', nargs='*')
    ns = p.parse_args(['-n', '5', 'a', 'b', '--flag'])
    c = configparser.ConfigParser()
    c.read_string('[a]\nx = 1\ny: %(x)s2\n[b]\nz = no\n')
    paths = [pathlib.PurePosixPath('/work') / d / f'{i}.py' for d in ('src', 'tests') for i in range(30)]
    m = [q.name for q in paths if q.match('src/*.py') and fnmatch.fnmatch(q.name, '1*')]
    pp = pprint.pformat({'k%d' % i: list(range(i)) for i in range(25)}, width=60)
    e = [os.path.join('/a', 'b', '..', str(i)) for i in range(50)]
    n = [os.path.normpath(x) for x in e], [os.path.splitext('f.tar.gz'), os.path.split('/x/y')]
    return ns, c['a']['y'], c.getboolean('b', 'z'), len(m), len(pp), len(n[0]), reprlib.repr(list(range(100))), keyword.iskeyword('for')

for _ in range(22):
    print(one(), tools())
