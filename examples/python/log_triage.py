"""Reads a service's JSON log from standard input and says what went wrong, how often and since when."""

import json
import re
import sys
from collections import Counter, defaultdict
from datetime import datetime

NUMBERS = re.compile(r"\b(?:[0-9a-f]{8,}|\d+(?:\.\d+)?)(ms|s|%)?\b")


def fingerprint(message: str) -> str:
    """Messages that differ only in their numbers and ids are the same problem."""
    return NUMBERS.sub(lambda m: "<n>" + (m[1] or ""), message)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def read(stream):
    for number, line in enumerate(stream, 1):
        line = line.strip()
        if not line:
            continue
        try:
            entry = json.loads(line)
            entry["time"] = datetime.fromisoformat(entry["time"])
            yield number, entry
        except (json.JSONDecodeError, KeyError, ValueError, TypeError) as err:
            yield number, {"broken": f"{type(err).__name__}: {err}"}


def main():
    levels, routes, broken = Counter(), defaultdict(list), []
    problems = defaultdict(list)
    by_minute = Counter()
    first = last = None
    for number, entry in read(sys.stdin):
        if "broken" in entry:
            broken.append((number, entry["broken"]))
            continue
        first = min(first or entry["time"], entry["time"])
        last = max(last or entry["time"], entry["time"])
        levels[entry.get("level", "unknown")] += 1
        if "route" in entry and "duration_ms" in entry:
            routes[entry["route"]].append(entry["duration_ms"])
        if entry.get("level") in ("ERROR", "CRITICAL"):
            problems[fingerprint(entry["message"])].append(entry)
            by_minute[entry["time"].strftime("%H:%M")] += 1

    print(f"{sum(levels.values())} entries from {first:%Y-%m-%d %H:%M:%S} to {last:%H:%M:%S}")
    print(", ".join(f"{level} {count}" for level, count in levels.most_common()))

    print("\nProblems")
    for text, entries in sorted(problems.items(), key=lambda item: (-len(item[1]), item[0])):
        users = {e.get("user") for e in entries} - {None}
        print(f"{len(entries):>4}x {text}")
        print(f"      first {entries[0]['time']:%H:%M:%S}, last {entries[-1]['time']:%H:%M:%S}, {len(users)} users")
        trace = next((e["trace"] for e in entries if e.get("trace")), None)
        if trace:
            print("      at " + trace[-1])

    print("\nErrors by minute")
    for minute, count in sorted(by_minute.items()):
        print(f"  {minute} {'*' * count}")

    print("\nSlowest routes (ms)")
    print(f"  {'route':<22}{'count':>6}{'p50':>8}{'p95':>8}{'max':>8}")
    for route, values in sorted(routes.items(), key=lambda item: -percentile(item[1], 0.95)):
        print(f"  {route:<22}{len(values):>6}{percentile(values, .5):>8}{percentile(values, .95):>8}{max(values):>8}")

    print(f"\n{len(broken)} unreadable lines")
    for number, reason in broken:
        print(f"  line {number}: {reason}")


if __name__ == "__main__":
    main()
