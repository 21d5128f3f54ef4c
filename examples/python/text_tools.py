"""Compares two drafts, reflows text, counts words in several scripts, and finds what the user may have meant."""

import difflib
import itertools
import re
import string
import textwrap
import unicodedata
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque

OLD = """\
The harbour master keeps a list of all boats.
Every boat pays by the day, and the fee depends on the length.
Boats longer than twelve metres lie at the outer pier.
The list is printed on Monday.
Dogs are not allowed.
"""

NEW = """\
The harbour master keeps a list of all boats and their owners.
Every boat pays by the night, and the fee depends on the length.
Boats longer than twelve metres lie at the outer pier.
Dogs are allowed on a lead.
The list is published on Monday.
"""

MIXED = "Ελληνικά και english, русский язык, 日本語テキスト, naïve café — ﬁnal Ⅻ ½ ñ n\u0303 ＡＢＣ ß İstanbul 🙂👩‍🚀"


def show_diff():
    print("".join(difflib.unified_diff(OLD.splitlines(True), NEW.splitlines(True), "old.txt", "new.txt", n=1)))
    matcher = difflib.SequenceMatcher(None, OLD.split(), NEW.split())
    print(f"similarity {matcher.ratio():.3f}")
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            print(f"  {tag:<8} {' '.join(OLD.split()[a:b])!r} -> {' '.join(NEW.split()[c:d])!r}")
    restored = "".join(difflib.restore(difflib.ndiff(OLD.splitlines(True), NEW.splitlines(True)), 1))
    print("restored from the delta:", restored == OLD)


def show_layout():
    paragraph = " ".join(NEW.split())
    print(textwrap.fill(paragraph, 50, initial_indent="* ", subsequent_indent="  "))
    print(textwrap.shorten(paragraph, 40, placeholder=" [...]"))
    block = """
        indented
          more
        less
    """
    print(repr(textwrap.dedent(block).strip()), repr(textwrap.indent("a\n\nb", "> ")))
    page = string.Template("Dear $name, you owe $$${amount}. $missing")
    print(page.safe_substitute(ChainMap({"name": "Ida"}, {"name": "nobody", "amount": "12.50"})))
    rows = [("name", "metres", "fee"), ("Albatross", 7.5, 12), ("Ørnen", 14.25, 31), ("海鳥", 9, 17)]
    widths = [max(len(str(row[i])) for row in rows) for i in range(3)]
    for name, length, fee in rows:
        print(f"| {name:<{widths[0]}} | {length!s:^{widths[1]}} | {fee!s:>{widths[2]}} |")


def show_unicode():
    scripts = defaultdict(list)
    for char in MIXED:
        if char.isalpha():
            scripts[unicodedata.name(char, "?").split()[0]].append(char)
    print({script: len(chars) for script, chars in sorted(scripts.items())})
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        text = unicodedata.normalize(form, MIXED)
        print(form, len(text), len(text.encode("utf-8")), unicodedata.is_normalized(form, MIXED))
    ascii_only = unicodedata.normalize("NFKD", MIXED).encode("ascii", "ignore").decode()
    print("slug:", re.sub(r"[^a-z0-9]+", "-", ascii_only.lower()).strip("-"))
    print("casefold:", "Straße".casefold() == "STRASSE".casefold(), "Σίσυφος".upper(), "ǆ".title(), "İ".lower().encode("unicode_escape"))
    print("numeric:", [unicodedata.numeric(c) for c in "Ⅻ½٣"], int("٣٤"), unicodedata.east_asian_width("語"))
    print("wide columns:", sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in "海鳥 bird"))


def show_words():
    words = re.findall(r"\w+", (OLD + NEW).lower())
    counts = Counter(words)
    print(counts.most_common(5), counts.total())
    print("only in new:", sorted(set(re.findall(r"\w+", NEW.lower())) - set(re.findall(r"\w+", OLD.lower()))))
    recent = deque(maxlen=3)
    recent.extend(words)
    recent.rotate(1)
    print("last words:", list(recent))
    pairs = Counter(itertools.pairwise(words))
    print("pairs:", [" ".join(p) for p, n in sorted(pairs.items(), key=lambda x: (-x[1], x[0]))[:3]])
    lengths = OrderedDict((n, len(list(g))) for n, g in itertools.groupby(sorted(map(len, words))))
    lengths.move_to_end(4, last=False)
    print("lengths:", dict(lengths))
    commands = ["status", "start", "stop", "restart", "reload", "report"]
    for typo in ("statsu", "strat", "repotr", "xyzzy"):
        print(f"  {typo}: did you mean {difflib.get_close_matches(typo, commands, n=2)}?")


def main():
    for part in (show_diff, show_layout, show_unicode, show_words):
        print(f"--- {part.__name__[5:]} ---")
        part()


if __name__ == "__main__":
    main()
