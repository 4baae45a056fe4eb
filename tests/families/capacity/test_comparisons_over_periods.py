"""`subject to` over several periods: comparisons in each period, against an own program, and of sums."""

from __future__ import annotations

from dataclasses import replace
from math import isinf
from pathlib import Path

import pytest

import mrdsl
from mrdsl.families.capacity.periods.explain import operated
from mrdsl.families.capacity.periods.plan import PeriodsPlan, bought
from mrdsl.families.capacity.periods.verify import verify
from mrdsl.families.capacity.periods.why import why
from tests.families.capacity.commitment_oracle import drawn

GAP = mrdsl.Limits(gap=1e-9)
TYPES = """problem capacity
vm a { cores = 4, on_demand { price = 1 USD/h }, reserved { price = 0.7 USD/h, available = 9 } }
vm b { cores = 4, on_demand { price = 1.1 USD/h }, spot { price = 0.4 USD/h, interruptions = 0/h } }
demand { periods = 2, from = "day.csv" }
class c { coefficients { A = 5400 s, B = 0 s, C = 0 s }, slots { map = 1, reduce = 1 }
jobs = 0..4, deadline = 30 min, penalty = 2 USD }
minimize cost
"""
"""A job takes three VMs."""


def solved(folder: Path, comparisons: str, solver: str = "highs", rows: str = "4,1\n2,3") -> mrdsl.Result:
    (folder / "day.csv").write_text(f"c,weight\n{rows}\n", encoding="utf-8")
    (folder / "spec.mrspec").write_text(f"{TYPES}subject to {{ {comparisons} }}\n", encoding="utf-8")
    return mrdsl.solve(mrdsl.load(folder / "spec.mrspec"), solver, limits=GAP)


@pytest.mark.parametrize("fives", range(8))
def test_no_plan_within_limits_is_cheaper(fives: int, tmp_path: Path) -> None:
    for seed in range(5 * fives, 5 * fives + 5):
        case = replace(drawn(seed), most=2 + seed % 5)
        (tmp_path / "day.csv").write_text(case.table(), encoding="utf-8")
        (tmp_path / "spec.mrspec").write_text(case.text("day.csv"), encoding="utf-8")
        best, spec = case.optimum(), mrdsl.load(tmp_path / "spec.mrspec")
        for solver in ("highs", "direct"):
            result = mrdsl.solve(spec, solver, limits=GAP)
            if isinf(best):
                assert result.plan is None, seed
                continue
            assert result.objective.bound is None or result.objective.bound <= best * (1 + 1e-6) + 1e-9, seed
            if solver == "highs":
                assert result.objective.value == pytest.approx(best, rel=1e-6, abs=1e-9), seed
            elif result.plan is not None:
                assert result.objective.value >= best * (1 - 1e-6) - 1e-9, seed


@pytest.mark.parametrize(
    "comparison",
    [
        "share(spot) <= 40%",
        "share(spot, b) <= 40%",
        "cores(spot, largest) <= 8",
        "vms(a) + vms(b) <= 9",
        "vms(a) >= vms(b) + 1",
        "share(spot) = 50%",
    ],
)
@pytest.mark.parametrize("solver", ["highs", "direct"])
def test_comparisons_hold_in_each_period(comparison: str, solver: str, tmp_path: Path) -> None:
    plan = solved(tmp_path, comparison, solver).plan_of(PeriodsPlan)
    for each in plan.plans:
        of_type = {vm: sum(bought(each, way, vm) for way in ("on_demand", "reserved", "spot")) for vm in "ab"}
        spot, every = bought(each, "spot"), sum(of_type.values())
        holds = {
            "share(spot) <= 40%": spot <= 0.4 * every + 1e-9,
            "share(spot, b) <= 40%": spot <= 0.4 * every + 1e-9,
            "cores(spot, largest) <= 8": 4 * spot <= 8,
            "vms(a) + vms(b) <= 9": every <= 9,
            "vms(a) >= vms(b) + 1": of_type["a"] >= of_type["b"] + 1 - 1e-9,
            "share(spot) = 50%": 2 * spot == pytest.approx(every),
        }
        assert holds[comparison], of_type


def test_equal_periods_can_have_other_parts_of_a_sum(tmp_path: Path) -> None:
    """Three VMs on spot cost 1.2 USD a job, below the penalty; without a limit all 8 jobs run."""
    rows = "4,1\n4,1"
    free = solved(tmp_path, "cost <= 99 USD", rows=rows)
    assert free.objective.value == pytest.approx(8 * 1.2)
    few = solved(tmp_path, "admitted(c) <= 5", rows=rows)
    assert few.objective.value == pytest.approx(5 * 1.2 + 3 * 2)
    assert sorted(float(each.admitted.sum()) for each in few.plan_of(PeriodsPlan).plans) in ([1.0, 4.0], [2.0, 3.0])
    money = solved(tmp_path, "cost(b) <= 6 USD", rows=rows)  # the others pay 2.1 USD reserved, or are rejected
    assert money.objective.value == pytest.approx(5 * 1.2 + 3 * 2)
    assert str(solved(tmp_path, "cost <= 9.5 USD", rows=rows).termination) == "infeasible"


def test_weights_count_in_sums(tmp_path: Path) -> None:
    """The second row occurs three times, and a job in it is admitted three times."""
    few = solved(tmp_path, "admitted(c) >= 8, cost(b) <= 8.4 USD")  # 10 jobs in all
    assert few.objective.value <= 7 * 1.2 + 3 * 3.3
    plan = few.plan_of(PeriodsPlan)
    assert float(plan.weight @ [plan.of_period(n).admitted.sum() for n in range(2)]) >= 8
    used = [plan.of_period(n) for n in range(2)]
    costs = [0.4 * bought(each, "spot", "b") + 1.1 * bought(each, "on_demand", "b") for each in used]
    cost = costs[0] + 3 * costs[1]
    assert cost <= 8.4 + 1e-9


def test_planted_defects_are_found(tmp_path: Path) -> None:
    plan = solved(tmp_path, "vms >= 3, admitted(c) >= 9").plan_of(PeriodsPlan)
    spec = mrdsl.load(tmp_path / "spec.mrspec")
    assert list(verify(spec, plan, False)) == []
    for old, new, code in (("vms >= 3", "vms >= 7", "vms"), (">= 9", ">= 11", "admitted")):
        text = (tmp_path / "spec.mrspec").read_text(encoding="utf-8").replace(old, new)
        (tmp_path / "other.mrspec").write_text(text, encoding="utf-8")
        told = [each.message for each in verify(mrdsl.load(tmp_path / "other.mrspec"), plan, False)]
        assert any(f"violates `{code}" in message for message in told), told


def test_fees_in_percent_follow_the_price_on_demand(tmp_path: Path) -> None:
    """Twelve and six spot VMs of b, with 25 % and 50 % of the period's price on demand."""
    rows = "c,weight,b on_demand,b fee [%]\n4,1,2,25\n2,3,1,50\n"
    (tmp_path / "day.csv").write_text(rows, encoding="utf-8")
    text = TYPES.replace("penalty = 2", "penalty = 9").replace("vm b { cores = 4,", "vm b { fee = 9 USD/h, cores = 4,")
    (tmp_path / "spec.mrspec").write_text(text.replace("vm a { cores = 4,", "vm a { available = 0,"), encoding="utf-8")
    spec = mrdsl.load(tmp_path / "spec.mrspec")
    for solver in ("highs", "direct"):
        result = mrdsl.solve(spec, solver)
        assert result.objective.value == pytest.approx(12 * (0.4 + 0.5) + 3 * 6 * (0.4 + 0.5))


def test_contracts_are_compared_with_the_mean_price_of_the_periods(tmp_path: Path) -> None:
    """The contract costs 0.7 USD: more than the price of the block, and half of the mean of 2 and 0.8 USD."""
    (tmp_path / "day.csv").write_text("c,a on_demand\n1,2\n1,0.8\n", encoding="utf-8")
    text = TYPES.replace("price = 1 USD/h", "price = 0.5 USD/h").replace("0..4", "1")
    (tmp_path / "spec.mrspec").write_text(
        text.replace(", spot { price = 0.4 USD/h", ", spot { price = 4 USD/h"), "utf-8"
    )
    spec = mrdsl.load(tmp_path / "spec.mrspec")
    result = mrdsl.solve(spec)
    assert "reserved-not-cheaper" not in [each.code for each in result.diagnostics]
    use = why(spec, result)[0]
    assert not isinstance(use, str)
    assert [row[2] for row in use.rows] == [pytest.approx(50.0)]
    (tmp_path / "day.csv").write_text("c,a on_demand\n1,0.5\n1,0.8\n", encoding="utf-8")
    assert "reserved-not-cheaper" in [each.code for each in mrdsl.check(tmp_path / "spec.mrspec")]


def test_sums_are_not_for_direct(tmp_path: Path) -> None:
    with pytest.raises(mrdsl.MrdslError, match="joins all periods"):
        solved(tmp_path, "cost <= 99 USD", "direct")


def test_commitments_are_rounded_up_for_a_share_of_them(tmp_path: Path) -> None:
    """The relaxation commits to 0.3 VMs, of which no whole number near keeps the share but 1."""
    (tmp_path / "day.csv").write_text("c\n1\n1\n", encoding="utf-8")
    text = TYPES.replace("0..4", "4") + "subject to { share(reserved) >= 10% }\n"
    (tmp_path / "spec.mrspec").write_text(text, encoding="utf-8")
    result = mrdsl.solve(mrdsl.load(tmp_path / "spec.mrspec"), "direct")
    assert [each.vms for each in result.plan_of(PeriodsPlan).committed] == [1.0]
    assert result.objective.value == pytest.approx(2 * (0.7 + 3 * 0.4))


def test_the_saving_of_commitments_is_known_with_comparisons(tmp_path: Path) -> None:
    """Without commitments a job costs 1.2 USD on spot, or with at most half of the VMs there at least 2.1 USD.

    All 4 and 3 times 2 jobs run then: half of their VMs on demand cost 1 USD each.
    """
    plan = solved(tmp_path, "share(spot) <= 50%, admitted(c) >= 10").plan_of(PeriodsPlan)
    assert plan.at_least
    assert plan.without == pytest.approx(10 * (1.5 * 1.0 + 1.5 * 0.4))
    assert plan.total < plan.without
    assert plan.saving == pytest.approx(plan.without - plan.total)


def test_a_saving_is_at_least_what_the_bound_proves(tmp_path: Path) -> None:
    """The best plan cannot save less than nothing; fractions of jobs alone bound the cost without commitments lower.

    `direct` does not know the comparison, so `why` has no cost of other commitments.
    """
    result = solved(tmp_path, "vms(a) >= 1", rows="1,1\n1,1")
    plan = result.plan_of(PeriodsPlan)
    assert plan.at_least
    assert plan.saving == pytest.approx(0.0)
    assert plan.document()["cost"]["without_commitments_is_bound"]
    spec = mrdsl.load(tmp_path / "spec.mrspec")
    assert [part.title for part in why(spec, result)] == ["Use of the commitments"]  # type: ignore[union-attr]


def test_the_money_of_a_savings_plan_is_set_per_hour(tmp_path: Path) -> None:
    """Three VMs of b for 1.1 USD/h, at half of the price."""
    (tmp_path / "day.csv").write_text("c\n1\n1\n", encoding="utf-8")
    text = TYPES.replace("0..4", "1").replace(", spot { price = 0.4 USD/h", ", spot { price = 4 USD/h")
    text += "savings_plan s { discount = 50%, types = [b] }\n"
    (tmp_path / "spec.mrspec").write_text(text, encoding="utf-8")
    spec = mrdsl.load(tmp_path / "spec.mrspec")
    settings = operated(spec, mrdsl.solve(spec).plan_of(PeriodsPlan)).settings
    assert [(each.value, each.unit) for each in settings if each.what == "savings plan s"] == [
        (pytest.approx(3 * 0.55), "USD/h")
    ]


def test_why_has_no_use_of_commitments_without_contracts(tmp_path: Path) -> None:
    (tmp_path / "day.csv").write_text("c\n1\n1\n", encoding="utf-8")
    text = TYPES.replace(", reserved { price = 0.7 USD/h, available = 9 }", "")
    (tmp_path / "spec.mrspec").write_text(text, encoding="utf-8")
    spec = mrdsl.load(tmp_path / "spec.mrspec")
    assert why(spec, mrdsl.solve(spec)) == ()
