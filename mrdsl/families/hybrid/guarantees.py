"""Bounds on queues and delays that the controller guarantees, and the weights that they follow from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf

from mrdsl.core.rounding import begun
from mrdsl.families.hybrid.facts import Control, HybridFacts, Queue


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
