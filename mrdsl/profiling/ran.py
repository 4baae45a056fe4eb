"""The stages of a Spark application that ran, and their order.

Each comes after those of its parents that ran in the same job, and the first ones of a job after the last ones of the
jobs that had ended when it was submitted. Retries of a stage belong to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mrdsl.exchange.logs.records import SparkApplication, SparkJob, StageRun
from mrdsl.profiling.gaps import delays_of
from mrdsl.profiling.losses import complete_stages, planned

Shape = tuple[tuple[int, ...], ...]
"""For every stage of a run the places of those that it comes after."""


@dataclass(frozen=True)
class Ran:
    """A stage that ran, its retries with it."""

    number: int
    title: str
    tasks: int
    durations: tuple[int, ...]
    after: tuple[int, ...]
    delay: int = 0
    operators: str = ""
    shuffled: int = 0


def ran_stages(application: SparkApplication) -> tuple[Ran, ...]:
    """Return the stages of an application that ran, in the order of their numbers."""
    attempts: dict[int, list[StageRun]] = {}
    for stage in application.stages:
        if stage.launches:
            attempts.setdefault(stage.stage, []).append(stage)
    places = {number: place for place, number in enumerate(sorted(attempts))}
    before, complete = _job_order(application.jobs, attempts), complete_stages(application)
    stages = []
    for number in sorted(attempts):
        runs = attempts[number]
        durations = tuple(max(0, value) for run in runs for value in run.durations)
        parents = {parent for run in runs for parent in run.parents if parent in places} | before.get(number, set())
        after = tuple(sorted(places[parent] for parent in parents if parent < number))
        tasks, operators = planned(runs, number in complete), runs[0].operators
        shuffled = sum(run.shuffle_read for run in runs)
        stages.append(Ran(number, runs[0].name, tasks, durations, after, operators=operators, shuffled=shuffled))
    delays = delays_of(application, [stage.number for stage in stages], [stage.after for stage in stages])
    return tuple(replace(stage, delay=delay) for stage, delay in zip(stages, delays, strict=True))


def shape_of(application: SparkApplication) -> Shape:
    """Return the graph of its stages that ran."""
    return tuple(stage.after for stage in ran_stages(application))


def _job_order(jobs: Sequence[SparkJob], ran: dict[int, list[StageRun]]) -> dict[int, set[int]]:
    """For the first stages of every job the last ones of the jobs before it."""
    taken: set[int] = set()
    own: list[tuple[SparkJob, set[int]]] = []
    for job in jobs:
        mine = {stage for stage in job.stages if stage in ran} - taken
        taken |= mine
        if mine:
            own.append((job, mine))
    before: dict[int, set[int]] = {}
    for job, mine in own:
        lasts = {last for other in _just_before(job, own) for last in _last(other, ran)}
        for stage in mine:
            if not any(parent in mine for run in ran[stage] for parent in run.parents):
                before[stage] = lasts
    return before


def _just_before(job: SparkJob, own: Sequence[tuple[SparkJob, set[int]]]) -> Iterator[set[int]]:
    """Yield the stages of each job that had ended when this one was submitted, but of those before others of them."""
    if job.submitted is None:
        return
    ended = [(other, mine) for other, mine in own if other.ended is not None and other.ended <= job.submitted]
    latest = max((other.submitted or 0 for other, _ in ended), default=0)
    for other, mine in ended:
        if other.ended is not None and (other.ended > latest or other.submitted == latest):
            yield mine


def _last(mine: set[int], ran: dict[int, list[StageRun]]) -> set[int]:
    followed = {parent for stage in mine for run in ran[stage] for parent in run.parents}
    return mine - followed
