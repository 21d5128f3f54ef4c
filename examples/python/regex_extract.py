"""Extracts contacts, amounts, dates and links from a large text of mixed quality, and cleans it of personal data."""

import re
from collections import Counter
from urllib.parse import parse_qs, urlsplit

NAMES = ["Ada Byron", "Grace Hopper", "Linus Pauling", "Zoë Müller", "José García", "Mary-Ann O'Neill"]
TEMPLATES = [
    "On {date} {name} <{mail}> wrote that invoice #{n} over {money} is overdue. See {url} for details.",
    "Call {phone} before {date}; ask for {name}. Order ref: ORD-{n:06}. Paid {money}, thanks!",
    "Server 10.{a}.{b}.{c} answered in {a}ms; mirror 300.{a}.1.1 did not. Contact: {mail}.",
    "{name}: \"the parcel (ref ORD-{n:06}) weighs {a}.{b} kg and costs {money}\" — reply to {mail}, not user@@broken",
    "Nothing to see here, just words and words and the number {n}, at version v{a}.{b}.{c}-rc{c}.",
]

PATTERNS = {
    "mail": re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    "phone": re.compile(r"\+(?P<country>\d{1,3})[ -]?\(?(?P<area>\d{2,4})\)?[ -]?(?P<rest>\d{3}[ -]?\d{2,4})"),
    "money": re.compile(r"(?P<currency>[€$£])\s?(?P<amount>\d{1,3}(?:,\d{3})*(?:\.\d\d)?)"),
    "date": re.compile(r"\b(?P<y>20\d\d)-(?P<m>0[1-9]|1[0-2])-(?P<d>0[1-9]|[12]\d|3[01])\b"),
    "order": re.compile(r"\bORD-0*([1-9]\d*)\b"),
    "ip": re.compile(r"\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b"),
    "link": re.compile(r"https?://[^\s<>\"]+(?<![.,;:!?])"),
    "version": re.compile(r"\bv(\d+)\.(\d+)\.(\d+)(?:-(rc\d+))?\b"),
}


def generate(paragraphs: int) -> str:
    lines = []
    for n in range(paragraphs):
        a, b, c = n * 7 % 256, n * 13 % 256, n * 29 % 10
        name = NAMES[n % len(NAMES)]
        first = name.split()[0].lower()
        lines.append(
            TEMPLATES[n % len(TEMPLATES)].format(
                n=n * 37 % 5000 + 1,
                a=a,
                b=b,
                c=c,
                name=name,
                mail=f"{first}.{n % 40}@mail{n % 3}.example.org",
                phone=f"+{44 + n // 5 % 5} ({20 + n % 70}) 555 {n % 9000 + 1000}"[:24],
                date=f"20{20 + n % 6}-{n % 14:02}-{n % 31 + 1:02}",  # months 00 and 13 are wrong on purpose
                money=f"{'€$£'[n % 3]}{n * 101 % 90_000:,}.{n % 100:02}",
                url=f"https://shop.example.com/invoice/{n}?lang={'de' if n % 2 else 'en'}&page={n % 9}.",
            )
        )
    return "\n".join(lines)


def main():
    text = generate(12_000)
    print(f"{len(text):,} characters, {len(text.split()):,} words")
    for name, pattern in PATTERNS.items():
        found = [m.group(0) for m in pattern.finditer(text)]
        print(f"{name:<8}{len(found):>7} found{len(set(found)):>7} different, first {found[0]!r}, last {found[-1]!r}")

    sums = Counter()
    for m in PATTERNS["money"].finditer(text):
        cents = m["amount"].replace(",", "").replace(".", "")
        sums[m["currency"]] += int(cents)
    print("\nsums", {currency: f"{cents / 100:,.2f}" for currency, cents in sorted(sums.items())})
    print("years", sorted(Counter(m["y"] for m in PATTERNS["date"].finditer(text)).items()))
    print("countries", sorted(Counter(m["country"] for m in PATTERNS["phone"].finditer(text)).items()))
    languages = Counter(parse_qs(urlsplit(link).query)["lang"][0] for link in PATTERNS["link"].findall(text))
    print("languages", dict(sorted(languages.items())))
    print("newest", max(tuple(map(int, v[:3])) for v in PATTERNS["version"].findall(text)))

    clean, hidden = PATTERNS["mail"].subn(lambda m: m[0][0] + "***@" + m[0].split("@")[1], text)
    print(f"\n{hidden} addresses hidden")
    for line in clean.splitlines()[:4]:
        print("  " + line)
    words = Counter(re.findall(r"[^\W\d_]{5,}", text.casefold()))
    print("\nwords", words.most_common(6))
    print("names", sorted({m for m in re.findall(r"[A-Z]\w+(?:-[A-Z]\w+)? (?:O')?[A-ZÀ-Þ]\w+(?= <|:|\.)", text)}))


if __name__ == "__main__":
    main()
