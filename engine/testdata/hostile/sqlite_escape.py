# expect: ok,error
import sqlite3

db = sqlite3.connect(":memory:")
for path in ("/etc/passwd", "../../etc/passwd", "file:/etc/passwd?mode=ro"):
    try:
        db.execute("ATTACH ? AS other", (path,))
        rows = db.execute("SELECT * FROM other.sqlite_master").fetchall()
        assert not rows, rows
        db.execute("DETACH other")
    except sqlite3.Error as err:
        print(err)
try:
    db.enable_load_extension(True)
    db.execute("SELECT load_extension('/lib/libc.so.6')")
except (AttributeError, sqlite3.Error) as err:
    print(type(err).__name__)
