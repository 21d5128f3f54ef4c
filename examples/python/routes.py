"""Finds routes in a rail network, orders a build by dependencies, and solves a puzzle: graph algorithms of daily use."""

import heapq
import math
from collections import defaultdict, deque
from fractions import Fraction
from functools import cache
from graphlib import CycleError, TopologicalSorter

NETWORK = """
Hamburg-Berlin 105 Hamburg-Bremen 55 Hamburg-Hannover 75 Bremen-Hannover 65 Hannover-Berlin 100
Hannover-Kassel 55 Kassel-Frankfurt 85 Berlin-Leipzig 70 Leipzig-Dresden 65 Leipzig-Erfurt 45
Erfurt-Kassel 90 Erfurt-Nürnberg 70 Nürnberg-München 65 Frankfurt-Mannheim 40 Mannheim-Stuttgart 40
Stuttgart-München 130 Frankfurt-Köln 65 Köln-Dortmund 70 Dortmund-Hannover 100 Dortmund-Bremen 105
"""


def read_network(text):
    graph = defaultdict(dict)
    words = text.split()
    for line, minutes in zip(words[::2], words[1::2]):
        a, b = line.split("-")
        graph[a][b] = graph[b][a] = int(minutes)
    return graph


def shortest(graph, start, goal, closed=frozenset()):
    """Dijkstra's algorithm; closed holds pairs of stations without service."""
    best, queue, came = {start: 0}, [(0, start)], {}
    while queue:
        cost, node = heapq.heappop(queue)
        if node == goal:
            path = [node]
            while path[-1] != start:
                path.append(came[path[-1]])
            return cost, path[::-1]
        if cost > best[node]:
            continue
        for other, minutes in sorted(graph[node].items()):
            if frozenset((node, other)) in closed:
                continue
            if cost + minutes < best.get(other, math.inf):
                best[other], came[other] = cost + minutes, node
                heapq.heappush(queue, (cost + minutes, other))
    return math.inf, []


def spanning_tree(graph):
    parent = {node: node for node in graph}

    def root(node):
        while parent[node] != node:
            parent[node] = node = parent[parent[node]]
        return node

    edges = sorted((m, a, b) for a, others in graph.items() for b, m in others.items() if a < b)
    total = 0
    for minutes, a, b in edges:
        if root(a) != root(b):
            parent[root(a)] = root(b)
            total += minutes
    return total


def pour(capacities, wanted):
    """Measures wanted litres with jugs, by breadth-first search."""
    start = (0,) * len(capacities)
    seen, queue = {start: None}, deque([start])
    while queue:
        state = queue.popleft()
        if wanted in state:
            path = []
            while state is not None:
                path.append(state)
                state = seen[state]
            return path[::-1]
        for i, cap in enumerate(capacities):
            moves = [state[:i] + (cap,) + state[i + 1 :], state[:i] + (0,) + state[i + 1 :]]
            for j, other in enumerate(capacities):
                if i != j:
                    amount = min(state[i], other - state[j])
                    after = list(state)
                    after[i] -= amount
                    after[j] += amount
                    moves.append(tuple(after))
            for after in moves:
                if after not in seen:
                    seen[after] = state
                    queue.append(after)


def queens(n, row=0, columns=0, left=0, right=0):
    if row == n:
        return 1
    count, free = 0, ~(columns | left | right) & (1 << n) - 1
    while free:
        bit = free & -free
        free ^= bit
        count += queens(n, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1)
    return count


@cache
def coins(amount, kinds=(200, 100, 50, 20, 10, 5, 2, 1)):
    if amount == 0:
        return 1
    if amount < 0 or not kinds:
        return 0
    return coins(amount - kinds[0], kinds) + coins(amount, kinds[1:])


def main():
    graph = read_network(NETWORK)
    print(f"{len(graph)} stations, {sum(map(len, graph.values())) // 2} lines, spanning tree {spanning_tree(graph)} min")
    for start, goal in (("Hamburg", "München"), ("Bremen", "Dresden"), ("Köln", "Berlin")):
        cost, path = shortest(graph, start, goal)
        print(f"  {cost:>4} min  {' - '.join(path)}")
    works = {frozenset(("Erfurt", "Nürnberg")), frozenset(("Hannover", "Kassel"))}
    print("  with works:", *shortest(graph, "Hamburg", "München", works))
    print("  cut off:", shortest(graph, "Dresden", "Berlin", {frozenset(("Leipzig", "Dresden"))}))

    build = {"app": {"lib", "ui"}, "ui": {"lib", "icons"}, "lib": {"core"}, "tests": {"app"}, "core": set(), "icons": set()}
    sorter = TopologicalSorter(build)
    sorter.prepare()
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        print("build", ready)
        sorter.done(*ready)
    try:
        list(TopologicalSorter(build | {"core": {"tests"}}).static_order())
    except CycleError as err:
        print("cycle of", len(err.args[1]) - 1, "steps")

    print("jugs of 3, 5 and 11 for 7:", " ".join(map(str, pour((3, 5, 11), 7))))
    print("queens:", [queens(n) for n in range(1, 9)], "| ways to pay 2.00:", coins(200))
    print("harmonic:", sum(Fraction(1, n) for n in range(1, 21)), "| e:", sum(Fraction(1, math.factorial(n)) for n in range(12)))


if __name__ == "__main__":
    main()
