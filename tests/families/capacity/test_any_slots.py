"""A bound holds for plans of any slots that keep the deadlines, not of the fewest alone: against plain enumeration."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, inf

import numpy as np
import pytest

import mrdsl
from mrdsl.core.result import SolutionStatus
from mrdsl.families.capacity.facts import CapacityFacts, JobClass, VmType
from mrdsl.families.capacity.instance import mix_of
from mrdsl.families.capacity.verify import verify
from mrdsl.spec import Spec
from mrdsl.spec.blocks import Coefficients, MapPhase, OnDemand, ReducePhase, ShufflePhase, Slots, Spot
from mrdsl.spec.schema import Range
from tests.families.capacity.capacity_oracle import estimate
from tests.families.capacity.type_specs import varied_types

HALF = """problem capacity "half on spot", estimates = paper
whole = {whole}
vm m5 {{ on_demand {{ price = 0.192 USD/h }}, spot {{ price = 0.073 USD/h, interruptions = 0.0003/h }} }}
class a {{ coefficients {{ A = 5400 s, B = 1250 s, C = 95 s }}, slots {{ map = 4, reduce = 2 }}
  jobs = 2..2, deadline = 10 min, penalty = 20 USD, spot = 50% }}
minimize cost
"""


def keeping(node: JobClass, kept: tuple[float, float], box: int) -> list[tuple[int, int]]:
    """All pairs of slots in a box that keep the deadline of one job, of which the parts ``kept`` do lasting work."""
    a, b, c = estimate(node)
    tasks = (box, box if b else 0)
    if node.coefficients is None:
        tasks = node.map.tasks, node.reduce.tasks if node.reduce is not None else 0
    most = [ceil(count / part - 1e-9) for count, part in zip(tasks, kept, strict=True)]
    found = []
    for maps in range(1, min(box, most[0]) + 1):
        for reduces in range(1 if most[1] else 0, min(box, most[1]) + 1):
            useful = min(maps * kept[0], tasks[0]), min(reduces * kept[1], tasks[1])
            time = c + a / useful[0] + (b / useful[1] if b else 0.0)
            if time <= node.deadline * (1 + 1e-12):
                found.append((maps, reduces))
    return found


def sums(pairs: list[tuple[int, int]], hosts: tuple[int, int], jobs: int) -> list[list[float]]:
    """The VMs that 0, 1, ... jobs may take in all, in rising order: counted in whole parts of a VM, so exactly."""
    whole = hosts[0] * hosts[1]
    one = {maps * hosts[1] + reduces * hosts[0] for maps, reduces in pairs}
    found = [{0}]
    for _ in range(jobs):
        found.append({before + more for before in found[-1] for more in one})
    return [[parts / whole for parts in sorted(each)] for each in found]


def least_cost(spec: Spec, box: int = 24) -> float:
    """The least cost of one class on one type, firm and spot, in whole slots: every split of jobs, every slots."""
    facts: CapacityFacts = spec.facts
    node, vm = facts.classes[0], facts.vms[0]
    mix = mix_of(spec)
    lost = float(mix.map_kept[1, 0]), float(mix.reduce_kept[1, 0])
    pairs = keeping(node, (1.0, 1.0), box), keeping(node, lost, box)
    share, hosts = 1.0 if node.spot is None else node.spot, (node.slots.map, node.slots.reduce)
    low, high = ceil(node.jobs.low), int(node.jobs.high)

    firm_times, spot_times = (sums(each, hosts, high) for each in pairs)
    best = inf
    for admitted in range(low, high + 1):
        for on_spot in range(admitted + 1):
            for spot in spot_times[on_spot][:1]:
                enough = [f for f in firm_times[admitted - on_spot] if spot <= share * (spot + f) + 1e-9]
                if enough:
                    firm = ceil(enough[0] - 1e-9) * vm.on_demand.price + ceil(spot - 1e-9) * vm.spot.price
                    best = min(best, 3600 * firm + node.penalty * (high - admitted))
    return best


def drawn(seed: int) -> Spec:
    """One class with a part on spot: few tasks or unknown ones, hosts that divide each other and that do not."""
    rng = np.random.default_rng(seed)
    hosts = Slots(map=int(rng.integers(1, 6)), reduce=int(rng.integers(1, 4)))
    if rng.random() < 0.5:
        work = {"coefficients": Coefficients(A=rng.uniform(100, 900), B=rng.uniform(50, 400), C=rng.uniform(0, 30))}
    else:
        work = {
            "map": MapPhase(tasks=int(rng.integers(1, 9)), avg=30.0, max=40.0),
            "shuffle": ShufflePhase(first_max=5.0, avg=10.0, max=12.0),
            "reduce": ReducePhase(tasks=int(rng.integers(1, 5)), avg=20.0, max=30.0),
        }
    high = int(rng.integers(1, 5))
    node = JobClass(
        name="a",
        slots=hosts,
        jobs=Range(float(rng.integers(0, high + 1)), float(high)),
        deadline=float(rng.uniform(150, 400)),
        penalty=float(rng.uniform(0.05, 2.0)),
        spot=float(rng.choice([0.1, 0.3, 0.5, 0.7, 0.9])),
        **work,
    )
    price = 0.2 / 3600
    rate = float(rng.choice([0.0003, 0.05, 1.0])) / 3600
    types = (VmType(name="m5", on_demand=OnDemand(price=price), spot=Spot(price=0.3 * price, interruptions=rate)),)
    return Spec(problem="capacity", facts=CapacityFacts(estimates="paper", vms=types, classes=(node,), whole="slots"))


def fractional_cost(spec: Spec) -> float:
    """The same in fractions of slots, by search over the slots of one job on a fine grid of map slots."""
    facts: CapacityFacts = spec.facts
    node, vm = facts.classes[0], facts.vms[0]
    mix, share = mix_of(spec), node.spot
    lost = float(mix.map_kept[1, 0]), float(mix.reduce_kept[1, 0])
    (a, b, c), hosts = estimate(node), (node.slots.map, node.slots.reduce)
    known = node.coefficients is None
    tasks = (float(node.map.tasks), float(node.reduce.tasks)) if known else (inf, inf)

    def fewest(kept: tuple[float, float]) -> float:
        work, most = (a / kept[0], b / kept[1]), (tasks[0] / kept[0], tasks[1] / kept[1])
        maps = np.geomspace(1.0, min(most[0], 1e4), 400_001)
        left = node.deadline - c - work[0] / maps
        with np.errstate(divide="ignore", invalid="ignore"):
            reduces = np.where(left > 0.0, np.maximum(work[1] / left, 1.0), np.inf)
        reduces = np.where(reduces > most[1] * (1 + 1e-9), np.inf, reduces)
        return float((maps / hosts[0] + reduces / hosts[1]).min())

    one, other = fewest((1.0, 1.0)), fewest(lost)
    most = tasks[0] / hosts[0] + tasks[1] / hosts[1]
    best = inf
    for admitted in range(ceil(node.jobs.low), int(node.jobs.high) + 1):
        for on_spot in range(admitted + 1):
            spot, jobs = on_spot * other if on_spot else 0.0, admitted - on_spot
            firm = max(jobs * one if jobs else 0.0, spot * (1.0 - share) / share)
            if (jobs or not firm) and (not jobs or firm <= jobs * most * (1 + 1e-9)) and np.isfinite(firm + spot):
                vms = ceil(firm - 1e-6) * vm.on_demand.price + ceil(spot - 1e-6) * vm.spot.price
                best = min(best, 3600 * vms + node.penalty * (node.jobs.high - admitted))
    return best


@pytest.mark.parametrize("solver", ["highs", "scip", "cbc", "glpk", "direct"])
@pytest.mark.parametrize("whole", ["no", "slots", "machines"])
def test_half_of_two_jobs_on_spot_where_firm_jobs_hold_a_little_more(whole: str, solver: str) -> None:
    """One job each way: 10 firm VMs hold what their share asks for, of which Theorem 4.1's slots take a hair less."""
    spec = mrdsl.loads(HALF.format(whole=whole))
    result = mrdsl.solve(spec, solver)
    expected = least_cost(spec) if whole != "no" else fractional_cost(spec)
    assert expected == pytest.approx(2.12)
    assert result.value == pytest.approx(expected)
    assert result.bound <= expected + 1e-9
    assert not list(verify(spec, result.plan, False))


def with_whole(spec: Spec, whole: str) -> Spec:
    return replace(spec, facts=replace(spec.facts, whole=whole))


def test_no_split_of_jobs_and_no_slots_are_cheaper_than_what_is_called_optimal() -> None:
    optimal = checked = 0
    for seed in range(24):
        spec = drawn(seed)
        if not mix_of(spec).possible.all():
            continue
        for whole in ("no", "slots"):
            result = mrdsl.solve(with_whole(spec, whole), "highs")
            best = least_cost(spec) if whole == "slots" else fractional_cost(spec)
            assert result.value >= best - 1e-6, (seed, whole)
            assert result.bound <= best + 1e-6, (seed, whole)
            checked += 1
            if result.solution is SolutionStatus.OPTIMAL:
                optimal += 1
                assert result.value == pytest.approx(best, rel=2e-6), (seed, whole)
    assert checked >= 24
    assert optimal >= 0.85 * checked


def test_direct_knows_slots_beyond_the_fewest_too() -> None:
    near = count = 0
    for seed in range(40, 60):
        spec = drawn(seed)
        if not mix_of(spec).possible.all():
            continue
        result, best = mrdsl.solve(spec, "direct"), least_cost(spec)
        assert best - 1e-6 <= result.value
        assert result.bound <= best + 1e-6
        near += result.value <= best * 1.02
        count += 1
    assert near >= 0.8 * count


@pytest.mark.parametrize("seed", range(700, 724))
def test_what_is_less_whole_costs_no_more(seed: int) -> None:
    """Of everything that can be drawn: types, parts on spot, quotas, contracts, containers, rows of `on`."""
    spec = varied_types(seed, classes=2 + seed % 2, types=2, jobs=1 + seed % 6)
    costs, bounds = [], []
    for whole in ("no", "slots", "machines"):
        result = mrdsl.solve(with_whole(spec, whole), "highs", limits=mrdsl.Limits(time=20.0))
        costs.append(inf if result.value is None else result.value)
        bounds.append(-inf if result.bound is None else result.bound)
        if result.termination == "infeasible":
            bounds[-1] = inf
    for less, more in ((0, 1), (1, 2), (0, 2)):
        assert bounds[less] <= costs[more] * (1 + 1e-6) + 1e-9, (costs, bounds)
    if all(cost <= bound * (1 + 1e-6) for cost, bound in zip(costs, bounds, strict=True) if np.isfinite(cost)):
        assert costs[0] <= costs[1] * (1 + 2e-6)
        assert costs[1] <= costs[2] * (1 + 2e-6)
