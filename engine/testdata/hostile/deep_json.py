# expect: ok,error
import json

deep = []
for _ in range(100_000):
    deep = [deep]
mapping = {}
for _ in range(100_000):
    mapping = {"a": mapping}
for work in (lambda: json.dumps(deep), lambda: json.dumps(mapping, indent=1), lambda: json.loads("[" * 100_000), lambda: json.loads('{"a":' * 100_000)):
    try:
        work()
    except (RecursionError, ValueError, MemoryError) as err:
        print(type(err).__name__)
