"""Plans of whole slots: what they cost beside fractions, that VMs hold them, and that none is cheaper."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import ceil

import numpy as np
import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.families.capacity.facts import CapacityFacts, JobClass
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.verify import verify
from mrdsl.spec import Spec
from mrdsl.spec.blocks import Coefficients, Slots
from mrdsl.spec.schema import Range
from tests.families.capacity.capacity_oracle import estimate
from tests.families.capacity.capacity_specs import capacity, reference
from tests.formulas.packings import fewest

Pair = tuple[int, int]


def whole(spec: Spec, what: str = "slots") -> Spec:
    return replace(spec, facts=replace(spec.facts, whole=what))


def plan_of(spec: Spec, solver: str = "highs", **options: object) -> CapacityPlan:
    found = mrdsl.solve(spec, solver, **options).plan  # type: ignore[arg-type]
    assert isinstance(found, CapacityPlan)
    return found


def least_pair(node: JobClass, box: int = 200) -> tuple[float, Pair]:
    """The least VMs of one job over all pairs of whole slots in a box, and the pair that is taken.

    That is, of equal ones, the one with the fewest slots of the kind of which a VM hosts fewer.
    """
    a, b, c = estimate(node)
    known = node.coefficients is None
    reduces = node.reduce is not None if known else b > 0
    maps = range(1, min(box, node.map.tasks if known else box) + 1)
    others = range(1, min(box, node.reduce.tasks if known else box) + 1) if reduces else (0,)
    pairs = [(m, r) for m, r in product(maps, others) if a / m + (b / r if b else 0.0) + c <= node.deadline]
    vms = {pair: pair[0] / node.slots.map + (pair[1] / node.slots.reduce if reduces else 0.0) for pair in pairs}
    least = min(vms.values())
    fewer = node.slots.map > node.slots.reduce
    return least, min((p for p in pairs if vms[p] <= least * (1 + 1e-12)), key=lambda p: p[fewer])


def test_whole_slots_of_the_reference_take_578_and_a_half_vms() -> None:
    """The jobs that fractions admit on 572.5 VMs; every class's pair is the least in a box."""
    fractions, found = plan_of(whole(reference(), "no")), plan_of(whole(reference()))
    assert fractions.vms.sum() == pytest.approx(572.49, abs=0.01)
    assert found.admitted.tolist() == fractions.admitted.tolist() == [10.0, 18.0, 6.0]
    expected = 0.0
    for index, node in enumerate(reference().facts.classes):
        jobs = found.admitted[index]
        vms, pair = least_pair(node)
        assert (found.map_slots[index] / jobs, found.reduce_slots[index] / jobs) == pair
        assert found.vms[index] == pytest.approx(vms * jobs)
        expected += vms * jobs
    assert expected == found.vms.sum() == 578.5
    assert found.on_demand + found.reserved == 579


def small(seed: int) -> Spec:
    """One to three classes of a few jobs with few slots each, of sizes that do not divide each other."""
    random = np.random.RandomState(seed)
    classes = []
    for index in range(random.randint(1, 4)):
        expected = int(random.randint(1, 4))
        two_kinds = random.uniform() < 0.5
        classes.append(
            JobClass(
                name=f"c{index}",
                coefficients=Coefficients(
                    A=random.uniform(20, 200),
                    B=random.uniform(5, 60) if two_kinds else 0.0,
                    C=float(random.randint(10)),
                ),
                slots=Slots(map=int(random.choice([2, 3, 5, 7])), reduce=int(random.choice([1, 2, 3]))),
                jobs=Range(float(random.randint(0, expected + 1)), float(expected)),
                deadline=random.uniform(60, 200),
                penalty=random.uniform(0.02, 0.3),
            )
        )
    return capacity(classes, available=int(random.randint(0, 4)))


def enumerated(spec: Spec) -> float:
    """The least cost over all jobs, with the VMs of the best packing of their slots."""
    facts: CapacityFacts = spec.facts
    vm = facts.vms[0]
    on_demand = vm.on_demand.price * 3600
    reserved, available = vm.reserved.price * 3600, vm.reserved.available
    slots = [least_pair(node)[1] for node in facts.classes]
    best = float("inf")
    for jobs in product(*(range(ceil(n.jobs.low), int(n.jobs.high) + 1) for n in facts.classes)):
        demand: dict[int, int] = {}
        for node, (maps, reduces), count in zip(facts.classes, slots, jobs, strict=True):
            for size, each in ((node.slots.map, maps), (node.slots.reduce, reduces)):
                demand[size] = demand.get(size, 0) + each * count
        sizes = tuple(sorted(size for size, count in demand.items() if count))
        vms = fewest(sizes, tuple(demand[size] for size in sizes)) if sizes else 0
        away = sum(n.penalty * (n.jobs.high - h) for n, h in zip(facts.classes, jobs, strict=True))
        best = min(best, reserved * min(vms, available) + on_demand * max(vms - available, 0) + away)
    return best


@pytest.mark.parametrize("solver", ["highs", "direct"])
def test_small_plans_equal_enumeration(solver: str) -> None:
    for seed in range(40):
        spec = small(seed)
        result = mrdsl.solve(whole(spec), solver)
        best = enumerated(spec)
        assert result.value is not None
        assert result.bound is not None
        assert result.value == pytest.approx(best, abs=1e-9), seed
        assert result.bound <= best + 1e-9


def thirds_and_fifths(**changes: float) -> Spec:
    """1/2 + 2/3 + 4/5 of a VM: 59/30, which take three."""
    classes = [
        JobClass(
            name=name,
            coefficients=Coefficients(A=60.0, B=0.0, C=0.0),
            slots=Slots(map=size, reduce=1),
            jobs=Range(float(changes.get(name, jobs)), float(jobs)),
            deadline=120.0,
            penalty=0.05,
        )
        for name, size, jobs in (("halves", 2, 1), ("thirds", 3, 2), ("fifths", 5, 4))
    ]
    return capacity(classes, available=0)


@pytest.mark.parametrize("solver", ["highs", "direct"])
def test_parts_of_less_than_two_vms_take_three(solver: str) -> None:
    result = mrdsl.solve(whole(thirds_and_fifths()), solver)
    assert result.value == pytest.approx(3 * 0.192)
    assert [d.code for d in result.diagnostics] == ["packing-costs"]
    assert plan_of(whole(thirds_and_fifths(), "no")).on_demand == 2


def broken(plan: CapacityPlan, spec: Spec) -> set[str]:
    return {d.message for d in verify(spec, plan, False) if d.code == "broken-plan"}


def test_a_packing_is_checked() -> None:
    spec = whole(reference())
    plan = plan_of(spec)
    packing = plan.packing
    assert packing is not None
    assert not broken(plan, spec)
    fuller = packing.slots.copy()
    fuller[0] += 1
    found = broken(replace(plan, packing=replace(packing, slots=fuller)), spec)
    assert any("lie on one" in message for message in found)
    assert any("are too many" in message for message in found)
    fewer = packing.count.copy()
    fewer[0] -= 1
    found = broken(replace(plan, packing=replace(packing, count=fewer)), spec)
    assert found == {"1 reduce slots of class twitter on firm VMs of m5 lie on none"}
    elsewhere = broken(replace(plan, packing=replace(packing, spot=~packing.spot)), spec)
    assert any("of which" in message or "lie on none" in message for message in elsewhere)
    assert broken(replace(plan, packing=None), spec) == {
        "its slots are whole, and it does not say which VM holds which"
    }
    assert broken(replace(plan, wholeness="no", packing=None), spec) == {"whole is `no` in the plan, not `slots`"}
    more = broken(replace(plan, map_slots=plan.map_slots + np.array([1.0, 0.0, 0.0])), spec)
    assert "jobs of class twitter have 27.1 map slots each, no whole number" in more
    renting_less = replace(plan, on_demand=plan.on_demand - 1, vm_cost=plan.vm_cost - 0.192)
    assert any("slots lie on 579 firm VMs of m5, of which 578 are there" in m for m in broken(renting_less, spec))


def test_where_packing_fails_another_plan_may_be_cheaper_than_a_vm_more() -> None:
    """Three VMs at 0.192 for all seven jobs; six fit two VMs, and the one turned away costs 0.05."""
    spec = whole(thirds_and_fifths(fifths=3))
    result = mrdsl.solve(spec, "highs")
    assert result.value == pytest.approx(2 * 0.192 + 0.05)
    assert result.value == pytest.approx(enumerated(spec))
    assert result.solution == "optimal"
    direct = mrdsl.solve(spec, "direct")
    assert direct.value is not None
    assert direct.bound is not None
    assert direct.bound <= result.value <= direct.value
    assert direct.solution == "feasible"


@pytest.mark.parametrize("solver", ["highs", "direct"])
def test_two_vms_at_most_do_not_hold_59_30(solver: str) -> None:
    """A quota, and a comparison: no plan, or none found, but never one that overruns its machines."""
    facts = thirds_and_fifths().facts
    few = whole(replace(thirds_and_fifths(), facts=replace(facts, vms=(replace(facts.vms[0], available=2),))))
    result = mrdsl.solve(few, solver)
    assert result.plan is None
    assert [d.code for d in result.diagnostics] == ["impossible-packing" if solver == "highs" else "no-plan-found"]


def test_comparisons_hold_beside_the_packing() -> None:
    text = """problem capacity "At most two VMs"
    whole = slots
    vm m5 { on_demand { price = 0.192 USD/h } }
    class halves { coefficients { A = 60 s, B = 0 s, C = 0 s }
      slots { map = 2, reduce = 1 }, jobs = 1, deadline = 2 min, penalty = 9 USD }
    class thirds { coefficients { A = 60 s, B = 0 s, C = 0 s }
      slots { map = 3, reduce = 1 }, jobs = 2, deadline = 2 min, penalty = 9 USD }
    class fifths { coefficients { A = 60 s, B = 0 s, C = 0 s }
      slots { map = 5, reduce = 1 }, jobs = 0..4, deadline = 2 min, penalty = 9 USD }
    minimize cost
    subject to { vms <= 2 }"""
    plan = plan_of(mrdsl.loads(text), "highs")
    assert plan.admitted.tolist() == [1, 2, 3]
    assert plan.on_demand == 2


@pytest.mark.parametrize("seed", range(8))
def test_the_model_with_packing_has_the_optimum(seed: int) -> None:
    """What `compile` writes: P2 with what VMs hold, solved as it stands."""
    spec = whole(small(seed))
    compiled = mrdsl.compile(spec)
    assert compiled.model is not None
    result = compiled.solve("highs")
    assert result.value == pytest.approx(enumerated(small(seed)), abs=1e-9)


@pytest.mark.parametrize("formulation", ["P0", "P1", "P0-cone"])
def test_slots_of_the_model_s_own_are_refused_where_they_are_whole(formulation: str) -> None:
    with pytest.raises(MrdslError) as refused:
        mrdsl.solve(whole(reference()), "scip", formulation=formulation)
    assert [d.code for d in refused.value.diagnostics] == ["needs-fractions"]


@pytest.mark.parametrize("solver", ["highs", "direct"])
def test_a_relaxation_of_whole_slots_is_refused(solver: str) -> None:
    with pytest.raises(MrdslError) as refused:
        mrdsl.solve(whole(reference()), solver, relax=True)
    assert [d.code for d in refused.value.diagnostics] == ["needs-fractions"]


def test_a_saved_plan_keeps_its_packing() -> None:
    result = mrdsl.solve(whole(reference()), "highs")
    again = mrdsl.Result.from_json(result.to_json())
    assert again == result
    assert again.plan.document()["packing"] == result.plan.document()["packing"]
