# expect: ok,error
import gc
import weakref

gc.set_threshold(1)
kept = []


class Phoenix:
    def __init__(self):
        self.self = self

    def __del__(self):
        kept.append(self)


for _ in range(1_000):
    Phoenix()
gc.collect()
print(len(kept) > 0)
for thing in gc.get_objects():
    if isinstance(thing, list) and thing is not kept and len(thing) > 10_000:
        thing.append(None)


class Target:
    pass


target = Target()
refs = [weakref.ref(target, lambda ref: refs.clear()) for _ in range(100)]
del target
gc.callbacks.append(lambda phase, info: 1 / 0)
gc.collect()
gc.disable()
gc.freeze()
