"""Estimates that guarantee each class's deadline, and the slots that they require."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import SAME_SUM, ceiling, floor
from mrdsl.formulas import mapreduce
from mrdsl.formulas.mapreduce import Coefficients, Flags, Floats, fewest_vms, phase
from mrdsl.formulas.own_times import PAPER, JobTimes, Model, OwnTimes, job_times
from mrdsl.formulas.stages import stage_work
from mrdsl.spec.blocks import GUARANTEES, any_stages, stages_of
from mrdsl.spec.columns import column


@dataclass(frozen=True)
class SlotLimits:
    """Range of slots of one job in which its estimates hold, per class: ``least <= slots <= most`` for each kind.

    ``least`` is 1 if a job has tasks of the kind, ``most`` the number of its tasks (infinite if that is not known).
    Both are 0 if it has none.
    """

    map_least: Floats
    map_most: Floats
    reduce_least: Floats
    reduce_most: Floats

    @property
    def parts(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the four limits in order."""
        return self.map_least, self.map_most, self.reduce_least, self.reduce_most

    def at(self, key: Any) -> SlotLimits:
        """Return those at a place of the arrays."""
        return SlotLimits(*(each[key] for each in self.parts))


def limits_of_tasks(map_tasks: Floats, reduce_tasks: Floats) -> SlotLimits:
    """At least one slot of each kind that a job uses, at most one for each task.

    NaN tasks (a count that is not known) bound from below alone.
    """
    return SlotLimits(*_limits(map_tasks), *_limits(reduce_tasks))


def slots_per_job(
    work: Coefficients, deadline: Floats, map_per_vm: Floats, reduce_per_vm: Floats, limits: SlotLimits
) -> tuple[Floats, Floats]:
    """Theorem 4.1 within limits: the map and reduce slots of one job that meet its deadline on the fewest VMs.

    A VM hosts ``map_per_vm`` map slots or ``reduce_per_vm`` reduce slots. With 1 for both, the result is the least sum
    of slots, (3.17) and (3.18). It is unrounded, and infinite if no slots meet the deadline (:func:`kept`).
    """
    a, b = work.map_work, work.reduce_work
    left = deadline - work.constant
    with np.errstate(divide="ignore", invalid="ignore"):
        map_slots, reduce_slots = fewest_vms(a, b, left, map_per_vm / reduce_per_vm)
        beside_fewest, beside_most = (_beside(a, left, b, s) for s in (limits.reduce_least, limits.reduce_most))
        limited = np.minimum(np.minimum(map_slots, beside_fewest), limits.map_most)
        limited = np.maximum(np.maximum(limited, beside_most), limits.map_least)
        reduce_slots = np.where(limited == map_slots, reduce_slots, _beside(b, left, a, limited))
        reduce_slots = np.where(limited >= beside_fewest, limits.reduce_least, reduce_slots)
    return _within(kept(work, deadline, limits), limited, reduce_slots, limits)


def least_slots(work: Coefficients, deadline: Floats, map_tasks: Floats, reduce_tasks: Floats) -> tuple[Floats, Floats]:
    """Return the least map slots plus reduce slots of one job that meet the deadline: (3.17), (3.18), within the tasks.

    They are unrounded, and infinite if the deadline is before :func:`earliest`.
    """
    one = np.ones_like(deadline)
    return slots_per_job(work, deadline, one, one, limits_of_tasks(map_tasks, reduce_tasks))


def fixed_reduce(
    work: Coefficients, deadline: Floats, map_tasks: Floats, reduce_tasks: Floats
) -> tuple[Floats, Floats]:
    """Return one reduce slot per reduce task, and the map slots that then meet the deadline: (3.16).

    The thesis calls the result of (3.16) map *tasks*; it is map *slots*. It is infinite if the deadline is too early.
    """
    limits = limits_of_tasks(map_tasks, reduce_tasks)
    map_slots = _beside(work.map_work, deadline - work.constant, work.reduce_work, reduce_tasks)
    return _within(kept(work, deadline, limits), map_slots, reduce_tasks, limits)


def earliest(work: Coefficients, map_most: Floats, reduce_most: Floats) -> Floats:
    """Return the time of one job with a slot for every task: no cluster meets an earlier deadline."""
    phases = phase(work.map_work, 1.0, map_most) + phase(work.reduce_work, 1.0, reduce_most)
    times = np.maximum(phases + work.constant, work.path)
    return times if work.own is None else np.where(work.own.exact, work.own.time(map_most, reduce_most), times)


def kept(work: Coefficients, deadline: Floats, limits: SlotLimits) -> Flags:
    """Return True for deadlines that some slots within the limits meet; :func:`earliest` up to rounding is met.

    No slots meet a deadline before ``work.path``. If the most slots are not known, the deadline must leave time to the
    phases.
    """
    phases = phase(work.map_work, 1.0, limits.map_most) + phase(work.reduce_work, 1.0, limits.reduce_most)
    size = phases + np.abs(work.constant) + deadline
    spare = deadline - work.constant - phases
    unlimited = (work.map_work > 0.0) & np.isinf(limits.map_most) | (work.reduce_work > 0.0) & np.isinf(
        limits.reduce_most
    )
    after_path = deadline - work.path >= -SAME_SUM * deadline
    found = np.asarray(np.where(unlimited, spare > SAME_SUM * size, spare >= -SAME_SUM * size) & after_path)
    if work.own is None:
        return found
    exact = work.own.time(ceiling(limits.map_most), ceiling(limits.reduce_most)) <= deadline * (1.0 + SAME_SUM)
    return np.where(work.own.exact, exact, found)


def _limits(tasks: Floats) -> tuple[Floats, Floats]:
    return np.where(tasks == 0.0, 0.0, 1.0), np.where(np.isnan(tasks), np.inf, tasks)


def _beside(work: Floats, left: Floats, other_work: Floats, other_slots: Floats) -> Floats:
    """Return the slots that this phase needs if the other one has ``other_slots``; infinite if no time is left."""
    with np.errstate(divide="ignore", invalid="ignore"):
        time = left - phase(other_work, 1.0, other_slots)
        return np.where(work > 0.0, np.where(time > 0.0, work / time, np.inf), 0.0)


def _within(possible: Flags, map_slots: Floats, reduce_slots: Floats, limits: SlotLimits) -> tuple[Floats, Floats]:
    return (
        np.where(possible, np.clip(map_slots, limits.map_least, limits.map_most), np.inf),
        np.where(possible, np.clip(reduce_slots, limits.reduce_least, limits.reduce_most), np.inf),
    )


def estimates_of(
    classes: Sequence[Any], speed: Floats | None = None, model: Model = PAPER, times: JobTimes | None = None
) -> dict[str, Coefficients]:
    """Return A, B and C of every estimate; a class given by coefficients has only the average and the mean.

    ``speed``, of shape (..., classes), divides the times of tasks. Coefficients then take 1/``speed`` of their time
    too, since the part of them that is shuffle is not known. ``times`` are those of the classes, if known. The mean,
    which is that of whole slots, has A, B and C of the lower bound.
    """
    times = job_times(classes, model, speed=speed) if times is None else times
    rows = np.arange(len(times.given)).reshape((len(classes),) if speed is None else speed.shape)
    known, printed = times.given[rows], times.printed[rows]
    low, high = times.low.at(rows), times.high.at(rows)
    average = mapreduce.between(low, high)
    found = {"lower": _without(low, known), "average": average, "upper": _without(high, known)}
    if not model.exact:
        return found
    found["mean"] = Coefficients(low.map_work, low.reduce_work, low.constant)
    one = np.ones(rows.shape)
    exact = {name: np.where(known | (printed & (name != "mean")), "", name) for name in found}
    owns = {name: OwnTimes((times,), 0 * rows, rows, exact[name], one, one) for name in found}
    return {name: replace(each, own=owns[name]) for name, each in found.items()}


def _without(work: Coefficients, unknown: NDArray[np.bool_]) -> Coefficients:
    return Coefficients(
        np.where(unknown, np.nan, work.map_work),
        np.where(unknown, np.nan, work.reduce_work),
        np.where(unknown, np.nan, work.constant),
        work.path,
    )


def guaranteed(chosen: NDArray[np.str_], estimates: Mapping[str, Coefficients]) -> Coefficients:
    """Return A, B and C of the estimate of each word; for a percentile, of the upper one.

    Simulation checks a percentile; if the upper estimate meets the deadline, nearly all jobs do. A class whose estimate
    is not of this form has the exact times, and A, B and C of the lower bound.
    """
    flags = {name: chosen == name for name in (*GUARANTEES, "mean")}
    names = np.full(chosen.shape, "", dtype="<U7")
    for name, each in estimates.items():
        mine = flags[name] if name != "upper" else ~(flags["lower"] | flags["average"] | flags["mean"])
        names = np.where(mine & (each.own is not None), "" if each.own is None else each.own.names, names)
    exact = names != ""

    def pick(part: str) -> Floats:
        values = [getattr(estimates[name], part) for name in estimates]
        found = np.select([flags[name] for name in estimates], values, default=getattr(estimates["upper"], part))
        return np.asarray(np.where(exact, getattr(estimates["lower"], part), found))

    path = np.where((chosen == "lower") & ~exact, estimates["lower"].path, 0.0)
    some = estimates["average"].own
    own = replace(some, names=names) if some is not None and exact.any() else None
    return Coefficients(pick("map_work"), pick("reduce_work"), pick("constant"), path, own)


def slot_limits(classes: Sequence[Any]) -> SlotLimits:
    """Return the range of slots of one job in which its estimates hold: at least one, at most as many as tasks.

    Jobs of stages have at most as many slots as concurrent tasks, at least those of a task or of all tasks of a barrier
    stage, and no reduce slots. Coefficients do not contain the
    number of tasks: their classes have a lower limit only, and no reduce slots if B is 0.
    """
    reduce_work = column(classes, "coefficients.B")
    given = ~np.isnan(reduce_work)
    unknown = np.where(reduce_work == 0.0, 0.0, np.nan)
    stages = stage_work(classes)
    tasks = column(classes, "map.tasks")
    limits = limits_of_tasks(
        tasks if stages is None else np.where(np.isnan(stages.width), tasks, stages.width),
        np.where(given, unknown, column(classes, "reduce.tasks", missing=0.0)),
    )
    return limits if stages is None else replace(limits, map_least=np.fmax(limits.map_least, stages.least))


def slots_per_vm(classes: Sequence[Any]) -> tuple[Floats, Floats]:
    """Return the map slots or the reduce slots of each class that one VM hosts.

    Classes of stages have slots of one kind, in the place of map slots. Map-only classes may leave reduce slots out.
    """
    maps, reduces = column(classes, "slots.map"), column(classes, "slots.reduce")
    by_kind = maps, np.where(np.isnan(reduces), maps, reduces)
    if not any_stages(classes):
        return by_kind
    task = column(classes, "slots.task")
    there = np.array([bool(stages) for stages in stages_of(classes)], dtype=bool)
    return np.where(there, task, by_kind[0]), np.where(there, task, by_kind[1])


def stage_counts(classes: Sequence[Any]) -> NDArray[np.int64]:
    """Return the number of stages of each class; 0 if it has another description."""
    if not any_stages(classes):
        return np.zeros(len(classes), dtype=np.int64)
    return np.array([len(stages) for stages in stages_of(classes)], dtype=np.int64)


def kinds_of(stages: NDArray[np.int64]) -> tuple[str, ...]:
    """Return the kinds of slots that some class has, from how many stages each has."""
    return (("map", "reduce") if (stages == 0).any() else ()) + (("task",) if stages.any() else ())


LEAST_LENT = 2.0
"""The fewest slots of a job that lends them for which its upper estimate is called a bound; :func:`upper_is_bound`."""


def upper_is_bound(stages: Any, jobs: Any, slots: Any) -> Any:
    """Return True if jobs of ``stages`` stages meet the premises of the upper estimate on their class's ``slots``.

    One stage is one phase, which Proposition 2.5 covers. A single job holds its slots throughout: its time is at most
    Graham's ``(W - P)/k + P``. Concurrent jobs of more stages lend each other the slots that they leave at the end of a
    stage, and wait for them in the next one. No bound of the form ``A/k + C`` is known for that.

    With less than two slots each, jobs of one phase have none at times, which the proposition excludes. If slots do not
    divide evenly among the jobs, some job has fewer than its part, see :func:`is_even`.
    """
    enough = slots >= LEAST_LENT * jobs * (1.0 - SAME_SUM)
    return (jobs <= 1.0) | ((stages <= 1) & enough & is_even(slots, jobs, ceiling(slots)))


def is_even(slots: Any, jobs: Any, there: Any) -> Any:
    """Return True if each job gets whole slots, of those that are there, no fewer than its part of ``slots``.

    A scheduler shares whole slots: if 4 jobs share 7 slots, some job has 1, and takes longer than an estimate with
    1.75.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(np.asarray(jobs) > 0.0, np.asarray(slots) / jobs, 0.0)
        least = np.where(np.asarray(jobs) > 0.0, floor(np.asarray(there) / jobs), 0.0)
    return least >= part * (1.0 - SAME_SUM)


def phases_are_bounded(stages: Any, jobs: Any, map_slots: Any, reduce_slots: Any) -> Any:
    """:func:`upper_is_bound` of classes of stages, in ``map_slots``, or of map and reduce tasks: a phase each."""
    phases = np.maximum(stages, 1)
    reduces = upper_is_bound(phases, jobs, reduce_slots) | (np.asarray(reduce_slots) == 0.0)
    return upper_is_bound(phases, jobs, map_slots) & reduces
