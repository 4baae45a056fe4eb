"""Commitments over several periods, against an own program that tries all of them."""

from __future__ import annotations

import re
from dataclasses import replace
from math import isinf
from pathlib import Path
from random import Random
from typing import Any

import pytest

import mrdsl
from mrdsl.families.capacity.periods.explain import deployments
from mrdsl.families.capacity.periods.plan import PeriodsPlan, Savings
from mrdsl.families.capacity.periods.verify import verify
from tests.families.capacity.commitment_oracle import Drawn, drawn


def loaded(case: Drawn, folder: Path) -> mrdsl.Spec:
    (folder / "day.csv").write_text(case.table(), encoding="utf-8")
    (folder / "spec.mrspec").write_text(case.text("day.csv"), encoding="utf-8")
    return mrdsl.load(folder / "spec.mrspec")


@pytest.mark.parametrize("tens", range(8))
def test_no_commitments_and_placements_are_cheaper(tens: int, tmp_path: Path) -> None:
    """With a group for each period, the bound of `direct` is that of the relaxation, and its plan is near."""
    for seed in range(10 * tens, 10 * tens + 10):
        case = drawn(seed)
        best, spec = case.optimum(), loaded(case, tmp_path)
        result = mrdsl.solve(spec, "highs", limits=mrdsl.Limits(gap=1e-9))
        near = None if tens == 4 else mrdsl.solve(spec, "direct")
        if isinf(best):
            assert result.plan is None, seed
            assert str(result.termination) == "infeasible", seed
            assert near is None or near.plan is None, seed
            continue
        assert result.plan is not None, (seed, result.diagnostics)
        assert result.objective.value == pytest.approx(best, rel=1e-6, abs=1e-9), seed
        assert str(result.solution) == "optimal", seed
        assert result.objective.bound == pytest.approx(best, rel=1e-6, abs=1e-9), seed
        if near is not None:
            assert near.objective.bound is not None, seed
            assert near.objective.bound <= best * (1 + 1e-6) + 1e-9, seed
            if near.plan is not None:
                assert near.objective.value >= best * (1 - 1e-6) - 1e-9, seed
                assert near.plan.without >= 0.0


def test_many_periods_are_planned_from_groups(tmp_path: Path) -> None:
    """150 different periods of four types: the bound of fewer groups is below that of the whole program.

    The price of one type changes by the hour.
    """
    rows = "\n".join(f"{20 + 7 * n % 31},{n % 50},{0.1 + 0.05 * (n % 3)}" for n in range(150))
    (tmp_path / "day.csv").write_text(f"c0,c1,t1 on_demand [USD/h]\n{rows}\n", encoding="utf-8")
    types = "".join(
        f"vm t{n} {{ on_demand {{ price = {p} USD/h }}, reserved {{ price = {0.6 * p} USD/h, available = 90 }} }}\n"
        for n, p in enumerate((0.1, 0.17, 0.3, 0.5))
    )
    classes = "".join(
        f"class c{n} {{ coefficients {{ A = {a} s, B = 900 s, C = 0 s }}, slots {{ map = 2, reduce = 2 }}\n"
        f"on t1 {{ speed = {1.4 + 0.4 * n} }}\non t2 {{ speed = {3.2 - 0.5 * n} }}\non t3 {{ speed = 4.6 }}\n"
        f"jobs = 9, deadline = 20 min, penalty = 50 USD }}\n"
        for n, a in enumerate((2000, 5000))
    )
    text = (
        f'problem capacity\nwhole = no\n{types}demand {{ periods = 150, from = "day.csv" }}\n{classes}minimize cost\n'
    )
    (tmp_path / "spec.mrspec").write_text(text, encoding="utf-8")
    spec = mrdsl.load(tmp_path / "spec.mrspec")
    found, relaxed = mrdsl.solve(spec, "direct"), mrdsl.solve(spec, "highs", relax=True)
    assert found.plan is not None
    assert relaxed.objective.value is not None
    assert found.objective.bound <= relaxed.objective.value * (1.0 + 1e-6)
    assert found.objective.bound == pytest.approx(relaxed.objective.value, rel=2e-2)
    assert found.objective.value == pytest.approx(found.objective.bound, rel=2e-2)
    assert found.plan.at_least
    assert 0.0 < found.plan.without - found.plan.total < found.plan.total


@pytest.mark.parametrize("share", [1, 50, 77])
def test_periods_of_many_jobs_keep_their_share_on_spot(share: int, tmp_path: Path) -> None:
    rows = "\n".join(f"{300 + 111 * n},{40 + 17 * n}" for n in range(5))
    (tmp_path / "day.csv").write_text(f"c0,c1\n{rows}\n", encoding="utf-8")
    types = "".join(
        f"vm t{n} {{ on_demand {{ price = {p} USD/h }}, reserved {{ price = {0.6 * p} USD/h, available = 90 }}, "
        f"spot {{ price = {q} USD/h, interruptions = 0.02/h }} }}\n"
        for n, (p, q) in enumerate(((0.1, 0.04), (0.17, 0.06)))
    )
    classes = "".join(
        f"class c{n} {{ coefficients {{ A = {a} s, B = 900 s, C = 0 s }}, slots {{ map = 2, reduce = 1 }}\n"
        f"on t1 {{ speed = {1.4 + 0.4 * n} }}\nspot = {share}%, jobs = 9, deadline = 20 min, penalty = 50 USD }}\n"
        for n, a in enumerate((2000, 5000))
    )
    text = f'problem capacity\n{types}demand {{ periods = 5, from = "day.csv" }}\n{classes}minimize cost\n'
    (tmp_path / "spec.mrspec").write_text(text, encoding="utf-8")
    spec = mrdsl.load(tmp_path / "spec.mrspec")
    found, best = mrdsl.solve(spec, "direct"), mrdsl.solve(spec, "highs", limits=mrdsl.Limits(gap=5e-3))
    assert found.plan is not None
    assert found.objective.bound <= best.objective.value * (1.0 + 1e-6)
    assert found.objective.value >= best.objective.bound * (1.0 - 1e-6)
    assert found.objective.value == pytest.approx(best.objective.bound, rel=6e-3)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            lambda plan: {"committed": (replace(plan.committed[0], vms=plan.committed[0].vms + 0.5),)},
            "under contract of",
        ),
        (lambda plan: {"committed": (replace(plan.committed[0], vms=999.0),)}, "under contract of"),
        (lambda plan: {"committed": (replace(plan.committed[0], vms=0.0),)}, "VMs of a are reserved at once of 0"),
        (lambda plan: {"committed": (replace(plan.committed[0], price=0.0),)}, "is not that of the spec"),
        (lambda plan: {"committed": ()}, "other contracts"),
        (lambda plan: {"savings": (Savings("s", 1.0),)}, "other savings plans"),
        (lambda plan: {"discounts": plan.discounts + 1.0}, "that savings plans pay for"),
        (lambda plan: {"weight": 2.0 * plan.weight}, "other periods"),
        (lambda plan: {"period": 60.0}, "another length"),
        (lambda plan: {"plan_of": plan.plan_of[::-1]}, "outside|other jobs"),
        (lambda plan: {"plan_of": 0 * plan.plan_of}, "no period has plan|other jobs"),
        (lambda plan: {"plan_of": plan.plan_of + 7}, "no plan of some period"),
    ],
)
def test_planted_defects_are_found(changed: Any, told: str, tmp_path: Path) -> None:
    (tmp_path / "day.csv").write_text("factor\n0.5\n1\n1\n0.2\n", encoding="utf-8")
    text = (
        "problem capacity\nvm a { on_demand { price = 0.4 USD/h }, reserved { price = 0.2 USD/h, available = 50 } }\n"
        'demand { periods = 4, from = "day.csv" }\n'
        "class c { coefficients { A = 5400 s, B = 1250 s, C = 9 s }, slots { map = 3, reduce = 2 }\n"
        "jobs = 10, deadline = 10 min, penalty = 9 USD }\nminimize cost\n"
    )
    (tmp_path / "spec.mrspec").write_text(text, encoding="utf-8")
    spec = mrdsl.load(tmp_path / "spec.mrspec")
    plan = mrdsl.solve(spec, "highs").plan
    assert isinstance(plan, PeriodsPlan)
    assert list(verify(spec, plan, False)) == []
    found = [each.message for each in verify(spec, replace(plan, **changed(plan)), False)]
    assert any(re.search(told, message) for message in found), found


def test_one_type_agrees_with_counting_hours(tmp_path: Path) -> None:
    """One type, all jobs required: reserve the VMs that are used in more of the time than the ratio of the prices."""
    for seed in range(8):
        random = Random(seed)
        weights = [random.choice([1.0, 3.0, 24.0]) for _ in range(7)]
        jobs = [random.randint(0, 9) for _ in weights]
        ratio = random.choice([0.2, 0.5, 0.63, 0.9])
        rows = "".join(f"{n},{w!r}\n" for n, w in zip(jobs, weights, strict=True))
        (tmp_path / "day.csv").write_text(f"c,weight\n{rows}", encoding="utf-8")
        text = (
            "problem capacity\nvm a { on_demand { price = 1 USD/h }\n"
            f"reserved {{ price = {ratio} USD/h, available = 500 }} }}\n"
            'demand { periods = 7, from = "day.csv" }\n'
            "class c { coefficients { A = 5400 s, B = 0 s, C = 0 s }, slots { map = 1, reduce = 1 }\n"
            "jobs = 1, deadline = 30 min, penalty = 9 USD }\nminimize cost\n"
        )
        (tmp_path / "spec.mrspec").write_text(text, encoding="utf-8")
        result = mrdsl.solve(mrdsl.load(tmp_path / "spec.mrspec"))
        needed, hours = [3 * n for n in jobs], sum(weights)  # 5,400 s of work in 1,800 s: three VMs
        used = [sum(w for n, w in zip(needed, weights, strict=True) if n > k) for k in range(max(needed))]
        count = sum(time > ratio * hours for time in used)
        rented = sum(w * max(0, n - count) for n, w in zip(needed, weights, strict=True))
        assert result.objective.value == pytest.approx(ratio * count * hours + rented)
        assert isinstance(result.plan, PeriodsPlan)
        assert result.plan.without == pytest.approx(sum(w * n for n, w in zip(needed, weights, strict=True)))


def test_printed_formulations_refuse_periods(tmp_path: Path) -> None:
    text = (
        "problem capacity\nvm a { on_demand { price = 0.4 USD/h }, reserved { price = 0.2 USD/h, available = 50 } }\n"
        "demand { periods = 4 }\n"
        "class c { coefficients { A = 5400 s, B = 1250 s, C = 9 s }, slots { map = 3, reduce = 2 }\n"
        "jobs = 10, deadline = 10 min, penalty = 9 USD }\nminimize cost\n"
    )
    for formulation in ("P0", "P1", "P0-cone"):
        with pytest.raises(mrdsl.MrdslError, match="requires a spec of one period"):
            mrdsl.solve(mrdsl.loads(text), formulation=formulation)
    result = mrdsl.solve(mrdsl.loads(text))
    with pytest.raises(mrdsl.MrdslError, match="cannot be simulated"):
        mrdsl.simulate(result)


def test_the_largest_cluster_is_exported(tmp_path: Path) -> None:
    """Two jobs take 3 VMs and six take 9: the second period has most."""
    (tmp_path / "day.csv").write_text("factor\n0.2\n0.6\n0.2\n", encoding="utf-8")
    (tmp_path / "spec.mrspec").write_text(
        "problem capacity\nvm a { on_demand { price = 0.4 USD/h }, reserved { price = 0.2 USD/h, available = 3 } }\n"
        'demand { periods = 3, from = "day.csv" }\n'
        "class c { map { tasks = 6, avg = 60 s, max = 60 s }, slots { map = 4 }, guarantee = lower\n"
        "jobs = 10, deadline = 60 s, penalty = 9 USD }\nminimize cost\n",
        encoding="utf-8",
    )
    spec = mrdsl.load(tmp_path / "spec.mrspec")
    (cluster,) = deployments(spec, mrdsl.solve(spec).plan_of(PeriodsPlan))
    assert [(each.vm, each.count) for each in cluster.groups] == [("a", 9)]
    assert any("period 2 of 3" in note for note in cluster.notes)
    assert any("3 a" in note for note in cluster.notes)


def test_periods_without_the_embedded_solver_name_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mrdsl.solving import registry

    spec, real = loaded(drawn(0), tmp_path), registry.where
    monkeypatch.setattr(registry, "where", lambda solver: None if solver.name == "highs" else real(solver))
    with pytest.raises(mrdsl.MrdslError) as told:
        mrdsl.solve(spec, "direct")
    assert [each.code for each in told.value.diagnostics] == ["missing-solver"]
    assert "highspy" in told.value.diagnostics[0].hint


def test_nothing_is_saved_without_commitments() -> None:
    """The plan has no table of contracts, and a bound below its cost is not a loss."""
    spec = mrdsl.loads(
        "problem capacity\nvm m5 { on_demand { price = 0.2 USD/h } }\ndemand { periods = 2 }\n"
        "class c { coefficients { A = 5400 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 2 }\n"
        "jobs = 4, deadline = 20 min, penalty = 20 USD }\nminimize cost\n"
    )
    plan = mrdsl.solve(spec).plan_of(PeriodsPlan)
    assert [table.title for table in plan.tables()] == ["Periods", "Cost of 2 h"]
    assert replace(plan, without=plan.total - 1.0, at_least=True).saving == 0.0
