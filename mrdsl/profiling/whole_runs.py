"""Whole runs predicted from earlier runs of their class, and the causes of each miss.

A run is predicted with the stages, task times and times outside tasks of the runs that started in the first part of the
time, on as many slots as it had. A Spark run without an earlier one of its class is predicted from the tasks of each of
its stages that had ended after the first part of the stage's own time; its time after the last task is then unknown.

The causes add up to the miss. The simulation is repeated with what the run itself had, one thing after the other:

- Input: its numbers of tasks, and the mean time of the tasks of each stage.
- Driver: its times outside tasks.
- Skew: the time of every single task, in the order of their starts.
- Waiting: what is left. Slots came late or left, slots were idle while tasks waited, or tasks ran again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from mrdsl.exchange.logs.records import AttemptEnd, MapReduceJob, SparkApplication, TaskKind
from mrdsl.profiling.classes import BY_NAME, Profiled, Taught, with_sort
from mrdsl.profiling.cluster import parallel_tasks
from mrdsl.profiling.gathering import Known, Part, estimates, repeated, scaled, simulated, together
from mrdsl.profiling.losses import damage
from mrdsl.profiling.phases import Phases
from mrdsl.profiling.ran import Shape, ran_stages
from mrdsl.profiling.replay import in_order
from mrdsl.profiling.stage_classes import Grouped, slots_of_run, times_of

CAUSES = ("input", "driver", "skew", "waiting")
FAR_OFF = 0.1
"""The share of its time by which a prediction is off before a cause is named."""
Slots = tuple[int, ...]
"""The slots of each pool: of maps and reduces, or of a Spark application."""


@dataclass(frozen=True)
class Fewer:
    """The run on half its slots: the simulation, and its own task times repeated in the engine [s]."""

    slots: Slots
    simulated: float
    repeated: float


@dataclass(frozen=True)
class RunPredicted:
    """A run: the prediction, the time that it took, and the seconds of the miss by cause.

    ``learned`` is the number of runs that it is predicted from, 0 if it is its own first part. ``same_slots``: one of
    them had as many slots. ``tasks`` are those of each stage or phase, ``estimates`` the lower, the average and the
    upper one.
    """

    group: str
    name: str
    learned: int
    same_slots: bool
    tasks: tuple[int, ...]
    slots: Slots
    estimates: tuple[float, float, float]
    simulated: float
    took: float
    causes: tuple[float, ...]
    fewer: Fewer

    @property
    def within(self) -> bool:
        """Return True if it took between the lower and the upper estimate."""
        return self.estimates[0] <= self.took <= self.estimates[2]

    @property
    def cause(self) -> str:
        """The largest cause in the direction of the miss, "" if the prediction is not far off."""
        miss = self.took - self.simulated
        if abs(miss) <= FAR_OFF * self.took:
            return ""
        sign = 1.0 if miss > 0.0 else -1.0
        return max(zip(CAUSES, self.causes, strict=True), key=lambda each: sign * each[1])[0]


def predicted_jobs(
    before: Iterable[Profiled], after: Iterable[Profiled], seed: int, taught: Taught = BY_NAME
) -> list[RunPredicted | None]:
    """Return the prediction of each later job of MapReduce from the earlier ones of its class, or None without any.

    Its numbers of tasks are known.
    """
    learned: dict[str, list[tuple[Known, Slots]]] = {}
    for job, phases, name in before:
        learned.setdefault(name, []).append((_of_phases(phases, taught.sort_counts_as), pools_of(job)))
    known = {name: together([found for found, _ in alike]) for name, alike in learned.items()}
    predictions: list[RunPredicted | None] = []
    for job, phases, name in after:
        own, times = _of_phases(phases, taught.sort_counts_as), phases.times
        if name not in known or len(known[name].parts) < len(own.parts) or times.begin is None or times.end is None:
            predictions.append(None)
            continue
        parts = tuple(replace(part, tasks=mine.tasks) for part, mine in zip(known[name].parts, own.parts, strict=False))
        runs = replace(known[name], parts=parts), own, replace(own, parts=_task_by_task(job, own.parts))
        took, slots = (times.end - times.begin) / 1000, [each for _, each in learned[name]]
        predictions.append(_predicted((name, job.job), runs, pools_of(job), slots, took, seed, taught))
    return predictions


def predicted_applications(
    before: Iterable[Grouped], after: Iterable[Grouped], share: float, seed: int, taught: Taught = BY_NAME
) -> list[RunPredicted | None]:
    """Return the prediction of each later run of Spark from the earlier ones of its class and graph of stages.

    Without an earlier one it is predicted from its own stages: from their tasks that had ended after ``share`` of the
    stage's time, at least from the first one. It is None if its log is damaged.
    """
    learned: dict[tuple[str, Shape], list[tuple[Known, Slots]]] = {}
    for run, name in before:
        found = known_run(run)
        learned.setdefault((name, _shape(found)), []).append((found, _slots(run)))
    known = {key: together([found for found, _ in alike]) for key, alike in learned.items()}
    predictions: list[RunPredicted | None] = []
    for run, name in after:
        own, times = known_run(run), times_of(run)
        key = (name, _shape(own))
        first = known[key] if key in known else _first_part(run, own, share)
        if times.begin is None or times.end is None or damage(run):
            predictions.append(None)
            continue
        took, slots = (times.end - times.begin) / 1000, [each for _, each in learned.get(key, ())]
        predictions.append(
            _predicted((name, run.application), (first, own, own), _slots(run), slots, took, seed, taught)
        )
    return predictions


def _predicted(
    names: tuple[str, str],
    runs: tuple[Known, Known, Known],
    slots: Slots,
    before: Sequence[Slots],
    took: float,
    seed: int,
    taught: Taught,
) -> RunPredicted:
    """Return the prediction of a run; ``runs`` are what is known, the run as a class of its own, and task by task."""
    known, own, in_log = runs
    parts = tuple(map(scaled, known.parts, own.parts))
    with_delays = tuple(replace(part, delay=mine.delay) for part, mine in zip(parts, own.parts, strict=True))
    predicted = _simulated(known, slots, seed)
    steps = (
        predicted,
        _simulated(replace(known, parts=parts), slots, seed),
        _simulated(Known(own.before, with_delays, own.end), slots, seed),
        repeated(in_log, slots),
        took,
    )
    half = tuple(max(1, count // 2) for count in slots)
    return RunPredicted(
        *names,
        learned=len(before),
        same_slots=slots in before,
        tasks=tuple(part.tasks for part in own.parts),
        slots=slots,
        estimates=estimates(known, slots, taught.longest),
        simulated=predicted,
        took=took,
        causes=tuple(later - earlier for earlier, later in pairwise(steps)),
        fewer=Fewer(half, _simulated(known, half, seed), repeated(in_log, half)),
    )


@cache
def _simulated(job: Known, slots: Slots, seed: int) -> float:
    return simulated(job, slots, seed)


def _shape(job: Known) -> Shape:
    return tuple(part.after for part in job.parts)


def known_run(run: SparkApplication) -> Known:
    """Return a run of Spark with its task times, in the order of their starts, and its times outside tasks."""
    times = times_of(run)
    parts = tuple(
        Part(stage.tasks * stage.slots, stage.after, stage.delay / 1000, tuple(in_order(run, stage.number)))
        for stage in ran_stages(run)
    )
    return Known(times.before / 1000, parts, times.after / 1000)


def _first_part(run: SparkApplication, own: Known, share: float) -> Known:
    """Return the run as its first part shows it: the tasks of each stage that had ended then, at least the first."""
    parts = []
    for part, stage in zip(own.parts, ran_stages(run), strict=True):
        attempts = [each for each in run.stages if each.stage == stage.number]
        spans = [span for each in attempts for span in zip(each.launches, each.finishes, strict=True)]
        begin, ends = min(launch for launch, _ in spans), [finish for _, finish in spans]
        moment = max(min(ends), begin + share * (max(ends) - begin))
        work = tuple(max(0, finish - launch) / 1000 for launch, finish in spans if finish <= moment)
        parts.append(replace(part, work=work))
    return Known(own.before, tuple(parts), 0.0)


def _slots(run: SparkApplication) -> Slots:
    return (slots_of_run(run),)


def pools_of(job: MapReduceJob) -> Slots:
    """Return the most map and reduce tasks of a job at once."""
    return tuple(max(1, parallel_tasks(job, kind)) for kind in (TaskKind.MAP, TaskKind.REDUCE))


def known_job(job: MapReduceJob, phases: Phases, sort_counts_as: str = "reduce") -> Known:
    """Return a job of MapReduce with its task times, in the order of their starts, and its times outside tasks."""
    own = _of_phases(phases, sort_counts_as)
    return replace(own, parts=_task_by_task(job, own.parts))


def _of_phases(phases: Phases, sort_counts_as: str) -> Known:
    def seconds(name: str, sorted_in: bool) -> tuple[float, ...]:
        values = with_sort(phases, name) if sorted_in else getattr(phases, name).values
        return tuple(value / 1000 for value in values)

    with_reduce = sort_counts_as == "reduce"
    parts = [Part(phases.map.count, (), 0.0, seconds("map", False))]
    if phases.reduce.count:
        first, later = (seconds(name, not with_reduce) for name in ("first_shuffle", "typical_shuffle"))
        work = seconds("reduce", with_reduce)
        parts.append(Part(phases.reduce.count, (0,), 0.0, work, first or later or (0.0,), later or first or (0.0,), 1))
    return Known(phases.times.before / 1000, tuple(parts), phases.times.after / 1000)


def _task_by_task(job: MapReduceJob, parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return the phases with the times of each task, in the order of their starts."""
    good = [each for each in job.attempts if each.end is AttemptEnd.SUCCEEDED]
    spans = {
        kind: sorted(
            (each.start, each.finish, each.shuffled or 0)
            for each in good
            if each.kind is kind and each.start is not None and each.finish is not None
        )
        for kind in TaskKind
    }
    last = max((finish for _, finish, _ in spans[TaskKind.MAP]), default=0) if job.phases_known else 0
    maps = tuple(max(0, finish - start) / 1000 for start, finish, _ in spans[TaskKind.MAP])
    begins = [max(start, last) for start, _, _ in spans[TaskKind.REDUCE]]
    shuffled = [max(begin, ready) for begin, (_, _, ready) in zip(begins, spans[TaskKind.REDUCE], strict=True)]
    shuffles = tuple((ready - begin) / 1000 for begin, ready in zip(begins, shuffled, strict=True))
    ends = [finish for _, finish, _ in spans[TaskKind.REDUCE]]
    reduces = tuple(max(0, end - ready) / 1000 for ready, end in zip(shuffled, ends, strict=True))
    found = (
        replace(parts[0], work=maps),
        *(replace(part, work=reduces, first=shuffles, later=shuffles) for part in parts[1:]),
    )
    return tuple(found)
