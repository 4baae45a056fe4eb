"""Times and energies of single tasks from a table: T_ij and E_ij of paper 002, by enumeration and by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from math import inf
from pathlib import Path

import numpy as np
import pytest

import mrdsl

SPEC = """problem energy "single"
seed = 1
network { speed = 100 MB/s, io_power = 20 W }
vm m5 { slots { map = 2, reduce = 1 }, on_demand { price = 0.2 USD/h }, available = 1 }
vm c5 { slots { map = 1, reduce = 1 }, on_demand { price = 0.3 USD/h }, available = 1 }
job wc { map { tasks = 4, block = 64 MB }, reduce { tasks = 2 } LIMITS
  task_times = "t.csv", on m5 { map { time = 9 s, energy = 99 J } } }
minimize GOAL
"""
HEAD = "kind,task,vm,time [s],energy [J]\n"
Cell = tuple[str, int, str]
SLOTS = {"map": [("m5", 0), ("m5", 1), ("c5", 0)], "reduce": [("m5", 0), ("c5", 0)]}
PRICES = {"m5": 0.2 / 3600, "c5": 0.3 / 3600}


def drawn(seed: int) -> dict[Cell, tuple[float, float]]:
    """Times and energies of 4 map and 2 reduce tasks on two types; some lack on one, some maps have none on m5."""
    rng = np.random.default_rng(seed)
    rows = {
        (kind, task, vm): (float(rng.integers(3, 40)), float(rng.integers(50, 900)))
        for kind, count in (("map", 4), ("reduce", 2))
        for task in range(1, count + 1)
        for vm in ("m5", "c5")
    }
    for cell in list(rows):
        if rng.uniform() < 0.15 and cell[2] == "m5":
            del rows[cell]
    return rows


def spec_of(folder: Path, rows: dict[Cell, tuple[float, float]], limits: str = "", goal: str = "energy") -> mrdsl.Spec:
    lines = [f"{kind},{task},{vm},{time:g},{energy:g}" for (kind, task, vm), (time, energy) in rows.items()]
    (folder / "t.csv").write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    (folder / "t.mrspec").write_text(SPEC.replace("LIMITS", limits).replace("GOAL", goal), encoding="utf-8")
    return mrdsl.load(folder / "t.mrspec")


def best(rows: dict[Cell, tuple[float, float]], goal: str, deadline: float, budget: float) -> float:
    """The least energy, cost or uptime over all slots that tasks may be on, by (1) to (9)."""
    known = {("map", task, "m5"): (9.0, 99.0) for task in range(1, 5)} | rows
    block, speed = 64e6, 100e6
    read = 4 * block / 2
    least = inf
    for maps in product(SLOTS["map"], repeat=4):
        for reduces in product(SLOTS["reduce"], repeat=2):
            cells = [("map", n, vm) for n, (vm, _) in enumerate(maps, 1)]
            cells += [("reduce", n, vm) for n, (vm, _) in enumerate(reduces, 1)]
            if any(cell not in known for cell in cells):
                continue
            length = {"map": 0.0, "reduce": 0.0}
            for kind, slots in (("map", maps), ("reduce", reduces)):
                for slot in set(slots):
                    busy = sum(known[kind, n, slot[0]][0] for n, one in enumerate(slots, 1) if one == slot)
                    length[kind] = max(length[kind], busy)
            on = {vm: (sum(m[0] == vm for m in maps), sum(r[0] == vm for r in reduces)) for vm in PRICES}
            placement = max(m * block / speed for m, _ in on.values())
            shuffle = max((m * block + r * read) / speed for m, r in on.values())
            uptime = placement + length["map"] + shuffle + length["reduce"]
            cost = uptime * sum(PRICES[vm] for vm, counts in on.items() if any(counts))
            energy = sum(known[cell][1] for cell in cells) + 20 * (4 * block + 4 * block + 2 * read) / speed
            if uptime <= deadline + 1e-9 and cost <= budget + 1e-12:
                least = min(least, {"energy": energy, "uptime": uptime, "cost": cost}[goal])
    return least


@pytest.mark.parametrize("goal", ["energy", "uptime", "cost"])
@pytest.mark.parametrize("seed", range(5))
def test_optima_are_those_of_enumeration(seed: int, goal: str, tmp_path: Path) -> None:
    rows = drawn(seed)
    quickest = best(rows, "uptime", inf, inf)
    limits = f", deadline = {1.2 * quickest} s" if goal == "energy" else ""
    found = mrdsl.solve(spec_of(tmp_path, rows, limits, goal), ["highs", "scip"][seed % 2])
    right = best(rows, goal, 1.2 * quickest if goal == "energy" else inf, inf)
    assert (found.termination, found.formulation) == ("optimal", "per_task")
    assert found.value == pytest.approx(right, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_a_budget_counts(seed: int, tmp_path: Path) -> None:
    rows = drawn(seed)
    budget = 1.1 * best(rows, "cost", inf, inf)
    found = mrdsl.solve(spec_of(tmp_path, rows, f", budget = {budget} USD"))
    assert found.value == pytest.approx(best(rows, "energy", inf, budget), rel=1e-6)


def test_a_table_of_tasks_that_are_alike_changes_nothing(tmp_path: Path) -> None:
    cells = {"m5": (9.0, 99.0), "c5": (6.0, 120.0)}
    rows = {
        (kind, n, vm): cells[vm]
        for kind, count in (("map", 4), ("reduce", 2))
        for n in range(1, count + 1)
        for vm in cells
    }
    single = mrdsl.solve(spec_of(tmp_path, rows, ", deadline = 50 s"))
    alike = SPEC.replace("LIMITS", ", deadline = 50 s").replace("GOAL", "energy").replace('task_times = "t.csv", ', "")
    blocks = [
        f"on {vm} {{ map {{ time = {t} s, energy = {e} J }}, reduce {{ time = {t} s, energy = {e} J }} }}"
        for vm, (t, e) in cells.items()
    ]
    text = alike.replace("on m5 { map { time = 9 s, energy = 99 J } }", ", ".join(blocks))
    assert single.value == pytest.approx(mrdsl.solve(mrdsl.loads(text)).value, rel=1e-9)


def test_emrsa_1_and_2_rank_machines_by_the_least_and_by_the_mean(tmp_path: Path) -> None:
    """By hand. Least power: m5 1 W, c5 2 W; mean: m5 10.5 W, c5 3 W. All fits the first machine within the deadline."""
    rows: dict[Cell, tuple[float, float]] = {}
    for kind, count in (("map", 4), ("reduce", 2)):
        for task in range(1, count + 1):
            rows[kind, task, "m5"] = (10.0, 10.0 if task % 2 else 200.0)
            rows[kind, task, "c5"] = (10.0, 20.0 if task % 2 else 40.0)
    spec = spec_of(tmp_path, rows, ", deadline = 500 s")
    first, second = (mrdsl.solve(spec, name).plan for name in ("emrsa-1", "emrsa-2"))
    assert {use.type for use in first.vms} == {"m5"}
    assert {use.type for use in second.vms} == {"c5"}
    assert first.energy.tasks == pytest.approx(3 * 10 + 3 * 200)
    assert second.energy.tasks == pytest.approx(3 * 20 + 3 * 40)
    assert [slot.maps for slot in second.vms[0].slots] == [(1, 2, 3, 4)]


@pytest.mark.parametrize("seed", range(6))
def test_emrsa_packs_the_longest_that_fit_and_no_plan_is_cheaper(seed: int, tmp_path: Path) -> None:
    rows = drawn(seed)
    deadline = 4 * best(rows, "uptime", inf, inf)
    spec = spec_of(tmp_path, rows, f", deadline = {deadline} s")
    for name in ("emrsa-1", "emrsa-2", "emrsaps"):
        found = mrdsl.solve(spec, name)
        if found.plan is not None:
            assert found.value >= best(rows, "energy", deadline, inf) - 1e-6
            assert found.plan.uptime <= deadline


@pytest.mark.parametrize("method", ["em", "dsps", "mvps", "mspan", "mrdsl-energy"])
def test_methods_for_tasks_that_are_alike_refuse(method: str, tmp_path: Path) -> None:
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.solve(spec_of(tmp_path, drawn(1)), method)
    assert [each.code for each in refused.value.diagnostics] == ["unable-solver"]


def test_relaxations_and_the_counted_model_refuse(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, drawn(1))
    for more in ({"relax": True}, {"formulation": "counted"}):
        with pytest.raises(mrdsl.MrdslError) as refused:
            mrdsl.solve(spec, "highs", **more)
        assert [each.code for each in refused.value.diagnostics] == ["unable-solver"]


def test_plans_are_saved_explained_and_simulated(tmp_path: Path) -> None:
    result = mrdsl.solve(spec_of(tmp_path, drawn(2), ", deadline = 300 s"))
    (tmp_path / "plan.json").write_text(result.to_json(), encoding="utf-8")
    assert mrdsl.verify(tmp_path / "plan.json").kept
    listed = [slot.get("maps", []) for use in json.loads(result.to_json())["plan"]["vms"] for slot in use["slots"]]
    assert sorted(task for tasks in listed for task in tasks) == [1, 2, 3, 4]
    ran = mrdsl.simulate(mrdsl.load_plan(tmp_path / "plan.json"), runs=3).plan
    assert ran.observed["wc"].mean == pytest.approx(ran.uptime)
    assert ran.bills["wc"].energy == pytest.approx(ran.energy.total)
    assert mrdsl.why(result) is not None


def test_a_deadline_that_no_plan_keeps_is_told(tmp_path: Path) -> None:
    rows = drawn(3)
    late = 0.9 * best(rows, "uptime", inf, inf)
    result = mrdsl.solve(spec_of(tmp_path, rows, f", deadline = {late} s"))
    assert (result.plan, result.termination) == (None, "infeasible")


def test_a_plan_with_a_task_twice_or_elsewhere_is_refused(tmp_path: Path) -> None:
    from mrdsl.families.energy.verify import verify

    spec = spec_of(tmp_path, drawn(2), ", deadline = 300 s")
    plan = mrdsl.solve(spec).plan
    assert not list(verify(spec, plan))
    use = next(use for use in plan.vms if use.slots[0].maps)
    slot = use.slots[0]
    for tasks in ((*slot.maps[:-1], slot.maps[-1] % 4 + 1), (), (*slot.maps, 9)):
        other = replace(use, slots=(replace(slot, maps=tasks), *use.slots[1:]))
        wrong = replace(plan, vms=tuple(other if each is use else each for each in plan.vms))
        assert list(verify(spec, wrong))


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("kind,task,vm,time\nmap,1,m5,3\n", "missing-column", (1, 1)),
        ("kind,task,vm,time [J],energy\nmap,1,m5,3,4\n", "wrong-unit", (1, 14)),
        ("kind,task,vm,time,enery\nmap,1,m5,3,4\n", "unknown-column", (1, 19)),
        (HEAD + "mapp,1,m5,3,4\n", "unknown-choice", (2, 1)),
        (HEAD + "map,5,m5,3,4\n", "out-of-range", (2, 5)),
        (HEAD + "map,1.5,m5,3,4\n", "out-of-range", (2, 5)),
        (HEAD + "map,1,m6,3,4\n", "unknown-name", (2, 7)),
        (HEAD + "map,1,m5,0,4\n", "out-of-range", (2, 10)),
        (HEAD + "map,1,m5,3,-4\n", "out-of-range", (2, 12)),
        (HEAD + "map,1,m5,3,4\nmap,1,m5,3,4\n", "duplicate", (3, 5)),
        (HEAD + "map,1,m5,3,4\n", "no-machine", (7, 3)),
    ],
)
def test_mistakes_in_a_table_are_told_at_their_cell(
    text: str, code: str, place: tuple[int, int], tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    (tmp_path / "t.mrspec").write_text(SPEC.replace("LIMITS", "").replace("GOAL", "energy"), encoding="utf-8")
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.load(tmp_path / "t.mrspec")
    found = [(each.code, (each.span.line, each.span.column)) for each in refused.value.diagnostics]
    assert (code, place) in found


def test_other_units_may_head_the_columns(tmp_path: Path) -> None:
    rows = drawn(2)
    plain = mrdsl.solve(spec_of(tmp_path, rows)).value
    lines = [f"{vm}\t{kind}\t{time / 60}\t{task}\t{energy / 1000}" for (kind, task, vm), (time, energy) in rows.items()]
    (tmp_path / "t.csv").write_text(
        "vm\tkind\ttime [min]\ttask\tenergy [kJ]\n" + "\n".join(lines) + "\n", encoding="utf-8"
    )
    assert mrdsl.solve(mrdsl.load(tmp_path / "t.mrspec")).value == pytest.approx(plain, rel=1e-9)


def test_a_time_beyond_what_the_solver_takes_is_reported_with_the_coefficient(tmp_path: Path) -> None:
    rows = drawn(2) | {("map", 1, "c5"): (1e99, 5.0)}
    result = mrdsl.solve(spec_of(tmp_path, rows), "highs")
    assert (result.termination, result.plan) == ("error", None)
    (found,) = result.diagnostics
    assert found.code == "solver-failed"
    assert found.message.endswith("HiGHS requires them below 1e+15")
