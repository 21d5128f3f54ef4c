# expect: ok,error
# Syntax trees that no source could make.
import ast

node = ast.Constant(1)
for _ in range(100_000):
    node = ast.UnaryOp(ast.USub(), node)
bad = [
    ast.Expression(node),
    ast.Expression(ast.Name("None", ast.Load())),
    ast.Module([ast.Expr(None)], []),
    ast.Expression(ast.Constant(object())),
    ast.Module([ast.Return(ast.Constant(1))], []),
    ast.Module([ast.FunctionDef("f", None, [], [])], []),
]
loop = ast.List([], ast.Load())
loop.elts.append(loop)
bad.append(ast.Expression(loop))
for tree in bad:
    try:
        compile(ast.fix_missing_locations(tree) if tree not in (bad[0], bad[-1]) else tree, "<t>", "exec" if isinstance(tree, ast.Module) else "eval")
    except (SyntaxError, TypeError, ValueError, RecursionError, MemoryError, AttributeError) as err:
        print(type(err).__name__)
