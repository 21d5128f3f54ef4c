# expect: ok,error
import sqlite3

db = sqlite3.connect(":memory:")
for sql in ("SELECT " + "(" * 100_000 + "1" + ")" * 100_000, "SELECT " + "-" * 1 + " -".join("1" for _ in range(100_000)), "SELECT 1" + " UNION SELECT 1" * 100_000):
    try:
        db.execute(sql).fetchone()
    except (sqlite3.Error, MemoryError) as err:
        print(type(err).__name__)
