"""Computes on several cores: a pool of processes, single processes that report through a queue, and an executor."""

import hashlib
import multiprocessing
import random
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction

TABLE = {"unit": "lattice points"}  # the processes have copies of what the program had when they began


def primes_between(low: int, high: int) -> int:
    """Counts primes by a segmented sieve."""
    root = int(high**0.5) + 1
    small = bytearray([1]) * (root + 1)
    segment = bytearray([1]) * (high - low)
    for p in range(2, root + 1):
        if not small[p]:
            continue
        small[p * p :: p] = bytes(len(small[p * p :: p]))
        first = max(p * p, -(-low // p) * p) - low
        segment[first::p] = bytes(len(segment[first::p]))
    return sum(segment) - sum(n < high for n in range(low, 2))


def collatz(n: int) -> tuple[int, int]:
    start, steps = n, 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps, start


def estimate(seed: int) -> Fraction:
    rng = random.Random(seed)
    inside = sum(rng.randrange(1000) ** 2 + rng.randrange(1000) ** 2 < 10**6 for _ in range(4000))
    return Fraction(4 * inside, 4000)


def mine(prefix: str) -> tuple[str, int]:
    """Looks for a number whose hash begins with zeros."""
    n = 0
    while not hashlib.sha256(f"{prefix}{n}".encode()).hexdigest().startswith("000"):
        n += 1
    return prefix, n


def lattice(radius: int, results):
    points = sum(x * x + y * y <= radius * radius for x in range(-radius, radius + 1) for y in range(-radius, radius + 1))
    TABLE["last"] = radius  # changes the copy only
    results.put((radius, points))


def reciprocal(n: int) -> Fraction:
    return Fraction(1, n)


def pools():
    with multiprocessing.Pool(4) as pool:
        counts = pool.starmap(primes_between, [(n, n + 20_000) for n in range(0, 200_000, 20_000)])
        print("primes:", counts, sum(counts))
        print("longest Collatz sequence:", max(pool.map(collatz, range(1, 4001), chunksize=500)))
        estimates = pool.map(estimate, range(12))
        print("pi is about", float(round(sum(estimates) / len(estimates), 4)))
        for prefix, n in sorted(pool.imap_unordered(mine, ["oak", "elm", "ash", "fir"])):
            print(f"sha256({prefix}{n}) begins with 000")
        later = pool.apply_async(pow, (3, 20_000, 10**9 + 7))
        print("3**20000 modulo 10**9+7:", later.get(timeout=60))


def processes():
    results = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=lattice, args=(radius, results)) for radius in (10, 40, 70)]
    for worker in workers:
        worker.start()
    found = sorted(results.get(timeout=60) for _ in workers)
    for worker in workers:
        worker.join()
    print("exit codes:", [worker.exitcode for worker in workers])
    for radius, points in found:
        print(f"{points} {TABLE['unit']} within {radius}")
    print("the program's own table:", TABLE)


def failures():
    with ProcessPoolExecutor(2) as executor:
        print("sum of reciprocals:", sum(executor.map(reciprocal, range(1, 11))))
        try:
            executor.submit(reciprocal, 0).result()
        except ZeroDivisionError as err:
            print("a failure comes back:", type(err).__name__, err)


if __name__ == "__main__":
    pools()
    processes()
    failures()
