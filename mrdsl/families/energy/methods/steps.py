"""Shared steps of the energy heuristics: split the deadline, order machines, fill slots, choose the best, report.

A heuristic works on *attempts*: each step turns every attempt into one or several others, and ``keep_best`` picks one.
The algorithms have loops over the share of the deadline for transfers, and over the weight of energy against cost. So
these loops are data, and each step exists once. Source: Nabavinejad et al., sections 5 and 6.

Tasks of one kind are alike, so an attempt holds numbers of tasks per VM. If the spec has several jobs,
``deal_machines`` divides the stock among them first, and each job is planned on its part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import Diagnostic, note, one_error, warning
from mrdsl.core.rounding import ROUNDING, floor
from mrdsl.families.energy.assignment import (
    Attempt,
    Dealt,
    DealtJob,
    Placed,
    Slots,
    each_attempt,
    each_job,
    job_use,
    per_vm,
    plan_of,
    share_of,
)
from mrdsl.families.energy.cluster import Floats, Ints, JobData, Machines, jobs_of, machines_of, only_alike
from mrdsl.families.energy.plan import JobUse
from mrdsl.families.energy.verify import measure, verify
from mrdsl.spec.spec import Spec


def only_energy(spec: Spec) -> None:
    """Raise MrdslError ``unable-solver`` if the spec minimizes anything other than energy."""
    goal = spec.goal
    if goal is not None and goal.quantity != "energy":
        message = f"the methods of the energy family minimize energy, not {goal.quantity}"
        raise one_error("unable-solver", message, goal.span, "pass `--solver highs`, or another MILP solver")


NO_SLOTS = 1e-9
"""In place of no slots yet, so that a job without any comes first."""


def deal_machines(draft: Draft) -> Draft:
    """Start the work: every VM goes to one job, each time to the job with the most work per slot so far."""
    only_energy(draft.spec)
    machines, jobs = machines_of(draft.spec.facts), jobs_of(draft.spec.facts)
    stock = np.repeat(np.arange(len(machines)), machines.available)
    if len(jobs) == 1:
        return replace(draft, state=Dealt(machines, (DealtJob(jobs[0], stock),)))
    dealt: list[list[int]] = [[] for _ in jobs]
    slots = [0.0] * len(jobs)
    demand = [_demand(job) for job in jobs]
    for kind in sorted(stock.tolist(), key=lambda k: (-int(machines.map_slots[k]), k)):
        able = [j for j, job in enumerate(jobs) if np.isfinite(min(job.map_time[kind], job.reduce_time[kind]))]
        if able:
            taker = max(able, key=lambda j: (demand[j] / (slots[j] + NO_SLOTS if slots[j] else NO_SLOTS), -j))
            dealt[taker].append(kind)
            slots[taker] += float(machines.map_slots[kind])
    works = tuple(DealtJob(job, np.array(sorted(own), dtype=np.int64)) for job, own in zip(jobs, dealt, strict=True))
    return replace(draft, state=Dealt(machines, works))


def _demand(job: JobData) -> float:
    """Return the number of slots that the job would use until its deadline, on its fastest type."""
    work = job.map_tasks * float(job.map_time.min()) + (
        job.reduce_tasks * float(job.reduce_time.min()) if job.reduce_tasks else 0.0
    )
    return work / job.deadline if np.isfinite(job.deadline) else work


def split_deadline(draft: Draft, parts: int = 10) -> Draft:
    """Reserve 1, 2, ... of ``parts`` equal shares of the deadline for transfers (line 1 of Algorithms 1 and 2).

    Without a deadline there is one attempt with unlimited time.
    """

    def split(_: Machines, own: DealtJob, attempt: Attempt) -> Sequence[Attempt]:
        if not np.isfinite(own.job.deadline):
            return [attempt]
        return [replace(attempt, room=own.job.deadline * (1 - i / parts)) for i in range(1, parts + 1)]

    return each_attempt(draft, split)


def machine_energy(machines: Machines, own: DealtJob) -> tuple[Floats, Floats]:
    """(12): the energy in which each VM would run all map tasks, and all reduce tasks; infinite where it cannot."""
    job = own.job
    return per_vm(job.map_energy * job.map_tasks, own), per_vm(job.reduce_energy * max(job.reduce_tasks, 1), own)


def machine_cost(machines: Machines, own: DealtJob) -> tuple[Floats, Floats]:
    """(13): what each VM would cost per slot if it ran all map tasks, and all reduce tasks."""
    job = own.job
    return (
        per_vm(job.map_time * job.map_tasks * machines.price / machines.map_slots, own),
        per_vm(job.reduce_time * max(job.reduce_tasks, 1) * machines.price / machines.reduce_slots, own),
    )


def least_power(machines: Machines, own: DealtJob) -> tuple[Floats, Floats]:
    """Energy per unit time of a slot, as EMRSA-I ranks slots: the least over the tasks."""
    maps, reduces = (np.where(power == power, power, inf).min(axis=0, initial=inf) for power in _powers(own.job))
    return per_vm(maps, own), per_vm(reduces, own)


def mean_power(machines: Machines, own: DealtJob) -> tuple[Floats, Floats]:
    """Energy per unit time of a slot, as EMRSA-II ranks slots: the mean over the tasks that can run on it."""
    found = []
    for power in _powers(own.job):
        able = power == power
        count = able.sum(axis=0)
        found.append(np.where(count > 0, np.where(able, power, 0.0).sum(axis=0) / np.maximum(count, 1), inf))
    return per_vm(found[0], own), per_vm(found[1], own)


def _powers(job: JobData) -> tuple[Floats, Floats]:
    """Energy per unit time of each map and each reduce task, (tasks, types); NaN where it cannot run."""
    if job.single is None:
        each = [(job.map_energy[None], job.map_time[None]), (job.reduce_energy[None], job.reduce_time[None])]
    else:
        each = [(job.single.map_energy, job.single.map_time), (job.single.reduce_energy, job.single.reduce_time)]
    with np.errstate(invalid="ignore"):
        return each[0][0] / each[0][1], each[1][0] / each[1][1]


def machine_time(machines: Machines, own: DealtJob) -> tuple[Floats, Floats]:
    """Return the time of one map task and of one reduce task on each VM [s]."""
    return per_vm(own.job.map_time, own), per_vm(own.job.reduce_time, own)


MEASURES = {
    "energy": machine_energy,
    "cost": machine_cost,
    "power": least_power,
    "mean_power": mean_power,
    "time": machine_time,
}


def ordered(values: Floats) -> Ints:
    """VM numbers by rising value, ties in spec order, without those whose value is not finite."""
    order = np.argsort(values, kind="stable")
    return order[np.isfinite(values[order])].astype(np.int64)


def order_machines(draft: Draft, by: str = "energy") -> Draft:
    """Sort the VMs for map and for reduce tasks by ``energy`` (12), ``cost`` (13), ``power`` or ``time``.

    EMRSA-I ranks slots by the least energy per unit time over the tasks (``power``), EMRSA-II by the mean
    (``mean_power``). Of tasks that are alike both are the same figure.
    """

    def sort(machines: Machines, own: DealtJob, attempt: Attempt) -> Sequence[Attempt]:
        maps, reduces = MEASURES[by](machines, own)
        return [replace(attempt, map_order=ordered(maps), reduce_order=ordered(reduces))]

    return each_attempt(draft, sort)


def order_by_value(draft: Draft, steps: int = 100) -> Draft:
    """Lines 2-7 of Algorithm 2: VMs by ``alpha * energy + (1 - alpha) * cost``, each over its largest, for every alpha.

    ``alpha`` runs from 0 to 1 in ``steps`` steps; values of it that give the same orders are tried once.
    """

    def sort(machines: Machines, own: DealtJob, attempt: Attempt) -> Sequence[Attempt]:
        energy, cost = machine_energy(machines, own), machine_cost(machines, own)
        attempts: dict[bytes, Attempt] = {}
        for step in range(steps + 1):
            alpha = step / steps
            orders = [ordered(_weighed(alpha, e, c)) for e, c in zip(energy, cost, strict=True)]
            key = orders[0].tobytes() + b"|" + orders[1].tobytes()
            attempts.setdefault(key, replace(attempt, map_order=orders[0], reduce_order=orders[1]))
        return tuple(attempts.values())

    return each_attempt(draft, sort)


def _weighed(alpha: float, energy: Floats, cost: Floats) -> Floats:
    """Compute lines 5 and 6 of Algorithm 2; infinite if a task cannot run."""
    able = np.isfinite(energy)
    value = np.full(len(energy), inf)
    value[able] = alpha * scaled(energy)[able] + (1 - alpha) * scaled(cost)[able]
    return value


def scaled(values: Floats) -> Floats:
    """Values over the largest finite one."""
    largest = float(np.max(values[np.isfinite(values)], initial=0.0))
    return values / largest if largest > 0 else values


def fill_slots(draft: Draft, deadline: bool = True) -> Draft:
    """Assign each task to the first VM in order whose least busy slot still has room (lines 6-14 of Algorithm 1).

    Room is the attempt's time for both phases: the slot's time, the task's and the other phase's length so far must not
    exceed it. A VM without room is not tried again. The paper does not define the order of map and reduce tasks. Here
    they alternate in proportion to their numbers: map tasks first would fill the whole time and leave none for the
    reduce phase. ``deadline = false`` has no limit (EM). Attempts that fail are dropped.
    """

    dealt: Dealt = draft.state
    only_alike(tuple(own.job for own in dealt.jobs), draft.spec.facts, "this method")

    def fill(machines: Machines, own: DealtJob, attempt: Attempt) -> Sequence[Attempt]:
        filled = _fill(machines, own, attempt, attempt.room if deadline else inf)
        return [] if filled is None else [filled]

    return each_attempt(draft, fill)


@dataclass
class _Queue:
    """The VMs of one kind of task in order, filled one after another."""

    order: list[int]
    slots: list[int]
    time: list[float]
    counts: list[int]
    longest: float = 0.0
    at: int = 0

    def place(self, room: float) -> bool:
        """Place one task on the first VM with room for it; return False if there is none."""
        while self.at < len(self.order):
            vm = self.order[self.at]
            end = (self.counts[vm] // self.slots[vm] + 1) * self.time[vm]
            if end <= room:
                self.counts[vm] += 1
                self.longest = max(self.longest, end)
                return True
            self.at += 1
        return False


def _fill(machines: Machines, own: DealtJob, attempt: Attempt, room: float) -> Attempt | None:
    job, count = own.job, len(own.types)
    assert attempt.map_order is not None
    assert attempt.reduce_order is not None
    maps = _Queue(
        attempt.map_order.tolist(),
        machines.map_slots[own.types].tolist(),
        job.map_time[own.types].tolist(),
        [0] * count,
    )
    reduces = _Queue(
        attempt.reduce_order.tolist(),
        machines.reduce_slots[own.types].tolist(),
        job.reduce_time[own.types].tolist(),
        [0] * count,
    )
    room = room * (1 + ROUNDING)
    placed_maps = placed_reduces = 0
    while placed_maps < job.map_tasks or placed_reduces < job.reduce_tasks:
        if placed_maps * job.reduce_tasks <= placed_reduces * job.map_tasks and placed_maps < job.map_tasks:
            done, placed_maps = maps.place(room - reduces.longest), placed_maps + 1
        else:
            done, placed_reduces = reduces.place(room - maps.longest), placed_reduces + 1
        if not done:
            return None
    return replace(attempt, maps=np.array(maps.counts), reduces=np.array(reduces.counts))


def split_phases(draft: Draft, transfers: bool = False) -> Draft:
    """EMRSA: the deadline is shared by the map and the reduce phase as the least times of their tasks are.

    EMRSA knows no transfers and gives the phases all the time there is; EMRSAPS (``transfers``) shares what
    ``split_deadline`` left of it.
    """

    def split(machines: Machines, own: DealtJob, attempt: Attempt) -> Sequence[Attempt]:
        job = own.job
        room = attempt.room if transfers else job.deadline
        maps = _least(job.map_tasks, job.map_time, None if job.single is None else job.single.map_time, own)
        reduces = _least(job.reduce_tasks, job.reduce_time, None if job.single is None else job.single.reduce_time, own)
        part = maps / (maps + reduces) if np.isfinite(maps + reduces) else 0.5
        return [replace(attempt, map_room=part * room, reduce_room=(1 - part) * room)]

    return each_attempt(draft, split)


def _least(tasks: int, alike: Floats, single: Floats | None, own: DealtJob) -> float:
    """The least times of all tasks of a kind, each on its quickest VM [s]."""
    if not tasks:
        return 0.0
    if single is None:
        return tasks * float(per_vm(alike, own).min(initial=inf))
    return float(single[:, own.types].min(axis=1, initial=inf).sum())


def pack_slots(draft: Draft) -> Draft:
    """EMRSA: slot by slot in order, each takes the longest tasks that its phase's share of the deadline holds.

    Alike tasks make this a whole number of waves per VM. Attempts that leave a task over are dropped.
    """

    def single(machines: Machines, own: DealtJob, attempt: Attempt) -> Sequence[Attempt]:
        each = own.job.each()
        assert attempt.map_order is not None
        assert attempt.reduce_order is not None
        maps = _pack_single(
            each.map_time[:, own.types], attempt.map_order, machines.map_slots[own.types], attempt.map_room
        )
        reduces = _pack_single(
            each.reduce_time[:, own.types], attempt.reduce_order, machines.reduce_slots[own.types], attempt.reduce_room
        )
        if maps is None or reduces is None:
            return []
        placed = tuple(Placed(*slots) for slots in zip(maps, reduces, strict=True))
        share = share_of(own.types, placed)
        counts = share.maps.astype(np.int64), share.reduces.astype(np.int64)
        return [replace(attempt, maps=counts[0], reduces=counts[1], single=placed)]

    def pack(machines: Machines, own: DealtJob, attempt: Attempt) -> Sequence[Attempt]:
        job = own.job
        if job.single is not None:
            return single(machines, own, attempt)
        assert attempt.map_order is not None
        assert attempt.reduce_order is not None
        maps = _pack(
            job.map_tasks, attempt.map_order, machines.map_slots[own.types], job.map_time[own.types], attempt.map_room
        )
        reduces = _pack(
            job.reduce_tasks,
            attempt.reduce_order,
            machines.reduce_slots[own.types],
            job.reduce_time[own.types],
            attempt.reduce_room,
        )
        return [] if maps is None or reduces is None else [replace(attempt, maps=maps, reduces=reduces)]

    return each_attempt(draft, pack)


def _pack(tasks: int, order: Ints, slots: Ints, time: Floats, room: float) -> Ints | None:
    counts = np.zeros(len(slots), dtype=np.int64)
    for vm in order:
        if tasks == 0:
            break
        rounds = tasks if not np.isfinite(room) else int(floor(room / float(time[vm])))
        counts[vm] = min(tasks, int(slots[vm]) * rounds)
        tasks -= int(counts[vm])
    return counts if tasks == 0 else None


def _pack_single(times: Floats, order: Ints, slots: Ints, room: float) -> list[Slots] | None:
    """The tasks on the slots of each VM, the longest that still fit first; None if a task is left over."""
    found: list[Slots] = [()] * len(slots)
    left = set(range(len(times)))
    for vm in order.tolist():
        for _ in range(int(slots[vm])):
            free, taken = room * (1 + ROUNDING), []
            for task in sorted(left, key=lambda task: (-times[task, vm], task)):
                if times[task, vm] <= free:
                    free -= float(times[task, vm])
                    taken.append(task)
            left.difference_update(taken)
            found[vm] = (*found[vm], tuple(taken))
    return None if left else found


def keep_best(draft: Draft, least: str = "energy", deadline: bool = True, budget: bool = True) -> Draft:
    """Choose the attempt with the least ``energy`` or ``uptime`` that meets the constraints (lines 23-25).

    ``deadline`` and ``budget`` select the constraints that the algorithm considers.
    """

    def keep(machines: Machines, own: DealtJob) -> DealtJob:
        best, lowest = None, inf
        for attempt in own.attempts:
            if not attempt.placed:
                continue
            use = job_use(machines, own.job, own.share(attempt))
            value = use.energy.total if least == "energy" else use.uptime
            if value < lowest and keeps(own.job, use, deadline, budget):
                best, lowest = attempt, value
        return replace(own, kept=best)

    return each_job(draft, keep)


def keeps(job: JobData, use: JobUse, deadline: bool = True, budget: bool = True) -> bool:
    """Return True if a job's deadline and budget hold, those that are asked for."""
    return not (deadline and use.uptime > job.deadline * (1 + ROUNDING)) and not (
        budget and use.cost > job.budget * (1 + ROUNDING)
    )


def report(draft: Draft) -> Draft:
    """Return the plan if every job has one that passes the check; otherwise the reason why there is none."""
    dealt: Dealt = draft.state
    lost = [own.job.name for own in dealt.jobs if own.kept is None]
    if lost:
        return replace(draft, plan=None, diagnostics=(*draft.diagnostics, *(_no_placement(name) for name in lost)))
    plan = plan_of(draft.spec, [own.share(own.kept) for own in dealt.jobs if own.kept is not None])
    broken = verify(draft.spec, plan)
    if broken:
        said = tuple(
            warning(
                "no-plan-found",
                f"the plan of this method breaks a promise: {diagnostic.message}",
                diagnostic.span,
                "another method looks at this promise: leave out `solve with`, or take --solver auto",
            )
            for diagnostic in broken
        )
        return replace(draft, plan=None, diagnostics=(*draft.diagnostics, *said))
    return replace(draft, plan=plan, value=measure(draft.spec, plan))


def _no_placement(name: str) -> Diagnostic:
    return note(
        "no-plan-found",
        f"this method found no plan that meets the deadline and budget of job {name}; another method may find one",
        None,
        "pass `--solver auto`, which proves whether a plan exists",
    )
