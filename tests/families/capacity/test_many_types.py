"""Specs of many VM types: catalogues and blocks give the same plans, and lanes that are left out cost nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl import Spec
from mrdsl.families.capacity import formulations, lanes
from mrdsl.families.capacity.constraints import serves
from mrdsl.families.capacity.facts import VmType
from mrdsl.families.capacity.instance import Mix, mix_of, of_lanes
from mrdsl.families.capacity.lanes import dominated, solved_mix, without_dominated
from mrdsl.families.capacity.methods import relaxation
from mrdsl.families.capacity.methods.lane_prices import Task
from mrdsl.families.capacity.methods.relaxation import relaxed
from mrdsl.solving import programs
from mrdsl.spec.blocks import OnDemand, OnType, Slots, Spot
from tests.families.capacity.type_specs import best_by_trying, best_of, random_types
from tests.shared_data import shared

CLASSES = """
class clicks {
  map     { tasks = 370, avg = 30 s, max = 42 s }
  shuffle { first_max = 11 s, avg = 37 s, max = 40 s }
  reduce  { tasks = 64, avg = 22 s, max = 44 s }
  container { map { cores = 1, memory = 2 GiB }, reduce { cores = 1, memory = 6 GiB } }
  jobs = 8..10, deadline = 15 min, penalty = 12 USD, spot = 50%, guarantee = average
}
class sort {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }
  container { map { cores = 1, memory = 3 GiB }, reduce { cores = 2, memory = 4 GiB } }
  jobs = 4..6, deadline = 10 min, penalty = 20 USD
}
minimize cost
"""
ROWS = [
    ("a.1", 4, 16, 0.2, 0.08),
    ("a.2", 8, 32, 0.4, 0.16),
    ("a.4", 16, 64, 0.8, None),
    ("b.1", 4, 8, 0.17, 0.06),
    ("b.2", 8, 16, 0.33, None),
    ("c.1", 2, 16, 0.13, 0.05),
]


def blocks(rows: list[tuple[str, int, int, float, float | None]] = ROWS) -> str:
    return "\n".join(
        f'vm "{name}" {{ cores = {cores}, memory = {memory} GiB, on_demand {{ price = {price} USD/h }}'
        + (f", spot {{ price = {spot} USD/h, interruptions = 0.0003/h }}" if spot is not None else "")
        + " }"
        for name, cores, memory, price, spot in rows
    )


def catalogue(folder: Path) -> None:
    lines = ["name,cores,memory [GiB],on_demand.price [USD/h],spot.price [USD/h],spot.interruptions [1/h]"]
    for name, cores, memory, price, spot in ROWS:
        lines.append(f"{name},{cores},{memory},{price},{'' if spot is None else spot},{'' if spot is None else 0.0003}")
    (folder / "types.csv").write_text("\n".join([*lines, ""]))


def spec_of(vms: str, classes: str = CLASSES, folder: Path | str = ".") -> Spec:
    return mrdsl.loads(f"problem capacity\n{vms}\n{classes}", folder=folder)


@pytest.mark.parametrize("solver", ["direct", "highs"])
def test_a_catalogue_and_the_same_blocks_give_the_same_plan_to_the_byte(solver: str, tmp_path: Path) -> None:
    catalogue(tmp_path)
    written = [(name, *rest) for name, *rest in ROWS if rest[0] >= 4]
    read = spec_of('vms from "types.csv" { require { cores >= 4 } }', folder=tmp_path)
    said = spec_of(blocks(written))  # type: ignore[arg-type]
    assert read.facts == said.facts
    plans = [mrdsl.solve(each, solver) for each in (read, said)]
    documents = [each.plan.document() for each in plans if each.plan is not None]
    assert len(documents) == 2
    assert repr(documents[0]) == repr(documents[1])
    assert plans[0].objective == plans[1].objective


def test_one_type_is_the_best_of_all_single_types(tmp_path: Path) -> None:
    catalogue(tmp_path)
    classes = CLASSES.replace("spot = 50%", "types = one, spot = 50%").split("class sort")[0] + "minimize cost\n"
    together = mrdsl.solve(spec_of('vms from "types.csv"', classes, tmp_path), "highs")
    alone = [
        mrdsl.solve(spec_of(f'vms from "types.csv" {{ require {{ name = "{name}" }} }}', classes, tmp_path), "highs")
        for name, *_ in ROWS
    ]
    assert together.objective.value == pytest.approx(min(each.objective.value for each in alone), rel=1e-9)


def multiplied(spec: Spec, seed: int) -> Spec:
    """The spec with types that are several of a type of it in one VM, some at a part more or less, and again."""
    random = np.random.RandomState(seed)
    more: list[VmType] = []
    several: dict[str, int] = {}
    for vm in spec.facts.vms:
        times, part = int(random.randint(1, 4)), float(random.choice([1.0, 1.0, 0.95, 1.1]))
        price = (vm.on_demand.price + vm.fee) * times * part
        spot = Spot(price=0.4 * price, interruptions=1e-5) if random.uniform() < 0.5 else None
        more.append(VmType(name=f"{vm.name}x", on_demand=OnDemand(price=price), spot=spot))
        several[vm.name] = times
    classes = []
    for node in spec.facts.classes:
        said = {row.name: row for row in node.on}
        rows = [said.get(name, OnType(name=name, slots=node.slots)) for name in several]
        larger = [
            replace(row, name=f"{row.name}x", slots=Slots(map=n * row.slots.map, reduce=n * row.slots.reduce))
            for row, n in zip(rows, several.values(), strict=True)
            if row.slots is not None and row.slots.map is not None and row.slots.reduce is not None
        ]
        node = replace(node, on=(*rows, *larger))
        classes.append(node if node.types in ((), ("one",)) else replace(node, types=()))
    return replace(spec, facts=replace(spec.facts, vms=(*spec.facts.vms, *more), classes=tuple(classes)))


@pytest.mark.parametrize("seed", range(12))
def test_leaving_dominated_lanes_out_costs_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole optima by a solver and relaxed ones, with all lanes and without those that are dominated."""
    spec = multiplied(random_types(seed, classes=3, types=3, jobs=8), seed)
    every = mix_of(spec)
    whole, half = mrdsl.solve(spec, "highs"), mrdsl.solve(spec, "highs", relax=True)
    monkeypatch.setattr(lanes, "FEW", 0)
    again = replace(spec)
    left = solved_mix(again)
    assert len(left.market.lanes) == len(every.market.lanes) - int(dominated(every, np.zeros(6, dtype=bool)).sum())
    for found, relax in ((whole, False), (half, True)):
        fewer = mrdsl.solve(again, "highs", relax=relax)
        assert fewer.termination == found.termination
        if found.objective is not None and found.plan is not None:
            assert fewer.objective.value == pytest.approx(found.objective.value, rel=1e-6)


def test_some_lanes_are_dominated_and_few_stay() -> None:
    """Of the instances above: else they would say nothing."""
    marked = [
        dominated(mix_of(multiplied(random_types(seed, classes=3, types=3, jobs=8), seed)), np.zeros(6, dtype=bool))
        for seed in range(12)
    ]
    assert sum(int(each.sum()) for each in marked) > 20
    assert not any(each.all() for each in marked)


@pytest.mark.parametrize("seed", range(6))
def test_trying_everything_needs_no_dominated_lane(seed: int) -> None:
    spec = multiplied(random_types(seed + 100, classes=2, types=2, jobs=3), seed)
    mix = mix_of(spec)
    out = dominated(mix, np.zeros(4, dtype=bool))
    text = [vm.name for number, vm in enumerate(spec.facts.vms) if out[mix.market.vm_of_lane == number].all()]
    fewer = replace(spec, facts=replace(spec.facts, vms=tuple(vm for vm in spec.facts.vms if vm.name not in text)))
    assert best_by_trying(fewer) == pytest.approx(best_by_trying(spec), rel=1e-9)


@pytest.mark.parametrize(
    ("vms", "kept"),
    [
        ([("a", 4, 24, 0.2, None), ("b", 8, 48, 0.4, None)], "a"),
        ([("a", 4, 24, 0.2, None), ("b", 8, 48, 0.39, None)], "a b"),
        ([("a", 4, 24, 0.2, None), ("b", 9, 54, 0.4, None)], "a b"),
        ([("a", 4, 24, 0.2, None), ("b", 4, 24, 0.2, None)], "a"),
        ([("a", 4, 24, 0.2, 0.1), ("b", 4, 24, 0.2, 0.21)], "a a*"),
        ([("a", 4, 24, 0.2, 0.1), ("b", 4, 24, 0.2, 0.05)], "a b*"),
        ([("a", 4, 24, 0.2, 0.1), ("b", 8, 48, 0.3, 0.2)], "a a* b b*"),
        ([("a", 4, 24, 0.2, 0.1), ("b", 8, 48, 0.4, 0.1)], "a b*"),
        ([("a", 4, 24, 0.2, None), ("b", 8, 48, 0.2, None)], "a b"),
        ([("a", 4, 24, 0.05, 0.1)], "a"),
    ],
)
def test_which_lanes_stay(vms: list[tuple[str, int, int, float, float | None]], kept: str) -> None:
    """By hand; a star is a spot lane. Two of a type in one VM at twice the price is that type, on firm VMs: of a class
    half of whose VMs may be spot, fewer VMs on spot are better, and more firm ones."""
    mix = mix_of(spec_of(blocks(vms)))
    out = dominated(mix, np.zeros(len(vms), dtype=bool))
    left = [lane for lane, gone in zip(mix.market.lanes, out.tolist(), strict=True) if not gone]
    assert " ".join(mix.market.names[lane.vm] + "*" * lane.spot for lane in left) == kept


HALF_ON_SPOT = """whole = no
class c {
  coefficients { A = 4800 s, B = 0 s, C = 0 s }
  container { map { cores = 1, memory = 1 GiB }, reduce { cores = 1, memory = 1 GiB } }
  jobs = 3..3, deadline = 10 min, penalty = 9 USD, spot = 50%
}
minimize cost
"""


@pytest.mark.parametrize("solver", ["direct", "highs"])
def test_a_part_on_spot_is_one_of_vms_whatever_their_size(solver: str) -> None:
    """By hand: a job takes 8 slots. One on two small firm VMs lets two be on one large spot VM each, at 0.4 + 2 * 0.16.

    On small VMs alone two would be firm: 2 * 0.4 + 0.16. The other types are dear, and many.
    """
    rows = [("small", 4, 16, 0.2, 0.08), ("large", 8, 32, 0.4, 0.16)]
    text = blocks([*rows, *((f"dear{n}", 4, 16, 1.0 + n, 0.5 + n) for n in range(16))]).replace("0.0003/h", "0/h")
    found = mrdsl.solve(spec_of(text, HALF_ON_SPOT), solver)
    assert found.objective.value == pytest.approx(0.72, rel=1e-9)
    assert len(solved_mix(spec_of(text, HALF_ON_SPOT)).market.lanes) < 36


def halves_of_jobs(seed: int) -> Spec:
    """Types that are several of one in one VM at as many times its price, and two classes with a part on spot."""
    random = np.random.RandomState(seed)
    rows: list[tuple[str, int, int, float, float | None]] = []
    for number in range(3):
        cores, part = 2 ** int(random.randint(1, 5)), float(random.choice([0.3, 0.4, 0.5]))
        spot = round(0.05 * cores * part, 4) if random.uniform() < 0.8 else None
        rows.append((f"t{number}", cores, 4 * cores, round(0.05 * cores, 4), spot))
    share, work = random.choice([20, 50, 70]), 600 * int(random.randint(2, 20))
    other = HALF_ON_SPOT.replace("whole = no\n", "").replace("minimize cost\n", "").replace("class c", "class d")
    classes = other.replace("4800", str(work)).replace("50%", f"{share}%") + HALF_ON_SPOT.replace("3..3", "2..2")
    return spec_of(blocks(rows), classes)


@pytest.mark.parametrize("relax", [False, True])
def test_lanes_left_out_are_missed_by_no_part_on_spot(relax: bool) -> None:
    """Of drawn specs: the best placement of all, and the relaxed optimum, with every lane and with those that stay."""
    left = 0
    for seed in range(12):
        spec = halves_of_jobs(seed)
        every = mix_of(spec)
        out = dominated(every, np.zeros(3, dtype=bool))
        fewer = of_lanes(every, np.flatnonzero(~out))
        left += int(out.sum())
        best = [_relaxed_cost(mix) if relax else best_of(mix) for mix in (every, fewer)]
        assert best[1] == pytest.approx(best[0], rel=1e-9), seed
    assert left > 12


def _relaxed_cost(mix: Mix) -> float:
    return relaxed(Task(mix, mix.low, mix.expected, mix.market.available, False), 1e-9).value


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ("available = 5", {"b"}),
        ("masters = 1", {"a", "b"}),
        ("reserved { price = 0.1 USD/h, available = 3 }", {"a", "b"}),
        ("fee = 0 USD/h", {"a"}),
    ],
)
def test_types_of_which_there_are_few_replace_no_other_and_stay(change: str, kept: set[str]) -> None:
    texts = blocks([("a", 4, 24, 0.2, None), ("b", 8, 48, 0.4, None)]).splitlines()
    quota = "available" in change and "reserved" not in change
    texts[0 if quota else 1] = texts[0 if quota else 1].replace("cores", f"{change}, cores")
    mix = mix_of(spec_of("\n".join(texts)))
    out = dominated(mix, np.zeros(2, dtype=bool))
    names = {mix.market.names[lane.vm] for lane, gone in zip(mix.market.lanes, out.tolist(), strict=True) if not gone}
    assert names >= kept
    assert quota or names == kept


def test_comparisons_of_shares_leave_all_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "FEW", 0)
    for line, fewer in (
        ("share(spot) <= 30%", False),
        ("vms <= 100", False),
        ('vms("b.2") <= 9', True),
        ("admitted(sort) >= 5", True),
    ):
        spec = spec_of(blocks(), CLASSES + f"subject to {{ {line} }}\n")
        mix = mix_of(spec)
        assert (len(without_dominated(mix, spec).market.lanes) < len(mix.market.lanes)) == fewer, line


def many_types() -> str:
    """Sixty types whose VMs are large and small, none twice another one."""
    random = np.random.RandomState(19)
    rows: list[tuple[str, int, int, float, float | None]] = []
    for number in range(60):
        cores, per_core = int(random.choice([4, 8, 16, 48, 96])), int(random.choice([2, 4, 8]))
        price = round(cores * (0.03 + 0.004 * per_core) * float(random.uniform(0.9, 1.1)) * cores**-0.02, 4)
        rows.append((f"t{number}", cores, cores * per_core, price, round(0.4 * price, 4) if number % 2 else None))
    return blocks(rows)


def test_a_whole_plan_on_few_lanes_lies_between_the_bound_and_rounding() -> None:
    spec = spec_of(many_types())
    found, best = mrdsl.solve(spec, "direct"), mrdsl.solve(spec, "highs", limits=mrdsl.Limits(gap=1e-3))
    assert found.plan is not None
    assert best.objective.bound is not None
    assert found.objective.bound is not None
    assert found.objective.bound <= best.objective.value * (1.0 + 1e-9)
    assert best.objective.bound <= found.objective.value * (1.0 + 1e-9)
    assert found.objective.value <= 1.1 * best.objective.value  # one pair of slots for each class and lane


@pytest.mark.parametrize("solver", ["direct", "highs"])
def test_whole_slots_on_many_types_are_packed_and_bounded(solver: str) -> None:
    """Fractions of slots bound whole ones; a plan without a packing that fits would be refused."""
    text = many_types()
    found = mrdsl.solve(spec_of(text, f"whole = slots\n{CLASSES}"), solver, limits=mrdsl.Limits(gap=0.02))
    half = mrdsl.solve(spec_of(text), "direct", relax=True)
    assert found.plan is not None
    assert found.plan.packing is not None
    assert half.objective.value <= found.objective.value


def few_of_each(count: int) -> Task:
    """Types of which there are so few that the relaxed optimum takes a master problem."""
    lines = many_types().replace("cores", f"available = {count}, cores").splitlines()[:18]
    mix = solved_mix(spec_of("\n".join(lines)))
    assert len(mix.market.lanes) == 27
    return Task(mix, mix.low, mix.expected, mix.market.available, True)


@pytest.mark.parametrize("few", [0, 27])
def test_a_relaxation_out_of_time_has_a_bound_still(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relaxation, "FEW_LANES", few)
    task = few_of_each(2)
    best, hurried = relaxed(task, 1e-9), relaxed(task, 1e-9, 0.0)
    assert hurried.rounds <= 2 <= best.rounds
    assert hurried.rounds < best.rounds
    assert hurried.bound <= best.bound <= best.value * (1.0 + 1e-9)


def test_direct_says_that_its_time_was_over() -> None:
    """More relaxations may raise the bound if there is time: here by the price of the limit on spot."""
    spec = spec_of(many_types())
    hurried, best = mrdsl.solve(spec, "direct", limits=mrdsl.Limits(time=1e-3)), mrdsl.solve(spec, "direct")
    assert (hurried.termination, best.solution) == ("time_limit", "optimal")
    assert hurried.objective.value >= best.objective.value >= best.objective.bound >= hurried.objective.bound


def test_what_a_solver_begins_at_takes_part_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    times: dict[str, list[float | None]] = {"known": [], "solver": []}
    asked = programs.solve_arrays

    def known(spec: Spec, relax: bool, limits: mrdsl.Limits) -> None:
        times["known"].append(limits.time)

    def solver(program: Any, name: Any, solver: Any, limits: mrdsl.Limits, *rest: Any) -> Any:
        times["solver"].append(limits.time)
        return asked(program, name, solver, limits, *rest)

    monkeypatch.setattr("mrdsl.families.capacity.methods.direct.direct", known)
    monkeypatch.setattr(programs, "solve_arrays", solver)
    hosts = "container { map { cores = 1, memory = 1 GiB }, reduce { cores = 1, memory = 1 GiB } }"
    classes = HALF_ON_SPOT.replace(hosts, "slots { map = 4, reduce = 2 }")
    mrdsl.solve(spec_of(blocks(), classes), "highs", limits=mrdsl.Limits(time=100.0))
    begun, afterwards = times["known"]
    assert begun == 25.0
    assert times["solver"][0] < 100.0
    assert afterwards < 100.0


def test_all_types_that_emr_takes_are_solved_with_a_proven_gap() -> None:
    braces = "require { emr = yes, cores <= 32 }, fee = 0.05 USD/h, spot { interruptions = 0.0007/h }"
    spec = spec_of(f'vms from ec2("ec2_us-east-1.csv") {{ {braces} }}', folder=shared("data/cloud"))
    assert len(spec.facts.vms) == 370
    proven, near = mrdsl.solve(spec, "highs"), mrdsl.solve(spec, "direct")
    assert proven.termination == "optimal"
    assert near.objective.bound is not None
    assert near.objective.bound <= proven.objective.value * (1.0 + 1e-9)
    assert proven.objective.value <= near.objective.value * (1.0 + 1e-9)
    assert near.objective.value <= 1.05 * min(near.objective.bound, proven.objective.value)


@pytest.mark.parametrize("large", [1, 10**9])
@pytest.mark.parametrize("what", ["no", "slots", "machines"])
@pytest.mark.parametrize(
    "promise", ["cost(a) <= 9 USD", "vms(a) >= 1", "vms(a) <= 9", "share(spot) <= 50%", "vms <= 90", "admitted(c) >= 1"]
)
def test_auto_takes_direct_only_where_it_serves(
    promise: str, what: str, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of specs that count as large as of those that do not."""
    monkeypatch.setattr(formulations, "LARGE", large)
    text = f"""problem capacity "two types"
    whole = {what}
    vm a {{ on_demand {{ price = 1 USD/h }} }}
    vm b {{ on_demand {{ price = 2 USD/h }}, spot {{ price = 0.5 USD/h, interruptions = 0.01/h }} }}
    class c {{
      map {{ tasks = 20, avg = 30 s, max = 42 s }}, reduce {{ tasks = 4, avg = 20 s, max = 30 s }},
      shuffle {{ first_max = 5 s, avg = 5 s, max = 8 s }}, slots {{ map = 2, reduce = 2 }},
      jobs = 1..3, deadline = 3 min, penalty = 9 USD
    }}
    minimize cost
    subject to {{ {promise} }}"""
    spec = mrdsl.loads(text)
    chosen = {formulations.choose(spec, relax, None) for relax in (False, True)}
    assert chosen <= ({"highs", "direct"} if serves(spec) else {"highs"})
    assert ("direct" in chosen) == serves(spec)
    assert mrdsl.solve(spec, limits=mrdsl.Limits(gap=0.01)).plan is not None
