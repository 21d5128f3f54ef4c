# expect: ok,error,lost
# A tuple changed by means of the collector's referrers.
import gc


def make():
    marker = object()
    yield marker
    for thing in gc.get_referrers(marker):
        if isinstance(thing, tuple):
            yield thing


t = tuple(make())
print(len(repr(t)) > 0)
