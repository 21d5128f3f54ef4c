# Classes in depth: inheritance, descriptors, metaclasses, abc, protocols, operators, closures, generators, context
# managers, exceptions with groups and chaining, pattern matching, decorators.
import abc, contextlib, functools, inspect, itertools, operator, traceback, typing, warnings, io, logging

class Field:
    def __init__(self, kind, default=None):
        self.kind, self.default = kind, default
    def __set_name__(self, owner, name):
        self.name = '_' + name
    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        return obj.__dict__.get(self.name, self.default)
    def __set__(self, obj, value):
        if not isinstance(value, self.kind):
            raise TypeError(f'{self.name[1:]}: expected {self.kind.__name__}, got {type(value).__name__}')
        obj.__dict__[self.name] = value

class Registry(type):
    known = {}
    def __new__(mcls, name, bases, ns, **kw):
        cls = super().__new__(mcls, name, bases, ns)
        mcls.known[name] = cls
        return cls
    def __call__(cls, *a, **kw):
        o = super().__call__(*a, **kw)
        return o

class Model(metaclass=Registry):
    def __init__(self, **kw):
        for k, v in kw.items():
            setattr(self, k, v)
    def __repr__(self):
        return f'{type(self).__name__}({", ".join(f"{k[1:]}={v!r}" for k, v in vars(self).items())})'
    def __eq__(self, o):
        return type(self) is type(o) and self.__dict__ == o.__dict__
    def __hash__(self):
        return hash(tuple(sorted(self.__dict__.items())))

class User(Model):
    name = Field(str, '')
    age = Field(int, 0)

class Admin(User):
    level = Field(int, 1)
    def __init__(self, **kw):
        super().__init__(**kw)
        self.level += 1

class Shape(abc.ABC):
    count = 0
    def __init__(self):
        type(self).count += 1
    @abc.abstractmethod
    def area(self): ...
    @classmethod
    def unit(cls):
        return cls(1)
    @staticmethod
    def fmt(v):
        return f'{v:.3f}'
    def __lt__(self, o):
        return self.area() < o.area()

class Square(Shape):
    def __init__(self, a):
        super().__init__()
        self.a = a
    def area(self):
        return self.a * self.a

class Circle(Shape):
    def __init__(self, r):
        super().__init__()
        self.r = r
    def area(self):
        return 3.14159 * self.r ** 2
    @functools.cached_property
    def perimeter(self):
        return 2 * 3.14159 * self.r

class Vec:
    __slots__ = ('v',)
    def __init__(self, *v): self.v = v
    def __add__(self, o): return Vec(*(a + b for a, b in zip(self.v, o.v)))
    def __sub__(self, o): return Vec(*map(operator.sub, self.v, o.v))
    def __mul__(self, k): return Vec(*[a * k for a in self.v]) if not isinstance(k, Vec) else sum(a * b for a, b in zip(self.v, k.v))
    __rmul__ = __mul__
    def __neg__(self): return -1 * self
    def __getitem__(self, i): return self.v[i]
    def __len__(self): return len(self.v)
    def __bool__(self): return any(self.v)
    def __abs__(self): return (self * self) ** .5
    def __format__(self, spec): return '<' + ' '.join(format(x, spec) for x in self.v) + '>'
    def __iter__(self): yield from self.v

class Dyn:
    def __getattr__(self, name):
        if name.startswith('get_'):
            return lambda *a, **k: (name[4:], a, k)
        raise AttributeError(name)

def retry(times, exceptions=(ValueError,)):
    def deco(f):
        @functools.wraps(f)
        def wrapper(*a, **k):
            for i in range(times):
                try:
                    return f(*a, attempt=i, **k)
                except exceptions as e:
                    last = e
                else:
                    break
                finally:
                    wrapper.calls += 1
            raise RuntimeError(f'{f.__name__} failed {times} times') from last
        wrapper.calls = 0
        return wrapper
    return deco

@retry(3)
def flaky(n, *, attempt=0):
    """Fails for odd sums."""
    if (n + attempt) % 3:
        raise ValueError(n)
    return n

class Resource:
    opened = []
    def __init__(self, name): self.name = name
    def __enter__(self):
        self.opened.append(self.name)
        return self
    def __exit__(self, t, v, tb):
        self.opened.remove(self.name)
        return t is KeyError

@contextlib.contextmanager
def step(log, name):
    log.append('+' + name)
    try:
        yield len(log)
    except ZeroDivisionError:
        log.append('!' + name)
    finally:
        log.append('-' + name)

def exceptions():
    log, res = [], []
    for i in range(60):
        with step(log, f's{i % 3}') as n, Resource(i) as r:
            if i % 5 == 0:
                n / 0
            if i % 7 == 0:
                {}[i]
            res.append(r.name)
        try:
            res.append(flaky(i))
        except RuntimeError as e:
            res.append(type(e.__cause__).__name__)
        try:
            int('x%d' % i)
        except (TypeError, ValueError) as e:
            res.append(str(e))
        try:
            User(name=i)
        except TypeError as e:
            res.append(e.args[0])
        try:
            object().missing
        except AttributeError:
            pass
        try:
            [][i]
        except IndexError as e:
            try:
                raise LookupError('outer') from e
            except LookupError as e2:
                res.append(len(traceback.format_exception(e2)))
    try:
        raise ExceptionGroup('g', [ValueError(1), TypeError(2), ExceptionGroup('h', [OSError(3)])])
    except* ValueError as g:
        res.append(len(g.exceptions))
    except* (TypeError, OSError) as g:
        res.append(str(g))
    with contextlib.suppress(KeyError), contextlib.ExitStack() as st:
        for i in range(5):
            st.callback(res.append, i)
        st.enter_context(contextlib.redirect_stdout(io.StringIO()))
        print('x')
        {}['y']
    return len(log), len(res)

def generators():
    def count(a, step=1):
        while True:
            got = yield a
            a += step if got is None else got
    def window(it, n):
        it = iter(it)
        buf = tuple(itertools.islice(it, n))
        while len(buf) == n:
            yield buf
            nxt = next(it, None)
            if nxt is None:
                return 'done'
            buf = buf[1:] + (nxt,)
    def chain(*its):
        r = []
        for it in its:
            r.append((yield from it))
        return r
    c = count(3)
    vals = [next(c), c.send(10), next(c)]
    c.close()
    w = list(chain(window(range(50), 3), window('abcdefgh', 2)))
    prim = itertools.islice((n for n in itertools.count(2) if all(n % d for d in range(2, int(n ** .5) + 1))), 120)
    pairs = [(x, y) for x in range(25) if x % 2 for y in range(x) if (x * y) % 3 == 0]
    d = {k: [v for _, v in g] for k, g in itertools.groupby(sorted((x % 4, x) for x in range(60)), key=lambda p: p[0])}
    z = list(zip(itertools.accumulate(range(50), operator.add), itertools.cycle('ab'), itertools.repeat(None)))
    e = [i for i, (a, b) in enumerate(itertools.pairwise([3, 1, 4, 1, 5, 9, 2, 6] * 12)) if a < b]
    m = max(map(len, map(str, filter(None, range(300)))))
    a, *rest, b = range(20)
    return vals, len(w), sum(prim), len(pairs), len(d[1]), len(z), len(e), m, a, len(rest), b, any(x > 7 for x in rest), \
        list(reversed(rest))[:2], dict(zip('abc', range(3))), list(itertools.batched(range(10), 4)), sum(1 for _ in itertools.product('ab', repeat=7))

def matcher(x):
    match x:
        case {'type': 'move', 'by': [int(dx), int(dy)], **rest}:
            return dx + dy + len(rest)
        case {'type': 'say', 'text': str(t)} if t:
            return len(t)
        case [first, *_, last]:
            return (first, last)
        case Square(a=a) | Circle(r=a):
            return a
        case None | True | False:
            return 'const'
        case str() as s:
            return s[::-1]
        case (int() | float()) as n if n > 10:
            return 'big'
        case _:
            return '?'

def closures():
    def compose(*fs):
        return functools.reduce(lambda f, g: lambda x: g(f(x)), fs)
    def counter():
        n = 0
        def inc(by=1, /, *args, scale=1, **kw):
            nonlocal n
            n += by * scale + len(args) + len(kw)
            return n
        return inc
    f = compose(lambda x: x + 1, lambda x: x * 2, str, len)
    c = counter()
    fs = [lambda x, k=k: x * k for k in range(10)]
    part = functools.partial(pow, 2)
    for i in range(200):
        c(i, 1, 2, scale=2, q=3)
        c(*(1, 2), **{'a': 1})
    @functools.singledispatch
    def show(x): return 'obj'
    @show.register
    def _(x: int): return 'int'
    @show.register
    def _(x: list): return 'list'
    return sum(f(i) for i in range(200)), c(), sum(g(3) for g in fs), part(10), [show(v) for v in (1, [], 's')] * 3, \
        str(inspect.signature(flaky)), typing.get_type_hints(Dyn)

def main():
    users = [User(name=f'u{i}', age=i) for i in range(120)] + [Admin(name='root', age=40, level=i) for i in range(30)]
    shapes = sorted([Square(i % 9 + 1) for i in range(60)] + [Circle(i / 3) for i in range(1, 60)])
    d = Dyn()
    vs = [Vec(i, i + 1, -i) for i in range(150)]
    total = functools.reduce(operator.add, vs) * 2 - vs[3]
    items = [{'type': 'move', 'by': [1, 2], 'z': 0}, {'type': 'say', 'text': 'hi'}, [1, 2, 3], Square(4), None, 'abc', 11.5, 3] * 30
    print(len(set(users)), users[3] == User(name='u3', age=3), repr(users[-1]), len(Registry.known))
    print(shapes[0].fmt(shapes[-1].area()), Square.unit().a, Circle(2).perimeter, isinstance(shapes[0], Shape), issubclass(Admin, Model))
    print([d.get_x(i, k=i) for i in range(50)][-1], f'{total:.1f}', abs(total), bool(Vec(0, 0)), sum(vs[3]))
    print([matcher(i) for i in items][:8], exceptions(), generators(), closures())
    log = logging.getLogger('t')
    h = logging.StreamHandler(io.StringIO())
    h.setFormatter(logging.Formatter('%(asctime)s %(levelname)s %(name)s: %(message)s'))
    log.addHandler(h)
    log.propagate = False
    for i in range(60):
        log.warning('item %d of %s', i, 'many')
        log.debug('not shown %s', i)

for _ in range(22):
    main()
