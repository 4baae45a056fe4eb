"""P0 and P1 through SCIP agree with P2; ``subject to`` in the models and on the plans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mrdsl import loads
from mrdsl.core.result import Limits, Result, SolutionStatus, Termination
from mrdsl.families.joint.verify import quantity
from mrdsl.planning.solve_spec import solve
from mrdsl.spec.schema import Range
from mrdsl.spec.spec import Spec

from .specs import random_spec
from .test_greedy import greedy

pytest.importorskip("pyscipopt")


def positive(spec: Spec) -> Spec:
    """P0 and P1 divide by the least demand: raise those below a tenth of the expected one."""
    facts = spec.facts

    def raised(wanted: Range) -> Range:
        return Range(max(wanted.low, wanted.high / 10), wanted.high)

    return replace(
        spec,
        facts=replace(
            facts,
            classes=tuple(replace(one, jobs=raised(one.jobs)) for one in facts.classes),
            services=tuple(replace(one, rate=raised(one.rate)) for one in facts.services),
        ),
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("relax", [True, False])
@pytest.mark.parametrize("formulation", ["P0", "P1"])
def test_printed_forms_agree_with_the_reduced_one(seed: int, relax: bool, formulation: str) -> None:
    """Theorems 3.1 to 3.3; with whole VMs P0 is what the exact P2 must equal, not the rounded one."""
    spec = positive(random_spec(seed))
    expected = greedy(spec, relax)
    found = solve(spec, "scip", formulation, relax)
    if expected.plan is None:
        assert found.termination is Termination.INFEASIBLE
        return
    assert found.solution is SolutionStatus.OPTIMAL
    assert found.objective.value == pytest.approx(expected.value, rel=1e-5)
    for key in ("map_slots", "reduce_slots"):
        closed = getattr(found.plan.classes, key)  # type: ignore[union-attr]
        assert closed == pytest.approx(getattr(expected.plan.classes, key), rel=1e-2, abs=1e-2)  # type: ignore[attr-defined]


def test_zero_minimum_is_refused_by_the_printed_forms() -> None:
    from mrdsl import MrdslError

    spec = random_spec(1)
    service = replace(spec.facts.services[0], rate=Range(0.0, 5.0))
    spec = replace(spec, facts=replace(spec.facts, services=(service,)))
    with pytest.raises(MrdslError) as caught:
        solve(spec, "scip", "P1", True)
    assert [d.code for d in caught.value.diagnostics] == ["needs-minimum"]


THREE_PERIODS = """
problem joint "a class and a service over three periods"
cluster { size = 130 vms, vm_cost = 1 cent/h, concurrency = fractional }
class r {
  coefficients { A = 9000 s, B = 3000 s, C = 100 s }
  slots { map = 2, reduce = 2 }
  jobs = 0..16
  deadline = 900 s
  penalty = 45 cent
}
service checkout {
  rate = 0/s .. 600/s
  service_rate = 15/s, delay = 0.25 s, response = 1.4 s, penalty = 0.002 cent
}
demand { periods = 3 }
minimize cost
subject to { COMPARISON }
"""


FREE = THREE_PERIODS.replace("subject to { COMPARISON }", "")


def constrained(comparison: str, relax: bool, solver: str = "auto") -> Result:
    return solve(loads(THREE_PERIODS.replace("COMPARISON", comparison)), solver, None, relax)


@pytest.mark.parametrize("relax", [True, False])
@pytest.mark.parametrize(
    ("comparison", "name", "argument", "value"),
    [
        ("vms <= 50", "vms", "", 50.0),
        ("vms >= 125", "vms", "", 125.0),
        ("utilization >= 90%", "utilization", "", 0.9),
        ("utilization <= 40%", "utilization", "", 0.4),
        ("admitted(r) <= 30", "admitted", "r", 30.0),
        ("rate(checkout) = 300/s", "rate", "checkout", 300.0),
        ("response(checkout) <= 0.5 s", "response", "checkout", 0.5),
    ],
)
def test_a_comparison_that_binds(comparison: str, name: str, argument: str, value: float, relax: bool) -> None:
    """Each of these cuts off the unconstrained optimum; the plan ends at the limit (for whole VMs, within one VM)."""
    result = constrained(comparison, relax)
    spec = loads(THREE_PERIODS.replace("COMPARISON", comparison))
    assert result.solution is SolutionStatus.OPTIMAL, result.diagnostics
    got = quantity(spec, result.plan, name, argument)  # type: ignore[arg-type]
    slack = {"response": 0.03}.get(name, 1e-3)
    assert got == pytest.approx(value, abs=slack)
    free = solve(loads(FREE), relax=relax)
    assert result.objective.value > free.objective.value  # type: ignore[operator]


@pytest.mark.parametrize(
    "comparison",
    [
        "vms <= 50",
        "vms >= 50",
        "utilization >= 39%",
        "admitted(r) <= 10",
        "admitted(r) >= 37",
        "cost <= 7 USD",
        "rate(checkout) = 300/s",
        "response(checkout) <= 0.5 s",
    ],
)
def test_comparisons_over_whole_jobs_at_once(comparison: str) -> None:
    """HiGHS on P2 and SCIP on P0 find the same cost; what is compared holds, as run() verifies from the plan."""
    text = (
        THREE_PERIODS.replace(", concurrency = fractional", ", reuse = paper")
        .replace("0..16", "1..16")
        .replace("0/s ..", "1/s ..")
    )
    spec = loads(text.replace("COMPARISON", comparison).replace("periods = 3", "periods = 1"))
    reduced, printed = (solve(spec, *how, limits=Limits(gap=1e-7)) for how in (("highs", "P2"), ("scip", "P0")))
    assert reduced.termination is printed.termination
    if reduced.plan is None:
        assert printed.plan is None
        return
    assert printed.objective.value == pytest.approx(reduced.objective.value, rel=1e-5)


def test_constants_within_a_comparison() -> None:
    """``max(vms, 40) <= 50`` is two comparisons, one of them has only constants; a false one is told as such."""
    from mrdsl import MrdslError

    plain, both = constrained("vms <= 50", True), constrained("max(vms, 40) <= 50", True)
    assert both.objective.value == pytest.approx(plain.objective.value, rel=1e-9)
    with pytest.raises(MrdslError, match="only constants"):
        constrained("max(vms, 60) <= 50", True)


def test_a_response_limit_is_a_smaller_bound() -> None:
    limited: Any = constrained("response(checkout) <= 0.5 s", True)
    smaller = FREE.replace("response = 1.4 s", "response = 0.5 s")
    assert limited.objective.value == pytest.approx(solve(loads(smaller), relax=True).objective.value, rel=1e-9)


def test_a_response_compared_freely_goes_to_a_global_solver() -> None:
    result = constrained("response(checkout) * 2 <= 1 s", True)
    assert result.solver["name"] == "scip"
    limited = constrained("response(checkout) <= 0.5 s", True)
    assert result.objective.value == pytest.approx(limited.objective.value, rel=1e-5)


@pytest.mark.parametrize("comparison", ["vms <= 10, admitted(r) >= 40", "cost <= 0.1 USD"])
def test_comparisons_that_exclude_each_other(comparison: str) -> None:
    assert constrained(comparison, False).termination is Termination.INFEASIBLE


@pytest.mark.parametrize("threads", [None, 2])
def test_periods_side_by_side(threads: int | None) -> None:
    """Several at once give what one after the other gives, and what one model of all periods gives."""
    spec = loads(FREE.replace("periods = 3", "periods = 3, floor = 50%"))
    alone = greedy(spec)
    found = solve(spec, "highs", limits=Limits(threads=threads))
    assert found.objective.value == pytest.approx(alone.value, rel=1e-9)
    assert found.objective.bound == pytest.approx(alone.value, rel=1e-6)


def test_a_time_limit_is_one_for_all_periods() -> None:
    spec = loads(FREE.replace("0..16", "1..16").replace("0/s ..", "1/s .."))
    found = solve(spec, "scip", "P0", limits=Limits(time=1e-3))
    assert found.termination in (Termination.TIME_LIMIT, Termination.OPTIMAL)


@pytest.mark.parametrize("formulation", ["P0", "P1"])
def test_a_linear_solver_is_refused_the_printed_forms(formulation: str) -> None:
    from mrdsl import MrdslError

    with pytest.raises(MrdslError) as caught:
        solve(random_spec(0), "highs", formulation)
    assert [d.code for d in caught.value.diagnostics] == ["unable-solver"]


def test_the_rounded_form_keeps_comparisons() -> None:
    spec = loads(THREE_PERIODS.replace("COMPARISON", "vms <= 50"))
    result = solve(spec, "highs", "P2-rounded")
    assert quantity(spec, result.plan, "vms", "") <= 50  # type: ignore[arg-type]


@pytest.mark.parametrize("formulation", ["P0", "P1", "P2"])
@pytest.mark.parametrize("concurrency", ["whole", "fractional"])
def test_whole_variables_have_whole_bounds(formulation: str, concurrency: str) -> None:
    """GAMS refuses others."""
    import pyomo.environ as pyo

    from mrdsl.planning.solve_spec import build_model

    for seed in range(6):
        model = build_model(positive(random_spec(seed, concurrency=concurrency)), formulation)
        whole = [one for one in model.component_data_objects(pyo.Var) if one.is_integer()]
        assert whole
        assert all(float(end).is_integer() for one in whole for end in one.bounds)
