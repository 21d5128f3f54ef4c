# expect: ok,error
import pprint
import reprlib

deep, mapping, pair = [], {}, ()
for _ in range(100_000):
    deep, mapping, pair = [deep], {"a": mapping}, (pair,)
for value in (deep, mapping, pair):
    for show in (repr, str, ascii, pprint.pformat, reprlib.repr, print, "{!r}".format, lambda v: f"{v}"):
        try:
            show(value)
        except (RecursionError, MemoryError) as err:
            print(type(err).__name__)
