"""Whole plans by enumeration, from the facts and the printed constraints alone: no array of the package is used.

Every class may run 0, 1, 2, ... whole jobs at once, each with slots of its own (at least one of each kind that it uses,
at most one for each task); the fewest VMs for one job are searched over its map slots. Every service may hold any
number of VMs. All combinations that fit the cluster, or its parts, are priced.
"""

from __future__ import annotations

from itertools import product
from math import ceil, inf

from mrdsl.families.joint.facts import Cluster, JobClass, Service
from mrdsl.spec.spec import Spec
from tests.formulas.random_stages import least_slots

Options = dict[int, float]
"""What a unit pays in penalties, by the VMs that it holds."""


def brute_force(spec: Spec, most_vms: int = 12) -> float | None:
    """The least cost, None where no plan meets the least demand."""
    cluster = spec.facts.cluster
    each = vms_of_whole_slots if spec.facts.whole == "slots" else vms_of_one_job
    classes = [class_options(one, cluster, most_vms, each(one)) for one in spec.facts.classes]
    services = [service_options(one, cluster.period, most_vms) for one in spec.facts.services]
    if cluster.sharing == "shared" or not classes or not services:
        groups = [(classes + services, cluster.size)]
    else:
        peaks = (
            sum(_class_peak(one, cluster, each(one)) for one in spec.facts.classes),
            sum(_service_peak(one) for one in spec.facts.services),
        )
        share = int(cluster.size * peaks[0] / sum(peaks) + 0.5) if sum(peaks) else cluster.size // 2
        groups = [(classes, share), (services, cluster.size - share)]
    costs = [_cheapest(options, size, cluster.vm_cost * cluster.period) for options, size in groups]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def _class_peak(one: JobClass, cluster: Cluster, each: float) -> int:
    """The VMs with which nothing is turned away: as many jobs at once as that takes, counted up."""
    assert one.jobs is not None
    if each == inf:
        return 0
    at_once = 0
    while turns_in(cluster.period, one.deadline) * at_once < one.jobs.high - 1e-9:
        at_once += 1
    return ceil(each * at_once - 1e-9)


def _service_peak(one: Service) -> int:
    assert one.rate is not None
    if one.response <= one.delay + 1 / one.service_rate:
        return 0
    return ceil(one.rate.high / (one.service_rate - 1 / (one.response - one.delay)) - 1e-9)


def _cheapest(options: list[Options], size: int, price: float) -> float | None:
    return min(
        (
            sum(one[vms] for one, vms in zip(options, choice, strict=True)) + price * sum(choice)
            for choice in product(*options)
            if sum(choice) <= size
        ),
        default=None,
    )


def class_options(one: JobClass, cluster: Cluster, most_vms: int, each: float) -> Options:
    """Penalties by VMs; only such VMs with which the least jobs are run."""
    assert one.jobs is not None
    turns = turns_in(cluster.period, one.deadline)
    options: Options = {}
    for vms in range(most_vms + 1):
        for jobs in range(int(most_vms / each) + 2):
            admitted = min(one.jobs.high, turns * jobs)
            if (not jobs or each * jobs <= vms + 1e-9) and admitted >= one.jobs.low - 1e-9:
                options[vms] = min(options.get(vms, inf), one.penalty * (one.jobs.high - admitted))
    return options


def turns_in(period: float, deadline: float) -> float:
    """Whole jobs one after the other within a period; one of a deadline beyond it has its place for whole periods."""
    if deadline <= period:
        return float(sum(1 for k in range(1, 10_000) if k * deadline <= period * (1 + 1e-9)))
    return 1.0 / ceil(deadline / period - 1e-9)


def vms_of_whole_slots(one: JobClass, box: int = 300) -> float:
    """The fewest VMs of all pairs of whole slots in a box that let one job end by its deadline; infinite where none."""
    if one.stages:
        assert one.slots.task is not None
        return ceil(least_slots(one.stages, one.guarantee or "average", one.deadline) - 1e-9) / one.slots.task
    a, b, c, tasks = coefficients(one)
    maps, reduces = (range(1, int(min(most, box)) + 1) for most in tasks)
    return min(
        (
            m / (one.slots.map or 1) + (r / (one.slots.reduce or 1) if tasks[1] and (b or one.reduce) else 0.0)
            for m, r in product(maps, reduces if b or (one.reduce and one.reduce.tasks) else (0,))
            if a / m + (b / r if b else 0.0) + c <= one.deadline * (1 + 1e-9)
        ),
        default=inf,
    )


def vms_of_one_job(one: JobClass) -> float:
    """The fewest VMs whose slots let one job end by its deadline: a search over its map slots."""
    if one.stages:
        assert one.slots.task is not None
        return least_slots(one.stages, one.guarantee or "average", one.deadline) / one.slots.task
    assert one.slots.map is not None
    assert one.slots.reduce is not None
    a, b, c, tasks = coefficients(one)
    left = one.deadline - c
    most_map, most_reduce = tasks
    if left <= 0 or a / most_map + b / (most_reduce or 1) > left * (1 + 1e-9):
        return inf
    least = max(1.0, a / left) if b == 0 else max(1.0, a / (left - b / most_reduce))
    if b == 0:
        return least / one.slots.map
    low, high = least, min(most_map, max(least, 1e7))

    def vms(map_slots: float) -> float:
        reduce_slots = max(1.0, b / max(left - a / map_slots, 1e-12))
        return map_slots / one.slots.map + reduce_slots / one.slots.reduce

    for _ in range(400):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, second) if vms(first) < vms(second) else (first, high)
    return min(vms(low), vms(least))


def coefficients(one: JobClass) -> tuple[float, float, float, tuple[float, float]]:
    """A, B, C of the estimate that is promised, from the profile by (1) to (3) of Malekimajd et al., and the tasks."""
    if one.coefficients is not None:
        given = one.coefficients
        return given.A, given.B, given.C, (inf, inf)
    m, s, r = one.map, one.shuffle, one.reduce
    assert m is not None
    lower = [m.tasks * m.avg, 0.0, 0.0]
    upper = [m.tasks * m.avg - 2 * m.max, 0.0, 2 * m.max]
    if upper[0] <= 0:
        upper[0] = lower[0]
    tasks = (float(m.tasks), 0.0)
    if r is not None and r.tasks > 0:
        assert s is not None
        first_max = s.first_max or 0.0
        first_avg = first_max if s.first_avg is None else s.first_avg
        work = r.tasks * (s.avg + r.avg)
        lower[1:] = [work, first_avg - s.avg]
        high = work - 2 * (s.max + r.max)
        upper[1:] = [high if high > 0 else work, first_max + 2 * (m.max + s.max + r.max)]
        tasks = (float(m.tasks), float(r.tasks))
    share = {"lower": 0.0, "average": 0.5, "upper": 1.0}[one.guarantee or "average"]
    a, b, c = ((1 - share) * low + share * up for low, up in zip(lower, upper, strict=True))
    return a, b, c, tasks


def service_options(one: Service, period: float, most_vms: int) -> Options:
    """Penalties by VMs; each VM takes what its response allows, (5)."""
    assert one.rate is not None
    spare = one.response - one.delay
    each = max(0.0, one.service_rate - 1 / spare) if spare > 0 else 0.0
    return {
        vms: one.penalty * period * (one.rate.high - min(one.rate.high, vms * each))
        for vms in range(most_vms + 1)
        if vms * each >= one.rate.low - 1e-9
    }
