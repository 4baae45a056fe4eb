"""Slots at work over time in the first run of a simulation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.charts import LineChart, Series
from mrdsl.core.watching import setting
from mrdsl.simulation.engine.scenario import Scenario, attempts_of

STRETCHES = 120
"""Stretches of time of a chart; each shows its mean."""
LINES = 6
"""Most lines of a chart."""
TASKS = 300_000
"""Most tasks of all runs that are repeated for a chart."""
KINDS = ("map slots", "reduce slots")
Simulated = tuple[Scenario, int, int]
"""A scenario, the seed, and the number of its first run."""
_SIMULATED: ContextVar[list[Simulated] | None] = ContextVar("_SIMULATED", default=None)


def simulated_scenarios() -> AbstractContextManager[list[Simulated]]:
    """Yield a list of the scenarios that are simulated during the ``with`` block."""
    found: list[Simulated] = []
    return setting(_SIMULATED, found)


def note_simulated(scenario: Scenario, seed: int, run: int) -> None:
    """Add a scenario to the list of the innermost :func:`simulated_scenarios`."""
    found = _SIMULATED.get()
    if found is not None:
        found.append((scenario, seed, run))


def usage_chart(simulated: Sequence[Simulated]) -> LineChart | None:
    """Return the slots at work over time, in % of all, of the first run of some scenarios; None if there is none."""
    lines: list[Series] = []
    tasks = 0
    for scenario, seed, run in simulated:
        tasks += sum(each.jobs * stage.tasks for each in scenario.classes for stage in each.kind.stages)
        if tasks > TASKS or len(lines) >= LINES:
            break
        lines += _lines(scenario, seed, run)
    if not lines:
        return None
    title = "Slots at work over time, in the first simulated run"
    return LineChart(title, "time [s]", "slots at work [%]", tuple(lines[:LINES]), y_zero=True, steps=True)


def _lines(scenario: Scenario, seed: int, run: int) -> Iterator[Series]:
    held: dict[int, list[tuple[float, float]]] = {}
    for each in attempts_of(scenario, seed, run):
        pool = scenario.classes[each.kind].kind.stages[each.stage].pool
        held.setdefault(pool, []).append((each.start, each.end))
    names = ", ".join(each.kind.name for each in scenario.classes)
    for pool, times in sorted(held.items()):
        slots = sum(each.vms * each.slots for each in scenario.machines if each.pool == pool)
        shown = names if len(held) == 1 else f"{names}: {KINDS[pool]}"
        begins, shares = busy_shares(np.array(times), slots)
        yield Series(shown, begins.tolist(), (100.0 * shares).tolist())


def busy_shares(
    times: NDArray[np.float64], slots: float, stretches: int = STRETCHES
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean share of busy slots in equal stretches of time.

    Args:
        times: Start and end of each task [s], shape (tasks, 2).
        slots: Number of slots.
        stretches: Number of stretches between the first start and the last end.

    Returns:
        Begin of each stretch [s], and its share; the last share is repeated at the end.
    """
    edges = np.linspace(times[:, 0].min(), times[:, 1].max(), stretches + 1)
    worked = _passed(edges, times[:, 0]) - _passed(edges, times[:, 1])
    shares = np.diff(worked) / (np.diff(edges) * slots)
    return edges, np.append(shares, shares[-1])


def _passed(edges: NDArray[np.float64], moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each edge, the time that has passed since all earlier moments together."""
    moments = np.sort(moments)
    before = np.searchsorted(moments, edges)
    return np.asarray(before * edges - np.concatenate(([0.0], np.cumsum(moments)))[before])
