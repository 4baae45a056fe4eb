"""Small nights in whole minutes, drawn with a seed, and all their timetables enumerated, apart from the family."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil
from random import Random


@dataclass(frozen=True)
class SmallRun:
    """One run: release, due time, and stages one after the other as (tasks, minutes)."""

    release: int
    due: int
    stages: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class SmallNight:
    """A night in whole minutes; prices are 1 USD a minute."""

    runs: tuple[SmallRun, ...]
    slots: int
    boot: int
    period: int
    minimum: int

    def billed(self, minutes: int) -> int:
        return max(ceil(minutes / self.period) * self.period, self.minimum)

    def text(self, rent: str) -> str:
        """The night as a spec."""
        lines = [
            'problem timetable "drawn"',
            f"rent = {rent}",
            f"billing {{ period = {self.period} min, minimum = {self.minimum} min }}",
            f"vm m {{ on_demand {{ price = 1 USD/min }}, boot = {self.boot} min }}",
        ]
        for number, run in enumerate(self.runs):
            lines.append(f"class c{number} {{")
            for index, (tasks, minutes) in enumerate(run.stages):
                after = f", after = [s{index - 1}]" if index else ""
                lines.append(f"  stage s{index} {{ tasks = {tasks}, avg = {minutes} min, max = 9 min{after} }}")
            lines.append(f"  slots {{ task = {self.slots} }}")
            lines.append(f"  runs {{ at = [{run.release} min] }}")
            lines.append(f"  deadline = {run.due - run.release} min")
            lines.append("}")
        return "\n".join([*lines, "minimize cost", ""])


def drawn(seed: int) -> SmallNight:
    """One night of that seed."""
    draw = Random(seed)
    runs = []
    for _ in range(draw.randint(1, 3)):
        release = draw.randint(2, 6)
        stages = tuple((draw.randint(1, 2), draw.randint(1, 2)) for _ in range(draw.randint(1, 2)))
        alone = sum(minutes for _, minutes in stages)
        runs.append(SmallRun(release, release + alone + draw.randint(0, 4), stages))
    period, minimum = draw.choice([(1, 0), (1, 3), (4, 0)])
    return SmallNight(tuple(runs), draw.randint(1, 2), draw.randint(0, 2), period, minimum)


def timetables(night: SmallNight) -> list[tuple[tuple[int, int], ...]]:
    """All ways to start all tasks, as sorted (start, minutes) of every task."""
    found: set[tuple[tuple[int, int], ...]] = set()
    for each in _of_runs(night.runs):
        found.add(tuple(sorted(each)))
    return sorted(found)


def _of_runs(runs: tuple[SmallRun, ...]) -> list[tuple[tuple[int, int], ...]]:
    ways: list[tuple[tuple[int, int], ...]] = [()]
    for run in runs:
        ways = [(*way, *each) for way in ways for each in _of_run(run)]
    return ways


@cache
def _of_run(run: SmallRun) -> tuple[tuple[tuple[int, int], ...], ...]:
    ways: list[tuple[int, tuple[tuple[int, int], ...]]] = [(run.release, ())]
    for number, (tasks, minutes) in enumerate(run.stages):
        rest = sum(each for _, each in run.stages[number + 1 :])
        longer = []
        for ready, way in ways:
            for starts in _starts(tasks, ready, run.due - rest - minutes):
                longer.append((max(starts) + minutes, (*way, *((start, minutes) for start in starts))))
        ways = longer
    return tuple(dict.fromkeys(tuple(sorted(way)) for _, way in ways))


def _starts(tasks: int, first: int, last: int) -> list[tuple[int, ...]]:
    """Starts of alike tasks in order."""
    if not tasks:
        return [()]
    return [(start, *rest) for start in range(first, last + 1) for rest in _starts(tasks - 1, start, last)]


def peak(tasks: tuple[tuple[int, int], ...]) -> int:
    """The most tasks at once."""
    return max(sum(begin <= start < begin + minutes for begin, minutes in tasks) for start, _ in tasks)


def least_constant(night: SmallNight) -> int:
    """The least cost of a constant cluster over all timetables."""
    begin = min(run.release for run in night.runs) - night.boot
    return min(
        ceil(peak(way) / night.slots) * night.billed(max(start + minutes for start, minutes in way) - begin)
        for way in timetables(night)
    )
