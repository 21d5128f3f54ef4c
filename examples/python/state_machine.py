"""An order's life as a state machine: dataclasses, enums, pattern matching, guards, history and serialisation."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from enum import Enum, Flag, IntEnum, auto
from functools import total_ordering
from typing import Callable, NamedTuple


class State(Enum):
    CART = auto()
    PLACED = auto()
    PAID = auto()
    SHIPPED = auto()
    DELIVERED = auto()
    CANCELLED = auto()

    @property
    def final(self) -> bool:
        return self in (State.DELIVERED, State.CANCELLED)


class Priority(IntEnum):
    LOW = 1
    NORMAL = 5
    EXPRESS = 9


class Notify(Flag):
    NONE = 0
    MAIL = auto()
    SMS = auto()
    ALL = MAIL | SMS


@dataclass(frozen=True, slots=True)
class Place:
    address: str


@dataclass(frozen=True, slots=True)
class Pay:
    cents: int


@dataclass(frozen=True, slots=True)
class Ship:
    tracking: str


@dataclass(frozen=True, slots=True)
class Simple:
    name: str


class Transition(NamedTuple):
    source: State
    event: str
    target: State


class Refused(Exception):
    pass


@total_ordering
@dataclass
class Order:
    number: int
    total: int
    priority: Priority = Priority.NORMAL
    notify: Notify = Notify.MAIL
    state: State = State.CART
    paid: int = 0
    details: dict[str, str] = field(default_factory=dict)
    history: list[Transition] = field(default_factory=list, repr=False, compare=False)
    observer: Callable[[Transition], None] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self):
        if self.total <= 0:
            raise ValueError(f"order {self.number}: total must be positive, not {self.total}")

    def __lt__(self, other: Order) -> bool:
        return (-self.priority, self.number) < (-other.priority, other.number)

    def apply(self, event) -> State:
        match self.state, event:
            case State.CART, Place(address=str(address)) if address.strip():
                target = State.PLACED
                self.details["address"] = address
            case State.CART, Place():
                raise Refused("an address is needed")
            case State.PLACED, Pay(cents) if self.paid + cents < self.total:
                self.paid += cents
                target = State.PLACED
            case State.PLACED, Pay(cents):
                self.paid += cents
                target = State.PAID
            case State.PAID, Ship(tracking):
                self.details["tracking"] = tracking
                target = State.SHIPPED
            case State.SHIPPED, Simple("deliver"):
                target = State.DELIVERED
            case (State.CART | State.PLACED | State.PAID), Simple("cancel"):
                self.details["refund"], self.paid = str(self.paid), 0
                target = State.CANCELLED
            case state, _ if state.final:
                raise Refused(f"the order is {state.name.lower()}")
            case state, other:
                raise Refused(f"{other!r} makes no sense when {state.name}")
        step = Transition(self.state, type(event).__name__, target)
        self.history.append(step)
        self.state = target
        if self.observer:
            self.observer(step)
        return target

    def to_json(self) -> str:
        data = asdict(replace(self, observer=None))
        data.pop("observer")
        return json.dumps(data, default=lambda value: value.name, sort_keys=True)


def main():
    seen = Counter()
    orders = [
        Order(1, 2599, observer=lambda step: seen.update([step])),
        Order(2, 100, Priority.EXPRESS, Notify.ALL),
        Order(3, 990, Priority.LOW, Notify.NONE),
    ]
    events = [Place(" "), Place("12 High Street"), Pay(2000), Ship("T1"), Pay(599), Ship("T1"), Simple("deliver"), Simple("cancel")]
    for event in events:
        try:
            print(f"{event!r:<40} -> {orders[0].apply(event).name}")
        except Refused as err:
            print(f"{event!r:<40} refused: {err}")
    orders[1].apply(Place("1 Low Road"))
    orders[1].apply(Pay(60))
    orders[1].apply(Simple("cancel"))
    print("\nby priority:", [order.number for order in sorted(orders)])
    for order in orders:
        print(order)
    print("history:", " ".join(f"{s.source.name}>{s.target.name}" for s in orders[0].history))
    print("observed:", {step.event: count for step, count in seen.items() if count > 1}, f"{seen.total()} steps")
    print("flags:", Notify.ALL, Notify.SMS in orders[0].notify, ~Notify.MAIL, [n.name for n in Notify.ALL], Notify(0))
    print("lookups:", State["PAID"], State(3), Priority(9).name, Priority.LOW + 1, Priority.EXPRESS > Priority.NORMAL)
    print(orders[1].to_json())
    for attempt in (lambda: Order(4, 0), lambda: State(99), lambda: setattr(Pay(1), "cents", 2), lambda: Priority["HUGE"]):
        try:
            attempt()
        except Exception as err:
            print(f"{type(err).__name__}: {err}")


if __name__ == "__main__":
    main()
