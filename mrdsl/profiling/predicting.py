"""Times of jobs on numbers of slots, from the recorded tasks of their runs.

Every run of a class is repeated on the slots, its tasks in their order, alone on slots of its own; the mean of all runs
is the prediction. Bounds are those of list scheduling (Graham 1969). An interval contains 95 % of runs: tasks are
shuffled within their stages, without replacement, and a random factor stands for what all tasks of a run share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np

from mrdsl.core.charts import LineChart, Series
from mrdsl.core.diagnostics import number_of
from mrdsl.core.json_text import plain
from mrdsl.core.tables import Readable, Table
from mrdsl.exchange.logs.records import SparkApplication
from mrdsl.profiling.gathering import Gathered, Known, estimates, own_stages, repeated
from mrdsl.profiling.ran import Ran, ran_stages
from mrdsl.profiling.stage_classes import slots_of_run, times_of
from mrdsl.profiling.whole_runs import known_job, known_run, pools_of
from mrdsl.simulation.engine.draws import shared_deviation
from mrdsl.simulation.own_slots import blocks_of, job_times
from mrdsl.simulation.sampling import stream

DRAWS, TASKS = 400, 200_000
"""Runs that are drawn for an interval, fewer with that many tasks in total, and at least :data:`FEWEST`."""
FEWEST = 40
LEVEL = 0.95
EVERY, STEP = 64, 1.1
"""Slots up to which each number is compared for the knee, and the ratio of one number to the next above them."""
BEST = 1.01
"""Times within this factor of the shortest one count as the shortest."""
GROWTH = ("class", "stage", "tasks", "longest [s]", "with more slots")
MOST_RUNS = 20
"""Runs that the table of runs shows."""
SKEWED = 3.0
"""A longest task that takes this many times the mean of its stage."""
MERGED, CACHED = ("AQEShuffleRead", "CustomShuffleReader"), "InMemoryTableScan"
"""Operators of stages whose partitions are merged by size, and of stages that read a cache."""
TYPES = 3
"""VM types that a table shows for a number of slots: the cheapest ones."""


@dataclass(frozen=True)
class Run:
    """A run: its recorded tasks, its slots, the slots of an executor, and the time that it took [s].

    The time is None if its map and reduce tasks had different numbers of slots.
    """

    name: str
    known: Known
    slots: int
    per_executor: int
    took: float | None

    @property
    def work(self) -> float:
        """The slot-seconds of its tasks, without shuffles of reduce tasks."""
        return sum(sum(part.work) for part in self.known.parts)


@dataclass(frozen=True)
class Cost:
    """A number of VMs of a type that have the slots, and their cost for the mean time."""

    vm: str
    vms: int
    cost: float


@dataclass(frozen=True)
class Prediction:
    """Times of a class, or of one run of it, on a number of slots [s]; None if no number meets the deadline.

    ``observed`` is the mean time of its runs that had as many slots. ``interval`` contains 95 % of runs, None for a
    class of one run. ``deadline`` is the one that the slots meet.
    """

    group: str
    run: str | None
    slots: int | None
    lower: float | None
    mean: float | None
    upper: float | None
    observed: float | None = None
    interval: tuple[float, float] | None = None
    executors: int | None = None
    deadline: float | None = None
    costs: tuple[Cost, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the object in the list ``predictions``."""
        found: dict[str, Any] = {"class": self.group, "run": self.run, "slots": self.slots, "executors": self.executors}
        found |= {name: getattr(self, name) for name in ("lower", "mean", "upper", "observed", "deadline")}
        return {**found, "interval": plain(self.interval), "costs": plain(self.costs)}


@dataclass(frozen=True)
class Knee:
    """The slots with the best ratio of speed-up to cost, the fewest that are as fast as any number, and their times."""

    slots: int
    mean: float
    most: int
    shortest: float


@dataclass(frozen=True)
class JobRuns:
    """A class and its runs."""

    name: str
    runs: tuple[Run, ...]

    @cached_property
    def _means(self) -> dict[int, float]:
        return {}

    def mean(self, slots: int) -> float:
        """Return the mean time on a number of slots [s]."""
        if slots not in self._means:
            times = [repeated(run.known, (slots, slots)) for run in self.runs]
            self._means[slots] = sum(times) / len(times)
        return self._means[slots]

    @cached_property
    def width(self) -> int:
        """The number of slots from which no task waits."""
        stages = [own_stages(run.known) for run in self.runs]
        found: int = max(
            sum(each[place].times.shape[1] for place in block) for each in stages for block in blocks_of(each)
        )
        return found

    def bounds(self, slots: int) -> tuple[float, float]:
        """Return the least lower and the largest upper bound of its runs [s]."""
        each = [estimates(run.known, (slots, slots)) for run in self.runs]
        return min(lower for lower, _, _ in each), max(upper for _, _, upper in each)

    def interval(self, slots: int, seed: int) -> tuple[float, float] | None:
        """Return the times between which 95 % of runs are [s], None for one run."""
        if len(self.runs) < 2:
            return None
        tasks = max(sum(len(part.work) for part in run.known.parts) for run in self.runs)
        each = ceil(max(FEWEST, min(DRAWS, TASKS // tasks)) / len(self.runs))
        spread = shared_deviation([run.work for run in self.runs])
        times = [_drawn(run.known, slots, each, spread, seed, place) for place, run in enumerate(self.runs)]
        low, high = np.quantile(np.concatenate(times), [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0]).tolist()
        return low, high

    def least(self, deadline: float) -> int | None:
        """Return the least number of slots whose mean meets a deadline [s], or None.

        More slots can take longer, so each number is tried from the first whose lower bound meets it on; far beyond
        that one, numbers are halved.
        """
        if self.mean(self.width) > deadline:
            return None
        first = _first(lambda slots: self._lowest(slots) <= deadline, 1, self.width)
        for slots in range(first, min(first + EVERY, self.width)):
            if self.mean(slots) <= deadline:
                return slots
        return _first(lambda slots: self.mean(slots) <= deadline, min(first + EVERY, self.width), self.width)

    def _lowest(self, slots: int) -> float:
        """Return a lower bound of the mean: the work over the slots, and the time before and after all tasks."""
        each = [run.work / slots + run.known.before + run.known.end for run in self.runs]
        return sum(each) / len(each)

    def knee(self) -> Knee:
        """Return the knee: speed-up over slots and time, S / k T, is largest (Eager, Zahorjan, Lazowska 1989)."""
        counts = list(range(1, min(EVERY, self.width) + 1))
        while counts[-1] < self.width:
            counts.append(min(self.width, ceil(counts[-1] * STEP)))
        shortest = min(map(self.mean, counts))
        most = next(slots for slots in counts if self.mean(slots) <= BEST * shortest)
        slots = min(counts, key=lambda slots: slots * self.mean(slots) ** 2)
        return Knee(slots, self.mean(slots), most, self.mean(most))


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first number that meets a condition, which ``high`` does."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return high


def _drawn(known: Known, slots: int, jobs: int, spread: float, seed: int, place: int) -> np.ndarray:
    """Return the times of runs with shuffled tasks and random factors [s]."""
    random = stream(seed, "predicted", place)
    factors = np.exp(spread * random.standard_normal(jobs))[:, None]
    stages = []
    for stage in own_stages(known):
        order = random.random_sample((jobs, stage.times.shape[1])).argsort(axis=1)
        first = None if stage.first is None else factors * stage.first[0][order]
        stages.append(replace(stage, times=factors * stage.times[0][order], first=first))
    found: np.ndarray = job_times(stages, (slots, slots)) + known.end
    return found


def runs_of(gathered: Gathered) -> tuple[JobRuns, ...]:
    """Return the classes of logs with their runs whose times are known."""
    found: dict[str, list[Run]] = {}
    for application, name in gathered.applications:
        times = times_of(application)
        if times.begin is not None and times.end is not None:
            cores = max((each.cores for each in application.lives), default=0) // application.task_cpus
            took = (times.end - times.begin) / 1000
            one = Run(application.application, known_run(application), slots_of_run(application), cores, took)
            found.setdefault(name, []).append(one)
    for job, phases, name in gathered.jobs:
        if phases.times.begin is not None and phases.times.end is not None and phases.map.count:
            known, pools = known_job(job, phases), pools_of(job)
            alike = all(pool >= min(len(part.work), max(pools)) for part, pool in zip(known.parts, pools, strict=False))
            seconds = (phases.times.end - phases.times.begin) / 1000
            found.setdefault(name, []).append(Run(job.job, known, max(pools), 0, seconds if alike else None))
    return tuple(JobRuns(name, tuple(runs)) for name, runs in sorted(found.items()))


@dataclass(frozen=True)
class Predictions(Readable):
    """Predictions for classes of jobs in logs, in the order of the classes and of the slots, and their knees."""

    predictions: tuple[Prediction, ...]
    knees: Mapping[str, Knee]
    runs: Mapping[str, int]
    growth: tuple[tuple[Any, ...], ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the object that ``mrdsl predict --json`` prints."""
        return {
            "predictions": [each.document() for each in self.predictions],
            "knees": plain(dict(self.knees)),
            "stages": [dict(zip(GROWTH, row, strict=True)) for row in self.growth],
            "notes": list(self.notes()),
        }

    def notes(self) -> Iterator[str]:
        """Yield what a reader must know about the predictions."""
        for each in self.predictions:
            if each.deadline is not None and each.slots is None:
                knee = self.knees[each.group]
                yield (
                    f"{each.group}: no number of slots meets {each.deadline:g} s on average; "
                    f"{knee.most} slots take {knee.shortest:.4g} s"
                )
        for name, knee in self.knees.items():
            yield (
                f"{name}: the knee is at {number_of(knee.slots, 'slot')} ({knee.mean:.4g} s); more than "
                f"{number_of(knee.most, 'slot')} make it no faster than {knee.shortest:.4g} s"
            )
            if self.runs[name] < 2:
                yield f"{name}: one run, so no interval is known; profile several runs to get one"

    def readable(self) -> Iterable[Table | str]:
        """Return the tables and sentences that ``mrdsl predict`` prints."""
        costs = [
            (each.group, each.slots, cost.vm, cost.vms, cost.cost) for each in self.predictions for cost in each.costs
        ]
        columns = (
            "class",
            "slots",
            "lower [s]",
            "mean [s]",
            "upper [s]",
            "from [s]",
            "to [s]",
            "observed [s]",
            "off [%]",
        )
        rows = [_row(each) for each in self.predictions if each.run is None]
        yield Table("Times predicted", columns, rows)
        if own := [(each.group, each.run, *_row(each)[1:5], *_row(each)[7:]) for each in self.predictions if each.run]:
            yield Table("Runs repeated", ("class", "run", *columns[1:5], *columns[7:]), own, most=MOST_RUNS)
        if costs:
            yield Table("Cheapest VM types", ("class", "slots", "type", "VMs", "cost"), costs)
        if self.growth:
            yield Table(
                "Stages on more slots", ("class", "stage", "tasks", "longest [s]", "with more slots"), self.growth
            )
        yield from self.notes()

    @property
    def charts(self) -> tuple[LineChart, ...]:
        """The time by slots of each class, with its interval, or its bounds if it has one run."""
        lines = []
        for name in self.knees:
            found = {each.slots: each for each in self.predictions if each.group == name and each.run is None}
            points = [found[slots] for slots in sorted(slots for slots in found if slots is not None)]
            bands = [each.interval or (each.lower or 0.0, each.upper or 0.0) for each in points]
            low, high = ([band[side] for band in bands] for side in (0, 1))
            lines.append(Series(name, [each.slots or 0 for each in points], [each.mean for each in points], low, high))
        return (LineChart("Time by slots", "slots", "time [s]", tuple(lines), y_zero=True),)


def _row(each: Prediction) -> tuple[Any, ...]:
    """Return the cells of a prediction: times in milliseconds at most, and the error in tenths of a percent."""
    off = None if not (each.observed and each.mean) else round(100.0 * (each.mean / each.observed - 1.0), 1)
    times = (each.lower, each.mean, each.upper, *(each.interval or (None, None)), each.observed)
    shown = (None if time is None else round(time, 3) for time in times)
    return (each.group, "none" if each.slots is None else each.slots, *shown, None if off is None else off + 0.0)


def predicted(
    gathered: Gathered,
    slots: Sequence[int] = (),
    executors: Sequence[int] = (),
    deadline: float | None = None,
    vms: Sequence[Any] = (),
    seed: int = 0,
) -> Predictions:
    """Return predictions for the classes of logs; see :func:`mrdsl.api.predict`.

    Raises ValueError if executors are counted of a class whose logs do not have them.
    """
    classes = runs_of(gathered)
    found: list[Prediction] = []
    for each in classes:
        of_each = max(run.per_executor for run in each.runs)
        if executors and not of_each:
            raise ValueError(f"the logs of class {each.name} have no executors")
        wanted = dict.fromkeys(slots) | {count * of_each: count for count in executors}
        if wanted or deadline is None:
            logged = {run.slots for run in each.runs}
            shown = (wanted or dict.fromkeys(_usual(logged))).keys() | logged
            found += [_on(each, count, vms, seed, wanted.get(count)) for count in sorted(shown)]
        if deadline is not None:
            least = each.least(deadline)
            none = Prediction(each.name, None, None, None, None, None)
            found.append(replace(none if least is None else _on(each, least, vms, seed), deadline=deadline))
        elif len(each.runs) > 1:
            found += [replace(_on(JobRuns(each.name, (run,)), run.slots), run=run.name) for run in each.runs]
    knees = {each.name: each.knee() for each in classes}
    runs = {each.name: len(each.runs) for each in classes}
    return Predictions(tuple(found), knees, runs, tuple(_growth(gathered)))


def _usual(logged: Iterable[int]) -> Iterator[int]:
    """Yield numbers of slots to compare: from a quarter of the most in the logs to four times as many."""
    most = max(logged)
    return (max(1, most * factor // 4) for factor in (1, 2, 4, 8, 16))


def _on(each: JobRuns, slots: int, vms: Sequence[Any] = (), seed: int = 0, executors: int | None = None) -> Prediction:
    """Return the prediction of a class on a number of slots."""
    lower, upper = each.bounds(slots)
    mean = each.mean(slots)
    took = [run.took for run in each.runs if run.slots == slots and run.took is not None]
    observed = sum(took) / len(took) if took else None
    costs = sorted(
        (
            Cost(vm.name, count, count * mean * (vm.on_demand.price + vm.fee))
            for vm in vms
            if vm.cores is not None and vm.cores >= 1.0
            for count in (ceil(slots / int(vm.cores)),)
            if vm.available is None or count <= vm.available
        ),
        key=lambda cost: (cost.cost, cost.vm),
    )[:TYPES]
    interval = each.interval(slots, seed)
    return Prediction(each.name, None, slots, lower, mean, upper, observed, interval, executors, None, tuple(costs))


def _growth(gathered: Gathered) -> Iterator[tuple[Any, ...]]:
    """Yield what more slots change in each stage of the last run of each Spark class."""
    for name, run in {name: run for run, name in gathered.applications}.items():
        for stage in ran_stages(run):
            longest = max(stage.durations) / 1000
            yield name, f"{stage.number} {stage.title}".strip(), stage.tasks, longest, _with_more(run, stage)


def _with_more(run: SparkApplication, stage: Ran) -> str:
    """Return what determines the number of tasks of a stage, and whether its longest task does the time of it."""
    reads = sum(each.input_bytes for each in run.stages if each.stage == stage.number)
    if any(word in stage.operators for word in MERGED):
        words = "adaptive execution merges its partitions by size"
    elif CACHED in stage.operators:
        words = "as many tasks, on the executors that hold its cached data"
    elif not stage.after and reads:
        words = "a task for each split of its input"
    elif stage.shuffled and str(stage.tasks) == run.configuration.get("spark.sql.shuffle.partitions"):
        words = "as many tasks, by spark.sql.shuffle.partitions"
    elif not stage.after and stage.tasks == slots_of_run(run):
        words = "a task for each slot, unless spark.default.parallelism is set"
    else:
        words = "as many tasks"
    mean = sum(stage.durations) / len(stage.durations)
    return f"{words}; its longest task does not get faster" if max(stage.durations) > SKEWED * mean else words
