# expect: ok
# Freeing deep structures must not recurse on the stack.
import itertools

deep, mapping, pair, it = [], {}, (), iter(())
for _ in range(100_000):
    deep, mapping, pair = [deep], {1: mapping}, (pair,)
del deep, mapping, pair


class Node:
    pass


node = None
for _ in range(100_000):
    n = Node()
    n.next = node
    node = n
del node, n
f = lambda: 0
for _ in range(100_000):
    f = (lambda f: lambda: f)(f)
del f
for _ in range(50_000):
    it = itertools.chain(it, ())
del it
print("freed")
