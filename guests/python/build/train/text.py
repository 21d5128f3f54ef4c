# Text processing, formatting, csv, templates, tokenising by hand.
import csv, io, re, string, textwrap, collections, difflib, html, urllib.parse, base64, unicodedata, shlex

LOREM = """Sandboxes that start at once change what an agent may try. It writes a short program, looks at the
result, and writes the next one; the state of the first is still there. Nobody waits, so nobody batches.
"""

def word_stats(text):
    counts = collections.Counter()
    lengths = collections.defaultdict(int)
    for line in text.splitlines():
        for raw in line.replace(';', ' ').replace(',', ' ').split():
            word = raw.strip('.!?()"').casefold()
            if word and word[0].isalpha():
                counts[word] += 1
                lengths[len(word)] += 1
    top = counts.most_common(8)
    return ', '.join(f'{w}={n}' for w, n in top), dict(sorted(lengths.items()))

def table(rows):
    widths = [max(len(str(r[i])) for r in rows) for i in range(len(rows[0]))]
    out = []
    for r in rows:
        cells = []
        for value, width in zip(r, widths):
            if isinstance(value, float):
                cells.append(f'{value:>{width}.2f}')
            elif isinstance(value, int):
                cells.append('%*d' % (width, value))
            else:
                cells.append('{:<{w}}'.format(value, w=width))
        out.append(' | '.join(cells).rstrip())
    return '\n'.join(out)

def report():
    buf = io.StringIO()
    w = csv.DictWriter(buf, fieldnames=['sku', 'city', 'qty', 'price'])
    w.writeheader()
    cities = ['Ghent', 'Łódź', 'Porto', 'Trondheim', 'Brno "old"']
    for i in range(400):
        w.writerow({'sku': f'A-{i:05d}', 'city': cities[i % 5], 'qty': i * 37 % 91, 'price': round(i * 1.37 % 80, 2)})
    buf.seek(0)
    totals = {}
    for row in csv.DictReader(buf):
        key = row['city'].title()
        qty, price = int(row['qty']), float(row['price'])
        n, s = totals.get(key, (0, 0.0))
        totals[key] = (n + qty, s + qty * price)
    rows = [('city', 'n', 'sum')] + [(c, n, s) for c, (n, s) in sorted(totals.items(), key=lambda kv: -kv[1][1])]
    return table(rows)

LOG = re.compile(r'^(?P<ts>\d{4}-\d\d-\d\dT[\d:]+)Z?\s+(?P<level>DEBUG|INFO|WARN|ERROR)\s+\[(?P<mod>[\w.]+)\]\s*(?P<msg>.*)$')
KV = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')

def logs():
    levels = ['INFO', 'DEBUG', 'WARN', 'ERROR']
    lines = [f'2025-03-{i % 28 + 1:02d}T10:{i % 60:02d}:07Z {levels[i * i % 4]} [svc.worker{i % 7}] took={i % 113}ms '
             f'user="u \\"{i}\\"" path=/v1/items/{i}' for i in range(700)]
    lines[5] = 'garbage line'
    per = collections.defaultdict(list)
    bad = 0
    for line in lines:
        m = LOG.match(line)
        if not m:
            bad += 1
            continue
        fields = dict(KV.findall(m['msg']))
        per[m.group('mod'), m['level']].append(int(fields['took'].removesuffix('ms')))
    s = re.sub(r'/v1/items/(\d+)', lambda m: '/v1/items/' + m.group(1).zfill(6), '\n'.join(lines))
    parts = re.split(r'\s*[|;]\s*', 'a ; b|c ;d |e' * 40)
    return bad, {k: (min(v), max(v), sum(v) / len(v)) for k, v in per.items()}, len(s), len(parts)

def misc():
    t = string.Template('Dear $name, you owe ${sum} EUR.')
    out = [t.substitute(name=n, sum=i * 3) for i, n in enumerate(['Ana', 'Béla', 'Chloé'] * 40)]
    wrapped = textwrap.fill(LOREM * 8, 60, subsequent_indent='  ')
    d = list(difflib.unified_diff(wrapped.splitlines(), wrapped.replace('agent', 'model').splitlines(), lineterm=''))
    q = urllib.parse.parse_qs(urllib.parse.urlencode({'a': 'x y', 'b': ['1', 'ü'], 'c': ''}, doseq=True))
    e = html.unescape(html.escape('<a href="x">&amp; "q"</a>' * 30))
    n = unicodedata.normalize('NFKD', 'Ångström café naïve ' * 50).encode('ascii', 'ignore').decode()
    b = base64.urlsafe_b64encode(LOREM.encode() * 10).decode().rstrip('=')
    s = shlex.split("grep -rn 'def main' --include=\"*.py\" src/ tests")
    tr = LOREM.translate(str.maketrans('aeiou', '43102')).swapcase().center(400, '*').expandtabs()
    caesar = ''.join(chr((ord(c) - 97 + 13) % 26 + 97) if c.islower() else c for c in LOREM * 10)
    pal = [w for w in LOREM.lower().split() if w == w[::-1]]
    joined = LOREM.partition('once')[2].rpartition('.')[0].startswith(' change'), LOREM.find('state'), LOREM.count('t')
    return len(out), len(wrapped), len(d), q, len(e), n[:9], len(b), s, len(tr), len(caesar), pal, joined

def tokens(src):
    out, i, n = [], 0, len(src)
    while i < n:
        c = src[i]
        if c.isspace():
            i += 1
        elif c.isdigit():
            j = i
            while j < n and (src[j].isdigit() or src[j] == '.'):
                j += 1
            out.append(('num', float(src[i:j])))
            i = j
        elif c.isalpha() or c == '_':
            j = i
            while j < n and (src[j].isalnum() or src[j] == '_'):
                j += 1
            out.append(('name', src[i:j]))
            i = j
        else:
            out.append(('op', c))
            i += 1
    return out

class Parser:
    PREC = {'+': 1, '-': 1, '*': 2, '/': 2, '^': 3}
    def __init__(self, toks, env):
        self.toks, self.pos, self.env = toks, 0, env
    def peek(self):
        return self.toks[self.pos] if self.pos < len(self.toks) else ('end', None)
    def next(self):
        t = self.peek()
        self.pos += 1
        return t
    def atom(self):
        kind, value = self.next()
        if kind == 'num':
            return value
        if kind == 'name':
            try:
                return self.env[value]
            except KeyError:
                raise NameError(f'unknown {value!r} at {self.pos}') from None
        if value == '(':
            v = self.expr(0)
            if self.next() != ('op', ')'):
                raise SyntaxError('expected )')
            return v
        if value == '-':
            return -self.atom()
        raise SyntaxError(f'unexpected {value!r}')
    def expr(self, level):
        left = self.atom()
        while True:
            kind, op = self.peek()
            p = self.PREC.get(op, -1) if kind == 'op' else -1
            if p < level or p < 0:
                return left
            self.next()
            right = self.expr(p + (op != '^'))
            match op:
                case '+': left += right
                case '-': left -= right
                case '*': left *= right
                case '/': left = left / right if right else float('nan')
                case '^': left = left ** min(right, 9)

def calc():
    env = {'x': 3.5, 'y': -2.0, 'rate': 0.07}
    res, errors = [], 0
    for i in range(250):
        src = f'(x + {i}) * -y ^ 2 / (rate*100 + {i % 7}) - unknown{i}' if i % 11 == 0 else \
              f'{i}.5 * (x - y) + rate ^ 2 ^ 1 - (({i}))'
        try:
            res.append(Parser(tokens(src), env).expr(0))
        except (NameError, SyntaxError) as e:
            errors += 1
            res.append(len(str(e)))
    return sum(res), errors

if __name__ == '__main__':
    for _ in range(14):
        print(word_stats(LOREM * 30))
        print(report())
        print(logs())
        print(misc())
        print(calc())
