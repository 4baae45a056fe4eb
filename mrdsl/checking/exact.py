"""Times of one job on whole slots by list scheduling and by means, computed a second time for verification."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
        speed, reducing = self.jobs.speed[rows], some.reduces > 0.0
        one, other = (np.nan_to_num(self._of(f"{kind}.avg", rows) / speed) for kind in ("map", "reduce"))
        first = np.maximum(np.divide(some.maps, maps, out=np.zeros_like(one), where=some.maps > 0.0), one)
        last = np.divide(some.reduces, reduces, out=np.zeros_like(one), where=reducing)
        last = np.where(reducing, np.maximum(last, np.nan_to_num(self._of("shuffle.avg", rows)) + other), 0.0)
        staged = np.array([bool(self.jobs.written and self._stages(row)) for row in rows.tolist()], dtype=bool)
        return np.where(staged, np.maximum(some.time(maps, reduces), some.path), first + last + some.rest)

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

    @cached_property
    def _known(self) -> dict[tuple[int, bytes, bytes], Floats]:
        return {}

    def _mean(self, kind: int, rows: Ints, slots: Floats) -> Floats:
        key = kind, rows.tobytes(), slots.tobytes()
        if key not in self._known:
            self._known[key] = self._mean_of(kind, rows, slots)
        return self._known[key].copy()

    def _mean_of(self, kind: int, rows: Ints, slots: Floats) -> Floats:
        """Compute the mean time of map (0) or reduce (1) phases on whole slots [s], those of the same shape at once."""
        staged = self._staged[rows] & (kind == 0)
        runs = np.full(len(rows), True) if kind == 0 else np.nan_to_num(self.jobs["reduce.tasks"][rows]) > 0.0
        some = np.isin(rows, self._simulated_rows) & runs
        found = np.zeros(len(rows))
        found[runs & ~some] = self._fixed(kind, rows[runs & ~some])
        for place in np.flatnonzero(some).tolist():
            node, speed = self.nodes(int(rows[place])), float(self.jobs.speed[rows[place]])
            found[place] = self.simulated(node, kind, speed, (int(slots[place]),))[0]
        plain = np.flatnonzero(runs & ~some & ~staged)
        tasks, avg, (shapes, of) = self._phases(kind, rows[plain])
        self._add(found, shapes, of, (plain, tasks, avg, np.clip(np.floor(slots[plain]), 1.0, tasks)))
        entries, different = list[tuple[float, ...]](), dict[means.Shape, int]()
        for place in np.flatnonzero(staged & ~some).tolist():
            row = int(rows[place])
            for stage in self._stages(row):
                least = max(2.0 * stage.avg - stage.max, 0.0)
                shape = means.shape(
                    stage.distribution or str(self.words[row]), least, stage.avg, stage.max, stage.tasks
                )
                rounds = min(max(float(slots[place]) // stage.slots, 1.0), stage.tasks)
                number = different.setdefault(shape, len(different))
                entries.append((number, place, stage.tasks, stage.avg / float(self.jobs.speed[row]), rounds))
        if entries:
            numbers, places, *rest = np.array(entries, dtype=np.float64).T
            self._add(found, list(different), numbers.astype(int), (places.astype(int), *rest))
        return found

    @staticmethod
    def _add(found: Floats, shapes: list[means.Shape], of: Ints, parts: tuple[Any, ...]) -> None:
        """Add the mean times of phases, given as places, tasks, average times and slots."""
        order = np.argsort(of, kind="stable")
        ends = np.searchsorted(of[order], np.arange(len(shapes) + 1))
        for number, shape in enumerate(shapes):
            mine = order[ends[number] : ends[number + 1]]
            places, tasks, avg, slots = (each[mine] for each in parts)
            np.add.at(found, places, avg * means.mean(shape, tasks, slots))

    @cached_property
    def _staged(self) -> Flags:
        if not self.jobs.written:
            return np.zeros(len(self.words), dtype=bool)
        return np.array([bool(self._stages(row)) for row in range(len(self.words))], dtype=bool)

    def _fixed(self, kind: int, rows: Ints) -> Floats:
        """Compute the time outside tasks, or what first shuffles add to the reduce phase [s]."""
        if kind == 0:
            delays = np.where(self._staged[rows], np.nan_to_num(self.jobs.of_stages("delays")[rows]), 0.0)
            return np.asarray(self.jobs.startup[rows] + delays)
        first = self.jobs["shuffle.first_avg"][rows]
        first = np.where(np.isnan(first), self.jobs["shuffle.first_max"][rows], first)
        return np.asarray(first - self.jobs["shuffle.avg"][rows])

    def _phases(self, kind: int, rows: Ints) -> tuple[Floats, Floats, tuple[list[means.Shape], Ints]]:
        """Compute tasks, their mean time [s] and its shape, of the map (0) or the reduce (1) phase of rows."""
        if kind == 0:
            return self._phase("map", rows, self.jobs.speed[rows])
        tasks, avg, work = self._phase("reduce", rows, self.jobs.speed[rows])
        _, fetch, shuffle = self._phase("shuffle", rows, np.ones(len(rows)))
        both = avg + fetch
        part = np.divide(fetch, both, out=np.zeros_like(both), where=both > 0.0)
        return tasks, both, means.sums(shuffle, work, part)

    def _phase(self, name: str, rows: Ints, speed: Floats) -> tuple[Floats, Floats, tuple[list[means.Shape], Ints]]:
        avg, longest = (self.jobs[f"{name}.{item}"][rows] / speed for item in ("avg", "max"))
        tasks = self.jobs["map.tasks" if name == "map" else "reduce.tasks"][rows]
        least = self.shortest[name][rows] / speed
        least = np.where(np.isnan(least), np.maximum(2.0 * avg - longest, 0.0), least)
        return tasks, avg, means.shapes(self.words[rows], (least, avg, longest), tasks)

    @cached_property
    def _simulated_rows(self) -> Ints:
        """The rows with recorded times or stages side by side."""
        found = set(np.flatnonzero(self.recorded).tolist())
        for row in np.flatnonzero(self._staged).tolist():
            stages = self._stages(row)
            if any(len(part) > 1 for part in components(stages)) or any(stage.samples for stage in stages):
                found.add(row)
        return np.array(sorted(found), dtype=np.int64)


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
