"""Arrivals of tasks, and the bounds on queues and delays that hold for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, inf

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.whole_numbers import begun, floor
from mrdsl.exchange.cells import CellReader, RawTable, read_raw, unreadable
from mrdsl.exchange.mistakes import Mistakes
from mrdsl.families.hybrid.facts import Bursts, Control, HybridFacts, Queue
from mrdsl.simulation.sampling import draws, stream

Counts = NDArray[np.int64]


def arrivals_of(facts: HybridFacts, seed: int) -> Counts:
    """Tasks submitted, one row per slot and one column per queue; drawn again above ``arrivals_max``.

    Fractions are carried over: with 0.5 a slot one task comes every other slot, with 2.7 twenty-seven in ten slots.
    """
    table, _ = recorded(facts)
    columns = [table[q.name] if q.name in table else _drawn(q, facts.horizon, seed) for q in facts.queues]
    return np.array(columns, dtype=np.int64).T.reshape(facts.horizon, len(facts.queues))


def _drawn(queue: Queue, horizon: int, seed: int) -> Counts:
    top = float(queue.arrivals_max)
    usual = draws(queue.arrivals or 0.0, stream(seed, "arrivals", queue.name), horizon, 0.0, top)
    if queue.bursts is not None:
        busy = draws(queue.bursts.arrivals, stream(seed, "burst arrivals", queue.name), horizon, 0.0, top)
        usual = np.where(_in_burst(queue.bursts, horizon, stream(seed, "bursts", queue.name)), busy, usual)
    return _whole(usual)


def _whole(values: NDArray[np.float64]) -> Counts:
    """Whole numbers whose sum up to every slot is that of the values, rounded down.

    None is above the values' bound where that is whole: what is carried over is less than one task.
    """
    reached = floor(np.cumsum(values))
    return np.diff(reached, prepend=0.0).astype(np.int64)


def _in_burst(bursts: Bursts, horizon: int, random: np.random.RandomState) -> NDArray[np.bool_]:
    """Which slots lie in a burst: stretches of geometric length, first one between two bursts."""
    state = np.zeros(horizon, dtype=bool)
    slot, on = 0, False
    while slot < horizon:
        length = int(random.geometric(1.0 / (bursts.on if on else bursts.off)))
        state[slot : slot + length] = on
        slot, on = slot + length, not on
    return state


def recorded(facts: HybridFacts) -> tuple[Mapping[str, Counts], tuple[Diagnostic, ...]]:
    """The recorded arrivals by queue, over the horizon, and all that is wrong with the table."""
    source = facts.recorded
    if source is None:
        return {}, ()
    try:
        raw = read_raw(source, source.written)
    except (OSError, ValueError) as problem:
        return {}, (unreadable(source, problem),)
    report = Mistakes()
    heads = [head.strip() for head in raw.header]
    wanted = [(heads.index(queue.name), queue) for queue in facts.queues if queue.name in heads]
    if not wanted:
        report.add(
            error(
                "missing-column",
                "the table names no queue of this spec",
                raw.header_span(),
                f"name a column after each queue: {', '.join(q.name for q in facts.queues)}",
            )
        )
    if raw.rows < facts.horizon:
        report.add(
            error(
                "wrong-length",
                f"the table has {raw.rows} rows, the horizon {facts.horizon} slots",
                raw.header_span(),
                "record a row for every slot, or shorten the horizon",
            )
        )
    columns = CellReader(raw, report).numbers([index for index, _ in wanted], [True] * len(wanted))
    for (index, queue), values in zip(wanted, columns, strict=True):
        _check(raw, index, queue, values, report)
    if report.found:
        return {}, tuple(report.found)
    return {q.name: v[: facts.horizon].astype(np.int64) for (_, q), v in zip(wanted, columns, strict=True)}, ()


def _check(raw: RawTable, index: int, queue: Queue, values: NDArray[np.float64], report: Mistakes) -> None:
    wrong = (values < 0) | (values != np.floor(values)) | (values > queue.arrivals_max)
    for row in np.flatnonzero(wrong & ~np.isnan(values))[:5].tolist():
        report.add(
            error(
                "out-of-range",
                f"{values[row]:g} tasks of queue {queue.name} cannot arrive in one slot",
                raw.cell_span(row, index),
                f"write a whole number from 0 to arrivals_max, {queue.arrivals_max}",
            )
        )


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
    """The controller's weights as the spec has them, and worked out where it says ``auto`` or nothing.

    ``V`` is the least at which sending a task outside, ``V H``, weighs as much as the work of the largest arrivals of
    one slot, ``(alpha + l) S_max``, in every queue. A smaller one sends tasks away as soon as a burst waits; a larger
    one changes the cost of the shipped specs by 2 % at most, and makes K_max larger, by which (5) may be missed. A
    given ``outsource_limit`` holds V down to what (15) allows. ``outsource_limit`` is the least at which (15) meets
    every queue's delay.
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
    """The greatest V at which (15) meets the queue's delay; below 0 where none does."""
    fixed = (1 + queue.size) * (acceptance + queue.size) * queue.arrivals_max
    return ((queue.delay - 1) * outsource_limit - fixed) / ((2 + queue.size) * queue.outsourcing)


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
    allowed = _allowed(queue, control.acceptance, control.outsource_limit) if queue.outsourcing > 0 else -1.0
    weight = allowed if allowed >= 0 else None
    delay = int(begun(work(queue, control) / max(control.outsource_limit, 1))) + 1
    if runs_short:
        return Shortfall(None, max(delay, queue.size + 2), 0)
    return Shortfall(weight, delay, int(begun(needed)) if needed < inf else 0)
