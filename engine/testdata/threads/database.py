"""sqlite3 from several threads."""

import os
import sqlite3
import threading
import time

errors = []


def run(n, target):
    def guarded(i):
        try:
            target(i)
        except BaseException as exc:
            errors.append(exc)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors, errors


# A connection for each thread, in memory.
def private(i):
    with sqlite3.connect(":memory:") as db:
        db.execute("create table t(a)")
        db.executemany("insert into t values(?)", [(k,) for k in range(2000)])
        time.sleep(0)
        assert db.execute("select sum(a), count(*) from t").fetchone() == (1999000, 2000)


run(6, private)

# One connection for all.
db = sqlite3.connect(":memory:", check_same_thread=False)
db.execute("create table log(thread, n)")
guard = threading.Lock()


def insert(i):
    for k in range(200):
        with guard:
            db.execute("insert into log values(?, ?)", (i, k))


run(6, insert)
assert db.execute("select count(*), sum(n) from log").fetchone() == (1200, 6 * 19900)

# With functions of the program, which let others run in the middle of a statement.
db.create_function("slow", 1, lambda x: (time.sleep(0), x)[1])


def total(i):
    with guard:
        assert db.execute("select sum(slow(n)) from log where thread = ?", (i,)).fetchone() == (19900,)


run(4, total)
db.close()

# The rule that a connection belongs to its thread.
mine = sqlite3.connect(":memory:")
refused = []


def foreign(_):
    try:
        mine.execute("select 1")
    except sqlite3.ProgrammingError as exc:
        refused.append(str(exc))


run(1, foreign)
assert "thread" in refused[0]

# A file, with a transaction for each row.
sqlite3.connect("shared.db").execute("create table t(i, k)").connection.close()


def shared(i):
    with sqlite3.connect("shared.db", timeout=30) as db:
        for k in range(10):
            with db:
                db.execute("insert into t values(?, ?)", (i, k))


run(4, shared)
assert sqlite3.connect("shared.db").execute("select count(*) from t").fetchone() == (40,)
os.remove("shared.db")

# A long statement can be interrupted from another thread.
db = sqlite3.connect(":memory:", check_same_thread=False)
threading.Timer(0.05, db.interrupt).start()
db.create_function("give_way", 0, lambda: time.sleep(0))
try:
    db.execute(
        "with recursive c(x) as (select 1 union all select x + 1 from c) select sum(x) from c where give_way() is null"
    ).fetchall()
except sqlite3.OperationalError as exc:
    assert "interrupted" in str(exc)
else:
    raise AssertionError("not interrupted")
