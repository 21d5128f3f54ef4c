# expect: ok,error
class Meta(type):
    def __getattr__(cls, name):
        return getattr(cls, name + "x")


class C(metaclass=Meta):
    def __getattr__(self, name):
        return getattr(self, name)

    def __eq__(self, other):
        return self == other

    def __repr__(self):
        return repr(self)

    def __bool__(self):
        return bool(self)

    def __call__(self):
        return self()

    def __hash__(self):
        return hash(self)

    def __len__(self):
        return len(self)

    def __contains__(self, x):
        return x in self

    def __index__(self):
        return int(self)


c = C()
for work in (lambda: c.x, lambda: c == 1, lambda: repr(c), lambda: not c, lambda: c(), lambda: hash(c), lambda: len(c), lambda: 1 in c, lambda: int(c), lambda: C.y):
    try:
        work()
    except (RecursionError, MemoryError) as err:
        print(type(err).__name__)
base = object
for _ in range(300):
    base = type("T", (base,), {})
print(len(base.__mro__))
