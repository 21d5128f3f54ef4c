# expect: error,timeout
# 100,000 lines of traceback, and source lines that do not exist.
import sys

sys.setrecursionlimit(60_000)
exec(compile("\n" * 1_000_000 + "def f(n):\n    return f(n + 1) if n < 50_000 else 1 / 0\n", "../../etc/passwd", "exec"))
f(0)
