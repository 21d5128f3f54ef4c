"""A command-line tool: validates a table read from standard input against rules given as arguments.

Exit codes: 0 all good, 2 wrong usage, 3 the table has errors.
"""

import argparse
import csv
import re
import sys


def rule(text: str):
    """Parses COLUMN:KIND[:OPTION], for example age:int:0..120."""
    column, _, rest = text.partition(":")
    kind, _, option = rest.partition(":")
    if kind == "int":
        low, _, high = (option or "..").partition("..")
        low, high = int(low) if low else None, int(high) if high else None

        def check(value):
            number = int(value)
            if (low is not None and number < low) or (high is not None and number > high):
                raise ValueError(f"{number} is not in {option}")

    elif kind == "match":
        pattern = re.compile(option)

        def check(value):
            if not pattern.fullmatch(value):
                raise ValueError(f"{value!r} does not match {option}")

    elif kind == "unique":
        seen = set()

        def check(value):
            if value in seen:
                raise ValueError(f"{value!r} appears again")
            seen.add(value)

    else:
        raise argparse.ArgumentTypeError(f"{text!r}: the kind must be int, match or unique")
    return column, check


def parse_args(argv):
    parser = argparse.ArgumentParser(prog="check", description="Checks a CSV table.")
    parser.add_argument("rules", nargs="+", type=rule, metavar="COLUMN:KIND[:OPTION]")
    parser.add_argument("-d", "--delimiter", default=",")
    parser.add_argument("--max-errors", type=int, default=10, metavar="N")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("-q", "--quiet", action="store_true")
    group.add_argument("-v", "--verbose", action="count", default=0)
    return parser.parse_args(argv)


def main(argv=None) -> int:
    args = parse_args(argv)
    title = sys.stdin.readline().strip()
    print(f"{title.lstrip('# ')}, {len(args.rules)} rules, delimiter {args.delimiter!r}")
    reader = csv.DictReader(sys.stdin, delimiter=args.delimiter)
    unknown = [column for column, _ in args.rules if column not in reader.fieldnames]
    if unknown:
        print(f"check: no column {', '.join(unknown)} in {reader.fieldnames}", file=sys.stderr)
        return 2
    errors, rows = [], 0
    for row in reader:
        rows += 1
        for column, check in args.rules:
            try:
                check((row[column] or "").strip())
            except ValueError as err:
                errors.append((reader.line_num + 1, column, err))
        if args.verbose > 1:
            print("  row", rows, dict(row))
    for line, column, err in errors[: args.max_errors]:
        print(f"  line {line}, {column}: {err}")
    if len(errors) > args.max_errors:
        print(f"  and {len(errors) - args.max_errors} more")
    if not args.quiet:
        print(f"{rows} rows, {len(errors)} errors")
    return 3 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
