"""Arrays of a joint spec: need, expected demand and worth per VM of each class and service.

Classes come first, then services, both in spec order; together they are the *units*, indexed by u. Arrays over time
have the shape (periods, units).

Demand is the same all day, a typical day, or the columns of a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mrdsl.core import lazy
from mrdsl.core.diagnostics import one_error
from mrdsl.core.rounding import ROUNDING, ceiling, floor
from mrdsl.families.joint.facts import SLOTS, wholeness_of
from mrdsl.families.joint.quantities import response_limits
from mrdsl.formulas import workloads
from mrdsl.formulas.estimates import (
    SlotLimits,
    estimates_of,
    guaranteed,
    kept,
    slot_limits,
    slots_per_job,
    slots_per_vm,
    stage_counts,
)
from mrdsl.formulas.mapreduce import Coefficients
from mrdsl.formulas.own_times import PAPER, Model
from mrdsl.formulas.whole_slots import settled, whole_slots
from mrdsl.formulas.workloads import typical_demand
from mrdsl.simulation.sampling import stream
from mrdsl.simulation.simulated_means import time_model
from mrdsl.spec.blocks import Stage, dags_of
from mrdsl.spec.columns import column, names_of, words

if TYPE_CHECKING:
    from mrdsl.core.diagnostics import Diagnostic
    from mrdsl.families.joint.facts import Cluster, JobClass, JointFacts, Service
    from mrdsl.spec.spec import Constraint, Spec


Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def expected_demand(spec: Spec) -> tuple[Floats, Floats]:
    """Return the least and the expected demand of a checked spec, each of the shape (periods, classes + services).

    ``floor`` of the demand block is the least part of the expected demand. Without it, that is the ratio of the ends of
    ``jobs`` and ``rate`` (all of it without these).
    """
    return lazy.kept(spec, "expected_demand", lambda: _expected_demand(spec))


def _expected_demand(spec: Spec) -> tuple[Floats, Floats]:
    facts: JointFacts = spec.facts
    low = np.concatenate([column(facts.classes, "jobs.low"), column(facts.services, "rate.low")])
    high = np.concatenate([column(facts.classes, "jobs.high"), column(facts.services, "rate.high")])
    demand = facts.demand
    if demand is None:
        return low[None, :], high[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        written = np.where(high > 0, low / high, 1.0)
    share = demand.floor if demand.floor is not None else np.where(np.isnan(written), 1.0, written)
    shifts = np.concatenate([column(facts.classes, "shift"), column(facts.services, "shift")])
    if demand.from_ is not None:
        table, _ = read_table(spec)
        expected = _shifted(table, np.rint(shifts / facts.cluster.period).astype(int))
    elif demand.day == "bimodal":
        draw = stream(spec.seed or 0, "bimodal day")
        units = [
            *(f"class {each.name}" for each in facts.classes),
            *(f"service {each.name}" for each in facts.services),
        ]
        expected = high * typical_demand(draw, units, shifts, demand.periods, facts.cluster.period, demand.noise)
    else:
        expected = np.tile(high, (demand.periods, 1))
    return expected * share, expected


def read_table(spec: Spec) -> tuple[Floats, tuple[Diagnostic, ...]]:
    """Return the demand table as (periods, classes + services), and its errors."""
    from mrdsl.exchange.demand import Wanted, read_demand, unscaled_columns

    facts: JointFacts = spec.facts
    assert facts.demand is not None
    assert facts.demand.from_ is not None
    source, shown = facts.demand.from_, _beside(spec.file, facts.demand.from_.written)
    wanted = [Wanted("class", one.name, one.span) for one in facts.classes]
    wanted += [Wanted("service", one.name, one.span) for one in facts.services]
    table, told = read_demand(source, wanted, facts.demand.periods, facts.demand.span_of("periods"), shown)
    return table, (*told, *unscaled_columns(source, wanted, spec.given, shown))


def _beside(spec_file: str, written: str) -> str:
    """Return a file's name as messages show it: relative to the folder of the spec's name."""
    return str(Path(spec_file).parent / written)


def _shifted(table: Floats, steps: NDArray[np.int_]) -> Floats:
    """Move every column cyclically: values ``steps`` periods later appear that much earlier."""
    rows = (np.arange(len(table))[:, None] + steps) % len(table)
    return np.take_along_axis(table, rows, axis=0)


@dataclass(frozen=True)
class Execution:
    """The classes' execution times ``A h / s_M + B h / s_R + C`` and the slots per VM; arrays over classes.

    ``exact`` has them by the guaranteed estimate, and ``work`` an equal requirement for the deadlines. ``reuse`` is Xi,
    how often in a period a VM takes new jobs. ``limits`` are the slots of one job between which the estimates hold.
    ``stages`` counts those of each class, ``dags`` has them. ``whole_slots`` is true if each job has whole slots.
    ``never`` marks classes whose jobs are all rejected.
    """

    exact: Coefficients
    work: Coefficients
    map_slots: Floats
    reduce_slots: Floats
    deadline: Floats
    reuse: Floats
    limits: SlotLimits
    stages: NDArray[np.int64]
    dags: Mapping[str, tuple[Stage, ...]]
    whole_slots: bool
    never: NDArray[np.bool_]
    others: tuple[Execution, ...] = ()
    """The same classes with other numbers of rounds, each with the latest deadline that leaves time for them."""

    @property
    def every(self) -> tuple[Execution, ...]:
        """This one and the others."""
        return self, *self.others

    @cached_property
    def rounds(self) -> tuple[Floats, Floats]:
        """Rounds in a period and VMs of one job, infinite if there is no such number, (numbers, classes)."""
        return np.stack([each.reuse for each in self.every]), np.stack([each.vms_per_job for each in self.every])

    @property
    def A(self) -> Floats:  # noqa: N802
        """A of the requirement [s]."""
        return self.work.map_work

    @property
    def B(self) -> Floats:  # noqa: N802
        """B of the requirement [s]."""
        return self.work.reduce_work

    @property
    def C(self) -> Floats:  # noqa: N802
        """C of the requirement [s]."""
        return self.work.constant

    @cached_property
    def slack(self) -> Floats:
        """Time that the deadline leaves to the phases [s]; 1 for classes whose jobs are all rejected."""
        return np.where(self.never, 1.0, self.deadline - self.work.constant)

    @cached_property
    def slots_per_job(self) -> tuple[Floats, Floats]:
        """Map and reduce slots of each concurrent job: Theorem 3.1 (23), (24) with h = 1, within the limits.

        Whole numbers if slots are whole, the pair on the fewest VMs; 0 for classes whose jobs are all rejected.
        """
        work, per_vm = self.work, (self.map_slots, self.reduce_slots)
        slots = slots_per_job(work, self.deadline, *per_vm, self.limits)
        if self.whole_slots:
            slots = whole_slots(work, self.deadline, per_vm, self.limits, slots)
        return np.where(self.never, 0.0, slots[0]), np.where(self.never, 0.0, slots[1])

    @cached_property
    def vms_per_job(self) -> Floats:
        """gamma, VMs that one job at a time holds: (50), (51); 1 of classes whose jobs are all rejected."""
        map_slots, reduce_slots = self.slots_per_job
        return np.where(self.never, 1.0, map_slots / self.map_slots + reduce_slots / self.reduce_slots)


@dataclass(frozen=True)
class Queues:
    """The services' queues: service rate of a VM [1/s], network delay and bound on the response [s].

    ``never``: services whose requests are all rejected.
    """

    service_rate: Floats
    delay: Floats
    response: Floats
    never: NDArray[np.bool_]

    @cached_property
    def sojourn(self) -> Floats:
        """G, how long a request may stay on its VM [s]; 1 of services whose requests are all rejected."""
        return np.where(self.never, 1.0, self.response - self.delay)

    @cached_property
    def rate_per_vm(self) -> Floats:
        """The rate that one VM may take within the response bound: ``mu - 1 / G = -F / G``, (49); 1 if ``never``."""
        rate = workloads.rate_per_vm(self.service_rate, self.delay, self.response)
        return np.where(self.never, 1.0, rate)

    def mean_response(self, rate: Floats, vms: Floats) -> Floats:
        """Compute the mean response at ``rate`` on ``vms`` VMs [s], equation (2); NaN without a VM."""
        return workloads.mean_response(self.service_rate, rate, vms, self.delay)


@dataclass(frozen=True)
class Workload:
    """A joint spec as arrays.

    ``low``, ``high`` (periods, units): jobs per period or requests per second, at least and at most. ``lost``: those
    expected beyond the most, of units whose constraint no VMs meet and whose least demand is 0. ``vms_per_demand``
    (units): VMs for one job per period, gamma / Xi (48), or for one request per second, -G / F (49). ``penalty``
    (units): money per rejected job, or per period and rejected request per second. ``vm_cost``: money per VM and
    period. ``size``: the cluster's VMs. ``share``: the classes' part of a partitioned cluster, None if all share it.
    ``whole``: classes have whole concurrent jobs, ``ceil(h / Xi)`` with whole rounds Xi; otherwise the share ``h /
    Xi``. A relaxation of the VMs relaxes the concurrent jobs too.
    """

    class_names: Sequence[str]
    service_names: Sequence[str]
    low: Floats
    high: Floats
    lost: Floats
    vms_per_demand: Floats
    penalty: Floats
    vm_cost: float
    size: int
    share: float | None
    execution: Execution
    queues: Queues
    whole: bool = False

    @property
    def classes(self) -> int:
        """Number of units that are classes; the rest are services."""
        return len(self.class_names)

    @property
    def periods(self) -> int:
        return int(self.low.shape[0])

    @property
    def names(self) -> list[str]:
        return [*self.class_names, *self.service_names]

    @cached_property
    def worth(self) -> Floats:
        """p-bar: the penalty that a VM avoids in one period, (Theorem 3.3)."""
        return self.penalty / self.vms_per_demand

    @cached_property
    def most_worth(self) -> Floats:
        """Most penalty that any VM of each unit can avoid: p-bar, or that of the best step for whole jobs."""
        if not self.whole:
            return self.worth
        reuse, gamma = self.execution.rounds
        jobs_per_vm = np.where(gamma >= 1.0, 1.0 / np.maximum(floor(gamma), 1.0), ceiling(1.0 / gamma))
        best = self.penalty[: self.classes] * (reuse * jobs_per_vm).max(axis=0)
        return np.concatenate([best, self.worth[self.classes :]])

    @cached_property
    def need_low(self) -> Floats:
        """VMs for the least demand, unrounded and with fractional concurrent jobs: (58), (60)."""
        return self.low * self.vms_per_demand

    @cached_property
    def need_high(self) -> Floats:
        """VMs for all expected demand, unrounded and with fractional concurrent jobs: (59), (61)."""
        return self.high * self.vms_per_demand

    def jobs_at_once(self, jobs: Floats, relax: bool) -> Floats:
        """Return jobs of every class that run at the same time, for ``jobs`` (..., classes) in a period."""
        return self.allotted(jobs, relax)[0]

    def allotted(self, jobs: Floats, relax: bool) -> tuple[Floats, Floats, Floats, Floats]:
        """Return concurrent jobs, map and reduce slots of one, and VMs of all, (..., classes): on the fewest VMs."""
        reuse, gamma = (each.reshape(len(each), *[1] * (jobs.ndim - 1), -1) for each in self.execution.rounds)
        share = jobs / reuse
        at_once = ceiling(share) if self.whole and not relax else share
        vms = np.where(np.isfinite(gamma), at_once * np.where(np.isfinite(gamma), gamma, 1.0), np.inf)
        best = vms.argmin(axis=0)[None]
        slots = [np.stack(each) for each in zip(*(one.slots_per_job for one in self.execution.every), strict=True)]
        maps, reduces = (np.broadcast_to(each.reshape(gamma.shape), vms.shape) for each in slots)
        at_once, maps, reduces, vms = (
            np.take_along_axis(each, best, axis=0)[0] for each in (at_once, maps, reduces, vms)
        )
        return at_once, maps, reduces, vms

    def whole_vms(self, demand: Floats) -> Floats:
        """Return the least whole VMs that serve ``demand`` (periods, units)."""
        if not self.whole:
            return ceiling(demand * self.vms_per_demand)
        split = self.classes
        by_class = self.allotted(demand[:, :split], False)[-1]
        return ceiling(np.concatenate([by_class, demand[:, split:] * self.vms_per_demand[split:]], axis=1))

    def served_by(self, vms: Floats, relax: bool) -> Floats:
        """Return the demand that ``vms`` (periods, units) VMs serve, at most the expected one."""
        served = np.minimum(vms / self.vms_per_demand, self.high)
        full = vms >= self.need_high
        if self.whole and not relax:
            split, (reuse, gamma) = self.classes, self.execution.rounds
            jobs = (reuse[:, None] * floor(vms[:, :split] / gamma[:, None])).max(axis=0)
            served[:, :split] = jobs
            full[:, :split] = jobs >= self.high[:, :split]
        return np.where(full, self.high, np.maximum(served, 0.0))

    @property
    def expected(self) -> Floats:
        """The expected demand, (periods, units)."""
        return self.high + self.lost

    @property
    def never(self) -> NDArray[np.bool_]:
        """The units of which everything is rejected."""
        return np.concatenate([self.execution.never, self.queues.never])

    @property
    def partitioned(self) -> bool:
        """Return True if classes and services have a part of the cluster each."""
        return self.share is not None

    def period(self, t: int) -> Workload:
        """Return this workload in one period only; a partitioned cluster retains its parts."""
        return replace(self, low=self.low[t : t + 1], high=self.high[t : t + 1], lost=self.lost[t : t + 1])


def parts(work: Workload) -> tuple[tuple[slice, float], ...]:
    """Return the parts of the cluster, each a slice of the units with its whole VMs, rounded to the nearest."""
    units = len(work.worth)
    if work.share is None:
        return ((slice(0, units), float(work.size)),)
    held = float(np.floor(work.size * work.share + 0.5))
    return (slice(0, work.classes), held), (slice(work.classes, units), work.size - held)


def refuse_rounds(spec: Spec, what: str) -> None:
    """Reject a spec in which jobs may have other numbers of rounds than their deadline. Raises MrdslError."""
    cluster = spec.facts.cluster
    if cluster.concurrency == "whole" and cluster.reuse != "paper":
        message = f"{what} has jobs that take the whole of their deadline, as in the paper"
        hint = "write `reuse = paper` in `cluster`, or solve with formulation P2"
        raise one_error("needs-formulation", message, cluster.span, hint)


def vm_bounds(spec: Spec, work: Workload, relax: bool) -> tuple[Floats, Floats]:
    """Return the VMs of every unit, for its least demand and for all of it; ``subject to`` may ask for idle ones."""
    least, most = (work.need_low, work.need_high) if relax else (work.whole_vms(work.low), work.whole_vms(work.high))
    return least, np.maximum(least, np.full_like(least, work.size) if spec.constraints else most)


def _share_by_peaks(need: Floats, classes: int) -> float | None:
    """Return the classes' part of a cluster that is split in proportion to the daily peaks (4.1.2).

    None if there are classes only or services only: then the whole cluster is theirs.
    """
    if classes in (0, need.shape[1]):
        return None
    first, second = (float(part.sum(axis=1).max()) for part in (need[:, :classes], need[:, classes:]))
    return first / (first + second) if first + second > 0 else 0.5


def workload(spec: Spec) -> Workload:
    """Return the arrays of a checked spec."""
    facts: JointFacts = spec.facts
    cluster = facts.cluster
    assert cluster.vm_cost is not None
    assert cluster.size is not None
    low, expected = expected_demand(spec)
    split, free = len(facts.classes), np.asarray((low <= 0.0).all(axis=0))
    whole, most = wholeness_of(facts) == SLOTS, expected[:, :split].max(axis=0, initial=0.0)
    execution = executions(facts.classes, cluster, whole, free[:split], time_model(facts, whole), most)
    queues = service_queues(facts.services, spec.constraints, free[split:])
    high = np.where(np.concatenate([execution.never, queues.never]), 0.0, expected)
    per_request = cluster.period * column(facts.services, "penalty")
    reuse, gamma = execution.rounds
    vms_per_demand = np.concatenate([(gamma / reuse).min(axis=0), 1.0 / queues.rate_per_vm])
    work = Workload(
        class_names=names_of(facts.classes),
        service_names=names_of(facts.services),
        low=low,
        high=high,
        lost=expected - high,
        vms_per_demand=vms_per_demand,
        penalty=np.concatenate([column(facts.classes, "penalty"), per_request]),
        vm_cost=cluster.vm_cost * cluster.period,
        size=cluster.size,
        share=None,
        execution=execution,
        queues=queues,
        whole=cluster.concurrency == "whole",
    )
    if cluster.sharing == "shared":
        return work
    peaks = work.whole_vms(high) if work.whole else work.need_high
    return replace(work, share=_share_by_peaks(peaks, work.classes))


def executions(
    classes: Sequence[JobClass],
    cluster: Cluster,
    whole_slots: bool = False,
    free: Flags | bool = False,
    model: Model = PAPER,
    most: Floats | None = None,
) -> Execution:
    """Compute the classes' execution times, by the estimate that each class chose.

    Args:
        classes: The classes.
        cluster: The cluster, for its period and how jobs share it.
        whole_slots: If each job has whole slots.
        free: If all jobs of a class may be rejected, shape (classes,).
        model: The time model.
        most: The most jobs of each class in a period, for other numbers of rounds; default: none.
    """
    work = guaranteed(words(classes, "guarantee", model.default), estimates_of(classes, model=model))
    deadline, limits = column(classes, "deadline"), slot_limits(classes)
    map_per_vm, reduce_per_vm = slots_per_vm(classes)
    run = Execution(
        exact=work,
        work=settled(work, deadline, limits),
        map_slots=map_per_vm,
        reduce_slots=reduce_per_vm,
        deadline=deadline,
        reuse=reuse_factor(cluster.period, deadline, cluster.concurrency == "whole" or cluster.reuse == "floor"),
        limits=limits,
        stages=stage_counts(classes),
        dags=dags_of(classes),
        whole_slots=whole_slots,
        never=np.asarray(~kept(work, deadline, limits) & free),
    )
    if most is None or cluster.concurrency != "whole" or cluster.reuse == "paper" or not len(deadline):
        return run
    return replace(run, others=tuple(_other_rounds(run, cluster.period, most)))


MOST_ROUNDS = 1_000
"""Rounds in a period at most, unless a deadline itself leaves time for more."""


def other_counts(deadline: Floats, period: float, jobs: float) -> list[float]:
    """List the numbers of rounds in a period that may be of use for at most ``jobs`` jobs, rising."""
    longest = min(float(ceiling(deadline / period).max()), MOST_ROUNDS)
    return [*(1.0 / np.arange(longest, 1.0, -1.0)), *np.arange(1.0, min(jobs, MOST_ROUNDS) + 1.0)]


def _other_rounds(run: Execution, period: float, most: Floats) -> Iterator[Execution]:
    """Yield more rounds than the deadline asks for, with an earlier deadline: fewer jobs at once may take fewer VMs.

    More rounds than jobs are of no use, and neither are rounds that take as many VMs a job as more rounds do.
    """
    jobs = np.where(run.never, 0.0, ceiling(most))
    found: list[Execution] = []
    for count in other_counts(run.deadline, period, float(jobs.max())):
        fits = (count > run.reuse * (1.0 + ROUNDING)) & (count < jobs + 1.0)
        if not fits.any():
            continue
        deadline = np.where(fits, period / count, 0.0)
        work = settled(run.exact, np.where(fits, deadline, run.deadline), run.limits)
        each = replace(run, work=work, deadline=deadline, reuse=np.full_like(run.reuse, count))
        if np.isfinite(each.vms_per_job[fits]).any():
            found.append(each)
        elif count > 1.0:
            break
    beyond = np.full_like(most, np.inf)
    for each, later in zip(found, [*(each.vms_per_job for each in found[1:]), beyond], strict=False):
        if ((each.vms_per_job * (1.0 + ROUNDING) < later) & ~run.never).any():
            yield each


def service_queues(
    services: Sequence[Service], constraints: Sequence[Constraint] = (), free: Flags | bool = False
) -> Queues:
    """Describe the services' queues, their bounds tightened by comparisons like ``response(checkout) <= 1 s``.

    Args:
        services: The services.
        constraints: The comparisons of ``subject to``.
        free: If all requests of a service may be rejected, shape (services,).
    """
    rate, delay = column(services, "service_rate"), column(services, "delay")
    bound = column(services, "response")
    limits = response_limits(constraints)
    if limits:
        bound = np.minimum(bound, [limits.get(name, np.inf) for name in names_of(services)])
    return Queues(rate, delay, bound, np.asarray((workloads.rate_per_vm(rate, delay, bound) <= 0.0) & free))


def reuse_factor(period: float, deadline: Floats, whole_rounds: bool) -> Floats:
    """Compute Xi = T / D-bar, how often in a period a VM takes new jobs (footnote 4).

    The paper leaves it fractional, so that a VM's last round reaches into the next period. Whole rounds end within the
    period. If a job outlasts it, its VMs are held for whole periods: one over their number.
    """
    exact = period / deadline
    if not whole_rounds:
        return exact
    return np.where(exact >= 1.0 - ROUNDING, floor(exact), 1.0 / ceiling(deadline / period))
