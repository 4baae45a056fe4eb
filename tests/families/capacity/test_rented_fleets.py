"""Fleets as they are rented, against an enumeration that shares no code: fees, masters and quotas of cores."""

from __future__ import annotations

from math import inf, isinf

import pytest

import mrdsl
from mrdsl.core.diagnostics import has_errors
from mrdsl.families.capacity import lanes
from mrdsl.families.capacity.verify import verify
from mrdsl.families.capacity.why import why
from mrdsl.language.loading import load_text
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


QUOTAS = """problem capacity, estimates = paper
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
        ("quota a { cores = 0, families = [m, x], spot = yes }", 0.4),
        ("quota a { cores = 0, families = [c, m], spot = yes }\nquota b { cores = 0, families = [c, m] }", 1.0),
        ("quota a { cores = 0, families = [x], types = [m5], spot = yes }", 0.4),
    ],
)
def test_quotas_of_cores(quotas: str, cost: float) -> None:
    for solver in ("highs", "scip", "direct"):
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
        ("quota a { cores = 4, families = [q] }", "unknown-name", "families: "),
        ("quota a { cores = 4, families = [c5] }", "unknown-name", "`c5`"),
        ("quota a { cores = 4, families = [] }", "missing-item", "vm r5 has no `cores`"),
        ("quota a { cores = 4, families = [r] }", "missing-item", "vm r5 has no `cores`"),
        ("quota a { cores = 4, families = [x] }", "unused", "families = [c, m, r]"),
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


def bracketed(seed: int) -> tuple[str, bool]:
    """Describe a bound or plan of ``direct`` that is wrong, empty if neither is; and return True if a plan is cheapest.

    A plan that it does not find is not wrong.
    """
    fleet = draw(seed)
    right = cheapest(fleet)
    spec = mrdsl.loads(text_of(fleet))
    try:
        found = mrdsl.solve(spec, solver="direct")
    except mrdsl.MrdslError as refused:
        codes = {each.code for each in refused.diagnostics if each.severity == "error"}
        return ("" if isinf(right) or codes == {"unable-solver"} else f"{seed}: refused, and not {right}"), False
    if found.plan is None:
        return (
            f"{seed}: infeasible, and not {right}" if found.termination == "infeasible" and right < inf else ""
        ), False
    assert not has_errors(tuple(verify(spec, found.plan_of(mrdsl.CapacityPlan), relax=False)))
    assert found.value is not None
    assert found.bound is not None
    near = 1e-6 * max(1.0, right)
    wrong = found.value < right - near or found.bound > right + near
    return (f"{seed}: {found.bound} to {found.value}, and not {right}" if wrong else ""), found.value <= right + near


def test_direct_brackets_the_costs_of_an_enumeration() -> None:
    found = [bracketed(seed) for seed in range(60)]
    assert not [wrong for wrong, _ in found if wrong]
    assert sum(cheapest for _, cheapest in found) >= 25


def test_methods_without_quotas_refuse_them() -> None:
    quota = "quota a { cores = 8, types = [m5, c5] }"
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
        ("quota a { cores = 7, families = [m], spot = yes }", True),
        ("quota a { cores = 7, families = [c], spot = yes }", False),
    ]:
        spec = mrdsl.loads(text.replace("vm r5 {", "vm r5 { cores = 4,") + quota)
        assert has_errors(tuple(verify(spec, plan, relax=False))) == wrong, quota


def test_why_shows_the_cores_of_quotas() -> None:
    spec = mrdsl.loads(QUOTAS.replace("JOBS", "4") + "quota a { cores = 4, types = [m5], spot = yes }")
    said = [str(each) for each in why(spec, mrdsl.solve(spec))]
    assert any("4 of 4 cores of quota a are rented" in each for each in said)


@pytest.mark.parametrize(
    ("disk", "rest", "cost"),
    [
        ("disk = 100 GiB", "", 0.1),
        ("disk = 100 GiB", "hdfs { data = 0 B }", 0.1),
        (
            "disk = 100 GiB",
            "hdfs { data = 90 GiB, replication = 1 }",
            0.35,
        ),  # one c5 runs 2 jobs, one m5 on spot the others
        ("disk { size = 100 GiB, price = 0.0001 USD/GiB/h }", "hdfs { data = 90 GiB, replication = 1 }", 0.36),
        ("disk = 100 GiB", "hdfs { data = 40 GiB }", 0.6),
        ("disk = 120 GiB", "hdfs { data = 40 GiB }", 0.35),
        ("disk = 120 GiB", "hdfs { data = 40 GiB }\nmaster { vm = c5 }", 0.65),
        ("disk = 50 GiB", "hdfs { data = 40 GiB }", 0.9),
    ],
)
def test_hdfs_takes_firm_vms_with_disks(disk: str, rest: str, cost: float) -> None:
    """Without it 2 VMs of m5 on spot run all jobs, for 0.05 USD each; a c5 costs 0.3 USD."""
    spec = mrdsl.loads(QUOTAS.replace("JOBS", "4").replace("vm c5 {", f"vm c5 {{ {disk}, ") + rest)
    for solver in ("highs", "scip"):
        plan = mrdsl.solve(spec, solver=solver).plan_of(mrdsl.CapacityPlan)
        assert not has_errors(tuple(verify(spec, plan, relax=False)))
        assert plan.total == pytest.approx(cost)


@pytest.mark.parametrize(
    ("disk", "rest", "code", "said"),
    [
        ("disk = 0 GiB", "", "out-of-range", "above 0"),
        ("disk = -5 GiB", "", "out-of-range", "above 0"),
        ("disk = 100", "", "wrong-unit", "amount of data"),
        ("disk { price = 0.0001 USD/GiB/h }", "", "missing-item", "`size = ...`"),
        ("disk { size = 1 GiB, price = -0.0001 USD/GiB/h }", "", "out-of-range", "at least 0"),
        ("disk { size = 1 GiB, price = 0.0001 USD/h }", "", "wrong-unit", "a price of stored data per time"),
        ("disk { size = 1 GiB, price = 0.0001 EUR/GiB/h }", "", "mixed-currencies", "USD"),
        ("disk = 100 GiB", "", "unused", "no price"),
        ("disk { size = 1 GiB, price = 0 USD/GiB/h }", "", "unused", "no price"),
        ("", "hdfs { data = 1 GiB }", "missing-item", "no vm has a `disk`"),
        ("disk = 1 GiB", "hdfs { data = -1 GiB }", "out-of-range", "at least 0"),
        ("disk = 1 GiB", "hdfs { data = 5 }", "wrong-unit", "amount of data"),
        ("disk = 1 GiB", "hdfs { data = 5 GiB, replication = 0 }", "out-of-range", "at least 1"),
        ("disk = 1 GiB", "hdfs { }", "missing-item", "`data = ...`"),
    ],
)
def test_wrong_disks(disk: str, rest: str, code: str, said: str) -> None:
    text = QUOTAS.replace("JOBS", "4").replace("vm c5 {", f"vm c5 {{ {disk}\n") + rest
    told = next(each for each in load_text(text).diagnostics if each.code == code)
    assert said in f"{told.message} {told.hint}"


def test_direct_refuses_hdfs_and_verification_counts_disks() -> None:
    text = QUOTAS.replace("JOBS", "4").replace("vm c5 {", "vm c5 { disk = 100 GiB,")
    spec = mrdsl.loads(text + "hdfs { data = 40 GiB }")
    with pytest.raises(mrdsl.MrdslError, match="does not support `hdfs`"):
        mrdsl.solve(spec, solver="direct")
    plan = mrdsl.solve(mrdsl.loads(text)).plan_of(mrdsl.CapacityPlan)
    assert ["HDFS takes" in each.message for each in verify(spec, plan, relax=False)] == [True]
    said = [str(each) for each in why(spec, mrdsl.solve(spec))]
    assert any("HDFS takes 120 GiB with its copies" in each for each in said)


if __name__ == "__main__":
    import sys

    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        try:
            said = compared(number, *sys.argv[3:])
        except AssertionError as failed:
            said = f"{number}: {failed}"
        if said:
            print(said, flush=True)
