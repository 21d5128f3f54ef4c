"""Simulates a bank's counters as discrete events and compares queueing rules, with a seeded random generator."""

import heapq
import itertools
import math
import random
import statistics
from collections import deque
from dataclasses import dataclass, field


@dataclass(order=True)
class Event:
    time: float
    number: int
    kind: str = field(compare=False)
    customer: "Customer" = field(compare=False)


@dataclass
class Customer:
    arrived: float
    work: float
    started: float = math.nan

    @property
    def waited(self) -> float:
        return self.started - self.arrived


class Bank:
    def __init__(self, counters: int, rule: str):
        self.free = counters
        self.counters = counters
        self.rule = rule
        self.queue = deque()
        self.events = []
        self.served = []
        self.longest = 0
        self.busy = 0.0
        self.tie = itertools.count()

    def schedule(self, time, kind, customer):
        heapq.heappush(self.events, Event(time, next(self.tie), kind, customer))

    def pick(self) -> Customer:
        if self.rule == "fifo":
            return self.queue.popleft()
        if self.rule == "lifo":
            return self.queue.pop()
        shortest = min(self.queue, key=lambda customer: customer.work)
        self.queue.remove(shortest)
        return shortest

    def run(self, customers, until: float):
        for customer in customers:
            self.schedule(customer.arrived, "arrive", customer)
        now = 0.0
        while self.events and now < until:
            event = heapq.heappop(self.events)
            now = event.time
            if event.kind == "arrive":
                self.queue.append(event.customer)
                self.longest = max(self.longest, len(self.queue))
            else:
                self.free += 1
                self.served.append(event.customer)
            while self.free and self.queue:
                customer = self.pick()
                customer.started = now
                self.free -= 1
                self.busy += customer.work
                self.schedule(now + customer.work, "leave", customer)
        return now


def arrivals(seed: int, hours: float):
    generator = random.Random(seed)
    time = 0.0
    while (time := time + generator.expovariate(45 / 60)) < hours * 60:
        yield Customer(time, max(0.5, generator.gammavariate(2.0, 1.9)))


def main():
    print(f"{'rule':<9}{'counters':>9}{'served':>8}{'mean wait':>11}{'p95':>8}{'longest queue':>15}{'load':>7}")
    for rule, counters in itertools.product(("fifo", "lifo", "shortest"), (3, 4)):
        bank = Bank(counters, rule)
        end = bank.run(list(arrivals(2024, 8)), math.inf)
        waits = [customer.waited for customer in bank.served]
        p95 = statistics.quantiles(waits, n=20)[-1]
        load = bank.busy / counters / end
        print(f"{rule:<9}{counters:>9}{len(waits):>8}{statistics.fmean(waits):>11.3f}{p95:>8.2f}{bank.longest:>15}{load:>7.1%}")

    generator = random.Random(99)
    inside = sum(generator.random() ** 2 + generator.random() ** 2 <= 1 for _ in range(100_000))
    print(f"\npi is about {4 * inside / 100_000:.4f}, off by {abs(4 * inside / 100_000 - math.pi):.4f}")
    heights = [generator.gauss(171.0, 9.5) for _ in range(20_000)]
    fit = statistics.NormalDist.from_samples(heights)
    print(f"normal fit: {fit.mean:.2f} +- {fit.stdev:.2f}, above 190: {1 - fit.cdf(190):.3%}")
    x = list(range(50))
    y = [3.5 * value - 12 + generator.uniform(-4, 4) for value in x]
    slope, intercept = statistics.linear_regression(x, y)
    print(f"line: {slope:.3f} x {intercept:+.2f}, r = {statistics.correlation(x, y):.5f}")
    deck = [rank + suit for suit in "♠♥♦♣" for rank in "A23456789TJQK"]
    generator.shuffle(deck)
    print("hand:", " ".join(deck[:5]), "| sample:", generator.sample(range(49), 6), "| choices:", generator.choices("abc", [5, 3, 1], k=8))


if __name__ == "__main__":
    main()
