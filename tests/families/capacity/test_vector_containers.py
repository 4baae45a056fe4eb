"""Containers are packed by cores and by memory: against plain enumeration of jobs, slots and contents of VMs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil, inf

import numpy as np
import pytest

import mrdsl
from mrdsl.core.result import SolutionStatus
from mrdsl.families.capacity.facts import CapacityFacts, JobClass, VmType
from mrdsl.families.capacity.instance import mix_of
from mrdsl.families.capacity.slot_choices import _in_any_place
from mrdsl.families.capacity.verify import verify
from mrdsl.spec import Spec
from mrdsl.spec.blocks import Coefficients, Container, OnDemand, Resources, Slots
from mrdsl.spec.schema import Range
from tests.families.capacity.capacity_oracle import estimate
from tests.formulas.packings import fewest

GIB = 1024**3
CLICKS = """problem capacity "containers", estimates = paper
whole = {whole}
vm "m5.xlarge" {{ cores = 4, memory = 16 GiB, on_demand {{ price = 0.192 USD/h }} }}
class clicks {{
  map     {{ tasks = 370, avg = 30 s, max = 42 s }}
  shuffle {{ first_max = 11 s, avg = 37 s, max = 40 s }}
  reduce  {{ tasks = 64, avg = 22 s, max = 44 s }}
  container {{ map {{ cores = 1, memory = 2 GiB }}, reduce {{ cores = 1, memory = 6 GiB }} }}
  jobs = 10..10, deadline = 15 min, penalty = 12 USD
}}
minimize cost
"""


def keeping(node: JobClass, box: int) -> list[tuple[int, int]]:
    a, b, c = estimate(node)
    every = product(range(1, box + 1), range(1, box + 1))
    return [(m, r) for m, r in every if c + a / m + b / r <= node.deadline * (1 + 1e-12)]


def bare(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those of which no other has as few of both."""
    return [p for p in pairs if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in pairs)]


@pytest.mark.parametrize("solver", ["highs", "scip", "cbc", "glpk"])
def test_ten_jobs_hold_ninety_vms_and_no_fewer(solver: str) -> None:
    """Cores alone ask for a quarter of all slots; no pairs of ten jobs have fewer than 357 slots in all."""
    spec = mrdsl.loads(CLICKS.format(whole="slots"))
    found = mrdsl.solve(spec, solver)
    least = min(m + r for m, r in keeping(spec.facts.classes[0], 64))
    assert found.plan.on_demand == 90 == ceil(10 * least / 4)
    assert found.solution is SolutionStatus.OPTIMAL
    assert found.value == pytest.approx(90 * 0.192)
    assert not [each for each in verify(spec, found.plan, False) if each.severity == "error"]


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_a_job_of_thousands_of_pairs_has_slots(solver: str) -> None:
    """Too many pairs to look at all: one near the best of all numbers of map slots, and a bound that says so."""
    text = CLICKS.replace("370", "300000").replace("64", "300000").replace("10..10", "1..1").replace("15 min", "20 min")
    spec = mrdsl.loads(text.format(whole="slots").replace("penalty = 12 USD", "penalty = 12000 USD"))
    a, b, c = estimate(spec.facts.classes[0])
    maps = np.arange(ceil(a / (1200.0 - c)) + 1, 300_001)
    reduces = np.ceil(b / (1200.0 - c - a / maps))
    best = float(np.ceil(np.maximum((maps + reduces) / 4, maps / 8 + reduces * 3 / 8))[reduces <= 300_000].min())
    found = mrdsl.solve(spec, solver)
    assert found.plan.admitted[0] == 1
    assert best <= found.plan.on_demand <= 1.001 * best
    assert found.bound <= 0.192 * best + 1e-6
    assert not [each for each in verify(spec, found.plan, False) if each.severity == "error"]


@pytest.mark.parametrize("replacing", [(0, 0), (1, 0), (3, 0), (0, 2), (1, 1)])
def test_every_pair_that_is_left_out_has_one_that_fits_in_its_place(replacing: tuple[int, int]) -> None:
    """Try every number of slots of one kind in the places of the other; and of the pairs that stay, none fits."""
    rng = np.random.default_rng(list(replacing))
    for _ in range(60):
        maps, reduces = (np.sort(rng.choice(np.arange(1.0, 40.0), 12, replace=False)) for _ in range(2))
        pairs = list(zip(maps.tolist(), reduces[::-1].tolist(), strict=True))
        kept = _in_any_place(pairs, replacing)
        for m, r in pairs:
            places = [(m + n * replacing[0], r - n) for n in range(int(r) + 1)]
            places += [(m - n, r + n * replacing[1]) for n in range(int(m) + 1)]
            others = [q for q in kept if q != (m, r) and any(q[0] <= x and q[1] <= y for x, y in places)]
            assert bool(others) == ((m, r) not in kept), (pairs, (m, r))


def test_fractions_take_the_cores_or_the_memory_that_is_scarcer() -> None:
    """One of both is scarce for every mixture of pairs: the best on a fine grid, and no fewer VMs."""
    spec = mrdsl.loads(CLICKS.format(whole="no"))
    a, b, c = estimate(spec.facts.classes[0])
    maps = np.geomspace(a / (900.0 - c) * 1.0001, 370.0, 2_000_001)
    reduces = np.maximum(b / (900.0 - c - a / maps), 1.0)
    taken = np.maximum((maps + reduces) / 4.0, maps / 8.0 + reduces * 3.0 / 8.0)
    least = 10.0 * float(taken[reduces <= 64.0].min())
    found = mrdsl.solve(spec, "highs")
    assert found.plan.mix.total() == ceil(least)
    assert mrdsl.solve(spec, "highs", relax=True).value == pytest.approx(0.192 * least, rel=1e-6)
    relaxed = mrdsl.solve(spec, "direct", relax=True)
    assert relaxed.bound == pytest.approx(0.192 * least, rel=1e-5)


def drawn(seed: int) -> Spec:
    """One or two classes of one or two jobs, with containers of few sizes, beside `slots` at times."""
    rng = np.random.default_rng(seed)
    classes = []
    for index in range(int(rng.integers(1, 3))):
        cores, memory = rng.choice([0.5, 1.0, 2.0], 2), rng.choice([1.0, 2.0, 3.0, 5.0, 6.0], 2)
        sizes = [Resources(cores=float(c), memory=float(m) * GIB) for c, m in zip(cores, memory, strict=True)]
        hosts = {"container": Container(map=sizes[0], reduce=sizes[1])}
        if index and rng.random() < 0.4:
            hosts = {"slots": Slots(map=3, reduce=2)}
        high = int(rng.integers(1, 3))
        classes.append(
            JobClass(
                name=f"c{index}",
                coefficients=Coefficients(A=rng.uniform(60, 300), B=rng.uniform(60, 300), C=5.0),
                jobs=Range(float(rng.integers(0, high + 1)), float(high)),
                deadline=float(rng.uniform(120, 200)),
                penalty=float(rng.uniform(0.1, 1.0)),
                **hosts,
            )
        )
    vm = VmType(name="m5", cores=4.0, memory=16.0 * GIB, on_demand=OnDemand(price=0.2 / 3600))
    return Spec(
        problem="capacity", facts=CapacityFacts(estimates="paper", vms=(vm,), classes=tuple(classes), whole="slots")
    )


def enumerated(spec: Spec, own: bool = False) -> float:
    """The least cost over all jobs, all slots of each and all contents of VMs; ``own``: of one class each."""
    facts: CapacityFacts = spec.facts
    sizes = []
    for node in facts.classes:
        kinds = [] if node.container is None else [node.container.map, node.container.reduce]
        vectors = [(Fraction(k.cores) / 4, Fraction(k.memory) / (16 * GIB)) for k in kinds]
        sizes.append(vectors or [node.slots.map, node.slots.reduce])
    pairs = [bare(keeping(node, 24)) for node in facts.classes]
    totals = [[{(0, 0)}] for _ in facts.classes]
    for mine, some, node in zip(totals, pairs, facts.classes, strict=True):
        for _ in range(int(node.jobs.high)):
            mine.append(set(bare(sorted({(m + x, r + y) for m, r in mine[-1] for x, y in some}))))
    best = inf
    for jobs in product(*(range(ceil(n.jobs.low), int(n.jobs.high) + 1) for n in facts.classes)):
        away = sum(n.penalty * (n.jobs.high - h) for n, h in zip(facts.classes, jobs, strict=True))
        for slots in product(*(mine[h] for mine, h in zip(totals, jobs, strict=True))):
            if own:
                vms = sum(fewest(size, each) for size, each in zip(sizes, slots, strict=True))
            else:
                vms = fewest([size for both in sizes for size in both], tuple(n for each in slots for n in each))
            best = min(best, 0.2 * vms + away)
    return best


def test_no_jobs_slots_and_contents_are_cheaper() -> None:
    """Of plans that are called optimal none is dearer, and hardly any is not; bounds lie below."""
    optimal = count = 0
    for seed in range(8):
        for whole in ("slots", "machines"):
            spec = drawn(seed)
            spec = replace(spec, facts=replace(spec.facts, whole=whole))
            best = enumerated(spec, own=whole == "machines")
            for solver in ("highs", "direct"):
                found = mrdsl.solve(spec, solver)
                assert found.bound <= best + 1e-6, (seed, whole, solver)
                assert found.value >= best - 1e-6, (seed, whole, solver)
                assert not [each for each in verify(spec, found.plan, False) if each.severity == "error"]
                if solver == "highs":
                    count += 1
                    optimal += found.solution is SolutionStatus.OPTIMAL
            fractions = mrdsl.solve(replace(spec, facts=replace(spec.facts, whole="no")), "highs")
            assert fractions.value <= best + 1e-6
            assert fractions.solution is SolutionStatus.OPTIMAL
    assert optimal >= 0.8 * count


def test_plans_of_containers_run_and_are_exported() -> None:
    spec = mrdsl.loads(CLICKS.format(whole="slots").replace("jobs = 10..10", "jobs = 1..1"))
    found = mrdsl.solve(spec)
    seen = mrdsl.simulate(found, runs=1, jobs=2)
    assert seen.plan.classes["clicks"].admitted == 1
    for target in ("emr", "yarn"):
        assert mrdsl.export(found, target)


MANY_CONTENTS = """problem capacity, estimates = paper
vm big {{ cores = 36, memory = 72 GiB, on_demand {{ price = 3 USD/h }} }}
{}minimize cost
"""
CLASSES = [(1382, 848, 3, 7, 3, 11), (2787, 1418, 2, 3, 3, 7), (4834, 2789, 1, 7, 4, 4), (4036, 1456, 3, 5, 1, 13)]
"""A and B in seconds, and cores and GiB of a map and of a reduce."""


def of_classes(rows: list[tuple[int, ...]]) -> str:
    nodes = (
        f"class c{number} {{ coefficients {{ A = {a} s, B = {b} s, C = 20 s }}\n"
        f"  container {{ map {{ cores = {p}, memory = {q} GiB }}, reduce {{ cores = {r}, memory = {s} GiB }} }}\n"
        f"  jobs = 1..1, deadline = 5 min, penalty = 30 USD }}\n"
        for number, (a, b, p, q, r, s) in enumerate(rows)
    )
    return MANY_CONTENTS.format("".join(nodes))


@pytest.mark.parametrize("solver", ["auto", "highs", "scip"])
@pytest.mark.parametrize("turn", range(2))
def test_vms_that_hold_slots_in_too_many_ways_have_a_plan(solver: str, turn: int) -> None:
    """The slots of some plans add up to VMs that they do not fit: the model then knows some contents of a VM."""
    found = mrdsl.solve(mrdsl.loads(of_classes(CLASSES[turn:] + CLASSES[:turn])), solver)
    assert found.bound <= found.value == 3.0 * found.plan.on_demand
    assert not [each for each in verify(found.spec, found.plan, False) if each.severity == "error"]
    assert found.plan.rejected.tolist() == [0.0] * 4


DRIVERS = """problem capacity, estimates = paper
vm m5 { cores = 4, memory = 16 GiB, on_demand { price = 0.2 USD/h } LIMIT }
QUOTA
class c { stage a { tasks = 8, avg = 10 s, max = 12 s }
          container { executor { cores = 3, memory = 8 GiB, tasks = 3 } }, driver { cores = 1, memory = 2 GiB }
          jobs = 3, deadline = 30 min, penalty = 50 USD }
minimize cost
"""


@pytest.mark.parametrize("solver", ["auto", "highs", "direct"])
@pytest.mark.parametrize(
    ("limit", "quota", "fits"),
    [
        (", available = 3", "", True),  # an executor and its driver fill a VM
        (", available = 2", "", False),
        ("", "quota a { cores = 12 }", True),
        ("", "quota a { cores = 11 }", False),
    ],
)
def test_limits_that_containers_just_fit(solver: str, limit: str, quota: str, fits: bool) -> None:
    spec = mrdsl.loads(DRIVERS.replace("LIMIT", limit).replace("QUOTA", quota))
    result = mrdsl.solve(spec, solver=solver)
    assert (None if result.value is None else round(result.value, 9)) == (0.6 if fits else None)
    if not fits and solver != "direct":
        assert result.termination == "infeasible"


@pytest.mark.parametrize("seed", range(8))
def test_no_slots_take_less_of_a_resource_than_the_fewest(seed: int) -> None:
    random = np.random.RandomState(seed)
    tasks, times, cores, memory = random.randint(1, 30, 2), random.randint(5, 60, 2), random.randint(1, 4, 2), [2, 7]
    text = f"""problem capacity, estimates = paper
vm m5 {{ cores = 8, memory = 32 GiB, on_demand {{ price = 0.2 USD/h }}
        spot {{ price = 0.1 USD/h, interruptions = 0/h }} }}
class c {{ map {{ tasks = {tasks[0]}, avg = {times[0]} s, max = {times[0]} s }}
          shuffle {{ first_max = 0 s, avg = 0 s, max = 0 s }}
          reduce {{ tasks = {tasks[1]}, avg = {times[1]} s, max = {times[1]} s }}
          container {{ map {{ cores = {cores[0]}, memory = {memory[0]} GiB }}
                      reduce {{ cores = {cores[1]}, memory = {memory[1]} GiB }} }}
          jobs = 3, deadline = {int(times.sum()) * random.randint(2, 9)} s, penalty = 50 USD }}
minimize cost
"""
    mix = mix_of(mrdsl.loads(text))
    work, limit = mix.pairs.work, float(mix.pairs.completion_limit[0])
    a, b, c = (float(each[0, 0]) for each in (work.map_work, work.reduce_work, work.constant))
    parts = np.array([cores / 8.0, np.array(memory) / 32.0])
    sizes = np.array([w * parts[0] + (1.0 - w) * parts[1] for w in (0.0, 0.25, 0.5, 0.75, 1.0)])
    fits = [
        sizes @ (x, y)
        for x, y in product(range(1, int(tasks[0]) + 1), range(1, int(tasks[1]) + 1))
        if a / x + b / y + c <= limit
    ]
    assert (mix.fewest[:, :, 0] <= np.min(fits, axis=0)[:, None] + 1e-9).all()
