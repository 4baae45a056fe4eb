"""Times of one job on whole slots by list scheduling and by means, computed a second time for verification."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.checking import means
from mrdsl.checking.work import Described, Floats, Ints, Work, beside_path, longest_path, own_bounds, width_of
from mrdsl.core.rounding import ROUNDING, ceiling, floor
from mrdsl.spec.blocks import Stage, any_stages, stages_of
from mrdsl.spec.columns import Columns, column, words
from mrdsl.spec.columns import parts_of as groups_of
from mrdsl.spec.estimates import CLASS, PAPER

Flags = NDArray[np.bool_]
Simulated = Callable[[Any, int, float, tuple[int, ...]], Sequence[float]]
Part = tuple[int, float, float]
"""Of stages that no other one runs beside: their width, their longest path [s], and their work beside it."""
EXACT = ("lower", "average", "upper", "mean")


@dataclass(frozen=True)
class Exact(Work):
    """Work whose ``rows`` have the exact times of an estimate each, and A, B and C of the lower bound."""

    rows: Flags
    names: NDArray[np.str_]
    times: Times

    def time(self, map_slots: Floats, reduce_slots: Floats) -> Floats:
        """Compute the time of one job on its slots."""
        found = super().time(map_slots, reduce_slots)
        maps, reduces = np.broadcast_arrays(map_slots, reduce_slots)
        places, known = np.broadcast_to(np.arange(len(self.rows)), maps.shape), np.isfinite(maps + reduces)
        for name in EXACT:
            mine = (self.rows & (self.names == name)) & known
            if mine.any():
                found[mine] = self.times.time(name, places[mine], maps[mine], reduces[mine])
        return found

    def pairs(self, place: int, limit: float, most: tuple[float, float]) -> tuple[Floats, Floats]:
        """Find all pairs of whole slots that end within a limit with the fewest reduce slots for their map slots."""
        ends = [np.arange(1.0, max(ceiling(each), 1.0) + 1.0) if each > 0.0 else np.zeros(1) for each in most]
        name, last = str(self.names[place]), (ends[0][-1], ends[1][-1])

        def time(maps: Floats, reduces: Floats) -> Floats:
            maps, reduces = np.broadcast_arrays(maps, reduces)
            return self.times.time(name, np.full(len(maps), place), maps, reduces)

        by_maps, by_reduces = time(ends[0], np.array([last[1]])), time(np.array([last[0]]), ends[1])
        spare = limit * (1.0 + ROUNDING) - (by_maps - by_maps[-1])
        fits = by_reduces[None, :] <= spare[:, None]
        some = fits.any(axis=1)
        return ends[0][some], ends[1][fits.argmax(axis=1)][some]


@dataclass(frozen=True)
class Times:
    """Exact times of rows of a spec: each has a class, described as ``jobs``; ``nodes`` gives the class of a row.

    ``words`` are distributions, ``shortest`` the shortest times of tasks, and ``recorded`` rows with recorded times.
    """

    jobs: Described
    known: Mapping[str, Work]
    words: NDArray[np.str_]
    shortest: Mapping[str, Floats]
    nodes: Callable[[int], Any]
    simulated: Simulated
    recorded: Flags

    def time(self, name: str, rows: Ints, maps: Floats, reduces: Floats) -> Floats:
        """Compute the time of one job of each row by an estimate [s]."""
        if name == "average":
            return (self.time("lower", rows, maps, reduces) + self.time("upper", rows, maps, reduces)) / 2.0
        if name == "mean":
            ends = [self._between(kind, rows, slots) for kind, slots in ((0, maps), (1, reduces))]
            return ends[0] + ends[1]
        return self._lower(rows, maps, reduces) if name == "lower" else self._upper(rows, maps, reduces)

    def _of(self, path: str, rows: Ints) -> Floats:
        return self.jobs[path][rows]

    def _lower(self, rows: Ints, maps: Floats, reduces: Floats) -> Floats:
        low = self.known["lower"]
        some = Work(low.maps[rows], low.reduces[rows], low.rest[rows], low.path[rows])
        return np.maximum(some.time(maps, reduces), some.path)

    def _upper(self, rows: Ints, maps: Floats, reduces: Floats) -> Floats:
        found = np.zeros(len(rows))
        for place, (row, slots, others) in enumerate(zip(rows.tolist(), maps.tolist(), reduces.tolist(), strict=True)):
            stages, speed = self._stages(row), float(self.jobs.speed[row])
            tasks = float(self.jobs["map.tasks"][row])
            parts: Sequence[tuple[float, float, float]] = parts_of(stages) if stages else ()
            if not stages:
                path = float(self.jobs["map.max"][row])
                parts = ((tasks, path, _beside(tasks, float(self.jobs["map.avg"][row]), path)),)
            for width, path, rest in parts:
                enough = slots >= width * (1.0 - ROUNDING)
                found[place] += (path if enough else rest / slots + path) / speed
            found[place] += self.jobs.startup[row]
            if stages:
                found[place] += float(np.nan_to_num(self.jobs.of_stages("delays")[row]))
            found[place] += self._reduce_bound(row, others, speed)
        return found

    def _reduce_bound(self, row: int, slots: float, speed: float) -> float:
        item = {path: float(self.jobs[path][row]) for path in self.jobs.items}
        tasks = np.nan_to_num(item["reduce.tasks"])
        if tasks <= 0.0:
            return 0.0
        each = item["reduce.max"] / speed
        if slots >= tasks * (1.0 - ROUNDING):
            return item["shuffle.first_max"] + each
        longest = max(item["shuffle.max"], item["shuffle.first_max"]) + each
        rest = _beside(tasks, item["shuffle.avg"] + item["reduce.avg"] / speed, longest)
        return rest / slots + longest + item["shuffle.first_max"]

    def _stages(self, row: int) -> tuple[Stage, ...]:
        return tuple(self.jobs.written[row]) if self.jobs.written else ()

    def _between(self, kind: int, rows: Ints, slots: Floats) -> Floats:
        """Compute a mean time; between whole numbers of slots it lies on a line."""
        whole = np.maximum(floor(slots), 1.0)
        part = np.where(slots - whole > ROUNDING * whole, slots - whole, 0.0)
        found = self._mean(kind, rows, whole)
        if (part > 0.0).any():
            found = found + part * (self._mean(kind, rows, whole + 1.0) - found)
        return np.where((slots < 1.0 - ROUNDING) & (slots > 0.0), found / np.where(slots > 0.0, slots, 1.0), found)

    def _mean(self, kind: int, rows: Ints, slots: Floats) -> Floats:
        """Compute the mean time of map (0) or reduce (1) phases on whole slots [s], those of the same shape at once."""
        found, grouped = np.zeros(len(rows)), dict[means.Shape, list[tuple[int, float, float, float]]]()
        for place, row in enumerate(rows.tolist()):
            if not self._runs(kind, row):
                continue
            if row in self._simulated_rows:
                node, speed = self.nodes(row), float(self.jobs.speed[row])
                found[place] = self.simulated(node, kind, speed, (int(slots[place]),))[0]
                continue
            found[place] += self._fixed(kind, row)
            for count, mean, of, each in self._phases(kind, row):
                rounds = max(float(slots[place]) // each, 1.0)
                grouped.setdefault(of, []).append((place, count, mean, min(rounds, count)))
        for of, entries in grouped.items():
            places = np.array([each[0] for each in entries])
            tasks: Floats = np.array([each[1] for each in entries])
            avg: Floats = np.array([each[2] for each in entries])
            at_once: Floats = np.array([each[3] for each in entries])
            np.add.at(found, places, avg * means.mean(of, tasks, at_once))
        return found

    def _runs(self, kind: int, row: int) -> bool:
        return kind == 0 or float(np.nan_to_num(self.jobs["reduce.tasks"][row])) > 0.0

    def _fixed(self, kind: int, row: int) -> float:
        if kind == 0:
            delays = float(np.nan_to_num(self.jobs.of_stages("delays")[row])) if self._stages(row) else 0.0
            return float(self.jobs.startup[row]) + delays
        first = float(self.jobs["shuffle.first_avg"][row])
        first = float(self.jobs["shuffle.first_max"][row]) if np.isnan(first) else first
        return first - float(self.jobs["shuffle.avg"][row])

    def _phases(self, kind: int, row: int) -> Iterator[tuple[float, float, means.Shape, float]]:
        """List tasks, their mean time [s] and its shape, of each phase of a row."""
        speed, word = float(self.jobs.speed[row]), str(self.words[row])
        for stage in self._stages(row) if kind == 0 else ():
            least = max(2.0 * stage.avg - stage.max, 0.0)
            of = means.shape(stage.distribution or word, least, stage.avg, stage.max, stage.tasks)
            yield float(stage.tasks), stage.avg / speed, of, float(stage.slots)
        if kind == 0 and not self._stages(row):
            yield *self._phase("map", row, word, speed), 1.0
        if kind == 1:
            tasks, avg, work = self._phase("reduce", row, word, speed)
            _, fetch, shuffle = self._phase("shuffle", row, word, 1.0)
            both = avg + fetch
            yield tasks, both, means.added(shuffle, work, fetch / both if both > 0.0 else 0.0), 1.0

    def _phase(self, name: str, row: int, word: str, speed: float) -> tuple[float, float, means.Shape]:
        avg, longest = (float(self.jobs[f"{name}.{item}"][row]) / speed for item in ("avg", "max"))
        tasks = float(self.jobs["map.tasks" if name == "map" else "reduce.tasks"][row])
        least = float(self.shortest[name][row]) / speed
        least = max(2.0 * avg - longest, 0.0) if np.isnan(least) else least
        return tasks, avg, means.shape(word, least, avg, longest, tasks)

    @cached_property
    def _simulated_rows(self) -> set[int]:
        """The rows with recorded times or stages side by side."""
        found = set(np.flatnonzero(self.recorded).tolist())
        for row in range(len(self.words)) if self.jobs.written else ():
            stages = self._stages(row)
            if any(len(part) > 1 for part in components(stages)) or any(stage.samples for stage in stages):
                found.add(row)
        return found


def exact_works(
    facts: Any,
    jobs: Described,
    of_class: Ints,
    found: Mapping[str, Work],
    nodes: Callable[[int], Any],
    simulated: Simulated,
    printed: Flags | None = None,
    shortest: Mapping[str, Floats] | None = None,
) -> dict[str, Work]:
    """Give the exact times to the estimates of rows, on whole slots.

    Args:
        facts: The facts of the spec.
        jobs: Its jobs, by row.
        of_class: The class of each row.
        found: The estimates of the rows in fractions.
        nodes: Class of a row, as it runs there.
        simulated: Means of classes whose tasks are recorded or run side by side.
        printed: Rows with the bounds of paper 000; by default those of :func:`shared` classes, or all.
        shortest: Shortest times of tasks; by default as stated.
    """
    classes = facts.classes
    paths = ("map.min", "shuffle.min", "reduce.min")
    shortest = shortest or {path.split(".")[0]: column(classes, path)[of_class] for path in paths}
    recorded = np.array([each for part in groups_of(classes) for each in _recorded(part)], dtype=bool)[of_class]
    given = ~np.isnan(jobs["coefficients.A"]) if "coefficients.A" in jobs.items else np.zeros(len(of_class), dtype=bool)
    if printed is None:
        printed = np.full(len(of_class), True) if facts.estimates == PAPER else shared(classes)[of_class]
    spread = words(classes, "distribution", "uniform")[of_class]
    times = Times(jobs, found, spread, shortest, nodes, simulated, recorded)
    low, result = found["lower"], dict[str, Work]()
    for name in EXACT:
        work = found.get(name, low)
        rows = ~given & (~printed if name != "mean" else np.full(len(of_class), True))
        parts = [np.where(rows, mine, theirs) for mine, theirs in zip(_abc(low), _abc(work), strict=True)]
        if name == "mean":
            parts = [np.where(given, of_all, part) for of_all, part in zip(_abc(found["average"]), parts, strict=True)]
        path = np.where(rows, 0.0, work.path)
        result[name] = Exact(parts[0], parts[1], parts[2], path, rows, np.full(len(rows), name), times)
    return result


def in_fractions(facts: Any, jobs: Described, of_class: Ints, found: dict[str, Work]) -> dict[str, Work]:
    """Give the estimates of slots in fractions: the bounds of list scheduling to jobs with their own slots."""
    if facts.estimates == PAPER:
        return found
    given = ~np.isnan(jobs["coefficients.A"]) if "coefficients.A" in jobs.items else np.zeros(len(of_class), dtype=bool)
    return own_bounds(found, jobs, ~given & ~shared(facts.classes)[of_class])


def needs_exact(facts: Any) -> bool:
    """Return True if some estimate of a spec is exact on whole slots."""
    return facts.estimates != PAPER or bool((words(facts.classes, "guarantee") == "mean").any())


def chosen(found: Mapping[str, Work], guarantee: NDArray[np.str_], default: str) -> Work:
    """Pick the estimate that each row guarantees: the upper one of a percentile, and one by default."""
    said = np.where(guarantee == "", default, guarantee)
    said = np.where(np.isin(said, EXACT), said, "upper")
    some = found["mean"]
    assert isinstance(some, Exact)
    parts = [np.select([said == name for name in EXACT], [_abc(found[name])[n] for name in EXACT]) for n in range(3)]
    path = np.select([said == name for name in EXACT], [found[name].path if name == "lower" else 0.0 for name in EXACT])
    rows = np.select([said == name for name in EXACT], [found[name].rows for name in EXACT])  # type: ignore[attr-defined]
    return replace(some, maps=parts[0], reduces=parts[1], rest=parts[2], path=path, rows=rows.astype(bool), names=said)


def shared(classes: Sequence[Any]) -> Flags:
    """Find the classes whose jobs share slots: as stated, or of map and reduce tasks, with several jobs at once."""
    said, most = words(classes, "sharing"), column(classes, "jobs.high")
    stages = np.array([len(each) > 0 for each in stages_of(classes)]) if any_stages(classes) else said == "-"
    return np.asarray(((said == CLASS) | ((said == "") & ~stages)) & ~(most <= 1.0))


def _recorded(part: Sequence[Any]) -> list[bool]:
    """Find the classes with recorded times in a part of all."""
    if isinstance(part, Columns) and not any(path.startswith(("samples", "recorded")) for path in part.values):
        return [False] * len(part)
    return [node.samples is not None or node.recorded is not None for node in part]


def _abc(work: Work) -> tuple[Floats, Floats, Floats]:
    return work.maps, work.reduces, work.rest


def _beside(tasks: float, avg: float, longest: float) -> float:
    rest = tasks * avg - longest
    return rest if rest >= 0.0 else (tasks - 1.0) * longest


@lru_cache(maxsize=1 << 14)
def parts_of(stages: tuple[Stage, ...]) -> tuple[Part, ...]:
    """Describe the parts of a job that run one after the other."""
    found = []
    for part in components(stages):
        some = tuple(stages[number] for number in part)
        width = float(some[0].tasks * some[0].slots) if len(some) == 1 else width_of(some)
        found.append((int(width), longest_path(some, [stage.max for stage in some]), beside_path(some)))
    return tuple(found)


@lru_cache(maxsize=1 << 14)
def components(stages: tuple[Stage, ...]) -> tuple[tuple[int, ...], ...]:
    """Group stages that can run at the same time as another one, or as one of which that is true in turn."""
    named = {stage.name: number for number, stage in enumerate(stages)}
    earlier: list[set[int]] = []
    for stage in stages:
        found, waiting = set[int](), [named[name] for name in stage.after if name in named]
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                waiting += [named[name] for name in stages[number].after if name in named]
        earlier.append(found)
    group = list(range(len(stages)))
    for one in range(len(stages)):
        for other in range(one):
            if one not in earlier[other] and other not in earlier[one] and group[one] != group[other]:
                old, new = group[one], group[other]
                group = [new if each == old else each for each in group]
    return tuple(tuple(n for n, each in enumerate(group) if each == name) for name in dict.fromkeys(group))
