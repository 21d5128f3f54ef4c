# XML, html parsing, zip in memory, email, ini, heap of small scripts of the kind an agent sends.
import collections, email.message, email.parser, html.parser, io, json, operator, random, string, sys, zipfile, xml.etree.ElementTree as ET

def xml():
    root = ET.Element('catalog', version='1')
    for i in range(120):
        b = ET.SubElement(root, 'book', id=str(i), lang='en' if i % 2 else 'fr')
        ET.SubElement(b, 'title').text = f'Title & {i}'
        ET.SubElement(b, 'price').text = f'{i * 1.1:.2f}'
    s = ET.tostring(root, encoding='unicode')
    back = ET.fromstring(s)
    return len(s), sum(float(b.findtext('price')) for b in back.iter('book') if b.get('lang') == 'fr'), len(back.findall('./book[@lang="en"]/title'))

class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.text = [], []
    def handle_starttag(self, tag, attrs):
        if tag == 'a':
            self.links.append(dict(attrs).get('href'))
    def handle_data(self, data):
        if data.strip():
            self.text.append(data.strip())

def page():
    p = Links()
    p.feed('<html><body>' + ''.join(f'<p class="c{i}">Item <b>{i}</b> &amp; <a href="/i/{i}?q=1&amp;z=2">more</a></p>\n' for i in range(150)) + '</body>')
    return len(p.links), len(p.text)

def archives():
    b = io.BytesIO()
    with zipfile.ZipFile(b, 'w', zipfile.ZIP_STORED) as z:
        for i in range(20):
            z.writestr(f'd/{i}.txt', ('line %d\n' % i) * 40)
    with zipfile.ZipFile(b) as z:
        return sum(len(z.read(n)) for n in z.namelist())

def mail():
    m = email.message.EmailMessage()
    m['Subject'], m['From'], m['To'] = 'Résumé', 'a@example.org', 'b@example.org'
    m.set_content('Hello\n' * 20)
    m.add_attachment(b'abc', maintype='application', subtype='octet-stream', filename='x.bin')
    n = email.message_from_string(m.as_string())
    return n['subject'], n.is_multipart()

GLOBAL = 0
def scripts():
    # module-level code as agents write it: loops over globals, prints, small helpers
    src = '''
inventory = {"apples": 12, "pears": 0, "figs": 7}
log = []
def restock(name, n=10):
    inventory[name] = inventory.get(name, 0) + n
    log.append((name, n))
    return inventory[name]
for fruit, n in list(inventory.items()):
    if n == 0:
        restock(fruit)
    elif n < 10:
        restock(fruit, n=5)
    else:
        print(f"{fruit:>8}: {n:3d}", end=";")
total = 0
i = 0
while i < 60:
    i += 1
    if i % 3 == 0: continue
    total -= i // 2
    if total < -500: break
fizz = ["FizzBuzz" if k % 15 == 0 else "Fizz" if k % 3 == 0 else "Buzz" if k % 5 == 0 else str(k) for k in range(1, 40)]
words = sorted({w.lower() for w in "the Quick brown fox jumps over The lazy dog".split()}, key=lambda w: (len(w), w))
matrix = [[r * c for c in range(8)] for r in range(8)]
transposed = [list(col) for col in zip(*matrix)]
flat = [v for row in transposed for v in row if v % 2]
evens, odds = [], []
for v in flat: (odds if v % 4 == 1 else evens).append(v)
summary = {"n": len(flat), "max": max(flat), "min": min(flat), "avg": sum(flat) / len(flat), "words": words[:3]}
name, _, rest = "key=value=x".partition("=")
acc = ""
for ch in "hello world": acc = ch + acc
seen = set(); dups = []
for x in [3, 1, 3, 2, 1]:
    if x in seen: dups.append(x)
    seen.add(x)
try:
    import json as j
    j.dumps(summary)
    summary["missing"]["x"]
except KeyError as e:
    error = repr(e)
state = {"board": [[" "] * 3 for _ in range(3)], "turn": "X"}
for k in range(7):
    r, c = divmod(k * 4 % 9, 3)
    if state["board"][r][c] == " ":
        state["board"][r][c] = state["turn"]
        state["turn"] = "O" if state["turn"] == "X" else "X"
lines = ["|".join(row) for row in state["board"]]
print("\\n".join(lines), summary, error, dups, acc, rest)
'''
    code = compile(src, '<script>', 'exec')
    for _ in range(30):
        exec(code, {'__name__': '__main__'})

for _ in range(14):
    print(xml(), page(), archives(), mail())
    scripts()
