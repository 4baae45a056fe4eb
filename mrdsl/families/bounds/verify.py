"""Verification of a bounds plan from the input data alone: slots, times, and the premises of the upper estimate.

Source of the premises: Malekimajd et al. 2015, Propositions 2.1 and 2.5; every premise is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import floor

import numpy as np
from numpy.typing import NDArray

from mrdsl.checking import work
from mrdsl.checking.exact import exact_works, needs_exact
from mrdsl.checking.scheduled import mean_of
from mrdsl.checking.work import PHASES, Described, Floats, Work
from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.rounding import FEASIBILITY, ROUNDING, SAME_SUM, ceiling
from mrdsl.families.bounds.facts import BoundsFacts, Cluster
from mrdsl.families.bounds.plan import BoundsPlan
from mrdsl.simulation.stated import stated_jobs
from mrdsl.spec.blocks import any_stages, stages_of
from mrdsl.spec.columns import Columns, column, names_of, parts_of, words
from mrdsl.spec.estimates import OWN, PAPER, default_guarantee
from mrdsl.spec.spec import Spec

LEAST = 2.0
"""Fewest slots of each kind of a job that lends slots: with fewer it has none at times."""


def upper_is_bound(facts: BoundsFacts, jobs: Jobs, slots: tuple[Floats, Floats], there: tuple[float, float]) -> Floats:
    """Judge for each class if its upper estimate is a bound.

    Args:
        facts: The input data of the spec.
        jobs: Its jobs.
        slots: Map and reduce slots of one job in the formula.
        there: Map and reduce slots that the jobs of all classes run on.

    Returns:
        1 for classes whose upper estimate bounds every job, 0 for others.
    """
    cluster = facts.cluster or Cluster()
    count = column(facts.classes, "jobs")
    if cluster.masters == "yes" or _arrive(facts):
        return np.zeros(len(count))
    limited = _limited(facts)
    if cluster.work_conserving == "no" and cluster.scheduler == "fair" and facts.cluster is not None:
        return limited * _keeps_its_own(facts, jobs, slots, there)
    own = own_by_class(facts, jobs)
    if own.any():
        return own * limited * _keeps_its_own(facts, jobs, slots, there)
    if count.sum() <= 1.0:
        return limited
    if jobs.fifo or not limited.all():
        return np.zeros(len(count))
    return _lends(facts, cluster, jobs, slots, there)


def _arrive(facts: BoundsFacts) -> bool:
    """Return True if jobs of some class arrive independently."""
    if (column(facts.classes, "arrivals") >= 0.0).any():
        return True
    for part in parts_of(facts.classes):
        if isinstance(part, Columns):
            if "submissions" in part.values:
                return True
        elif any(node.submissions is not None for node in part):
            return True
    return False


def _limited(facts: BoundsFacts) -> Floats:
    """Return 1 for classes whose task times are all drawn from distributions with a longest time, 0 for others."""
    ends = np.isin(words(facts.classes, "distribution", "uniform"), ("uniform", "fixed"))
    for index, stages in enumerate(stages_of(facts.classes) if any_stages(facts.classes) else ()):
        ends[index] &= {each.distribution for each in stages} <= {None, "uniform", "fixed"}
        ends[index] &= all(each.slots == 1 and (each.barrier == "no" or each.tasks == 1) for each in stages)
    return ends.astype(np.float64)


def _kinds(
    jobs: Jobs, slots: tuple[Floats, Floats], there: tuple[float, float]
) -> list[tuple[NDArray[np.bool_], Floats, float]]:
    every = np.ones(len(jobs.staged), dtype=bool)
    return [(every, slots[0], there[0]), (jobs.reducing, slots[1], there[1])]


def _keeps_its_own(facts: BoundsFacts, jobs: Jobs, slots: tuple[Floats, Floats], there: tuple[float, float]) -> Floats:
    """Judge jobs with reserved slots: whole ones, at least as many as in the formula."""
    share, count = shares_of(facts), column(facts.classes, "jobs")
    good = np.ones(len(count), dtype=bool)
    for used, part, size in _kinds(jobs, slots, there):
        of_class = share * size
        if (of_class[used] < 1.0 - SAME_SUM).any():  # a class takes a slot that is another's
            good &= ~used
        whole = np.array([floor(floor(each * (1 + ROUNDING)) / n) for each, n in zip(of_class, count, strict=True)])
        good &= ~used | ((whole >= 1.0) & (whole >= part * (1.0 - SAME_SUM)))
    return good.astype(np.float64)


def _lends(
    facts: BoundsFacts, cluster: Cluster, jobs: Jobs, slots: tuple[Floats, Floats], there: tuple[float, float]
) -> Floats:
    """Judge jobs that lend idle slots: whole parts, two at least, one phase a pool, no longer tasks of others in it."""
    share, count = shares_of(facts), column(facts.classes, "jobs")
    good = np.full(len(count), cluster.preemption is None)
    if cluster.scheduler == "capacity":
        good &= count <= 1.0
    for used, part, size in _kinds(jobs, slots, there):
        whole = np.floor(share * size / count * (1 + ROUNDING))
        good &= ~used | ((whole >= part * (1.0 - SAME_SUM)) & (part >= LEAST * (1.0 - SAME_SUM)))
    d = jobs.described
    maps, phases = d["map.max"], np.ones(len(count))
    if any_stages(facts.classes):
        written = stages_of(facts.classes)
        maps = np.array([max((s.max for s in each), default=m) for m, each in zip(maps, written, strict=True)])
        phases = np.array([float(max(len(each), 1)) for each in written])
    slots_written = facts.cluster.slots if facts.cluster is not None else None
    one_pool = cluster.pools == "common" or (slots_written is not None and slots_written.task is not None)
    if one_pool and (jobs.reducing.any() or (phases > 1.0).any()):
        return np.zeros(len(count))
    longest = np.fmax(d["shuffle.max"], d["shuffle.first_max"]) + d["reduce.max"]
    reduces = np.where(jobs.reducing, longest, 0.0)
    good &= (phases <= 1.0) & (maps >= maps.max()) & (~jobs.reducing | (reduces >= reduces.max()))
    return good.astype(np.float64)


KNOWN = ("lower", "average", "upper", "waves")


def verify(spec: Spec, plan: BoundsPlan, relax: bool = False) -> Iterator[Diagnostic]:
    """Check the classes, slots, estimates and deadlines of a plan, and its claim about the upper estimates."""
    facts: BoundsFacts = spec.facts
    names = list(names_of(facts.classes))
    if list(plan.names) != names or plan.sizes != _sizes(spec):
        yield error("broken-plan", "the plan is of other classes, or of another goal", spec.span)
        return
    jobs = jobs_of(facts)
    count, deadline = column(facts.classes, "jobs"), column(facts.classes, "deadline")
    yield from _same(spec, plan, {"jobs": (plan.jobs, count), "deadline": (plan.deadline, deadline)})
    if plan.sizes:
        yield from _sized(spec, plan, jobs)
    else:
        maps, reduces = slots_of_a_job(facts, jobs)
        yield from _same(
            spec, plan, {"map slots": (plan.map_slots, maps), "reduce slots": (plan.reduce_slots, reduces)}
        )
    yield from _times(spec, plan, jobs)
    bounded = upper_is_bound(facts, jobs, (plan.map_slots, plan.reduce_slots), _there(spec, plan))
    yield from _same(spec, plan, {"upper_is_bound": (np.asarray(plan.upper_is_bound, dtype=np.float64), bounded)})
    yield from _two_jobs(spec, plan, jobs)


def measure(spec: Spec, plan: BoundsPlan) -> float | None:
    """Return the objective's value: slots of all jobs; None for `estimate completion`, which has no objective."""
    return _slots(spec, plan) if _sizes(spec) else None


def quantity(spec: Spec, plan: BoundsPlan, name: str, argument: str) -> float:
    """``completion(c)`` by the class's guaranteed estimate, and ``slots`` of all jobs."""
    if name == "slots":
        return _slots(spec, plan)
    if name == "completion":
        times = promised(spec.facts, jobs_of(spec.facts), plan.map_slots, plan.reduce_slots)
        return float(times[list(plan.names).index(argument)])
    raise KeyError(name)


def _sizes(spec: Spec) -> bool:
    return spec.goal is not None and spec.goal.quantity == "slots"


def _slots(spec: Spec, plan: BoundsPlan) -> float:
    return float(((plan.map_slots + plan.reduce_slots) * column(spec.facts.classes, "jobs")).sum())


def _same(spec: Spec, plan: BoundsPlan, pairs: Mapping[str, tuple[Floats, Floats]]) -> Iterator[Diagnostic]:
    """Report the first class for which a column of the plan differs from the value recomputed from the input data."""
    for what, (said, counted) in pairs.items():
        if len(said) != len(plan.names):
            yield error("broken-plan", f"the plan states {what} of {len(said)} classes", spec.span)
            continue
        near = np.abs(said - counted) <= ROUNDING * np.maximum(1.0, np.abs(counted))
        wrong = ~(near | (said == counted) | (np.isnan(said) & np.isnan(counted)))
        if wrong.any():
            index = int(np.flatnonzero(wrong)[0])
            yield error(
                "broken-plan",
                f"class {plan.names[index]}: the plan states {said[index]:.9g} as {what}, the spec gives "
                f"{counted[index]:.9g}",
                spec.facts.classes[index].span,
            )


def _times(spec: Spec, plan: BoundsPlan, jobs: Jobs) -> Iterator[Diagnostic]:
    """Compare every completion time that the plan states."""
    times = times_of(spec.facts, jobs, plan.map_slots, plan.reduce_slots)
    for name in KNOWN:
        if name not in plan.completion:
            yield error("broken-plan", f"the plan lacks the {name} estimate", spec.span)
    for name, said in plan.completion.items():
        if name not in times:
            yield error("broken-plan", f"the plan states an unknown estimate, {name}", spec.span)
            continue
        counted = np.where(jobs.staged, said, times[name]) if name.startswith("waves_") else times[name]
        yield from _same(spec, plan, {f"{name} estimate": (said, counted)})


def _sized(spec: Spec, plan: BoundsPlan, jobs: Jobs) -> Iterator[Diagnostic]:
    """Report deadlines that the guaranteed estimate misses, and slots beyond the use of a job or below one."""
    classes = spec.facts.classes
    deadline, (map_tasks, reduce_tasks) = column(classes, "deadline"), jobs.tasks
    times = promised(spec.facts, jobs, plan.map_slots, plan.reduce_slots)
    for index in np.flatnonzero(~(times <= deadline * (1.0 + FEASIBILITY))).tolist():
        yield error(
            "broken-plan",
            f"class {plan.names[index]} takes {times[index]:g} s, its deadline is {deadline[index]:g} s",
            classes[index].span_of("deadline"),
        )
    for kind, slots, tasks in (("map", plan.map_slots, map_tasks), ("reduce", plan.reduce_slots, reduce_tasks)):
        many = ~(slots <= tasks * (1.0 + FEASIBILITY))
        least = np.minimum(tasks, 1.0)
        if kind == "map" and jobs.staged.any():
            least = np.fmax(least, jobs.described.of_stages("fewest"))
        few = ~(slots >= least * (1.0 - FEASIBILITY))
        if spec.facts.sizing == "fixed_reduce" and kind == "reduce":
            few |= ~(slots >= tasks * (1.0 - FEASIBILITY))
        for flags, what in ((many, f"more {kind} slots than tasks"), (few, f"too few {kind} slots for its tasks")):
            for index in np.flatnonzero(flags).tolist():
                yield error("broken-plan", f"class {plan.names[index]} has {what}", classes[index].span)


def _there(spec: Spec, plan: BoundsPlan) -> tuple[float, float]:
    """Count the slots that all jobs run on: the cluster's, or those of a sized plan, rounded up class by class."""
    cluster = spec.facts.cluster
    if cluster is not None and cluster.slots is not None and not plan.sizes:
        return cluster_slots(spec.facts)
    jobs = column(spec.facts.classes, "jobs")
    maps, reduces = (max(1.0, float(ceiling(each * jobs).sum())) for each in (plan.map_slots, plan.reduce_slots))
    return maps, reduces


def _two_jobs(spec: Spec, plan: BoundsPlan, jobs: Jobs) -> Iterator[Diagnostic]:
    """Check the plan's bounds by Propositions 2.2 and 2.3 on two map-only jobs that start together."""
    facts, said = spec.facts, plan.two_jobs
    cluster = facts.cluster or Cluster()
    lends = cluster.work_conserving == "yes" and not jobs.fifo
    alone = bool((column(facts.classes, "jobs") == 1.0).all()) and not (jobs.reducing.any() or jobs.staged.any())
    alone = alone and not jobs.described.startup.any()
    if not (len(facts.classes) == 2 and alone and lends and not plan.sizes):
        if said is not None:
            yield error("broken-plan", "the plan states bounds of two jobs, which the spec does not have", spec.span)
        return
    d = jobs.described
    tasks, longest, slots = d["map.tasks"].tolist(), d["map.max"].tolist(), plan.map_slots.tolist()
    work, total = (d["map.tasks"] * d["map.avg"]).tolist(), sum(plan.map_slots.tolist())
    upper = []
    for mine, other in ((0, 1), (1, 0)):
        rest = work[mine] - longest[mine]
        ends = rest / slots[mine] if work[other] / slots[other] >= rest / slots[mine] else (work[other] + rest) / total
        upper.append(ends + longest[mine])
    full = all(n >= k * (1.0 - ROUNDING) for n, k in zip(tasks, slots, strict=True))
    first = min(work[0] / slots[0], work[1] / slots[1]) if full else np.nan
    if said is None:
        yield error("broken-plan", "the plan lacks the bounds of two jobs that start together", spec.span)
        return
    claims = [said.first_lower, said.last_lower, *(said.upper.get(str(name)) for name in plan.names)]
    for claim, counted in zip(claims, [first, sum(work) / total, *upper], strict=True):
        stated = np.nan if claim is None else claim
        if not (abs(stated - counted) <= ROUNDING * abs(counted) or (np.isnan(stated) and np.isnan(counted))):
            yield error("broken-plan", f"two jobs: the plan states {stated:.9g} s, the spec gives {counted:.9g} s")


@dataclass(frozen=True)
class Jobs:
    """Data of one job of each class, scaled to the size of its future data; one element per class."""

    described: Described
    shortest: dict[str, Floats]
    staged: np.ndarray[tuple[int], np.dtype[np.bool_]]
    fifo: bool

    @property
    def tasks(self) -> tuple[Floats, Floats]:
        """Map and reduce tasks that can run concurrently."""
        return work.tasks_at_once(self.described)

    @property
    def reducing(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """True for classes with reduce tasks."""
        return np.asarray(np.nan_to_num(self.described["reduce.tasks"]) > 0.0)


def jobs_of(facts: BoundsFacts) -> Jobs:
    """Read the jobs; more data means more map tasks, and longer shuffles and reduce tasks (Vishal 2015, 3.3)."""
    classes = facts.classes
    described = work.described(classes, blocks=PHASES)
    data, measured = column(classes, "data"), column(classes, "profiled_on")
    growth = np.where(np.isnan(data / measured), 1.0, data / measured)
    items = {path: values if path.startswith("map.") else values * growth for path, values in described.items.items()}
    items["map.tasks"] = np.where(
        growth == 1.0, items["map.tasks"], np.maximum(ceiling(items["map.tasks"] * growth), 1)
    )
    items["reduce.tasks"] = described["reduce.tasks"]
    shortest = {
        "map": column(classes, "map.min"),
        "first": growth * column(classes, "shuffle.first_min"),
        "shuffle": growth * column(classes, "shuffle.min"),
        "reduce": growth * column(classes, "reduce.min"),
    }
    staged = np.array([bool(each) for each in stages_of(classes)]) if any_stages(classes) else np.zeros(len(data), bool)
    cluster = facts.cluster
    fifo = cluster is not None and cluster.scheduler == "fifo"
    return Jobs(
        Described(items, described.stages, described.speed, described.startup, described.written),
        shortest,
        staged,
        fifo,
    )


def estimates_of(facts: BoundsFacts, jobs: Jobs) -> dict[str, Work]:
    """Compute (1), (2) and (3) of Malekimajd et al. 2015; under ``fifo`` each phase by Proposition 2.1."""
    found = work.estimates(jobs.described)
    if needs_exact(facts):
        printed = _printed(facts, jobs)
        every = np.arange(len(printed))
        found = exact_works(
            facts,
            jobs.described,
            every,
            found,
            lambda row: facts.classes[row],
            mean_of(stated_jobs),
            printed,
            jobs.shortest,
        )
    elif jobs.fifo:
        low, high = found["lower"], work.alone(jobs.described)
        middle = Work(
            (low.maps + high.maps) / 2, (low.reduces + high.reduces) / 2, (low.rest + high.rest) / 2, low.path
        )
        found = {"lower": low, "average": middle, "upper": high}
    first, shuffle, reduce = (_typical(jobs, name) for name in ("first", "shuffle", "reduce"))
    tasks = jobs.described["reduce.tasks"]
    found["fractional_waves"] = Work(
        jobs.described["map.tasks"] * _typical(jobs, "map"),
        np.where(jobs.reducing, tasks * (shuffle + reduce), 0.0),
        np.where(jobs.reducing, first - shuffle, 0.0) + jobs.described.startup,
        np.zeros_like(tasks),
    )
    return found


def _printed(facts: BoundsFacts, jobs: Jobs) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Find the classes whose bounds are those of paper 000: by the spec, or as their jobs share slots."""
    if facts.estimates == PAPER:
        return np.ones(len(jobs.staged), dtype=bool)
    cluster = facts.cluster
    kept = cluster is not None and cluster.work_conserving == "no" and cluster.scheduler == "fair"
    alone = kept or jobs.fifo or column(facts.classes, "jobs").sum() <= 1.0
    return np.zeros(len(jobs.staged), dtype=bool) if alone else ~own_by_class(facts, jobs)


def own_by_class(facts: BoundsFacts, jobs: Jobs) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Find the classes whose jobs have their own slots by `sharing`."""
    said = words(facts.classes, "sharing")
    default = jobs.staged if facts.estimates != PAPER else np.zeros(len(said), dtype=bool)
    return np.asarray((said == OWN) | ((said == "") & default))


def waves_of(jobs: Jobs, map_slots: Floats, reduce_slots: Floats) -> dict[str, Floats]:
    """Compute the times in whole waves of Vishal 2015: (3.14), (3.11) and (3.12); NaN for classes of stages."""
    maps, reduces = (jobs.described[f"{kind}.tasks"] for kind in ("map", "reduce"))
    with np.errstate(divide="ignore", invalid="ignore"):
        map_waves, reduce_waves = ceiling(maps / map_slots), ceiling(np.where(jobs.reducing, reduces / reduce_slots, 1))
    times = {}
    for name, of in (("waves", _typical), ("waves_lower", _shortest), ("waves_upper", _longest)):
        map_time, first, shuffle, reduce = (of(jobs, kind) for kind in ("map", "first", "shuffle", "reduce"))
        later = first + (reduce_waves - 1.0) * shuffle + reduce_waves * reduce
        time = map_waves * map_time + np.where(jobs.reducing, later, 0.0) + jobs.described.startup
        times[name] = np.where(jobs.staged, np.nan, time)
    return times


def times_of(facts: BoundsFacts, jobs: Jobs, map_slots: Floats, reduce_slots: Floats) -> dict[str, Floats]:
    """Compute the time of one job by each estimate [s]; jobs that share one slot take turns on it."""
    least = 1.0 / np.maximum(column(facts.classes, "jobs"), 1.0)
    slots, turns = [], np.ones(len(least))
    for each, counts in ((map_slots, True), (reduce_slots, jobs.reducing)):
        used = np.where(each > 0.0, np.maximum(each, least), 1.0)
        turns = np.maximum(turns, np.where(counts, 1.0 / np.minimum(used, 1.0), 1.0))
        slots.append(np.where(each > 0.0, np.maximum(used, 1.0), each))
    times = {name: each.time(*slots) for name, each in estimates_of(facts, jobs).items()} | waves_of(jobs, *slots)
    return {name: each * turns for name, each in times.items()}


def promised(facts: BoundsFacts, jobs: Jobs, map_slots: Floats, reduce_slots: Floats) -> Floats:
    """Compute the time of one job by the estimate that its class guarantees [s]."""
    chosen = words(facts.classes, "guarantee", default_guarantee(facts, True))
    times = times_of(facts, jobs, map_slots, reduce_slots)
    result = times["average"]
    for name, time in times.items():
        result = np.where(chosen == name, time, result)
    return result


def shares_of(facts: BoundsFacts) -> Floats:
    """Give every class its part of the slots: as written; the rest in proportion to the jobs of the others."""
    share, jobs = column(facts.classes, "share"), column(facts.classes, "jobs")
    open_ = np.isnan(share)
    left = 1.0 - share[~open_].sum()
    return np.where(open_, left * jobs / max(jobs[open_].sum(), 1.0), share)


def cluster_slots(facts: BoundsFacts) -> tuple[float, float]:
    """Read the map and the reduce slots of the cluster; one pool counts for both."""
    assert facts.cluster is not None
    slots = facts.cluster.slots
    assert slots is not None
    if slots.task is not None:
        return float(slots.task), float(slots.task)
    return float(slots.map or 0), float(slots.reduce or 0)


def slots_of_a_job(facts: BoundsFacts, jobs: Jobs) -> tuple[Floats, Floats]:
    """Give one job of each class its part of the cluster's slots, all of them under ``fifo``."""
    maps, reduces = cluster_slots(facts)
    part = np.ones(len(facts.classes)) if jobs.fifo else shares_of(facts) / column(facts.classes, "jobs")
    return part * maps, np.where(jobs.staged, 0.0, part * reduces)


def _longest(jobs: Jobs, kind: str) -> Floats:
    return jobs.described["shuffle.first_max" if kind == "first" else f"{kind}.max"]


def _average(jobs: Jobs, kind: str) -> Floats:
    if kind != "first":
        return jobs.described[f"{kind}.avg"]
    given = jobs.described["shuffle.first_avg"]
    return np.where(np.isnan(given), jobs.described["shuffle.first_max"], given)


def _shortest(jobs: Jobs, kind: str) -> Floats:
    """Give the shortest time: as written, or ``2 avg - max``, at least 0."""
    default = np.fmax(2.0 * _average(jobs, kind) - _longest(jobs, kind), 0.0)
    return np.where(np.isnan(jobs.shortest[kind]), default, jobs.shortest[kind])


def _typical(jobs: Jobs, kind: str) -> Floats:
    """Give the time halfway between shortest and longest, (3.13); of a first shuffle its average, (3.7)."""
    if kind == "first":
        return _average(jobs, kind)
    return (_shortest(jobs, kind) + _longest(jobs, kind)) / 2.0
