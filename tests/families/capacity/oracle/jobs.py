"""Which slots keep the deadline of one job: equations (1) to (4) of Malekimajd et al. 2015, by trying them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import ceil, floor, inf, isinf

from tests.families.capacity.oracle.structure import Drawn, JobClass, On, Stage, Vm, Work

CLOSE = 1e-9
"""Relative slack of a deadline: what the arithmetic of two programs may differ by."""


@dataclass(frozen=True)
class Job:
    """One job on one VM type: seconds of work, the most slots, slots that a VM hosts, sizes as parts of a VM."""

    map_work: float
    reduce_work: float
    constant: float
    deadline: float
    most: tuple[float, float]
    per_vm: tuple[int, int]
    sizes: tuple[tuple[float, float], tuple[float, float]]
    ages: tuple[float, float] | None = None

    @property
    def left(self) -> float:
        """Seconds for the two phases."""
        return self.deadline - self.constant


@dataclass(frozen=True)
class Losses:
    """How a loss on spot is read: ``own`` by the pair's own times, else by those of the fewest fractional slots."""

    own: bool = True


def job_on(drawn: Drawn, node: JobClass, vm: Vm) -> Job | None:
    """Describe a job of the class on the type, None if it cannot run there."""
    if isinstance(node.types, tuple) and vm.name not in node.types:
        return None
    on = node.on.get(vm.name, On())
    work = faster(node.work, on.speed or 1.0)
    a, b, c, most = estimate(work, node.guarantee or "average")
    if work.stages and longest_path(work.stages, longest=False) > node.deadline * (1 + CLOSE):
        return None
    kinds = ("task", "task") if work.stages else ("map", "reduce")
    per_vm, sizes = hosting(node, on, vm, kinds)
    needs = per_vm if most[1] else per_vm[:1]
    if min(needs) < 1:
        return None
    limits = [row.limit for row in drawn.rows if row.quantity == "completion" and row.argument == node.name]
    return Job(a, b, c, min([node.deadline, *limits]), most, per_vm, sizes, ages(work))


def faster(work: Work, speed: float) -> Work:
    """Divide map and reduce times, coefficients and stages by the speed; the shuffle stays."""

    def phase(times: tuple[int, float, float] | None) -> tuple[int, float, float] | None:
        return None if times is None else (times[0], times[1] / speed, times[2] / speed)

    return replace(
        work,
        map=phase(work.map),
        reduce=phase(work.reduce),
        coefficients=None if work.coefficients is None else tuple(x / speed for x in work.coefficients),
        stages=tuple(replace(s, avg=s.avg / speed, max=s.max / speed) for s in work.stages),
    )


def estimate(work: Work, guarantee: str) -> tuple[float, float, float, tuple[float, float]]:
    """Compute A, B, C and the most map and reduce slots of a job; 0 if it has no work of a kind."""
    if work.coefficients is not None:
        a, b, c = work.coefficients
        return a, b, c, (inf, inf if b else 0)
    if work.stages:
        low = [sum(s.tasks * s.avg for s in work.stages), 0.0, 0.0]
        path = longest_path(work.stages, longest=True)
        high = [low[0] - 2 * path, 0.0, 2 * path]
        most = (float(width(work.stages)), 0.0)
    else:
        tasks, avg, longest = work.map
        low, high = [tasks * avg, 0.0, 0.0], [tasks * avg - 2 * longest, 0.0, 2 * longest]
        most = (float(tasks), 0.0)
        if work.reduce is not None and work.reduce[0]:
            reduces, reduce_avg, reduce_max = work.reduce
            first_avg, first_max, shuffle_avg, shuffle_max = work.shuffle
            first_avg = first_max if first_avg is None else first_avg
            low[1:] = [reduces * (shuffle_avg + reduce_avg), first_avg - shuffle_avg]
            high[1] = reduces * shuffle_avg - 2 * shuffle_max + reduces * reduce_avg - 2 * reduce_max
            high[2] += 2 * shuffle_max + first_max + 2 * reduce_max
            most = (float(tasks), float(reduces))
    high[:2] = [up if up > 0 else down for up, down in zip(high[:2], low[:2], strict=True)]
    halves = [(x + y) / 2 for x, y in zip(low, high, strict=True)]
    a, b, c = {"lower": low, "upper": high, "average": halves}[guarantee]
    return a, b, c, most


def longest_path(stages: tuple[Stage, ...], longest: bool) -> float:
    """Add up one task a stage along the longest path."""
    named = {stage.name: stage for stage in stages}

    def until(name: str) -> float:
        stage = named[name]
        return (stage.max if longest else stage.avg) + max(map(until, stage.after), default=0.0)

    return max(map(until, named))


def width(stages: tuple[Stage, ...]) -> int:
    """Count the most tasks that can run at once, by trying every set of stages."""
    named = {stage.name: stage for stage in stages}

    def before(name: str) -> set[str]:
        return set(named[name].after).union(*(before(other) for other in named[name].after))

    earlier = {name: before(name) for name in named}
    best = 0
    for size in range(1, len(stages) + 1):
        for chosen in combinations(named, size):
            if all(x not in earlier[y] and y not in earlier[x] for x, y in combinations(chosen, 2)):
                best = max(best, sum(named[name].tasks for name in chosen))
    return best


Sizes = tuple[tuple[float, float], tuple[float, float]]


def hosting(node: JobClass, on: On, vm: Vm, kinds: tuple[str, str]) -> tuple[tuple[int, int], Sizes]:
    """Count the slots of each kind that a VM hosts, and the parts of its cores and memory that one takes."""
    slots = on.slots or node.slots
    if slots is not None:
        counts = (slots.get(kinds[0], 0), slots.get(kinds[1], 0))
        first, second = ((1 / n, 1 / n) if n else (inf, inf) for n in counts)
        return counts, (first, second)
    found = []
    for kind in kinds:
        cores, memory = node.container.get(kind, (inf, inf))
        found.append((cores / vm.cores, memory / vm.memory))
    counts = tuple(floor(1 / max(size) + 1e-9) if max(size) < inf else 0 for size in found)
    return (counts[0], counts[1]), (found[0], found[1])


def ages(work: Work) -> tuple[float, float] | None:
    """Compute how old a running map and reduce task is on average [s]; None for coefficients, which do not tell.

    Stages on VMs that are interrupted are not drawn.
    """
    if work.map is None:
        return None
    maps = _age(work.map[1], _spread(work.map[1], work.map[2]))
    if work.reduce is None or not work.reduce[0]:
        return maps, 0.0
    variance = _spread(work.shuffle[2], work.shuffle[3]) + _spread(work.reduce[1], work.reduce[2])
    return maps, _age(work.shuffle[2] + work.reduce[1], variance)


def _spread(avg: float, longest: float) -> float:
    """Variance of uniform times around avg, at most that of times of 0 and of the longest."""
    return min((longest - avg) ** 2 / 3, (longest - avg) * avg)


def _age(avg: float, variance: float) -> float:
    return (avg * avg + variance) / (2 * avg) if avg > 0 else 0.0


def lost(job: Job, pair: tuple[float, float], rate: float, service: bool) -> tuple[float, float]:
    """Compute the lost parts of map and reduce work on VMs with ``rate`` interruptions a second."""
    maps, constant = job.map_work / pair[0], max(job.constant, 0.0)
    if not pair[1]:
        return rate * ((maps + constant) / 2 if job.ages is None else job.ages[0]), 0.0
    reduces = job.reduce_work / pair[1] + constant
    old = (maps / 2, reduces / 2) if job.ages is None else job.ages
    return rate * (old[0] + (0.0 if service else maps / 2 + reduces)), rate * old[1]


def keeps(job: Job, pair: tuple[float, float], parts: tuple[float, float]) -> bool:
    """Check a pair of slots of one job: within its tasks, and the deadline by (4) with what is lost.

    A job that loses work may hold a slot more than it has tasks; no more of them work than there are tasks.
    """
    if max(parts) > 0.5:
        return False
    time = job.constant
    for work, slots, part, most in zip((job.map_work, job.reduce_work), pair, parts, job.most, strict=True):
        if (most and slots < 1) or (most < inf and slots > ceil(most / (1 - part) - CLOSE)):
            return False
        time += work / min(slots * (1 - part), most) if work else 0.0
    return time <= job.deadline + CLOSE * max(job.deadline, job.left)


@lru_cache(maxsize=4096)
def pairs(job: Job, rate: float, service: bool, how: Losses) -> tuple[tuple[int, int], ...]:
    """List whole pairs that keep the deadline, without those that another has no more of either kind of."""
    plain = fewest(job, 0.0, service, how)
    if plain is None:
        return ()
    fixed = (0.0, 0.0) if not rate else None if how.own else lost(job, plain[1], rate, service)

    def good(x: int, y: int) -> bool:
        return keeps(job, (x, y), fixed or lost(job, (x, y), rate, service))

    found: list[tuple[int, int]] = []
    cap = _cap(job, 1)
    x, top = 1, _cap(job, 0)
    while x <= top:
        y = _first(lambda n, x=x: good(x, n), 1, cap) if job.most[1] else (0 if good(x, 0) else None)
        if y is not None:
            cap = y - 1 if job.most[1] else 0
            found.append((x, y))
            if y <= 1:
                break
        x += 1
    return tuple(found)


def _cap(job: Job, kind: int) -> int:
    """Bound the slots of a kind that are worth trying: those of a whole job, twice for losses."""
    if job.most[kind] < inf:
        return int(2 * job.most[kind]) + 1
    work, other = (job.map_work, job.reduce_work) if kind == 0 else (job.reduce_work, job.map_work)
    if job.left <= 0:
        return 0
    beside = floor(other / job.left + 1e-12) + 1 if other else 0
    rest = job.left - other / beside if other else job.left
    return min(ceil(work / rest * 4) + 2 if rest > 0 else 0, 20_000)


def _first(good: Callable[[int], bool], low: int, high: int) -> int | None:
    """Find the least number that is good, where those above it are; limits of tasks make the top ones bad."""
    if high - low < 64:
        return next((n for n in range(low, high + 1) if good(n)), None)
    top = next((n for n in range(high, low - 1, -1) if good(n)), None)
    if top is None:
        return None
    while low < top:
        middle = (low + top) // 2
        low, top = (low, middle) if good(middle) else (middle + 1, top)
    return top


def fewest(job: Job, rate: float, service: bool, how: Losses) -> tuple[float, tuple[float, float]] | None:
    """Find the fewest VMs of one job in fractions of slots, and the slots, by search over the map slots."""
    parts = (0.0, 0.0)
    if rate and not how.own:
        plain = fewest(job, 0.0, service, how)
        if plain is None:
            return None
        parts = lost(job, plain[1], rate, service)
    best = _search(job, parts)
    for _ in range(60 if rate and how.own and best else 0):
        parts = lost(job, best[1], rate, service)
        again = _search(job, parts)
        if again is None or abs(again[0] - best[0]) <= 1e-12 * best[0]:
            return again
        best = again
    return best


def _search(job: Job, parts: tuple[float, float]) -> tuple[float, tuple[float, float]] | None:
    """Minimise x/c_M + y/c_R by golden section; the function is convex where it is finite."""
    if max(parts) > 0.5:
        return None
    a, b = job.map_work / (1 - parts[0]), job.reduce_work / (1 - parts[1])
    most = [m / (1 - p) for m, p in zip(job.most, parts, strict=True)]
    slack = CLOSE * max(job.deadline, abs(job.left))

    def beside(x: float) -> float:
        rest = job.left + slack - a / x
        if not job.most[1]:
            return 0.0 if rest >= 0 else inf
        needed = inf if rest <= 0 else max(1.0, b / rest)
        return needed if needed <= most[1] else inf

    def vms(x: float) -> float:
        return x / job.per_vm[0] + (beside(x) / job.per_vm[1] if job.most[1] else 0.0)

    least = a / (job.left + slack) if job.left + slack > 0 else inf
    if most[1] < inf and job.most[1]:
        rest = job.left + slack - b / most[1]
        least = a / rest if rest > 0 else inf
    low = max(1.0, least * (1 + 1e-13))
    high = min(most[0], low * 1e6)
    if low > high or isinf(low):
        return None
    for _ in range(200):
        third = (high - low) / 3
        low, high = (low, high - third) if vms(low + third) <= vms(high - third) else (low + third, high)
    x = min((low, (low + high) / 2, high), key=vms)
    return None if vms(x) == inf else (vms(x), (x, beside(x)))
