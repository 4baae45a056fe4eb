"""Fleets as they are rented, against an enumeration that shares no code: fees, masters and quotas of cores."""

from __future__ import annotations

from math import inf, isinf

import pytest

import mrdsl
from mrdsl.core.diagnostics import has_errors
from mrdsl.families.capacity import lanes
from mrdsl.families.capacity.verify import verify
from mrdsl.families.capacity.why import why
from tests.families.capacity.rented_fleets import cheapest, draw, text_of


def planned(text: str, solver: str) -> float:
    """Return the cost of the verified plan; infinite if none exists."""
    spec = mrdsl.loads(text)
    try:
        result = mrdsl.solve(spec, solver=solver, limits=mrdsl.Limits(gap=0.0))
    except mrdsl.MrdslError as refused:
        if all(each.impossible for each in refused.diagnostics if each.severity == "error"):
            return inf
        raise
    if result.plan is None:
        assert result.termination == "infeasible", (result.termination, result.diagnostics)
        return inf
    assert not has_errors(tuple(verify(spec, result.plan_of(mrdsl.CapacityPlan), relax=False)))
    assert result.termination == "optimal"
    assert result.bound is not None
    assert result.value == pytest.approx(result.bound, rel=1e-6, abs=1e-9)
    return float(result.value or 0.0)


def compared(seed: int, solver: str = "highs") -> str:
    """Describe the difference of a drawn spec; empty if there is none."""
    fleet = draw(seed)
    right, ours = cheapest(fleet), planned(text_of(fleet), solver)
    if isinf(right) or isinf(ours):
        return "" if right == ours else f"{seed}: {ours} and not {right}"
    return "" if abs(right - ours) <= 1e-6 * max(1.0, right) else f"{seed}: {ours} and not {right}"


@pytest.mark.parametrize("first", range(0, 80, 10))
def test_costs_are_those_of_an_enumeration(first: int) -> None:
    assert not [found for seed in range(first, first + 10) if (found := compared(seed))]


@pytest.mark.parametrize("first", range(80, 110, 10))
def test_lanes_left_out_change_no_cost(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in catalogues: types are left out that others replace within the quotas."""
    monkeypatch.setattr(lanes, "FEW", 0)
    assert not [found for seed in range(first, first + 10) if (found := compared(seed))]


QUOTAS = """problem capacity
vm m5 { cores = 4, on_demand { price = 0.2 USD/h }, spot { price = 0.05 USD/h, interruptions = 0/h } }
vm c5 { cores = 8, on_demand { price = 0.3 USD/h } }
vm r5 { on_demand { price = 0.5 USD/h } }
class c { coefficients { A = 3600 s, B = 0 s, C = 0 s }, slots { map = 2, reduce = 2 }
          jobs = JOBS, deadline = 1 h, penalty = 9 USD }
minimize cost
"""


def of_quotas(quotas: str, jobs: str = "4", solver: str = "auto") -> tuple[mrdsl.Result | None, list[mrdsl.Diagnostic]]:
    try:
        result = mrdsl.solve(mrdsl.loads(QUOTAS.replace("JOBS", jobs) + quotas), solver=solver)
    except mrdsl.MrdslError as caught:
        return None, list(caught.diagnostics)
    return result, list(result.diagnostics)


@pytest.mark.parametrize(
    ("quotas", "cost"),
    [
        ("", 0.1),
        ('quota a { cores = 4, types = ["m5"], spot = yes }', 0.25),
        ('quota a { cores = 0, types = ["m*", "c*"], spot = yes }', 0.4),
        ("quota a { cores = 0, types = [m5], spot = yes }\nquota b { cores = 4, types = [m5, c5] }", 0.7),
        ('quota a { cores = 0, types = [m5, c5], spot = yes }\nquota b { cores = 0, types = ["[cm]5"] }', 1.0),
        ("quota a { cores = 3.5, types = [m5], spot = yes }\nquota b { cores = 7.9, types = [c5] }", 0.4),
        ("quota a { cores = 1e6, types = [c5, m5] }", 0.1),
    ],
)
def test_quotas_of_cores(quotas: str, cost: float) -> None:
    for solver in ("highs", "scip"):
        result, _ = of_quotas(quotas, solver=solver)
        assert result is not None
        assert result.value == pytest.approx(cost)


@pytest.mark.parametrize(
    ("quotas", "code", "said"),
    [
        ("quota a { cores = -4 }", "out-of-range", "at least 0"),
        ("quota a { cores = 16 GiB }", "wrong-unit", "plain number"),
        ("quota a { cores = 40 vms }", "wrong-unit", "plain number"),
        ("quota a { }", "missing-item", "`cores = ...`"),
        ("quota { cores = 4 }", "missing-name", "has no name"),
        ("quota a { cores = 4 }", "missing-item", "vm r5 has no `cores`"),
        ("quota a { cores = 4, types = [m6] }", "unknown-name", "VM types: "),
        ("quota a { cores = 4, types = [] }", "missing-item", "vm r5 has no `cores`"),
        ('quota a { cores = 4, types = ["x*"] }', "unused", "no vm matches its `types`"),
        ("quota a { cores = 4, types = [c5], spot = yes }", "unused", "spot price"),
        ("quota a { cores = 4, types = [c5], spot = maybe }", "unknown-choice", "maybe"),
        ("quota a { cores = 4, types = [c5] }\nquota a { cores = 4, types = [m5] }", "duplicate", "a"),
        (
            "quota a { cores = 4, types = [c5] }\nmaster { vm = c5 }",
            "impossible-quota",
            "the masters take more cores than quota a, which has 4",
        ),
    ],
)
def test_wrong_quotas(quotas: str, code: str, said: str) -> None:
    told = next(each for each in of_quotas(quotas)[1] if each.code == code)
    assert said in f"{told.message} {told.hint}"
    assert told.span is not None


def test_a_quota_that_the_least_jobs_exceed_is_told() -> None:
    text = QUOTAS.replace("JOBS", "4").replace("vm r5 { on_demand { price = 0.5 USD/h } }", "")
    result = mrdsl.solve(mrdsl.loads(text + "quota a { cores = 7 }\nquota b { cores = 0, spot = yes }"))
    assert result.termination == "infeasible"
    assert [each.code for each in result.diagnostics] == ["impossible-quota"]
    assert "quota a, which has 7 and b, which has 0" in result.diagnostics[0].message


def test_methods_without_quotas_refuse_them() -> None:
    quota = "quota a { cores = 8, types = [m5, c5] }"
    result, found = of_quotas(quota, solver="direct")
    assert (result, [each.code for each in found]) == (None, ["unable-solver"])
    text = QUOTAS.replace("JOBS", "4").replace(", spot { price = 0.05 USD/h, interruptions = 0/h }", "")
    with pytest.raises(mrdsl.MrdslError):
        mrdsl.solve(mrdsl.loads(text + quota), solver="scip", formulation="P0")


def test_verification_counts_cores_itself() -> None:
    text = QUOTAS.replace("JOBS", "4")
    plan = mrdsl.solve(mrdsl.loads(text)).plan_of(mrdsl.CapacityPlan)
    for quota, wrong in [
        ("quota a { cores = 8, types = [m5], spot = yes }", False),
        ("quota a { cores = 7, types = [m5], spot = yes }", True),
        ("quota a { cores = 7, types = [m5] }", False),
        ('quota a { cores = 7, types = ["?5"], spot = yes }', True),
    ]:
        spec = mrdsl.loads(text.replace("vm r5 {", "vm r5 { cores = 4,") + quota)
        assert has_errors(tuple(verify(spec, plan, relax=False))) == wrong, quota


def test_why_shows_the_cores_of_quotas() -> None:
    spec = mrdsl.loads(QUOTAS.replace("JOBS", "4") + "quota a { cores = 4, types = [m5], spot = yes }")
    said = [str(each) for each in why(spec, mrdsl.solve(spec))]
    assert any("4 of 4 cores of quota a are rented" in each for each in said)


if __name__ == "__main__":
    import sys

    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        try:
            said = compared(number, *sys.argv[3:])
        except AssertionError as failed:
            said = f"{number}: {failed}"
        if said:
            print(said, flush=True)
