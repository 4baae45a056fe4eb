"""Phases, uptime, energy, cost, and the plan that follow from the numbers of tasks per VM.

Tasks of one kind are alike and so are the slots of one VM, so the number of tasks on each VM suffices. Its slots share
them as evenly as whole tasks allow, which is the shortest way (``ceil(tasks / slots)`` waves).

The steps of the heuristics pass on attempts: jobs with their VMs, and ways of placing their tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Termination
from mrdsl.families.energy.cluster import Floats, Ints, JobData, Machines, jobs_of, machines_of
from mrdsl.families.energy.plan import EnergyParts, EnergyPlan, JobUse, Phases, SlotUse, VmUse, total_energy
from mrdsl.formulas.workloads import placement_time, shuffle_time
from mrdsl.spec.spec import Spec


@dataclass(frozen=True)
class Part:
    """Values of one job in a relaxed model with fractional VMs: phases, cost, and number of VMs."""

    clock: Phases
    cost: float
    machines: float


Slots = tuple[tuple[int, ...], ...]
"""The numbers of the tasks on each slot, from 0."""


@dataclass(frozen=True)
class Placed:
    """The map and the reduce tasks on each slot of a VM, of a job whose tasks differ."""

    maps: Slots
    reduces: Slots


@dataclass(frozen=True)
class Share:
    """The VMs of one job, one entry per VM: its type's position, its map tasks and its reduce tasks.

    ``part`` is set for a relaxed plan only, ``placed`` for jobs whose tasks differ.
    """

    types: Ints
    maps: Floats | Ints
    reduces: Floats | Ints
    part: Part | None = None
    placed: tuple[Placed, ...] = ()

    @property
    def relaxed(self) -> bool:
        return self.part is not None

    def used(self) -> Share:
        """Return the share without the VMs that run no task."""
        keep = (self.maps > 0) | (self.reduces > 0)
        placed = tuple(each for each, kept in zip(self.placed, keep, strict=True) if kept) if self.placed else ()
        return Share(self.types[keep], self.maps[keep], self.reduces[keep], self.part, placed)


def share_of(types: Ints, placed: tuple[Placed, ...]) -> Share:
    """Return the share of a job whose tasks differ."""
    counts = [np.array([sum(map(len, slots)) for slots in side], dtype=np.int64) for side in _sides(placed)]
    return Share(types, counts[0], counts[1], placed=placed)


def _sides(placed: tuple[Placed, ...]) -> tuple[list[Slots], list[Slots]]:
    return [each.maps for each in placed], [each.reduces for each in placed]


def waves(tasks: Floats | Ints, slots: Ints, relaxed: bool = False) -> Floats:
    """Return rounds in which ``slots`` run ``tasks``; not rounded up in a relaxed plan."""
    rounds = np.asarray(tasks / slots, dtype=np.float64)
    return rounds if relaxed else np.ceil(rounds)


def phase_times(machines: Machines, job: JobData, share: Share) -> tuple[Floats, Floats, Floats, Floats]:
    """Placement, map, shuffle and reduce time of every VM of the share, s."""
    maps, reduces, types = share.maps, share.reduces, share.types
    placement = placement_time(np.asarray(maps, dtype=np.float64), job.place, 1.0)
    shuffle = np.asarray(shuffle_time(maps, reduces, job.send, 1.0, job.fetch, 1.0), dtype=np.float64)
    if share.placed:
        each, sides = job.each(), _sides(share.placed)
        busy = [
            np.array(
                [
                    max((float(time[list(slot), k].sum()) for slot in slots), default=0.0)
                    for slots, k in zip(side, types, strict=True)
                ]
            )
            for side, time in zip(sides, (each.map_time, each.reduce_time), strict=True)
        ]
        return placement, busy[0], shuffle, busy[1]
    return (
        placement,
        _busy(waves(maps, machines.map_slots[types], share.relaxed), job.map_time[types]),
        shuffle,
        _busy(waves(reduces, machines.reduce_slots[types], share.relaxed), job.reduce_time[types]),
    )


def _busy(rounds: Floats, time: Floats) -> Floats:
    """Multiply rounds by their length; 0 without rounds, also if the task cannot run."""
    return np.where(rounds > 0, rounds * np.where(rounds > 0, time, 0.0), 0.0)


def task_energy(job: JobData, share: Share) -> float:
    """Return the first two sums of (1), J."""
    if share.placed:
        each = job.each()
        return float(
            sum(
                energy[list(slot), k].sum()
                for side, energy in zip(_sides(share.placed), (each.map_energy, each.reduce_energy), strict=True)
                for slots, k in zip(side, share.types, strict=True)
                for slot in slots
            )
        )
    maps, reduces = share.maps > 0, share.reduces > 0
    return float(
        share.maps[maps] @ job.map_energy[share.types[maps]]
        + share.reduces[reduces] @ job.reduce_energy[share.types[reduces]]
    )


def phases_of(machines: Machines, job: JobData, share: Share) -> Phases:
    """Return the four phases of (4): each ends when its last VM does."""
    if share.part is not None:
        return share.part.clock
    return Phases(*(float(times.max(initial=0.0)) for times in phase_times(machines, job, share)))


def cost_of(machines: Machines, share: Share, uptime: float) -> float:
    """Eq. (9): every VM taken is paid from the start to the end of its job."""
    if share.part is not None:
        return share.part.cost
    return float(machines.price[share.types].sum() * uptime)


def job_use(machines: Machines, job: JobData, share: Share) -> JobUse:
    """Return one job's energy, phases, uptime and cost under an assignment."""
    share = share.used()
    phases = phases_of(machines, job, share)
    tasks = task_energy(job, share)
    energy = EnergyParts(
        tasks, job.placement_energy, job.shuffle_energy, tasks + job.placement_energy + job.shuffle_energy
    )
    uptime = phases.total
    return JobUse(energy, phases, uptime, cost_of(machines, share, uptime), _finite(job.deadline), _finite(job.budget))


def plan_of(spec: Spec, shares: Sequence[Share], last_end: float | None = None) -> EnergyPlan:
    """Return the plan in which job ``j`` takes ``shares[j]``; VMs are numbered within their type, job by job.

    ``last_end`` is the uptime of a relaxed plan if that is not the longest of its jobs'.
    """
    machines, jobs = machines_of(spec.facts), jobs_of(spec.facts)
    taken = [0] * len(machines)
    vms: list[VmUse] = []
    uses: dict[str, JobUse] = {}
    for job, share in zip(jobs, shares, strict=True):
        kept = share.used()
        uses[job.name] = job_use(machines, job, kept)
        _, map_busy, _, reduce_busy = phase_times(machines, job, kept)
        for i in np.argsort(kept.types, kind="stable"):
            kind = int(kept.types[i])
            taken[kind] += 1
            vms.append(_vm_use(machines, kind, taken[kind], job.name, kept, int(i), map_busy, reduce_busy))
    last = max(uses.values(), key=lambda use: use.uptime)
    return EnergyPlan(
        vms=tuple(vms),
        energy=total_energy([use.energy for use in uses.values()]),
        phases=last.phases,
        uptime=last.uptime if last_end is None else last_end,
        cost=sum(use.cost for use in uses.values()),
        jobs=uses,
        machines=sum(
            share.part.machines if share.part is not None else float(len(share.used().types)) for share in shares
        ),
        relaxed=any(share.relaxed for share in shares),
    )


def _vm_use(
    machines: Machines, kind: int, index: int, job: str, share: Share, i: int, map_busy: Floats, reduce_busy: Floats
) -> VmUse:
    map_slots, reduce_slots = int(machines.map_slots[kind]), int(machines.reduce_slots[kind])
    maps, reduces = share.maps[i].item(), share.reduces[i].item()
    per_map = _spread(maps, map_slots, share.relaxed)
    per_reduce = _spread(reduces, reduce_slots, share.relaxed)
    width = max(map_slots, reduce_slots)
    if share.placed:
        both = [[*side, *[()] * (width - len(side))] for side in (share.placed[i].maps, share.placed[i].reduces)]
        numbered = [[tuple(task + 1 for task in tasks) for tasks in side] for side in both]
        slots = tuple(SlotUse(len(m), len(r), m, r) for m, r in zip(*numbered, strict=True))
        return VmUse(machines.names[kind], index, job, maps, reduces, slots, float(map_busy[i]), float(reduce_busy[i]))
    slots = tuple(
        SlotUse(m, r)
        for m, r in zip(per_map + [0] * (width - map_slots), per_reduce + [0] * (width - reduce_slots), strict=True)
    )
    return VmUse(machines.names[kind], index, job, maps, reduces, slots, float(map_busy[i]), float(reduce_busy[i]))


def _spread(tasks: float, slots: int, relaxed: bool) -> list[Any]:
    """Tasks per slot, the fuller slots first."""
    if relaxed:
        return [tasks / slots] * slots
    each, more = divmod(int(tasks), slots)
    return [each + 1] * more + [each] * (slots - more)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


@dataclass(frozen=True)
class Attempt:
    """One way of placing a job's tasks, in its present state between steps.

    ``room`` is the time left for the map and the reduce phase together, s; ``map_room`` and ``reduce_room`` bound each
    phase separately. ``map_order`` and ``reduce_order`` are VM numbers, the preferred first; ``maps`` and ``reduces``
    are tasks per VM, None until a step has placed them.
    """

    room: float = inf
    map_room: float = inf
    reduce_room: float = inf
    map_order: Ints | None = None
    reduce_order: Ints | None = None
    maps: Ints | None = None
    reduces: Ints | None = None
    single: tuple[Placed, ...] = ()

    @property
    def placed(self) -> bool:
        return self.maps is not None and self.reduces is not None


@dataclass(frozen=True)
class DealtJob:
    """One job: its data, the type of every VM dealt to it, the attempts, and the chosen one."""

    job: JobData
    types: Ints
    attempts: tuple[Attempt, ...] = (Attempt(),)
    kept: Attempt | None = None

    def share(self, attempt: Attempt) -> Share:
        """Return the attempt's tasks per VM."""
        assert attempt.maps is not None
        assert attempt.reduces is not None
        return Share(self.types, attempt.maps, attempt.reduces, placed=attempt.single)


@dataclass(frozen=True)
class Dealt:
    """The state between steps."""

    machines: Machines
    jobs: tuple[DealtJob, ...]


def each_job(draft: Draft, change: Callable[[Machines, DealtJob], DealtJob]) -> Draft:
    """Return the draft with every job's work changed."""
    dealt: Dealt = draft.state
    return replace(draft, state=replace(dealt, jobs=tuple(change(dealt.machines, own) for own in dealt.jobs)))


def each_attempt(draft: Draft, change: Callable[[Machines, DealtJob, Attempt], Iterable[Attempt]]) -> Draft:
    """Return the draft with every attempt replaced by those that ``change`` makes of it.

    Once the time limit has passed, one attempt of a job is changed, the others are left out: it ends as TIME_LIMIT.
    """
    left_out = False

    def changed(machines: Machines, own: DealtJob) -> DealtJob:
        nonlocal left_out
        made: list[Attempt] = []
        for position, attempt in enumerate(own.attempts):
            if position and draft.is_late():
                left_out = True
                break
            made.extend(change(machines, own, attempt))
        return replace(own, attempts=tuple(made))

    draft = each_job(draft, changed)
    return replace(draft, termination=Termination.TIME_LIMIT) if left_out else draft


def per_vm(values: Floats, own: DealtJob) -> Floats:
    """Return a figure of VM types as one of VMs."""
    return values[own.types]
