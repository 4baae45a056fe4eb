"""Rows of a plan, classes on VM types, read from the input data for verification: how jobs run and how VMs hold them.

A slot takes a part of each resource of its VM: 1/n of all if ``slots`` is n, otherwise the container's cores and
memory.

The part of a share's work that spot VMs lose, computed for verification from the input data and the plan's slots.

The provider reclaims a VM at the rate r. The task in a busy slot then loses its run time. Map output on the VM is lost
with the work that made it: ``r (T_M / 2 + T_R)`` of the map work. T_M and T_R are the phases of the job's slots without
losses. These are the slots of the plan, or the pair on the fewest VMs that meets the deadline without losses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.checking.exact import Exact, Simulated, chosen, exact_works, in_fractions, needs_exact
from mrdsl.checking.work import Described, Work, described, estimates, fewest_vms, promised, seconds_run, tasks_at_once
from mrdsl.core.rounding import FEASIBILITY, ceiling, floor
from mrdsl.spec.blocks import any_rows, any_stages, shared_rows, stages_of
from mrdsl.spec.columns import column, words
from mrdsl.spec.estimates import default_guarantee
from mrdsl.spec.platforms import (
    DATAPROC,
    DATAPROC_SHARE,
    EMR,
    EMR_EXCEPTIONS,
    EMR_PARTS,
    EMR_SMALL,
    EMR_WHOLE,
    KUBERNETES_CORES,
    KUBERNETES_EVICTION,
    KUBERNETES_MEMORY,
)

MIB = 1024.0**2


def left_to_containers(vms: Sequence[Any]) -> NDArray[np.float64]:
    """Compute the cores and the memory [B] of each VM type for containers, shape (2, types); NaN if not given."""
    rows = [_left(vm.name, vm.cores, vm.memory, vm.system) for vm in vms]
    return np.array(rows, dtype=np.float64).reshape(-1, 2).T


def _left(name: str, cores: float | None, memory: float | None, system: Any) -> tuple[float, float]:
    there = [np.nan if each is None else float(each) for each in (cores, memory)]
    if system is None:
        return there[0], there[1]
    if system.platform is None:
        return there[0] - (system.cores or 0.0), there[1] - (system.memory or 0.0)
    mib = there[1] / MIB
    if np.isnan(mib):
        return there[0], np.nan
    if system.platform == EMR:
        used = mib if name.split(".")[0] in EMR_WHOLE else mib * EMR_PARTS[0] / EMR_PARTS[1]
        kept = min(used / 4.0, EMR_SMALL / 4.0)
        yarn = float(EMR_EXCEPTIONS.get(name, int(used - kept)))
        return there[0], MIB * min(yarn, mib)
    if system.platform == DATAPROC:
        return there[0], DATAPROC_SHARE * there[1]
    core_bounds = np.cumsum([0.0, *(size for size, _ in KUBERNETES_CORES)])
    memory_bounds = np.cumsum([0.0, *(size for size, _ in KUBERNETES_MEMORY)])
    core_parts, memory_parts = ([part for _, part in steps] for steps in (KUBERNETES_CORES, KUBERNETES_MEMORY))
    reserved = float(np.diff(np.minimum(core_bounds, there[0])) @ core_parts)
    system_mib = float(np.diff(np.minimum(memory_bounds, mib)) @ memory_parts) + KUBERNETES_EVICTION
    return there[0] - reserved, max(0.0, there[1] - MIB * system_mib)


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

RESOURCES = ("cores", "memory")
Slots = tuple[Floats, Floats]


@dataclass(frozen=True)
class Rows:
    """Classes on VM types: one row for each pair that a plan has jobs of."""

    facts: Any
    of_class: Ints
    of_vm: Ints
    simulated: Simulated | None = None

    @cached_property
    def own(self) -> Mapping[int, Any]:
        """Blocks of ``on TYPE``, by row."""
        classes, found = self.facts.classes, {}
        if any_rows(classes, "on"):
            names = [vm.name for vm in self.facts.vms]
            written = shared_rows(classes, "on")
            for place, (index, vm) in enumerate(zip(self.of_class.tolist(), self.of_vm.tolist(), strict=True)):
                for each in written[index]:
                    if each.name == names[vm]:
                        found[place] = each
        return found

    @cached_property
    def jobs(self) -> Described:
        """Descriptions of the jobs of each row."""
        return described(self.facts.classes, self.of_class, self.own)

    @cached_property
    def estimates(self) -> Mapping[str, Work]:
        """A, B and C of one job by every estimate, and its exact times on whole slots."""
        found = estimates(self.jobs)
        if self.simulated is None or not needs_exact(self.facts):
            return in_fractions(self.facts, self.jobs, self.of_class, found)
        return exact_works(self.facts, self.jobs, self.of_class, found, self._node, self.simulated)

    def _node(self, place: int) -> Any:
        """Return the class of a row, as it runs on its type."""
        node, row = self.facts.classes[int(self.of_class[place])], self.own.get(place)
        if row is None or not row.described or node.coefficients is not None:
            return node
        if row.stages:
            return replace(node, map=None, shuffle=None, reduce=None, stages=row.stages)
        phases = {name: getattr(row, name) or getattr(node, name) for name in ("map", "shuffle", "reduce")}
        return replace(node, stages=(), **phases)

    @cached_property
    def promised(self) -> Work:
        """A, B and C by each class's guaranteed estimate."""
        said = words(self.facts.classes, "guarantee")[self.of_class]
        if "mean" not in self.estimates:
            return promised(self.estimates, said)
        return chosen(self.estimates, said, default_guarantee(self.facts, True))

    @cached_property
    def tasks(self) -> tuple[Floats, Floats]:
        """Concurrent map and reduce tasks of one job; a driver counts as a reduce task."""
        maps, reduces = tasks_at_once(self.jobs)
        return maps, np.where(self.drivers, 1.0, reduces)

    @cached_property
    def staged(self) -> Flags:
        """The rows of classes that consist of stages."""
        found = np.zeros(len(self.of_class), dtype=bool)
        if any_stages(self.facts.classes):
            found = np.array([bool(stages) for stages in stages_of(self.facts.classes)])[self.of_class]
        return found

    @cached_property
    def drivers(self) -> Flags:
        """The rows of classes of stages whose jobs have a driver."""
        said = [column(self.facts.classes, f"driver.{each}")[self.of_class] for each in RESOURCES]
        return np.asarray(self.staged & ~np.isnan(said).all(axis=0))

    @cached_property
    def step(self) -> Floats:
        """The tasks of one executor, of which slots are a multiple; 1 without."""
        tasks = column(self.facts.classes, "container.executor.tasks")[self.of_class]
        return np.where(self.staged & (tasks > 0.0), tasks, 1.0)

    @cached_property
    def per_vm(self) -> tuple[Floats, Floats]:
        """Map and reduce slots of a VM that hosts no other slots; 0 if not given."""
        maps, reduces = (each.n for each in self._hosted)
        return maps, reduces

    @cached_property
    def parts(self) -> tuple[Floats, Floats]:
        """The parts of a VM's cores and memory that one map and one reduce slot takes, (resources, rows)."""
        maps, reduces = (each.parts for each in self._hosted)
        return maps, reduces

    @cached_property
    def allowed(self) -> Flags:
        """Rows of a type that holds each kind of the class's tasks."""
        holds = np.ones(len(self.of_class), dtype=bool)
        for hosted, tasks in zip(self.per_vm, self.tasks, strict=True):
            holds &= (hosted >= 1.0) | (tasks == 0.0)
        return holds

    @cached_property
    def _hosted(self) -> tuple[_Hosted, _Hosted]:
        maps, reduces = (self._hosted_of(kind) for kind in ("map", "reduce"))
        if self.staged.any():
            tasks = self._hosted_of("task")
            whole = self._fitting(f"container.executor.{each}" for each in RESOURCES)
            tasks = tasks.where(whole.n > 0.0, _Hosted(whole.n * self.step, whole.parts / self.step))
            maps, reduces = (each.where(self.staged, tasks) for each in (maps, reduces))
            reduces = reduces.where(self.drivers, self._fitting(f"driver.{each}" for each in RESOURCES))
        return maps, reduces

    def _fitting(self, paths: Iterable[str], otherwise: str = "") -> _Hosted:
        """Count how often the given resources fit a VM, by the scarcer one; 0 if none is given.

        A resource that is not given is that of the block ``otherwise``.
        """
        taken = np.array([column(self.facts.classes, path)[self.of_class] for path in paths])
        if otherwise:
            every = np.array([column(self.facts.classes, f"{otherwise}{each}")[self.of_class] for each in RESOURCES])
            taken = np.where(np.isnan(taken), every, taken)
        there = left_to_containers(self.facts.vms)[:, self.of_vm]
        parts = np.nan_to_num(taken / there)
        with np.errstate(divide="ignore"):
            return _Hosted(floor(np.where(parts.max(axis=0) > 0.0, 1.0 / parts.max(axis=0), 0.0)), parts)

    def _hosted_of(self, kind: str) -> _Hosted:
        classes = self.facts.classes
        said = column(classes, f"slots.{kind}")[self.of_class]
        for place, row in self.own.items():
            number = getattr(row.slots, kind) if row.slots is not None else None
            said[place] = said[place] if number is None else number
        known = ~np.isnan(said)
        slots = _Hosted(said, np.broadcast_to(1.0 / np.where(known, said, 1.0), (len(RESOURCES), len(said))))
        return self._fitting((f"container.{kind}.{each}" for each in RESOURCES), "container.").where(known, slots)


@dataclass(frozen=True)
class _Hosted:
    """Slots of one kind that a VM hosts, and the parts of its resources that one takes."""

    n: Floats
    parts: Floats

    def where(self, rows: Flags, other: _Hosted) -> _Hosted:
        """Return those of another kind in some rows."""
        return _Hosted(np.where(rows, other.n, self.n), np.where(rows, other.parts, self.parts))


Pair = tuple[float, float]

MOST = 0.5
"""Share of lost work above which the first-order expectation does not hold."""


@dataclass(frozen=True)
class Losses:
    """Losses of each row per second of its phases: rates, ages of running tasks [s], NaN if tasks are unknown.

    ``kept_there``: map output stays on the VM until the reduce tasks have fetched it.
    """

    rate: Floats
    map_age: Floats
    reduce_age: Floats
    kept_there: NDArray[np.bool_]

    def lost(self, maps: Floats, reduces: Floats) -> tuple[Floats, Floats]:
        """Compute the parts of map and reduce work that are lost for these phase times [s]."""
        ages = [
            np.where(np.isnan(age), time / 2.0, age) for age, time in ((self.map_age, maps), (self.reduce_age, reduces))
        ]
        output = np.where(self.kept_there, maps / 2.0 + reduces, 0.0)
        found = self.rate * (ages[0] + output), self.rate * ages[1]
        return np.minimum(found[0], 1.0), np.minimum(found[1], 1.0)


def losses_of(rows: Rows, spot: NDArray[np.bool_]) -> Losses:
    """Read the losses from the input data; firm rows have none."""
    facts, jobs = rows.facts, rows.jobs
    rates = np.array([0.0 if vm.spot is None else vm.spot.interruptions for vm in facts.vms])
    age = np.vectorize(seconds_run, otypes=[float])
    maps = age(np.nan_to_num(jobs["map.avg"] / jobs.speed), np.nan_to_num(jobs["map.max"] / jobs.speed))
    maps = np.where(np.isnan(jobs["map.tasks"]), np.nan, maps)
    shuffle, reduce = (
        [np.nan_to_num(jobs[f"{block}.{item}"]) / by for item in ("avg", "max")]
        for block, by in (("shuffle", 1.0), ("reduce", jobs.speed))
    )
    both = shuffle[0] + reduce[0]
    variance = _variance(*shuffle) + _variance(*reduce)
    reduces = np.where(both > 0.0, (both**2 + variance) / np.where(both > 0.0, 2.0 * both, 1.0), 0.0)
    reduces = np.where(np.nan_to_num(jobs["reduce.tasks"]) > 0.0, reduces, 0.0)
    if jobs.stages:
        staged = ~np.isnan(jobs.of_stages("age"))
        maps, reduces = np.where(staged, jobs.of_stages("age") / jobs.speed, maps), np.where(staged, 0.0, reduces)
    unknown = ~np.isnan(jobs["coefficients.A"])
    return Losses(
        np.where(spot, rates[rows.of_vm], 0.0),
        np.where(unknown, np.nan, maps),
        np.where(unknown, np.nan, reduces),
        _kept_there(facts, rows, spot),
    )


def phases(rows: Rows, map_slots: Floats, reduce_slots: Floats) -> tuple[Floats, Floats]:
    """Compute the map and reduce times of one job on its slots [s]; the constant time ends the last phase."""
    work = rows.promised
    with np.errstate(divide="ignore", invalid="ignore"):
        maps = np.where(work.maps > 0.0, work.maps / map_slots, 0.0)
        reduces = np.where(work.reduces > 0.0, work.reduces / reduce_slots, 0.0)
    rest = np.maximum(work.rest, 0.0)
    last = work.reduces > 0.0
    return maps + np.where(last, 0.0, rest), reduces + np.where(last, rest, 0.0)


def fewest_vm_pairs(rows: Rows, place: int, limit: float, whole: bool) -> Iterator[Pair]:
    """Yield the pairs of slots of one job that meet ``limit`` on the fewest VMs without losses."""
    work = rows.promised
    maps, reduces = (
        (float(a[place]), float(tasks[place]), max(float(hosted[place]), 1.0))
        for a, tasks, hosted in zip((work.maps, work.reduces), rows.tasks, rows.per_vm, strict=True)
    )
    (both_maps, both_reduces), most, hosted = zip(maps, reduces, strict=True)
    step = float(rows.step[place])
    if isinstance(work, Exact) and work.rows[place]:
        ends = work.pairs(place, limit, (maps[1], reduces[1]))
        vms = ceiling(ends[0] / step) / max(maps[2] / step, 1.0) + ends[1] / reduces[2]
        for number in np.flatnonzero(vms <= vms.min(initial=np.inf) * (1.0 + FEASIBILITY)).tolist():
            yield float(ceiling(ends[0][number] / step) * step), float(ends[1][number])
        return
    both, most, hosted = (both_maps / step, both_reduces), (most[0] / step, most[1]), (hosted[0] / step, hosted[1])
    most = (float(ceiling(most[0])), most[1]) if whole else most
    for executors, others in fewest_vms(both, limit - float(work.rest[place]), most, hosted, whole):
        yield executors * step, others


def _variance(avg: Floats, longest: Floats) -> Floats:
    beyond = np.maximum(longest - avg, 0.0)
    return np.minimum(beyond * beyond / 3.0, avg * beyond)


def _kept_there(facts: Any, rows: Rows, spot: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the rows that leave map output on the VM that made it, for other tasks to fetch."""
    found = np.zeros(len(spot), dtype=bool)
    if facts.simulation is not None and facts.simulation.shuffle_service == "yes":
        return found
    for index in np.unique(rows.of_class[spot]).tolist():
        found[rows.of_class == index] = _hands_on(facts.classes[index])
    return found


def _hands_on(node: Any) -> bool:
    if node.stages:
        return any(len(stage.after) > 0 for stage in node.stages)
    if node.coefficients is not None:
        return bool(node.coefficients.B > 0.0)
    return node.reduce is not None and node.reduce.tasks > 0


APART = 4.0
"""By how much the losses may differ of a job's slots as if nothing were lost, from those of the plan's."""


def effective(rows: Rows, each: Slots, lost: Slots, by: float = 1.0) -> Slots:
    """Compute the map and reduce slots of one job whose work is not lost, with ``by`` times the loss, at most half."""
    maps, reduces = (
        np.minimum(slots * (1.0 - np.minimum(by * part, MOST)), most)
        for slots, part, most in zip(each, lost, rows.tasks, strict=True)
    )
    return maps, reduces


def late(rows: Rows, losses: Losses, each: Slots, ends: tuple[Floats, Floats], whole: bool) -> Flags:
    """Find the rows that end after their deadline, whichever slots their losses are worked out from.

    Args:
        rows: The rows.
        losses: Their losses.
        each: Map and reduce slots of one job.
        ends: The deadline of each row, and its time limit, which may be tighter [s].
        whole: If slots are whole.

    Returns:
        True for late rows.
    """
    promised_work, (deadlines, limits) = rows.promised, ends

    def ends_late(lost: Slots) -> Flags:
        time = np.maximum(promised_work.time(*effective(rows, each, lost)), promised_work.path)
        return np.asarray(~(time <= deadlines * (1 + FEASIBILITY)) | (lost[0] > MOST) | (lost[1] > MOST))

    found = ends_late(losses.lost(*phases(rows, *each)))
    for place in np.flatnonzero(found & (losses.rate > 0.0)).tolist():
        for pair in fewest_vm_pairs(rows, place, float(limits[place]), whole):
            times = phases(rows, *(np.full(len(found), slots) for slots in pair))
            if not ends_late(losses.lost(*times))[place]:
                found[place] = False
                break
    return found
