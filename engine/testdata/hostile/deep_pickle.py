# expect: ok,error
import copy
import marshal
import pickle

deep = []
for _ in range(100_000):
    deep = [deep]
works = [
    lambda: pickle.dumps(deep),
    lambda: pickle._dumps(deep),
    lambda: copy.deepcopy(deep),
    lambda: marshal.dumps(deep),
    lambda: pickle.loads(b"(" * 100_000 + b"." ),
    lambda: pickle.loads(b"]" * 100_000 + b"a" * 99_999 + b"."),
    lambda: marshal.loads(b"[\x01\x00\x00\x00" * 100_000),
]
for work in works:
    try:
        work()
    except (RecursionError, ValueError, EOFError, MemoryError, pickle.PickleError, TypeError, IndexError) as err:
        print(type(err).__name__)
