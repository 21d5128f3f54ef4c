# expect: timeout
# Threads in C code that lets nobody else run, of which the main thread waits for one.
import threading

numbers = range(10**12)
threads = [
    threading.Thread(target=f)
    for f in (
        lambda: sum(numbers),
        lambda: "x" * 10**7 in ["y" * 10**7] * 10**6,
        lambda: (b"a" * 10**6).replace(b"a", b"b" * 50).count(b"c" * 10),
        lambda: pow(3, 10**9, 10**5000 + 1),
        lambda: -1 in numbers and float("nan") in iter(numbers),
        lambda: max(map(float, numbers)),
    )
]
for t in threads:
    t.start()
for t in threads:
    t.join()
