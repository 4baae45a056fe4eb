"""Whole jobs at once: against enumeration, against P2 and P0 through solvers, and played through task by task."""

from __future__ import annotations

import heapq
from dataclasses import replace
from math import ceil, inf

import numpy as np
import pytest

from mrdsl import loads
from mrdsl.contracts.pipeline import Draft, run_steps
from mrdsl.core.result import Limits, Result, SolutionStatus, Termination
from mrdsl.families.joint import verify as joint_verify
from mrdsl.families.joint.checks import find_impossible
from mrdsl.families.joint.facts import Cluster, JobClass, JointFacts
from mrdsl.families.joint.methods.greedy import fill_by_penalty, recover, serve_least
from mrdsl.families.joint.workload import workload
from mrdsl.planning.solve_spec import solve
from mrdsl.spec.blocks import MapPhase, Slots
from mrdsl.spec.schema import Range
from mrdsl.spec.spec import Spec
from studies.joint_sizes import sweep

from .brute import brute_force
from .specs import HOUR, broken, wild_spec


def greedy(spec: Spec, relax: bool = False, **limits: int) -> Result:
    return run_steps([(serve_least, {}), (fill_by_penalty, limits), (recover, {})], Draft(spec, relax=relax))


def possible(spec: Spec) -> bool:
    return not {"impossible-deadline", "late-by-estimate"} & {d.code for d in find_impossible(spec)}


@pytest.mark.parametrize("block", range(6))
def test_greedy_is_what_enumeration_finds(block: int) -> None:
    """And its bound is proven, its plan keeps what it promises, and the relaxation is no dearer."""
    solved = 0
    for seed in range(60 * block, 60 * (block + 1)):
        spec = wild_spec(seed)
        if not possible(spec):
            continue
        best, found = brute_force(spec, 14), greedy(spec)
        if best is None:
            assert found.termination is Termination.INFEASIBLE, seed
            continue
        assert found.plan is not None, seed
        assert found.value == pytest.approx(best, rel=1e-7, abs=1e-10), seed
        assert found.bound == pytest.approx(best, rel=1e-7, abs=1e-10), seed
        assert not broken(spec, found.plan), seed
        relaxed = greedy(spec, relax=True)
        assert relaxed.value is not None, seed
        assert relaxed.value <= best + 1e-9, seed
        assert not broken(spec, relaxed.plan, relax=True), seed
        solved += 1
    assert solved > 20


@pytest.mark.parametrize(("solver", "formulation"), [("highs", "P2"), ("glpk", "P2"), ("scip", "P0"), ("scip", "P1")])
@pytest.mark.parametrize("relax", [False, True])
def test_solvers_find_the_same(solver: str, formulation: str, relax: bool) -> None:
    pytest.importorskip("pyscipopt")
    for seed in range(12 if solver == "scip" else 30):
        spec = wild_spec(seed)
        if not possible(spec) or (formulation != "P2" and any_without_minimum(spec)):
            continue
        expected, found = greedy(spec, relax), solve(spec, solver, formulation, relax)
        if expected.plan is None:
            assert found.termination is Termination.INFEASIBLE, seed
            continue
        assert found.solution is SolutionStatus.OPTIMAL, seed
        assert found.objective.value == pytest.approx(expected.value, rel=3e-6, abs=1e-9), seed


def any_without_minimum(spec: Spec) -> bool:
    facts = spec.facts
    return any(one.jobs.low == 0 for one in facts.classes) or any(one.rate.low == 0 for one in facts.services)


def test_rounded_p2_brackets_the_optimum() -> None:
    """Its optimum is a bound, its VMs are feasible; relaxed it is P2's relaxation, on parts of whole VMs too."""
    for seed in range(40):
        spec = wild_spec(seed)
        if not possible(spec):
            continue
        exact, found = greedy(spec), solve(spec, "highs", "P2-rounded")
        assert (exact.plan is None) == (found.plan is None), seed
        relaxed, rounded = greedy(spec, relax=True), solve(spec, "highs", "P2-rounded", relax=True)
        assert (relaxed.value is None) == (rounded.plan is None), seed
        if relaxed.value is not None:
            assert rounded.objective.value == pytest.approx(relaxed.value, rel=1e-6, abs=1e-9), seed
        if exact.value is not None:
            assert found.objective.value >= exact.value - 1e-9, seed  # type: ignore[operator]
            assert found.objective.bound <= exact.value + 1e-9, seed  # type: ignore[operator]


def test_every_size_as_if_alone() -> None:
    sizes = np.arange(1.0, 18.0)
    for seed in range(40):
        spec = wild_spec(seed, sharing="shared")
        if not possible(spec):
            continue
        found = sweep(workload(spec), sizes, relax=False)
        for size, total in zip(sizes.tolist(), found.total[:, 0].tolist(), strict=True):
            alone = greedy(sized(spec, int(size)))
            assert (alone.value is None) == np.isnan(total), (seed, size)
            if alone.value is not None:
                assert total == pytest.approx(alone.value, rel=1e-9, abs=1e-12), (seed, size)


def sized(spec: Spec, size: int) -> Spec:
    return replace(spec, facts=replace(spec.facts, cluster=replace(spec.facts.cluster, size=size)))


def many_classes(seed: int, count: int = 40) -> Spec:
    """Classes alone, of 3 to 12 VMs per job: no service fills what whole jobs leave."""
    draw = np.random.default_rng(seed)
    classes = []
    for i in range(count):
        tasks, high = int(draw.integers(20, 200)), float(draw.uniform(2, 30))
        average = float(draw.uniform(3, 12)) * 2 * 850 / tasks
        classes.append(
            JobClass(
                name=f"c{i}",
                map=MapPhase(tasks=tasks, avg=average, max=average),
                slots=Slots(map=2, reduce=2),
                deadline=900.0,
                jobs=Range(0.4 * high, high),
                penalty=float(draw.uniform(0.05, 0.5)),
                guarantee="lower",
            )
        )
    facts = JointFacts(cluster=Cluster(size=1, vm_cost=0.02 / HOUR, reuse="paper"), classes=tuple(classes), services=())
    work = workload(Spec(problem="joint", facts=facts))
    least, most = (work.whole_vms(demand).sum() for demand in (work.low, work.high))
    return sized(Spec(problem="joint", facts=facts), int(least + draw.uniform(0.2, 0.8) * (most - least)))


@pytest.mark.parametrize("seed", range(4))
def test_exchanges_among_many_classes(seed: int) -> None:
    """Dynamic programming over all VMs finds the same optimum, HiGHS proves nothing better."""
    spec = many_classes(seed)
    found, size = greedy(spec), np.array([float(spec.facts.cluster.size)])
    assert found.termination is Termination.OPTIMAL
    assert found.value == pytest.approx(sweep(workload(spec), size, relax=False).total[0, 0], rel=1e-9)
    if seed == 0:
        other = solve(spec, "highs", "P2", limits=Limits(gap=1e-6, time=30))
        assert other.objective.value == pytest.approx(found.value, rel=2e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "limits", [{"states": 4, "units": 128}, {"states": 4096, "units": 1}, {"states": 2, "units": 0}]
)
def test_what_a_short_search_leaves_aside_shows_in_its_bound(seed: int, limits: dict[str, int]) -> None:
    spec = many_classes(seed)
    best, found = greedy(spec).value, greedy(spec, **limits)
    assert best is not None
    assert found.value is not None
    assert found.bound is not None
    assert found.bound <= best * (1 + 1e-12)
    assert best <= found.value * (1 + 1e-12)
    assert (found.solution is SolutionStatus.OPTIMAL) == (found.value - found.bound <= 1e-6 * found.value)


ONE_JOB = """
problem joint "one job an hour"
cluster { size = 60 vms, vm_cost = 1 cent/h, CONCURRENCY }
class r {
  map     { tasks = 370, avg = 30 s, max = 42 s }
  shuffle { first_max = 11 s, avg = 37 s, max = 40 s }
  reduce  { tasks = 64, avg = 22 s, max = 44 s }
  slots { map = 2, reduce = 2 }
  jobs = 1, deadline = 900 s, penalty = 45 cent, guarantee = upper
}
minimize cost
"""


def played(one: JobClass, map_slots: int, reduce_slots: int, draw: np.random.Generator) -> float:
    """The end of one job alone on its slots: tasks in the order given, each on the slot that is free first."""
    m, s, r = one.map, one.shuffle, one.reduce
    assert m is not None
    maps = times(m.tasks, m.avg, m.max, draw)
    map_end = listed(maps, [0.0] * map_slots)
    if r is None or s is None:
        return map_end
    shuffles, reduces = times(r.tasks, s.avg, s.max, draw), times(r.tasks, r.avg, r.max, draw)
    first = [s.first_max or 0.0] * min(reduce_slots, r.tasks)
    shuffles = np.concatenate([first, shuffles[len(first) :]])
    return listed(shuffles + reduces, [map_end] * reduce_slots)


def times(tasks: int, average: float, longest: float, draw: np.random.Generator) -> np.ndarray:
    """Task times of that mean at most, none beyond the longest; the longest one comes last, the worst place for it."""
    rest = draw.uniform(0.5, 1.5, tasks) * average
    rest = np.minimum(rest, longest)
    rest[-1] = longest
    rest[:-1] *= min(1.0, (tasks * average - longest) / rest[:-1].sum())
    return rest


def listed(durations: np.ndarray, slots: list[float]) -> float:
    heapq.heapify(slots)
    for duration in durations.tolist():
        heapq.heapreplace(slots, slots[0] + duration)
    return max(slots)


def test_a_job_alone_keeps_its_deadline() -> None:
    """The paper's reading gives an hour's one job slots for a quarter of it: no order of its tasks ends in time."""
    one = loads(ONE_JOB.replace("CONCURRENCY", "concurrency = whole, reuse = paper"))
    plans = {}
    for how in ("whole", "fractional"):
        plan = solve(loads(ONE_JOB.replace("CONCURRENCY", f"concurrency = {how}"))).plan
        assert plan is not None
        plans[how] = plan.document()["periods"][0]["classes"]["r"]
    assert (plans["whole"]["at_once"], plans["fractional"]["at_once"]) == (1.0, 0.25)
    job = one.facts.classes[0]
    for seed in range(20):
        draw = np.random.default_rng(seed)
        slots = [ceil(plans["whole"][kind]) for kind in ("map_slots", "reduce_slots")]
        assert played(job, *slots, draw) <= 900.0
    on_all_vms = 2 * int(plans["fractional"]["vms"])
    assert played(job, on_all_vms, on_all_vms, np.random.default_rng(0)) > 900.0


@pytest.mark.parametrize("seed", range(60))
def test_jobs_alone_on_their_classes_slots_keep_upper_deadlines(seed: int) -> None:
    spec = wild_spec(seed)
    upper = tuple(replace(c, guarantee="upper") for c in spec.facts.classes if c.coefficients is None)
    spec = replace(
        spec,
        facts=replace(spec.facts, classes=upper, services=(), cluster=Cluster(size=200, vm_cost=1e-6, reuse="paper")),
    )
    if not upper or not possible(spec):
        return
    plan = solve(spec).plan
    assert plan is not None
    got = plan.classes  # type: ignore[attr-defined]
    draw = np.random.default_rng(seed)
    for i, one in enumerate(upper):
        if got.at_once[0, i] > 0:
            slots = [max(1, ceil(float(kind[0, i]) - 1e-9)) for kind in (got.map_slots, got.reduce_slots)]
            tasks = one.map.tasks, one.reduce.tasks if one.reduce else inf
            assert played(one, min(slots[0], tasks[0]), int(min(slots[1], tasks[1])), draw) <= one.deadline * (1 + 1e-9)


def test_whole_plans_are_told_from_fractional_ones() -> None:
    """A plan made with fractional jobs at once breaks a spec that promises whole ones."""
    whole = loads(ONE_JOB.replace("CONCURRENCY", "concurrency = whole, reuse = paper"))
    fractional = loads(ONE_JOB.replace("CONCURRENCY", "concurrency = fractional"))
    plan = solve(fractional).plan
    assert not broken(fractional, plan)
    assert any("no whole jobs" in message for message in broken(whole, plan))
    good = solve(whole).plan
    assert not broken(whole, good)
    twice = replace(good, classes=replace(good.classes, admitted=good.classes.admitted * 4.5))  # type: ignore[union-attr, type-var]
    assert any("turns" in message for message in broken(whole, twice))


@pytest.mark.parametrize(
    ("deadline", "turns"), [(900.0, 4), (1000.0, 3), (3600.0, 1), (3601.0, 0.5), (7200.0, 0.5), (7201.0, 1 / 3)]
)
def test_turns_in_a_period(deadline: float, turns: float) -> None:
    """Six jobs in an hour, or one each 6 h: as many at once as leave each its whole turns."""
    text = ONE_JOB.replace("CONCURRENCY", "concurrency = whole, reuse = paper").replace("900 s", f"{deadline} s")
    text = text.replace("jobs = 1,", "jobs = 6,").replace("60 vms", "9000 vms")
    plan = solve(loads(text)).plan
    assert plan is not None
    assert plan.document()["periods"][0]["classes"]["r"]["at_once"] == ceil(6 / turns - 1e-9)


@pytest.mark.parametrize("most", [3, 1000, 10**9])
@pytest.mark.parametrize("turns", [1, 2, 3, 4, 999, 1000, 1001, 99_999, 100_000, 100_001, 150_000])
@pytest.mark.parametrize("off", [-1e-9, 0.0, 1e-9])
def test_turns_are_counted_alike_however_many(
    most: int, turns: int, off: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Played through or by a quotient, a billionth of the period more or less is nothing."""
    monkeypatch.setattr(joint_verify, "MOST_TURNS", min(most, 200_000))
    assert joint_verify._turns_of(turns * 7.3 * (1 + off), 7.3) == turns
    assert 1 / joint_verify._turns_of(7.3, turns * 7.3 * (1 + off)) == pytest.approx(turns, rel=1e-12)


@pytest.mark.parametrize("hours", [10**6, 10**15, 10**90])
def test_no_period_is_played_through_turn_by_turn(hours: int) -> None:
    """Of a thousand classes each played a hundred thousand turns, whatever the limit of time."""
    played: list[str] = []

    class Time(float):
        """A time that notes every sum of a turn."""

        def __radd__(self, other: float) -> float:
            played.append("")
            return float(self) + other

    joint_verify._turns_of(hours * 3600.0, Time(900.0))
    assert len(played) <= 1001


SMALL = """problem joint
cluster {{ size = {size} vms, vm_cost = 1 cent/h, period = 1 h, reuse = paper }}
class a {{
  coefficients {{ A = 1000 s, B = 900 s, C = 20 s }}
  slots {{ map = 2, reduce = 2 }}
  jobs = 2.2 .. 3
  deadline = 600 s
  penalty = 3 cent
}}
class b {{
  coefficients {{ A = 1000 s, B = 900 s, C = 20 s }}
  slots {{ map = 2, reduce = 2 }}
  jobs = 6.2 .. 7
  deadline = 700 s
  penalty = 3 cent
}}
minimize cost
"""


@pytest.mark.parametrize(("relax", "enough"), [(False, 10), (True, 5)])
def test_the_cluster_that_is_said_to_be_enough_is_the_least_that_is(relax: bool, enough: int) -> None:
    """By hand: (sqrt(A) + sqrt(B))^2 / 2 / (D - C) VMs a job at a time, 3.27 and 2.79, in 6 and 5 rounds an hour:
    one job of a and two of b at once hold 4 and 6 whole VMs, as shares 2.2 / 6 and 6.2 / 5 of a job 4.66."""
    (told,) = find_impossible(loads(SMALL.format(size=3)))
    assert "needs 10 (4.66 with `--relax`)" in told.message
    assert told.hint.startswith("take size = 10 vms or more (5 with `--relax`)")
    for size in (enough - 1, enough):
        result = solve(loads(SMALL.format(size=size)), relax=relax)
        assert (result.plan is not None) is (size == enough)
