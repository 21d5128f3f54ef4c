# expect: timeout
import sqlite3

db = sqlite3.connect(":memory:")
db.execute("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n").fetchall()
