"""Arrivals of tasks: drawn from the seed, or recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import Diagnostic, error, number_of
from mrdsl.core.rounding import floor
from mrdsl.exchange.cells import CellReader, RawTable, read_raw, unreadable
from mrdsl.exchange.text import Mistakes
from mrdsl.families.hybrid.facts import Bursts, HybridFacts, Queue
from mrdsl.simulation.sampling import draws, stream

Counts = NDArray[np.int64]
ROWS_AT_ONCE = 4096


def arrivals_of(facts: HybridFacts, seed: int) -> Counts:
    """Draw the tasks submitted, one row per slot and one column per queue; draw again above ``arrivals_max``.

    Fractions carry over: with 0.5 per slot a task arrives every other slot, with 2.7 twenty-seven arrive in ten slots.
    """
    table, _ = recorded(facts)
    columns = [table[q.name] if q.name in table else _drawn(q, facts.horizon, seed) for q in facts.queues]
    return np.array(columns, dtype=np.int64).T.reshape(facts.horizon, len(facts.queues))


def rows_of(arrivals: Counts) -> Iterator[list[int]]:
    """Yield the arrivals of each slot as numbers, without a list of all slots."""
    for start in range(0, len(arrivals), ROWS_AT_ONCE):
        yield from arrivals[start : start + ROWS_AT_ONCE].tolist()


def _drawn(queue: Queue, horizon: int, seed: int) -> Counts:
    top = float(queue.arrivals_max)
    usual = draws(queue.arrivals or 0.0, stream(seed, "arrivals", queue.name), horizon, 0.0, top)
    if queue.bursts is not None:
        busy = draws(queue.bursts.arrivals, stream(seed, "burst arrivals", queue.name), horizon, 0.0, top)
        usual = np.where(_in_burst(queue.bursts, horizon, stream(seed, "bursts", queue.name)), busy, usual)
    return _whole(usual)


def _whole(values: NDArray[np.float64]) -> Counts:
    """Return whole numbers whose sum up to every slot is that of the values, rounded down.

    None is above the values' bound if that is whole: the remainder is less than one task.
    """
    reached = floor(np.cumsum(values))
    return np.diff(reached, prepend=0.0).astype(np.int64)


def _in_burst(bursts: Bursts, horizon: int, random: np.random.RandomState) -> NDArray[np.bool_]:
    """Return which slots are in a burst: stretches of geometric length, first one between two bursts."""
    state = np.zeros(horizon, dtype=bool)
    slot, on = 0, False
    while slot < horizon:
        length = int(random.geometric(1.0 / (bursts.on if on else bursts.off)))
        state[slot : slot + length] = on
        slot, on = slot + length, not on
    return state


def recorded(facts: HybridFacts) -> tuple[Mapping[str, Counts], tuple[Diagnostic, ...]]:
    """Return the recorded arrivals by queue, over the horizon, and all that is wrong with the table."""
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
                "no column of the table has the name of a queue",
                raw.header_span(),
                f"name a column after each queue: {', '.join(q.name for q in facts.queues)}",
            )
        )
    if raw.rows < facts.horizon:
        report.add(
            error(
                "wrong-length",
                f"the table has {number_of(raw.rows, 'row')}, the horizon {number_of(facts.horizon, 'slot')}",
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
                f"{number_of(float(values[row]), 'task', 'g')} of queue {queue.name} cannot arrive in one slot",
                raw.cell_span(row, index),
                f"write a whole number from 0 to arrivals_max, {queue.arrivals_max}",
            )
        )
