"""The controller's guarantees: backlogs and worst-case delay of paper 004, (12) to (15), from the facts alone.

Corrections to the paper: Q counts work units, so admitting A tasks of size l adds l A and (13) reads V H + (alpha + l)
S_max. D_max must be at least epsilon for the bound on Z; the paper leaves both free. Here epsilon is the least value
for which (15) meets the queue's promised delay.

Lemma 2 lets at most Q_max units depart in each of the fewer than l slots in which a task runs without ending. What is
offered there may be epsilon instead (see the controller), so (15) also needs ``(l - 1) epsilon <= l Q_max``. With
``Q_max >= V H`` every delay of l + 2 slots or more fulfils that; :func:`shortfall` asks for it below.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from mrdsl.core.whole_numbers import begun
from mrdsl.families.hybrid.facts import Control, HybridFacts, Queue


@dataclass(frozen=True)
class Guarantee:
    """One queue's constants: ``epsilon`` of (15), bounds on the virtual queue K (12), on the backlog Q in work units
    (13), on the virtual queue Z (14), and the delay in slots (15)."""

    epsilon: float
    acceptance_debt: float
    backlog: float
    persistence: float
    delay: int


def control_of(facts: HybridFacts) -> Control:
    """The controller's weights, by default those of the schema."""
    return facts.control if facts.control is not None else Control()


def work(queue: Queue, control: Control) -> float:
    """``(1 + l) Q_max + V H``: what (15) divides by epsilon, without Z's own epsilon."""
    penalty = control.V * queue.outsourcing
    return (1 + queue.size) * (penalty + (control.acceptance + queue.size) * queue.arrivals_max) + penalty


def guarantee(queue: Queue, control: Control) -> Guarantee:
    """The queue's constants. Only where ``epsilon <= outsource_limit`` do they hold: see :func:`shortfall`."""
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
    """What would make (15) meet a queue's delay, one at a time; None where it alone cannot."""

    weight: float | None
    delay: int
    outsource_limit: int


def shortfall(queue: Queue, control: Control) -> Shortfall | None:
    """None where the controller can promise the queue's delay, else what would do."""
    bound = guarantee(queue, control)
    needed = bound.epsilon
    runs_short = (queue.size - 1) * needed > queue.size * bound.backlog
    if needed <= control.outsource_limit and not runs_short:
        return None
    if runs_short and needed <= control.outsource_limit:
        return Shortfall(None, queue.size + 2, 0)
    fixed = (1 + queue.size) * (control.acceptance + queue.size) * queue.arrivals_max
    room = (queue.delay - 1) * control.outsource_limit - fixed
    weight = room / ((2 + queue.size) * queue.outsourcing) if room >= 0 and queue.outsourcing > 0 else None
    delay = int(begun(work(queue, control) / max(control.outsource_limit, 1))) + 1
    if runs_short:
        return Shortfall(None, max(delay, queue.size + 2), 0)
    return Shortfall(weight, delay, int(begun(needed)) if needed < inf else 0)
