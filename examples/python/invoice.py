"""Computes an invoice to the cent with Decimal: discounts, two VAT rates, rounding, instalments and a currency."""

from collections import defaultdict
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation, getcontext, localcontext

CENT = Decimal("0.01")


@dataclass(frozen=True)
class Line:
    text: str
    quantity: Decimal
    price: Decimal
    vat: Decimal
    discount: Decimal = Decimal(0)

    @property
    def net(self) -> Decimal:
        full = self.quantity * self.price
        return (full * (1 - self.discount / 100)).quantize(CENT, ROUND_HALF_UP)


ORDER = """
Consulting, hours;   17.25; 95.00;  19
Travel, km;          342;   0.38;   19
Printed manual;      12;    24.90;  7;   5
Licence, per seat;   33;    7.995;  19;  12.5
Catering;            1;     215.45; 19
Old price list;      x;     1;      19
"""


def parse(text):
    for raw in text.strip().splitlines():
        name, *numbers = [part.strip() for part in raw.split(";")]
        try:
            yield Line(name, *map(Decimal, numbers))
        except InvalidOperation:
            print(f"skipped {name!r}: not a number in {numbers}")


def money(value: Decimal, currency: str = "EUR") -> str:
    """1234.5 -> '1.234,50 EUR', as German invoices have it."""
    text = f"{value.quantize(CENT, ROUND_HALF_UP):,.2f}"
    return text.translate(str.maketrans(",.", ".,")) + " " + currency


def split(total: Decimal, parts: int) -> list[Decimal]:
    """Equal instalments that add up to total exactly; the first ones carry the odd cents."""
    cents = int(total / CENT)
    share, rest = divmod(cents, parts)
    return [Decimal(share + (n < rest)) * CENT for n in range(parts)]


def annuity(amount: Decimal, yearly: Decimal, months: int) -> Decimal:
    with localcontext() as ctx:
        ctx.prec = 50
        rate = yearly / 100 / 12
        return (amount * rate / (1 - (1 + rate) ** -months)).quantize(CENT, ROUND_HALF_UP)


def main():
    lines = list(parse(ORDER))
    print(f"{'':<20}{'qty':>8}{'price':>9}{'disc.':>7}{'VAT':>5}{'net':>15}")
    for line in lines:
        discount = f"{line.discount}%" if line.discount else ""
        print(f"{line.text:<20}{line.quantity:>8}{line.price:>9}{discount:>7}{line.vat:>4}%{money(line.net):>15}")

    by_rate = defaultdict(Decimal)
    for line in lines:
        by_rate[line.vat] += line.net
    net = sum(by_rate.values())
    taxes = {rate: (base * rate / 100).quantize(CENT, ROUND_HALF_UP) for rate, base in by_rate.items()}
    total = net + sum(taxes.values())
    print(f"\n{'Net':<50}{money(net):>14}")
    for rate, tax in sorted(taxes.items()):
        print(f"{f'VAT {rate}% on {money(by_rate[rate])}':<50}{money(tax):>14}")
    print(f"{'Total':<50}{money(total):>14}")

    instalments = split(total, 7)
    print("\n7 instalments:", ", ".join(money(part) for part in sorted(set(instalments), reverse=True)))
    print("they add up:", sum(instalments) == total)
    print("over 24 months at 4.9%:", money(annuity(total, Decimal("4.9"), 24)))
    print("in JPY:", f"{(total * Decimal('163.4172')).to_integral_value(ROUND_HALF_EVEN):,}")

    floats = 0.0
    for line in lines:
        floats += float(line.quantity) * float(line.price) * (1 - float(line.discount) / 100)
    print("\nexact before rounding:", sum(ln.quantity * ln.price * (1 - ln.discount / 100) for ln in lines).normalize())
    print("float is off by less than a cent:", abs(floats - float(net)) < 0.01, "| 0.1+0.2 ==", 0.1 + 0.2)
    print("rounding 2.675:", Decimal("2.675").quantize(CENT, ROUND_HALF_UP), Decimal("2.675").quantize(CENT), round(2.675, 2))
    print("precision", getcontext().prec, "| 1/7 =", Decimal(1) / 7, "| sqrt(2) =", Decimal(2).sqrt())


if __name__ == "__main__":
    main()
