"""Checks many slow services at once: a pool of threads, results as they come and in order, retries, and a lock around what
the threads share."""

import threading
import time
from collections import Counter
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, as_completed, wait

SERVICES = [f"{name}-{n}" for name in ("auth", "billing", "mail", "search") for n in range(1, 9)]
WORKERS = 8


class Unreachable(Exception):
    pass


class Network:
    """Stands in for calls that take their time: some fail once, one never works."""

    def __init__(self):
        self._lock = threading.Lock()
        self._own = threading.local()
        self.attempts = Counter()
        self.connections = 0
        self.open = 0
        self.most_open = 0

    def _connection(self):
        """Each thread has a connection of its own, which it keeps."""
        if not hasattr(self._own, "connection"):
            with self._lock:
                self.connections += 1
                self._own.connection = self.connections
        return self._own.connection

    def ping(self, service: str) -> int:
        self._connection()
        with self._lock:
            self.attempts[service] += 1
            attempt = self.attempts[service]
            self.open += 1
            self.most_open = max(self.most_open, self.open)
        try:
            time.sleep(0.005 + len(service) % 4 / 100)
            if service == "mail-7" or service.endswith("-5") and attempt == 1:
                raise Unreachable(f"{service} did not answer")
            return sum(service.encode()) % 90 + 10
        finally:
            with self._lock:
                self.open -= 1


def check(network: Network, service: str) -> int:
    for attempt in range(3):
        try:
            return network.ping(service)
        except Unreachable:
            if attempt == 2:
                raise
            time.sleep(0.005)


def status_of_all():
    network = Network()
    status = {}
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="check") as pool:
        futures = {pool.submit(check, network, service): service for service in SERVICES}
        for future in as_completed(futures):
            try:
                status[futures[future]] = f"{future.result()} ms"
            except Unreachable as err:
                status[futures[future]] = f"down ({err})"
    # They came in any order; the report has them in that of the list.
    for service in SERVICES:
        retries = network.attempts[service] - 1
        print(f"{service:<10} {status[service]}" + (f", {retries} retries" if retries else ""))
    print(f"{len(status)} services, {sum(network.attempts.values())} calls")
    print("never more than one per worker:", network.most_open <= WORKERS, network.connections <= WORKERS)


def in_order():
    def square(n):
        time.sleep((10 - n) / 500)  # the first takes longest
        return n * n

    with ThreadPoolExecutor(10) as pool:
        print("map keeps the order:", list(pool.map(square, range(10))))


def at_the_same_time():
    """Four parties that wait for each other can only meet if all of them run."""
    barrier = threading.Barrier(4, timeout=30)
    with ThreadPoolExecutor(4) as pool:
        print("met:", sorted(pool.map(lambda _: barrier.wait(), range(4))))


def first_failure():
    gate = threading.Event()

    def fail():
        raise LookupError("no such customer")

    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(gate.wait)]
        failing = pool.submit(fail)
        done, _ = wait([*waiting, failing], return_when=FIRST_EXCEPTION)
        print("failed first:", [repr(f.exception()) for f in done])
        waiting.append(pool.submit(gate.wait))
        queued = [pool.submit(print, "never printed") for _ in range(3)]
        print("taken back:", [f.cancel() for f in queued])
        gate.set()
        print("the others ended:", [f.result(30) for f in waiting])


if __name__ == "__main__":
    status_of_all()
    in_order()
    at_the_same_time()
    first_failure()
