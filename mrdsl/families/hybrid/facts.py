"""Input data of a hybrid spec: a private cloud in time slots, queues of tasks, and the controller's weights.

Bounds on queues and delays that the controller guarantees follow from these weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import ClassVar

from mrdsl.core import budgets
from mrdsl.core.rounding import begun
from mrdsl.spec.schema import Node, Source, block, blocks, distribution, path, quantity, reference
from mrdsl.spec.typing import OptionalRandom, Quantity, Random, Whole

__all__ = [
    "Bursts",
    "Control",
    "HybridFacts",
    "Queue",
    "Source",
    "Vm",
]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Vm(Node):
    """A type of VM in the private cloud."""

    EXAMPLE: ClassVar[str] = "{ available = 10 }"

    available: Whole = quantity("vms", "VMs of this type in the private cloud", at_least=0, whole=True, symbol="m_i")
    preemption_cost: Quantity = quantity("money", "what one preemption on this type costs", default=0.0, at_least=0.0)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Bursts(Node):
    """On-off arrivals: both kinds of stretches have geometric lengths; the run starts between two bursts."""

    on: Whole = quantity("slots", "average length of a burst", at_least=1, whole=True)
    off: Whole = quantity("slots", "average time between two bursts", at_least=1, whole=True)
    arrivals: Random = distribution("tasks", "tasks that arrive in one slot of a burst", at_least=0.0)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Queue(Node):
    """Tasks of one kind: their VM type, size and promised delay."""

    EXAMPLE: ClassVar[str] = "{ vm = NAME, size = 2, delay = 4, arrivals = 3, arrivals_max = 5, outsourcing = 1 USD }"

    vm: str = reference("VM type on which the queue's tasks run")
    size: Whole = quantity("slots", "slots of time that a task runs", at_least=1, whole=True, symbol="l")
    delay: Whole = quantity(
        "slots", "slots of time within which a task must be served", at_least=1, whole=True, symbol="d"
    )
    arrivals: OptionalRandom = distribution(
        "tasks", "tasks that arrive in one slot, unless a table records them", default=None, at_least=0.0, symbol="S(t)"
    )
    arrivals_max: Whole = quantity(
        "tasks", "most tasks that arrive in one slot", at_least=1, whole=True, symbol="S_max"
    )
    outsourcing: Quantity = quantity("money", "what one task costs outside", at_least=0.0)
    bursts: Bursts | None = block(Bursts, "times in which more tasks arrive than usually")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Control(Node):
    """The weights of the drift-plus-penalty controller; None where they are to be worked out (`bounds.control_of`)."""

    V: Quantity = quantity(
        "number", "weight of cost against backlog", default=None, at_least=0.0, symbol="V", automatic=True
    )
    preemption_weight: Quantity = quantity(
        "number", "weight of preemptions against other costs", default=1.0, at_least=0.0, symbol="beta"
    )
    acceptance: Quantity = quantity(
        "share", "share of each queue's tasks that is admitted", default=0.95, at_least=0.0, at_most=1.0, symbol="alpha"
    )
    outsource_limit: Whole = quantity(
        "tasks",
        "most tasks of one queue that leave in one slot",
        default=None,
        at_least=0,
        whole=True,
        symbol="D_max",
        automatic=True,
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class HybridFacts(Node):
    """A private cloud, its queues, and how long it is watched."""

    horizon: Whole = quantity(
        "slots", "how many slots of time are simulated", at_least=1, at_most=budgets.SIMULATED_SLOTS, whole=True
    )
    vms: Sequence[Vm] = blocks(Vm, "vm", "types of VMs in the private cloud", required=True)
    queues: Sequence[Queue] = blocks(Queue, "queue", "kinds of tasks", required=True)
    recorded: Source | None = path("table of recorded arrivals: a column per queue, a row per slot", default=None)
    control: Control | None = block(Control, "the controller's weights")


@dataclass(frozen=True)
class Guarantee:
    """One queue's constants: ``epsilon`` of (15), and bounds.

    The bounds are on the virtual queue K (12), on the backlog Q in work units (13), on the virtual queue Z (14), and on
    the delay in slots (15).
    """

    epsilon: float
    acceptance_debt: float
    backlog: float
    persistence: float
    delay: int


def control_of(facts: HybridFacts) -> Control:
    """Return the controller's weights of the spec, and compute those that are ``auto`` or missing.

    ``V`` is the least value with ``V H >= (alpha + l) S_max`` in every queue: sending a task to the public cloud weighs
    as much as the work of the largest arrivals of one slot. A smaller one sends tasks away as soon as a burst waits. A
    larger one changes the cost of the shipped specs by 2 % at most, and makes K_max larger, which may violate (5). A
    given ``outsource_limit`` limits V to the values that (15) allows. ``outsource_limit`` is the least at which (15)
    meets every queue's delay.
    """
    given = facts.control if facts.control is not None else Control()
    weighed = replace(given, V=_weight(facts, given)) if given.V is None else given
    if weighed.outsource_limit is not None:
        return weighed
    needed = [guarantee(queue, weighed).epsilon for queue in facts.queues]
    return replace(weighed, outsource_limit=max((ceil(each) for each in needed if each < inf), default=0))


def _weight(facts: HybridFacts, given: Control) -> float:
    priced = [queue for queue in facts.queues if queue.outsourcing > 0]
    wanted = max(((given.acceptance + q.size) * q.arrivals_max / q.outsourcing for q in priced), default=1.0)
    if given.outsource_limit is None:
        return wanted
    allowed = [_allowed(queue, given.acceptance, given.outsource_limit) for queue in priced]
    return max(min([wanted, *allowed]), 0.0)


def _allowed(queue: Queue, acceptance: float, outsource_limit: int) -> float:
    """Return the greatest V at which (15) meets the queue's delay; below 0 if none does."""
    fixed = (1 + queue.size) * (acceptance + queue.size) * queue.arrivals_max
    return ((queue.delay - 1) * outsource_limit - fixed) / ((2 + queue.size) * queue.outsourcing)


def work(queue: Queue, control: Control) -> float:
    """``(1 + l) Q_max + V H``: what (15) divides by epsilon, without Z's own epsilon."""
    penalty = control.V * queue.outsourcing
    return (1 + queue.size) * (penalty + (control.acceptance + queue.size) * queue.arrivals_max) + penalty


def guarantee(queue: Queue, control: Control) -> Guarantee:
    """Return the queue's constants. They hold only if ``epsilon <= outsource_limit``: see :func:`shortfall`."""
    penalty = control.V * queue.outsourcing
    epsilon = work(queue, control) / (queue.delay - 1) if queue.delay > 1 else inf
    delay = int(begun(work(queue, control) / epsilon)) + 1 if epsilon < inf else 0
    return Guarantee(
        epsilon=epsilon,
        acceptance_debt=penalty + control.acceptance * queue.arrivals_max,
        backlog=penalty + (control.acceptance + queue.size) * queue.arrivals_max,
        persistence=penalty + epsilon,
        delay=delay,
    )


@dataclass(frozen=True)
class Shortfall:
    """Changes that would make (15) meet a queue's delay, each alone; None if it alone cannot."""

    weight: float | None
    delay: int
    outsource_limit: int


def shortfall(queue: Queue, control: Control) -> Shortfall | None:
    """Return None if the controller can guarantee the queue's delay, otherwise the changes that would."""
    bound = guarantee(queue, control)
    needed = bound.epsilon
    runs_short = (queue.size - 1) * needed > queue.size * bound.backlog
    if needed <= control.outsource_limit and not runs_short:
        return None
    if runs_short and needed <= control.outsource_limit:
        return Shortfall(None, queue.size + 2, 0)
    allowed = _allowed(queue, control.acceptance, control.outsource_limit) if queue.outsourcing > 0 else -1.0
    weight = allowed if allowed >= 0 else None
    delay = int(begun(work(queue, control) / max(control.outsource_limit, 1))) + 1
    if runs_short:
        return Shortfall(None, max(delay, queue.size + 2), 0)
    return Shortfall(weight, delay, int(begun(needed)) if needed < inf else 0)
