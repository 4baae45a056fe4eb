"""Plans of whole slots: what they cost beside fractions, that VMs hold them, and that none is cheaper."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from math import ceil
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import Table
from mrdsl.families.capacity.facts import CapacityFacts, JobClass
from mrdsl.families.capacity.instance import mix_of
from mrdsl.families.capacity.models import patterns
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.simulate import _held
from mrdsl.families.capacity.verify import verify
from mrdsl.families.capacity.why import why
from mrdsl.planning.saved_plans import plan_schema, read_saved
from mrdsl.planning.solve_spec import build_model
from mrdsl.planning.solver_files import Proof, read_solution, write_model
from mrdsl.planning.verified_plans import verify as verify_saved
from mrdsl.simulation.planned import scenario_of
from mrdsl.simulation.settings import Settings
from mrdsl.spec import Spec
from mrdsl.spec.blocks import Coefficients, OnDemand, OnType, Simulation, Slots
from mrdsl.spec.schema import Range
from tests.families.capacity.capacity_oracle import estimate
from tests.families.capacity.capacity_specs import capacity, random_class, reference
from tests.families.capacity.type_specs import random_types
from tests.formulas.packings import fewest
from tests.solving.outside import SOLVERS, run_outside

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


def held_by(demand: dict[int, int]) -> int:
    """The fewest VMs for slots by size."""
    sizes = tuple(sorted(size for size, count in demand.items() if count))
    return fewest(sizes, tuple(demand[size] for size in sizes)) if sizes else 0


def with_any_slots(classes: Sequence[JobClass], jobs: tuple[int, ...], vms: int) -> int:
    """The fewest VMs if jobs may have any slots that keep their deadlines; ``vms`` are those of the fewest slots.

    Fewer VMs take slots that add up to a VM less at least, so that hardly any choice of pairs is left to look at.
    """
    least = [Fraction(least_pair(node)[0]).limit_denominator(100) for node in classes]
    if sum((part * count for part, count in zip(least, jobs, strict=True)), Fraction(0)) > vms - 1:
        return vms
    room = vms - 1 - sum((part * count for part, count in zip(least, jobs, strict=True)), Fraction(0))
    totals: list[set[tuple[int, int]]] = []
    for node, count, part in zip(classes, jobs, least, strict=True):
        near = [
            (maps, reduces)
            for maps, reduces in product(range(1, 61), range(61 if node.coefficients.B else 1))
            if node.coefficients.C + node.coefficients.A / maps + _reducing(node, reduces)
            <= node.deadline * (1 + 1e-12)
            and Fraction(maps, node.slots.map) + Fraction(reduces, node.slots.reduce) <= part + room
        ]
        totals.append(
            {(sum(m for m, _ in each), sum(r for _, r in each)) for each in combinations_with_replacement(near, count)}
        )
    best = vms
    for choice in product(*totals):
        demand: dict[int, int] = {}
        for node, both in zip(classes, choice, strict=True):
            for size, slots in zip((node.slots.map, node.slots.reduce), both, strict=True):
                demand[size] = demand.get(size, 0) + slots
        if sum((Fraction(slots, size) for size, slots in demand.items()), Fraction(0)) <= best - 1:
            best = min(best, held_by(demand))
    return best


def _reducing(node: JobClass, reduces: int) -> float:
    if not node.coefficients.B:
        return 0.0
    return node.coefficients.B / reduces if reduces else float("inf")


def enumerated(spec: Spec, shared: bool = True) -> float:
    """The least cost over all jobs, with the VMs of the best packing of their slots, of each class's own or shared."""
    facts: CapacityFacts = spec.facts
    vm = facts.vms[0]
    on_demand = vm.on_demand.price * 3600
    reserved, available = vm.reserved.price * 3600, vm.reserved.available
    slots = [least_pair(node)[1] for node in facts.classes]
    best = float("inf")
    for jobs in product(*(range(ceil(n.jobs.low), int(n.jobs.high) + 1) for n in facts.classes)):
        demands: dict[int, dict[int, int]] = {}
        for place, (node, (maps, reduces), count) in enumerate(zip(facts.classes, slots, jobs, strict=True)):
            demand = demands.setdefault(0 if shared else place, {})
            for size, each in ((node.slots.map, maps), (node.slots.reduce, reduces)):
                demand[size] = demand.get(size, 0) + each * count
        vms = sum(held_by(demand) for demand in demands.values())
        if shared:
            vms = with_any_slots(facts.classes, jobs, vms)
        away = sum(n.penalty * (n.jobs.high - h) for n, h in zip(facts.classes, jobs, strict=True))
        best = min(best, reserved * min(vms, available) + on_demand * max(vms - available, 0) + away)
    return best


@cache
def least_cost(seed: int, shared: bool = True) -> float:
    """Enumerate a small spec once for all tests that ask of it."""
    return enumerated(small(seed), shared)


@pytest.mark.parametrize("solver", ["highs", "direct"])
def test_small_plans_equal_enumeration(solver: str) -> None:
    for seed in range(16):
        spec = small(seed)
        result = mrdsl.solve(whole(spec), solver)
        best = least_cost(seed)
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
    more = broken(replace(plan, map_slots=plan.map_slots + np.array([0.5, 0.0, 0.0])), spec)
    assert any("map slots, which is not a whole number" in message for message in more)
    renting_less = replace(plan, on_demand=plan.on_demand - 1, vm_cost=plan.vm_cost - 0.192)
    assert any("slots lie on 579 firm VMs of m5, of which 578 are there" in m for m in broken(renting_less, spec))


@pytest.mark.parametrize("solver", ["highs", "scip", "cbc", "glpk"])
def test_where_packing_fails_another_plan_may_be_cheaper_than_a_vm_more(solver: str) -> None:
    """Three VMs at 0.192 for all seven jobs; six fit two VMs, and the one turned away costs 0.05."""
    spec = whole(thirds_and_fifths(fifths=3))
    result = mrdsl.solve(spec, solver)
    assert result.value == pytest.approx(2 * 0.192 + 0.05)
    assert result.value == pytest.approx(enumerated(spec))
    assert result.solution == "optimal"
    direct = mrdsl.solve(spec, "direct")
    assert direct.value is not None
    assert direct.bound is not None
    assert direct.bound <= result.value <= direct.value
    assert direct.solution == "feasible"


def test_where_packing_fails_jobs_may_go_to_another_type() -> None:
    """On three VMs all is done for 0.576; a fifth on a VM of 0.01 that holds one slot of it is cheaper still."""
    facts = thirds_and_fifths().facts
    (vm,) = facts.vms
    small_vm = replace(vm, name="small", on_demand=OnDemand(price=0.01 / 3600), reserved=None, available=1)
    there = (OnType(name="small", slots=Slots(map=1, reduce=1)),)
    lists = {"fifths": ("m5", "small")}
    classes = [replace(node, types=lists.get(node.name, ("m5",)), on=there) for node in facts.classes]
    types = whole(
        Spec(problem="capacity", facts=CapacityFacts(estimates="paper", vms=(vm, small_vm), classes=tuple(classes)))
    )
    result = mrdsl.solve(types, "highs")
    assert result.value == pytest.approx(2 * 0.192 + 0.01)
    assert isinstance(result.plan, CapacityPlan)
    assert not broken(result.plan, types)


def test_some_of_too_many_contents_do_for_a_plan_and_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MOST_PATTERNS", 0)
    result = mrdsl.solve(whole(thirds_and_fifths(fifths=3)), "highs")
    assert isinstance(result.plan, CapacityPlan)
    assert not broken(result.plan, whole(thirds_and_fifths(fifths=3)))
    assert result.bound == pytest.approx(2 * 0.192)
    assert result.value == pytest.approx(2 * 0.192 + 0.05)
    assert result.solution == "feasible"


@pytest.mark.parametrize("solver", ["highs", "direct"])
def test_two_vms_at_most_do_not_hold_59_30(solver: str) -> None:
    """A quota, and a comparison: no plan, or none found, but never one that overruns its machines."""
    facts = thirds_and_fifths().facts
    few = whole(replace(thirds_and_fifths(), facts=replace(facts, vms=(replace(facts.vms[0], available=2),))))
    result = mrdsl.solve(few, solver)
    assert result.plan is None
    assert [d.code for d in result.diagnostics] == ["impossible-packing" if solver == "highs" else "no-plan-found"]


def test_comparisons_hold_beside_the_packing() -> None:
    text = """problem capacity "At most two VMs", estimates = paper
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
    assert result.value == pytest.approx(least_cost(seed), abs=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("ending", ["lp", "mps"])
def test_another_program_plans_whole_slots_with_the_compiled_model(solver: str, ending: str, tmp_path: Path) -> None:
    """The best plan is turning one job away, which P2 alone does not know; what is read is packed and proven."""
    spec = whole(thirds_and_fifths(fifths=3))
    model, names = write_model(build_model(spec), tmp_path / f"x.{ending}")
    _, solution = run_outside(solver, model)
    result = read_solution(spec, solution, proof=Proof(names, gap=0.0))
    plan = result.plan
    assert isinstance(plan, CapacityPlan)
    assert plan.packing is not None
    assert not broken(plan, spec)
    assert result.value == pytest.approx(2 * 0.192 + 0.05)
    assert result.solution == "optimal"


def test_what_is_saved_of_a_whole_plan_follows_the_schema_and_is_held_against_its_spec() -> None:
    text = mrdsl.solve(whole(reference()), "highs").to_json()
    Draft202012Validator(plan_schema(("capacity",))).validate(json.loads(text))
    document = json.loads(text)
    document["state"]["packing"]["count"][0] += 1
    found = verify_saved(read_saved(json.dumps(document)))
    assert not found.kept
    assert any("reduce slots of class" in d.message for d in found.found)
    for column, value in (("of_pattern", 10**12), ("of_class", 3), ("of_vm", -1)):
        document = json.loads(text)
        document["state"]["packing"][column][0] = value
        found = verify_saved(read_saved(json.dumps(document)))
        said = [d.message for d in found.found]
        assert any("refers to unknown" in each or "contradict each other" in each for each in said), column


def test_slots_are_whole_where_the_spec_leaves_it_open() -> None:
    """And fractions where they cannot be whole, which the plan says; where the spec says so, nothing is to be said."""
    silent = replace(reference(), facts=replace(reference().facts, whole=None))
    asked = [
        ({"solver": "highs"}, "slots"),
        ({"solver": "direct"}, "slots"),
        ({"solver": "highs", "relax": True}, "no"),
    ]
    asked += [({"solver": "direct", "relax": True}, "no"), ({"solver": "scip", "formulation": "P0-cone"}, "no")]
    for options, wholeness in asked:
        found = mrdsl.solve(silent, **options)
        assert found.plan.document()["whole"] == wholeness
        assert ("slots-in-fractions" in {d.code for d in found.diagnostics}) == (wholeness == "no")
        said = mrdsl.solve(whole(silent, wholeness), **options)
        assert said.value == found.value
        assert "slots-in-fractions" not in {d.code for d in said.diagnostics}


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


def test_no_vm_is_shared_between_classes() -> None:
    """The same jobs, slots and penalties: every class on VMs of its own costs no less than shared ones."""
    dearer = 0
    for seed in range(12):
        result = mrdsl.solve(whole(small(seed), "machines"))
        plan = result.plan
        assert isinstance(plan, CapacityPlan)
        assert plan.packing is not None
        assert all(len(row["slots"]) == 1 for row in plan.document()["packing"]), seed
        assert result.value == pytest.approx(least_cost(seed, shared=False), abs=1e-9), seed
        assert result.value >= least_cost(seed) - 1e-9
        dearer += result.value > least_cost(seed) + 1e-6
    assert dearer > 3


def test_a_vm_of_two_classes_breaks_a_plan_of_machines() -> None:
    spec = whole(small(3), "machines")
    plan = plan_of(spec)
    assert plan.packing is not None
    together = replace(plan.packing, of_pattern=np.zeros_like(plan.packing.of_pattern))
    assert any("share a VM" in message for message in broken(replace(plan, packing=together), spec))


@pytest.mark.parametrize("what", ["no", "slots", "machines"])
def test_why_has_the_three_costs_beside_each_other(what: str) -> None:
    spec = whole(small(3), what)
    result = mrdsl.solve(spec)
    (table,) = [t for t in why(spec, result) if isinstance(t, Table) and t.title.startswith("Whole slots")]
    costs = {str(row[0]).split()[0]: row[-1] for row in table.rows}
    assert costs["slots"] == pytest.approx(least_cost(3))
    assert costs["machines"] == pytest.approx(least_cost(3, shared=False))
    assert costs["no"] == pytest.approx(mrdsl.solve(whole(small(3), "no"), "highs").value)
    assert costs["no"] <= costs["slots"] < costs["machines"]
    assert [row[0] for row in table.rows if "this plan" in row[0]] == [f"{what} (this plan)"]


@pytest.mark.parametrize("solver", ["highs", "direct"])
def test_plans_of_several_types_keep_their_promises_in_whole_slots(solver: str) -> None:
    """Spot, masters, quotas and contracts: no plan overruns its machines, and fractions bound what it costs."""
    for seed in range(6):
        spec = random_types(seed, jobs=6)
        found, fractions = mrdsl.solve(whole(spec), solver), mrdsl.solve(whole(spec, "no"), "highs")
        if found.plan is None:
            assert solver == "direct" or fractions.plan is None, (seed, found.diagnostics)
            continue
        assert not broken(found.plan, whole(spec)), seed
        assert found.plan.packing is not None
        assert fractions.bound is not None
        assert found.value >= fractions.bound * (1 - 1e-9), seed


def test_slots_on_spot_vms_are_the_fewest_that_do_the_job_with_what_is_lost() -> None:
    """All pairs in a box, by what of them does work that is not lost, of which no more than tasks helps."""
    seen = 0
    for seed in range(14):
        mix = mix_of(whole(random_types(seed, jobs=4)))
        work, limits = mix.pairs.work, mix.pairs.limits
        for lane, index in np.argwhere(mix.possible & mix.market.spot[:, None]).tolist():
            at = mix.market.lanes[lane].vm, index
            a, b, c = work.map_work[at], work.reduce_work[at], work.constant[at]
            maps, reduces = np.arange(1.0, 400.0)[:, None], np.arange(1.0, 400.0)[None, :]
            useful = (
                np.minimum(maps * mix.map_kept[lane, index], limits.map_most[at]),
                np.minimum(reduces * mix.reduce_kept[lane, index], limits.reduce_most[at]),
            )
            fits = (useful[0] >= limits.map_least[at] - 1e-9) & (useful[1] >= limits.reduce_least[at] - 1e-9)
            time = a / useful[0] + (b / useful[1] if b else 0.0) + c
            fits &= time <= mix.pairs.completion_limit[index] * (1 + 1e-12)
            vms = maps / mix.pairs.map_per_vm[at] + (reduces if b else 0.0 * reduces) / mix.pairs.reduce_per_vm[at]
            least = float(np.where(fits, vms, np.inf).min())
            assert mix.gamma[lane, index] == pytest.approx(least), (seed, lane, index)
            seen += 1
    assert seen > 10


def test_machines_of_the_engine_are_those_of_the_packing() -> None:
    """Every VM of every class has the slots that the packing puts on it, and no VM holds more than it can."""
    for seed in range(6):
        random = np.random.RandomState(seed)
        spec = capacity([random_class(random, f"c{n}", 5.0) for n in range(3)])
        plan = plan_of(whole(spec))
        assert plan.packing is not None
        parts: dict[str, Fraction] = {}
        for held in _held(whole(spec), plan):
            rules = Simulation()
            machines = scenario_of((held,), rules, Settings()).machines if held.users else ()
            for pool in (0, 1):
                assert sum(m.vms * m.slots for m in machines if m.pool == pool) == held.slots[pool], (seed, held.name)
            parts[held.name] = sum((Fraction(m.vms * m.slots, held.per_vm[m.pool]) for m in machines), Fraction(0))
        assert sum(parts.values()) <= plan.on_demand + plan.reserved


def run_class(random: np.random.RandomState, name: str) -> str:
    maps, reduces = int(random.randint(4, 20)), int(random.randint(2, 8))
    return f"""class {name} {{
      map {{ tasks = {maps}, avg = 20 s, max = 31 s }}, shuffle {{ first_max = 5 s, avg = 8 s, max = 9 s }}
      reduce {{ tasks = {reduces}, avg = 22 s, max = 30 s }}
      slots {{ map = {random.choice([2, 3, 5])}, reduce = {random.choice([1, 2, 3])} }}
      jobs = 1..{random.randint(1, 4)}, deadline = {random.randint(220, 400)} s, penalty = 4 USD, guarantee = upper }}
    """


def test_jobs_on_the_machines_of_whole_plans_keep_their_bounds() -> None:
    """Task by task, on VMs as they are packed: where the upper estimate is a bound, no job is late."""
    bounded = 0
    for seed in range(8):
        random = np.random.RandomState(seed)
        classes = "".join(run_class(random, f"c{n}") for n in range(3))
        spec = f'problem capacity "Runs", estimates = paper\nwhole = slots, seed = {seed}\n'
        spec += "vm m5 { on_demand { price = 1 USD/h } }\n"
        result = mrdsl.simulate(mrdsl.loads(f"{spec}{classes}minimize cost"), runs=1, jobs=8)
        plan = result.plan
        assert isinstance(plan, CapacityPlan)
        for index, name in enumerate(plan.names):
            if plan.of_class(index).upper_is_bound:
                kept = plan.observed[name].kept
                assert kept is not None
                assert kept.share == 1.0, (seed, name)
                bounded += 1
    assert bounded > 8
