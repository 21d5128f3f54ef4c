# expect: ok,error,memory_limit
import sqlite3

db = sqlite3.connect(":memory:")
for sql in ("SELECT length(zeroblob(1000000000))", "SELECT length(hex(randomblob(900000000)))", "SELECT printf('%.*c', 999999999, 'x')"):
    try:
        print(db.execute(sql).fetchone() is not None)
    except (sqlite3.Error, MemoryError, OverflowError) as err:
        print(type(err).__name__)
