"""Keeps a small warehouse in SQLite: schema, bulk load, transactions that roll back, window functions, full report."""

import os
import sqlite3
import tempfile
from contextlib import closing

SCHEMA = """
PRAGMA foreign_keys = ON;
CREATE TABLE supplier (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE item (
    id INTEGER PRIMARY KEY,
    supplier_id INTEGER NOT NULL REFERENCES supplier(id),
    name TEXT NOT NULL,
    price_cents INTEGER NOT NULL CHECK (price_cents > 0)
);
CREATE TABLE movement (
    id INTEGER PRIMARY KEY,
    item_id INTEGER NOT NULL REFERENCES item(id),
    day TEXT NOT NULL,
    amount INTEGER NOT NULL
);
CREATE INDEX movement_by_item ON movement(item_id, day);
CREATE TRIGGER no_negative_stock AFTER INSERT ON movement
WHEN (SELECT sum(amount) FROM movement WHERE item_id = NEW.item_id) < 0
BEGIN SELECT raise(ABORT, 'stock would be negative'); END;
"""


def load(db):
    suppliers = ["Alder & Co", "Birch Ltd", "Cedar GmbH"]
    db.executemany("INSERT INTO supplier(name) VALUES (?)", [(s,) for s in suppliers])
    db.executemany(
        "INSERT INTO item(supplier_id, name, price_cents) VALUES (?, ?, ?)",
        [(n % 3 + 1, f"Part {chr(65 + n)}", 199 + 137 * n) for n in range(12)],
    )
    movements = []
    for n in range(3000):
        item = n * 7 % 12 + 1
        amount = 12 if n < 12 else (n * 31 % 11) - 6 or 2
        movements.append((item, f"2024-{1 + n // 250:02}-{1 + n % 28:02}", amount))
    rejected = 0
    for movement in movements:
        try:
            db.execute("INSERT INTO movement(item_id, day, amount) VALUES (?, ?, ?)", movement)
        except sqlite3.IntegrityError:
            rejected += 1
    db.commit()
    return rejected


def transfer(db, source, target, amount):
    """Moves stock in one transaction; both halves happen or neither does."""
    with db:
        db.execute("INSERT INTO movement(item_id, day, amount) VALUES (?, '2024-12-31', ?)", (target, amount))
        db.execute("INSERT INTO movement(item_id, day, amount) VALUES (?, '2024-12-31', ?)", (source, -amount))


def report(db):
    print("\nStock by supplier")
    query = """
        WITH stock AS (SELECT item_id, sum(amount) AS units FROM movement GROUP BY item_id)
        SELECT s.name, count(*) AS items, sum(units) AS units, sum(units * price_cents) / 100.0 AS value,
               rank() OVER (ORDER BY sum(units * price_cents) DESC) AS place
        FROM item i JOIN stock ON stock.item_id = i.id JOIN supplier s ON s.id = i.supplier_id
        GROUP BY s.id ORDER BY place"""
    for row in db.execute(query):
        print(f"  {row['place']}. {row['name']:<11}{row['items']:>3} items{row['units']:>8} units{row['value']:>13,.2f}")
    print("\nRunning stock of Part C, last three months")
    query = """
        SELECT month, total FROM (
            SELECT substr(day, 1, 7) AS month, sum(sum(amount)) OVER (ORDER BY substr(day, 1, 7)) AS total
            FROM movement WHERE item_id = 3 GROUP BY month)
        ORDER BY month DESC LIMIT 3"""
    for month, total in db.execute(query):
        print(f"  {month} {total}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "warehouse.db")
        with closing(sqlite3.connect(path)) as db:
            db.row_factory = sqlite3.Row
            db.executescript(SCHEMA)
            print("journal mode", db.execute("PRAGMA journal_mode").fetchone()[0])
            print(load(db), "movements rejected")
            before = db.execute("SELECT count(*), sum(amount) FROM movement").fetchone()
            transfer(db, 1, 2, 5)
            try:
                transfer(db, 1, 2, 1_000_000)
            except sqlite3.IntegrityError as err:
                print("refused:", err)
            after = db.execute("SELECT count(*), sum(amount) FROM movement").fetchone()
            print("movements", tuple(before), "->", tuple(after))
            print("journal left over:", os.path.exists(path + "-journal"))
            report(db)
            db.execute("DELETE FROM movement WHERE day < '2024-06-01'")
            db.commit()
            db.execute("VACUUM")
        with closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(":memory:")) as copy:
            db.backup(copy)
            print("\nreopened:", db.execute("PRAGMA integrity_check").fetchone()[0])
            copy.create_function("label", 1, lambda cents: "cheap" if cents < 800 else "dear", deterministic=True)
            groups = copy.execute("SELECT label(price_cents), count(*), min(name) FROM item GROUP BY 1 ORDER BY 1")
            print("copy in memory:", groups.fetchall())
            print("movements kept:", copy.execute("SELECT count(*) FROM movement").fetchone()[0])
        print("files:", sorted(os.listdir(folder)))


if __name__ == "__main__":
    main()
