# Containers, dataclasses, json of nested and mixed shapes, grouping, joins, caches, sets, heaps, struct, pickle.
import array, bisect, collections, copy, dataclasses, enum, functools, heapq, itertools, json, operator, pickle, struct
import typing, types, weakref, hashlib, gc

class Status(enum.Enum):
    NEW = 'new'
    PAID = 'paid'
    SENT = 'sent'

class Perm(enum.IntFlag):
    R = 4
    W = 2
    X = 1

@dataclasses.dataclass(order=True, slots=True)
class Line:
    sku: str
    qty: int = 1
    price: float = 0.0
    @property
    def total(self):
        return self.qty * self.price

@dataclasses.dataclass
class Order:
    id: int
    customer: str
    status: Status = Status.NEW
    lines: list[Line] = dataclasses.field(default_factory=list)
    meta: dict[str, typing.Any] = dataclasses.field(default_factory=dict)
    def __post_init__(self):
        self.meta.setdefault('created', 1700000000 + self.id)
    def total(self):
        return sum(l.total for l in self.lines)

class Point(typing.NamedTuple):
    x: float
    y: float
    def dist(self, o):
        return ((self.x - o.x) ** 2 + (self.y - o.y) ** 2) ** .5

def orders(n):
    st = list(Status)
    out = []
    for i in range(n):
        o = Order(i, f'cust{i * 7 % 23}', st[i % 3])
        for j in range(i % 5 + 1):
            o.lines.append(Line(f'sku-{(i * j) % 31}', j + 1, (i * 31 + j) % 97 / 4))
        out.append(o)
    return out

def group(os):
    by = collections.defaultdict(list)
    for o in os:
        by[o.customer].append(o)
    res = {c: {'n': len(v), 'sum': sum(map(Order.total, v)), 'skus': sorted({l.sku for o in v for l in o.lines})}
           for c, v in by.items()}
    ks = sorted(os, key=operator.attrgetter('status.value', 'customer'))
    runs = [(k, len(list(g))) for k, g in itertools.groupby(ks, key=lambda o: o.status)]
    return res, runs

def to_json(os):
    def default(o):
        if isinstance(o, Status):
            return o.value
        raise TypeError(type(o).__name__)
    doc = {'version': 2, 'ok': True, 'none': None, 'tree': {'name': 'root', 'children': [
        {'name': f'n{i}', 'weight': i / 7, 'tags': ['ä', 'b\n', '\u2603'][:i % 4]} for i in range(30)]},
        'orders': {str(o.id): dataclasses.asdict(o) for o in os[:60]}, 'matrix': [[i ^ j for j in range(12)] for i in range(12)]}
    s = json.dumps(doc, default=default, indent=1, sort_keys=True, ensure_ascii=False)
    t = json.dumps(doc['tree'], separators=(',', ':'))
    back = json.loads(s)
    json.loads(t)
    try:
        json.loads(s[:-5])
    except json.JSONDecodeError as e:
        back['err'] = e.pos
    return len(s), back['orders']['7']['lines'], back['err']

def sets_dicts():
    a = {i * 3 for i in range(800)}
    b = set(range(0, 2400, 5))
    r = [len(a | b), len(a & b), len(a - b), len(a ^ b), a <= b, a.isdisjoint({-1})]
    inv = collections.defaultdict(set)
    for i, w in enumerate('the cat sat on the mat and the dog ate the cat food'.split() * 40):
        inv[w].add(i)
    d = {}
    for k in inv:
        d |= {k.upper(): len(inv[k])}
    d = {**d, 'x': 0}
    for k in list(d):
        if d.get(k, 0) % 2:
            del d[k]
        else:
            d.pop(k, None)
    e = collections.OrderedDict((i, str(i)) for i in range(200))
    for i in range(0, 200, 3):
        e.move_to_end(i)
        if i % 2:
            e.popitem(last=False)
    cm = collections.ChainMap({'a': 1}, {'b': 2}, dict.fromkeys('cdef', 0))
    return r, len(inv), d, len(e), sum(cm[k] for k in cm)

def algorithms():
    graph = {i: [(i * 2 % 120, i % 7 + 1), ((i + 5) % 120, 3), ((i * i) % 120, i % 11 + 1)] for i in range(120)}
    dist, heap, seen = {0: 0}, [(0, 0)], set()
    while heap:
        d, u = heapq.heappop(heap)
        if u in seen:
            continue
        seen.add(u)
        for v, w in graph[u]:
            nd = d + w
            if nd < dist.get(v, 1 << 30):
                dist[v] = nd
                heapq.heappush(heap, (nd, v))
    q, order, vis = collections.deque([0]), [], {0}
    while q:
        u = q.popleft()
        order.append(u)
        for v, _ in graph[u]:
            if v not in vis:
                vis.add(v)
                q.append(v)
    s, t = 'kitten sitting on a mitten', 'sitting kitten in the kitchen'
    prev = list(range(len(t) + 1))
    for i, c in enumerate(s, 1):
        cur = [i]
        for j, e in enumerate(t, 1):
            cur.append(min(prev[j] + 1, cur[-1] + 1, prev[j - 1] + (c != e)))
        prev = cur
    @functools.lru_cache(maxsize=None)
    def change(n, coins=(50, 20, 10, 5, 2, 1)):
        if n == 0:
            return 1
        if n < 0 or not coins:
            return 0
        return change(n - coins[0], coins) + change(n, coins[1:])
    grid = [[(r * 7 + c * 13) % 10 > 2 for c in range(30)] for r in range(30)]
    def flood(r, c):
        todo, n = [(r, c)], 0
        while todo:
            y, x = todo.pop()
            if 0 <= y < 30 and 0 <= x < 30 and grid[y][x]:
                grid[y][x] = False
                n += 1
                todo += [(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)]
        return n
    areas = sorted((flood(r, c) for r in range(30) for c in range(30) if grid[r][c]), reverse=True)[:3]
    xs = []
    for i in range(300):
        bisect.insort(xs, i * 7919 % 1009)
    mat = [[float(i * j % 5) for j in range(14)] for i in range(14)]
    prod = [[sum(a * b for a, b in zip(row, col)) for col in zip(*mat)] for row in mat]
    perms = sum(1 for p in itertools.permutations(range(6)) if p[0] < p[-1])
    merged = list(heapq.merge([1, 4, 9], [2, 3], range(5)))
    names = sorted(['Zoë', 'adam', 'Bob', 'eve', 'Ünal'] * 20, key=str.casefold, reverse=True)
    tups = sorted((i * 37 % 11, str(i)) for i in range(300))
    return sum(dist.values()), len(order), prev[-1], change(137), areas, xs[5], prod[3][4], perms, merged, names[0], tups[7]

def binary(os):
    recs = b''.join(struct.pack('<IHd8s', i, i * 3 % 65536, i / 3, b'name%d' % (i % 9)) for i in range(400))
    total = 0.0
    for a, b, c, d in struct.iter_unpack('<IHd8s', recs):
        total += a + b + c + len(d.rstrip(b'\0'))
    z = recs[::-1][::-1]
    p = pickle.loads(pickle.dumps(os[:80]))
    c = copy.deepcopy(os[:40])
    arr = array.array('l', range(500))
    arr.extend(x * 2 for x in arr[:100])
    mv = memoryview(bytearray(z))[4:400:4]
    h = hashlib.sha256(z).hexdigest(), hashlib.md5(z).hexdigest(), hashlib.blake2b(z, digest_size=8).hexdigest()
    x = bytearray(b'abc' * 50)
    x[3:6] = b'zz'
    x += bytes.fromhex('00ff10')
    return total, p == os[:80], len(c), sum(arr), sum(mv), h, x.hex()[:10], int.from_bytes(x[:4], 'big')

class Node:
    __slots__ = ('key', 'left', 'right', '__weakref__')
    def __init__(self, key):
        self.key, self.left, self.right = key, None, None

class Tree:
    def __init__(self, it=()):
        self.root, self.n = None, 0
        for k in it:
            self.add(k)
    def add(self, key):
        if self.root is None:
            self.root = Node(key)
            self.n = 1
            return True
        cur = self.root
        while cur.key != key:
            side = 'left' if key < cur.key else 'right'
            nxt = getattr(cur, side)
            if nxt is None:
                setattr(cur, side, Node(key))
                self.n += 1
                return True
            cur = nxt
        return False
    def __iter__(self):
        def walk(node):
            if node is not None:
                yield from walk(node.left)
                yield node.key
                yield from walk(node.right)
        return walk(self.root)
    def __len__(self):
        return self.n
    def __contains__(self, key):
        cur = self.root
        while cur is not None:
            if key == cur.key:
                return True
            cur = cur.left if key < cur.key else cur.right
        return False

class LRU:
    def __init__(self, cap):
        self.cap, self.d, self.hits = cap, collections.OrderedDict(), 0
    def __getitem__(self, k):
        v = self.d[k]
        self.d.move_to_end(k)
        self.hits += 1
        return v
    def __setitem__(self, k, v):
        self.d[k] = v
        self.d.move_to_end(k)
        while len(self.d) > self.cap:
            self.d.popitem(last=False)
    def __contains__(self, k):
        return k in self.d

def structures():
    t = Tree(i * 7919 % 2003 for i in range(700))
    c = LRU(64)
    for i in range(1500):
        k = i * i % 101
        if k in c:
            c[k]
        else:
            c[k] = Point(k, k / 2).dist(Point(0, 0))
    ref = weakref.ref(t.root)
    ns = types.SimpleNamespace(a=1, b=[2])
    ns.c = ns.a + ns.b[0]
    p = Perm.R | Perm.X
    cyc = []
    for i in range(200):
        d = {'i': i}
        d['self'] = d
        cyc.append(d)
    del cyc
    return len(t), sum(t), 500 in t, c.hits, ref() is t.root, ns, Perm.W in p, p.name

if __name__ == '__main__':
    for _ in range(12):
        os_ = orders(160)
        print(group(os_)[1], to_json(os_), sets_dicts(), algorithms(), binary(os_), structures())
    gc.collect()
