# Arithmetic of other kinds: decimal, fractions, big integers, statistics, simulation, dates, time zones, bit tricks.
import calendar, cmath, datetime, decimal, fractions, math, random, statistics, uuid, ipaddress, colorsys, time

def money():
    ctx = decimal.getcontext()
    ctx.prec = 28
    rate, bal, rows = decimal.Decimal('0.0375') / 12, decimal.Decimal('250000.00'), []
    pay = (bal * rate / (1 - (1 + rate) ** -120)).quantize(decimal.Decimal('.01'), rounding=decimal.ROUND_HALF_UP)
    while bal > 0 and len(rows) < 130:
        interest = (bal * rate).quantize(decimal.Decimal('.01'))
        principal = min(pay - interest, bal)
        bal -= principal
        rows.append((interest, principal, bal))
    return len(rows), sum(r[0] for r in rows), f'{rows[3][2]:,.2f}', decimal.Decimal(2).sqrt()

def fracs():
    h = sum((fractions.Fraction(1, i) for i in range(1, 60)), fractions.Fraction())
    a, b = 355, 113
    cf = []
    while b:
        cf.append(a // b)
        a, b = b, a % b
    return h.limit_denominator(1000), cf, math.gcd(h.numerator, 5040), math.lcm(*range(1, 12))

def ints():
    out = []
    n = 600851475143
    f, p = [], 2
    while p * p <= n:
        while n % p == 0:
            f.append(p)
            n //= p
        p += 1
    out.append(f + [n])
    def probable(n):
        if n % 2 == 0:
            return n == 2
        d, s = n - 1, 0
        while d & 1 == 0:
            d >>= 1
            s += 1
        for a in (2, 3, 5, 7):
            x = pow(a, d, n)
            if x in (1, n - 1):
                continue
            for _ in range(s - 1):
                x = x * x % n
                if x == n - 1:
                    break
            else:
                return False
        return True
    out.append([k for k in range(2 ** 61 - 60, 2 ** 61 + 60) if probable(k)])
    f = 1
    for i in range(1, 160):
        f *= i
    out.append((f.bit_length(), len(str(f)), f % 1000003, hex(f)[-5:], f >> 300 & 0xffff, ~f & 255, -f // 7919))
    coll = 0
    for start in range(1, 700):
        x = start
        while x != 1:
            x = 3 * x + 1 if x & 1 else x >> 1
            coll += 1
    out.append(coll)
    out.append([divmod(-i, 7) for i in range(5)] + [int('ff', 16), int('-0b101', 0), round(2.5), round(1234.567, -2), 7 ** -2])
    roman = []
    for y in range(1980, 2030):
        s = ''
        for v, r in ((1000, 'M'), (900, 'CM'), (500, 'D'), (400, 'CD'), (100, 'C'), (90, 'XC'), (50, 'L'), (40, 'XL'), (10, 'X'), (9, 'IX'), (5, 'V'), (4, 'IV'), (1, 'I')):
            while y >= v:
                s += r
                y -= v
        roman.append(s)
    out.append(roman[-1])
    return out

def stats():
    r = random.Random(7)
    xs = [r.gauss(10, 3) for _ in range(400)]
    ys = [2.5 * x - 4 + r.uniform(-1, 1) for x in xs]
    n = len(xs)
    mx, my = sum(xs) / n, math.fsum(ys) / n
    slope = sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)
    q = statistics.quantiles(xs, n=4)
    sample = r.sample(range(1000), 40)
    r.shuffle(sample)
    ch = [r.choice('abc') for _ in range(100)] + r.choices('xyz', weights=[1, 2, 3], k=50)
    hits = 0
    for _ in range(3000):
        x, y = r.random(), r.random()
        if x * x + y * y <= 1.0:
            hits += 1
    return slope, q, statistics.median(xs), statistics.pstdev(ys), sample[0], statistics.mode(ch), 4 * hits / 3000, r.randint(1, 6)

def numeric():
    def newton(f, df, x):
        for _ in range(50):
            step = f(x) / df(x)
            x -= step
            if abs(step) < 1e-12:
                return x
    def simpson(f, a, b, n=200):
        h = (b - a) / n
        s = f(a) + f(b)
        for i in range(1, n):
            s += f(a + i * h) * (4 if i % 2 else 2)
        return s * h / 3
    root = newton(lambda x: x ** 3 - 2 * x - 5, lambda x: 3 * x * x - 2, 2.0)
    area = simpson(lambda x: math.exp(-x * x), -2.0, 2.0)
    y, v = 1.0, 0.0
    for i in range(2500):
        v += -9.81 * math.sin(y) * 0.01
        y += v * 0.01
    a = [[4.0, -2, 1, 3], [-2, 4, -2, 1], [1, -2, 4, 0]]
    for i in range(3):
        p = a[i][i]
        a[i] = [x / p for x in a[i]]
        for j in range(3):
            if j != i:
                k = a[j][i]
                a[j] = [x - k * z for x, z in zip(a[j], a[i])]
    fft = [cmath.exp(-2j * cmath.pi * k / 32) for k in range(32)]
    spec = [abs(sum((i % 5) * fft[i * k % 32] for i in range(32))) for k in range(32)]
    fl = [math.floor(x / 3.7) + math.ceil(x * .3) + int(x % 2.5) for x in range(-100, 100)]
    fm = [f'{x / 7:.4f} {x / 7:e} {x / 7:g} {x / 7!r}' for x in range(150)]
    fp = [float(s.split()[0]) + float(s.split()[1]) for s in fm]
    return root, area, y, [r[3] for r in a], max(spec), sum(fl), len(fm), sum(fp), math.isclose(.1 + .2, .3), math.hypot(3, 4), colorsys.rgb_to_hsv(.2, .4, .6)

def dates():
    d = datetime.date(2024, 1, 31)
    out, utc = [], datetime.timezone.utc
    for i in range(160):
        x = d + datetime.timedelta(days=i * 17, hours=i)
        out.append((x.isoformat(), x.isocalendar()[1], x.strftime('%a %d %b %Y'), x.weekday()))
    tz = datetime.timezone(datetime.timedelta(hours=5, minutes=30), 'IST')
    t = datetime.datetime(2024, 2, 29, 23, 59, 58, 123456, tzinfo=utc)
    for i in range(120):
        t += datetime.timedelta(minutes=i * 97)
        s = t.astimezone(tz).isoformat(timespec='milliseconds')
        back = datetime.datetime.fromisoformat(s)
        out.append((s, (back - t).total_seconds(), back.timestamp()))
        datetime.datetime.strptime(t.strftime('%Y-%m-%d %H:%M:%S'), '%Y-%m-%d %H:%M:%S')
    out.append(calendar.monthrange(2024, 2))
    out.append(calendar.TextCalendar().formatmonth(2025, 7))
    out.append([str(uuid.uuid5(uuid.NAMESPACE_URL, str(i))) for i in range(30)][-1])
    out.append([str(a) for a in ipaddress.ip_network('10.1.0.0/27').hosts()][-1])
    out.append(time.strftime('%F', time.gmtime(86400 * 365)))
    return len(out), out[-2:]

for _ in range(12):
    print(money(), fracs(), ints(), stats(), numeric(), dates())
