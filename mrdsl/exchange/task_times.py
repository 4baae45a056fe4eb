"""Tables of single tasks: a CSV file with the time and the energy of tasks of one job on VM types.

    kind, task, vm, time [s], energy [J]
    map,  1,    m5, 12.5,     310
    map,  1,    c5, 9,        360

Tasks of a kind are numbered from 1. Times are in seconds and energies in joules, unless the header names other units.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrdsl.core import units
from mrdsl.core.diagnostics import Diagnostic, did_you_mean, error
from mrdsl.exchange.cells import CellReader, RawTable, read_raw, unreadable
from mrdsl.exchange.text import Mistakes
from mrdsl.spec.schema import Source

KINDS = ("map", "reduce")
COLUMNS = ("kind", "task", "vm", "time", "energy")
MOST_TOLD = 5
_HEADER = re.compile(r"^\s*(?P<name>\w+)\s*(\[(?P<unit>[^\[\]]*)\])?\s*$")
_UNITS = {"time": ("s", units.TIME), "energy": ("J", units.ENERGY)}
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TaskRow:
    """One task of a job on one VM type: its number of its kind, from 1, its time [s] and its energy [J]."""

    kind: str
    task: int
    vm: str
    time: float
    energy: float


def read_task_times(
    source: Source, counts: Mapping[str, int], vms: Sequence[str]
) -> tuple[tuple[TaskRow, ...], tuple[Diagnostic, ...]]:
    """Read a table of single tasks.

    Args:
        source: The table's file.
        counts: The number of tasks of the job, by kind.
        vms: The names of the VM types.

    Returns:
        The rows, none if something is wrong; and the mistakes, each at its cell.
    """
    try:
        raw = read_raw(source, source.written)
    except (OSError, ValueError) as problem:
        return (), (unreadable(source, problem),)
    report = Mistakes()
    places, factors = _columns(raw, report)
    if report.found:
        return (), tuple(report.found)
    reader = CellReader(raw, report)
    tasks, times, energies = reader.numbers([places[name] for name in ("task", "time", "energy")], [True] * 3)
    kinds, names = (list(reader.texts(places[name])) for name in ("kind", "vm"))
    if not report.found:
        for found in _mistakes(raw, places, (kinds, names), (tasks, times, energies), counts, vms):
            report.add(found)
    if report.found:
        return (), tuple(report.found)
    rows = zip(kinds, tasks.astype(int).tolist(), names, times.tolist(), energies.tolist(), strict=True)
    return tuple(TaskRow(k, n, v, t * factors["time"], e * factors["energy"]) for k, n, v, t, e in rows), ()


def _columns(raw: RawTable, report: Mistakes) -> tuple[dict[str, int], dict[str, float]]:
    places: dict[str, int] = {}
    factors: dict[str, float] = {}
    for index, cell in enumerate(raw.header):
        match = _HEADER.match(cell)
        name = "" if match is None else match["name"].lower()
        if name not in COLUMNS or name in places:
            hint = did_you_mean(name, COLUMNS) or f"the columns are {', '.join(COLUMNS)}"
            report.add(error("unknown-column", f"unknown column `{cell.strip()}`", raw.cell_span(-1, index), hint))
            continue
        places[name] = index
        written, dimension = _UNITS.get(name, ("", None))
        unit = units.UNITS.get((match and match["unit"]) or written)
        if dimension is not None and (unit is None or unit.dimension != dimension):
            hint = f"write `{name} [{written}]`"
            report.add(
                error("wrong-unit", f"`{cell.strip()}` is not in a unit of {name}", raw.cell_span(-1, index), hint)
            )
        factors[name] = 1.0 if unit is None else unit.factor
    for name in COLUMNS:
        if name not in places:
            hint = f"the columns are {', '.join(COLUMNS)}"
            report.add(error("missing-column", f"the table has no column `{name}`", raw.header_span(), hint))
    return places, factors


def _mistakes(
    raw: RawTable,
    places: Mapping[str, int],
    texts: tuple[list[str], list[str]],
    numbers: tuple[Floats, Floats, Floats],
    counts: Mapping[str, int],
    vms: Sequence[str],
) -> Iterator[Diagnostic]:
    (kinds, names), (tasks, times, energies) = texts, numbers
    most = np.array([counts.get(kind, 0) for kind in kinds], dtype=np.float64)
    whole = (tasks == np.floor(tasks)) & (tasks >= 1.0)

    def told(
        wrong: NDArray[np.bool_], column: str, code: str, say: Callable[[int], str], hint: str
    ) -> Iterator[Diagnostic]:
        for row in np.flatnonzero(wrong)[:MOST_TOLD].tolist():
            yield error(code, say(row), raw.cell_span(row, places[column]), hint)

    unknown = np.array([kind not in KINDS for kind in kinds], dtype=bool)
    lost = np.array([name not in vms for name in names], dtype=bool)
    yield from told(
        unknown, "kind", "unknown-choice", lambda row: f"unknown kind `{kinds[row]}`", "write `map` or `reduce`"
    )
    yield from told(lost, "vm", "unknown-name", lambda row: f"unknown vm `{names[row]}`", "vms: " + ", ".join(vms))
    yield from told(
        ~unknown & ~(whole & (tasks <= most)),
        "task",
        "out-of-range",
        lambda row: f"the job has {most[row]:g} {kinds[row]} tasks, and no number {tasks[row]:g}",
        "number the tasks of each kind from 1",
    )
    yield from told(
        ~(times > 0.0), "time", "out-of-range", lambda row: "`time` must be above 0 s", "write a longer time"
    )
    yield from told(
        ~(energies >= 0.0), "energy", "out-of-range", lambda row: "`energy` must be at least 0 J", "write 0 or more"
    )
    seen: dict[tuple[str, float, str], int] = {}
    again = np.zeros(len(kinds), dtype=bool)
    for row, key in enumerate(zip(kinds, tasks.tolist(), names, strict=True)):
        again[row] = seen.setdefault(key, row) != row
    yield from told(
        again,
        "task",
        "duplicate",
        lambda row: f"{kinds[row]} task {tasks[row]:g} has two rows on {names[row]}",
        "keep one of them",
    )
