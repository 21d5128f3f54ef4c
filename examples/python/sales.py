"""Summarises a quarter of sales: totals by region and product, trends, and the orders that stand out."""

import csv
import io
import statistics
from collections import defaultdict
from datetime import date, timedelta

PRODUCTS = {"Notebook": 12.50, "Backpack": 64.00, "Headphones": 129.90, "Desk lamp": 38.25, "Keyboard": 89.00}
REGIONS = ["North", "South", "East", "West"]


def make_csv(orders: int = 600) -> str:
    """Stands in for an export from the shop: the same orders on every run, with a few flaws of real exports."""
    state = 2024
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["order_id", "date", "region", "product", "quantity", "unit_price"])
    for n in range(orders):
        state = (state * 1103515245 + 12345) % 2**31
        day = date(2024, 1, 1) + timedelta(days=n * 91 // orders)
        product = list(PRODUCTS)[(state >> 8) % len(PRODUCTS)]
        quantity = 1 + (state >> 16) % 9
        if state % 97 == 0:
            quantity *= 40  # a wholesale order
        price = f"{PRODUCTS[product]:.2f}"
        if n % 151 == 150:
            price = ""  # the export loses a price now and then
        writer.writerow([f"A{n + 1:05}", day.isoformat(), REGIONS[(state >> 20) % 4], product, quantity, price])
    return out.getvalue()


def read_orders(text: str):
    good, bad = [], []
    for row in csv.DictReader(io.StringIO(text)):
        try:
            good.append(
                {
                    "id": row["order_id"],
                    "date": date.fromisoformat(row["date"]),
                    "region": row["region"],
                    "product": row["product"],
                    "quantity": int(row["quantity"]),
                    "total": int(row["quantity"]) * float(row["unit_price"]),
                }
            )
        except ValueError as err:
            bad.append((row["order_id"], str(err)))
    return good, bad


def totals(orders, key):
    groups = defaultdict(list)
    for order in orders:
        groups[order[key]].append(order["total"])
    return sorted(groups.items(), key=lambda item: -sum(item[1]))


def table(title, rows):
    print(f"\n{title:<14}{'orders':>8}{'revenue':>14}{'median':>10}{'share':>8}")
    everything = sum(sum(values) for _, values in rows)
    for name, values in rows:
        share = sum(values) / everything
        print(f"{name:<14}{len(values):>8}{sum(values):>14,.2f}{statistics.median(values):>10.2f}{share:>8.1%}")


def main():
    orders, bad = read_orders(make_csv())
    amounts = [order["total"] for order in orders]
    print(f"{len(orders)} orders, {min(o['date'] for o in orders)} to {max(o['date'] for o in orders)}")
    print(f"revenue {sum(amounts):,.2f}, mean {statistics.mean(amounts):.2f}, deviation {statistics.stdev(amounts):.2f}")

    table("Region", totals(orders, "region"))
    table("Product", totals(orders, "product"))

    print("\nMonth")
    months = defaultdict(float)
    for order in orders:
        months[order["date"].strftime("%Y-%m")] += order["total"]
    longest = max(months.values())
    for month, value in sorted(months.items()):
        print(f"{month}  {'#' * round(40 * value / longest):<40} {value:>12,.2f}")

    limit = statistics.mean(amounts) + 3 * statistics.stdev(amounts)
    outliers = sorted((o for o in orders if o["total"] > limit), key=lambda o: -o["total"])
    print(f"\n{len(outliers)} orders above {limit:,.2f}")
    for order in outliers[:5]:
        print(f"  {order['id']}  {order['region']:<6} {order['quantity']:>4} x {order['product']:<11}{order['total']:>11,.2f}")

    print(f"\n{len(bad)} rows could not be read")
    for order_id, reason in bad:
        print(f"  {order_id}: {reason}")


if __name__ == "__main__":
    main()
