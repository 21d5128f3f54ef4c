"""Many threads: at once up to the limit, one after the other without one."""

import threading

go = threading.Event()
threads = [threading.Thread(target=go.wait) for _ in range(200)]
for t in threads:
    t.start()
assert threading.active_count() == 201
go.set()
for t in threads:
    t.join()

idents = set()
for _ in range(2000):
    t = threading.Thread(target=lambda: idents.add(threading.get_ident()))
    t.start()
    t.join()
assert threading.active_count() == 1

# Threads that end while others start.
done = []


def spread(n):
    if n == 0:
        done.append(1)
        return
    children = [threading.Thread(target=spread, args=(n - 1,)) for _ in range(3)]
    for t in children:
        t.start()
    for t in children:
        t.join()


spread(4)
assert len(done) == 81

# Ping-pong with two locks.
a, b = threading.Lock(), threading.Lock()
a.acquire()
b.acquire()
hits = 0


def pong():
    global hits
    for _ in range(5000):
        a.acquire()
        hits += 1
        b.release()


t = threading.Thread(target=pong)
t.start()
for _ in range(5000):
    a.release()
    b.acquire()
t.join()
assert hits == 5000
