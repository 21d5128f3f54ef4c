"""What each thread has for itself: threading.local, context variables, decimal contexts."""

import contextvars
import decimal
import gc
import threading
import time
import weakref

plain = threading.local()
plain.value = "main"


class Counter(threading.local):
    def __init__(self, start):
        self.n = start  # runs in each thread anew

    def add(self, k):
        self.n += k


counter = Counter(100)
counter.add(1)
seen = {}


def work(i):
    assert not hasattr(plain, "value")
    plain.value = i
    counter.add(i)
    time.sleep(0.005)
    seen[i] = (plain.value, counter.n)


threads = [threading.Thread(target=work, args=(i,)) for i in range(10)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert seen == {i: (i, 100 + i) for i in range(10)}
assert plain.value == "main" and counter.n == 101


# Values go with their thread.
class Thing:
    pass


refs = []


def hold():
    plain.thing = Thing()
    refs.append(weakref.ref(plain.thing))


t = threading.Thread(target=hold)
t.start()
t.join()
del t
gc.collect()
assert refs[0]() is None

# A new thread has an empty context, unless it is given one.
variable = contextvars.ContextVar("variable", default="default")
variable.set("main")
got = []
t = threading.Thread(target=lambda: got.append(variable.get()))
t.start()
t.join()
context = contextvars.copy_context()
t = threading.Thread(target=context.run, args=(lambda: got.append((variable.get(), variable.set("thread"))[0]),))
t.start()
t.join()
assert got == ["default", "main"] and variable.get() == "main" and context[variable] == "thread"

# Contexts do not mix when threads take turns.
mixed = []


def use_context(i):
    variable.set(i)
    decimal.getcontext().prec = i + 5
    for _ in range(20):
        time.sleep(0)
        if variable.get() != i or len(str(decimal.Decimal(1) / 3)) != i + 7:
            mixed.append(i)


threads = [threading.Thread(target=use_context, args=(i,)) for i in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert not mixed

decimal.getcontext().prec = 50
t = threading.Thread(target=lambda: got.append(decimal.getcontext().prec))
t.start()
t.join()
assert got[-1] == 28 and decimal.getcontext().prec == 50
with decimal.localcontext(prec=3):
    assert str(decimal.Decimal(1) / 3) == "0.333"
