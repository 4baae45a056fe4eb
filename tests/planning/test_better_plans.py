"""Where nobody names the solver, a plan that is known without it is not lost: the better one of both is the result."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import mrdsl
from mrdsl.core.result import Limits, Plan, Result, SolutionStatus, Termination
from mrdsl.families.diagnosis import find_family
from mrdsl.planning import solve_spec
from mrdsl.planning.choice import Choice
from mrdsl.planning.claims import better_of, not_the_best
from mrdsl.planning.results import ended, labelled
from mrdsl.solving import registry

SPEC = """problem capacity "x", estimates = paper
vm m5 {{ on_demand {{ price = 0.192 USD/h }}, reserved {{ price = 0.121 USD/h, available = 40 }} }}
class a {{
  map {{ tasks = 37, avg = 30 s, max = 42 s }}
  shuffle {{ first_max = 11 s, avg = 37 s, max = 40 s }}
  reduce {{ tasks = 6, avg = 22 s, max = 44 s }}
  slots {{ map = 2, reduce = 1 }}
  jobs = {jobs}
  deadline = 15 min
  penalty = {penalty}
}}
{more}
minimize cost
"""


def spec(jobs: str = "3..4", penalty: str = "4 USD", more: str = "") -> Any:
    return mrdsl.loads(SPEC.format(jobs=jobs, penalty=penalty, more=more))


@pytest.mark.parametrize(
    ("changed", "value", "codes"),
    [
        ({"penalty": "1e10 USD"}, 10 * 0.121, []),
        ({"more": "period = 1e-15 s"}, 10 * 0.121 * 1e-15 / 3600, ["beyond-period"]),
    ],
)
def test_small_prices_beside_large_penalties(changed: dict[str, str], value: float, codes: list[str]) -> None:
    """All 4 jobs take 10 VMs, all of them reserved, whatever a solver still sees of what these cost."""
    result = mrdsl.solve(spec(**changed))
    assert (result.termination, result.solution) == (Termination.OPTIMAL, SolutionStatus.OPTIMAL)
    assert result.objective.value == pytest.approx(value, rel=1e-9)
    assert result.objective.bound == pytest.approx(value, rel=1e-9)
    assert [d.code for d in result.diagnostics] == codes


def test_counts_that_a_solver_cannot_hold() -> None:
    """2^53 jobs, each worth its VMs: all are admitted, though HiGHS says that no plan exists."""
    result = mrdsl.solve(spec(jobs="1e15..9007199254740992"))
    plan: Any = result.plan
    assert result.termination is Termination.OPTIMAL
    assert plan.admitted.tolist() == [2.0**53]
    assert not result.diagnostics


def test_a_named_solver_keeps_its_plan_but_not_its_claim() -> None:
    result = mrdsl.solve(spec(more="period = 1e-22 s"), "highs")
    assert (result.termination, result.solution) == (Termination.COMPLETED, SolutionStatus.FEASIBLE)
    assert "contradicted-claim" in [d.code for d in result.diagnostics]


@pytest.mark.parametrize(("goal", "bound"), [("cost", 0.0), ("cost - 9 USD/vm * vms", -120.0)])
def test_no_cost_has_a_bound_below_0(goal: str, bound: float) -> None:
    """A bound of a stopped solver can be below 0, which no cost is; an objective of its own can be."""
    text = SPEC.format(jobs="3..4", penalty="4 USD", more="").replace("minimize cost", f"minimize {goal}")
    given = mrdsl.loads(text)
    result = labelled(given, find_family(given), Result(Termination.TIME_LIMIT, bound=-120.0), {}, None)
    assert result.bound == bound


def test_a_method_without_a_plan_and_a_reason_is_an_error() -> None:
    given = spec()
    choice = Choice(registry.find("highs"), None, mrdsl.Limits(), {}, None)
    result = ended(given, find_family(given), choice, Result(Termination.COMPLETED), (), {})
    assert [(each.code, each.severity) for each in result.diagnostics] == [("solver-failed", "error")]


def known(value: float, bound: float | None) -> Result:
    return Result(Termination.COMPLETED, SolutionStatus.FEASIBLE, Plan(), value, bound)


@pytest.mark.parametrize(
    ("found", "kept"), [(10.0, 10.0), (9.0, 9.0), (10.000001, 10.000001), (10.1, 10.0), (None, 10.0)]
)
@pytest.mark.parametrize("maximize", [False, True])
def test_the_better_plan_with_the_better_bound(found: float | None, kept: float, maximize: bool) -> None:
    sign = -1.0 if maximize else 1.0
    plan = None if found is None else Plan()
    result = Result(Termination.TIME_LIMIT, plan=plan, value=None if found is None else sign * found, bound=sign * 8.0)
    best = better_of(result, known(sign * 10.0, sign * 7.0), Limits(), maximize, "toy", "direct")
    assert best.value == sign * kept
    assert best.bound == sign * 8.0
    assert (best.termination, best.solution is SolutionStatus.OPTIMAL) == (Termination.TIME_LIMIT, False)
    assert [d.code for d in best.diagnostics] == ([] if best is result else ["better-plan"])


def test_a_bound_beyond_the_known_plan_is_left_out() -> None:
    result = Result(Termination.OPTIMAL, SolutionStatus.OPTIMAL, Plan(), 12.0, 12.0)
    best = better_of(result, known(10.0, 7.0), Limits(), False, "toy", "direct")
    assert (best.value, best.bound, best.termination) == (10.0, 7.0, Termination.COMPLETED)


def test_what_a_gap_explains_is_no_false_claim() -> None:
    result = Result(Termination.OPTIMAL, SolutionStatus.OPTIMAL, Plan(), 10.4, 10.0)
    assert not_the_best(result, known(10.0, None), Limits(gap=0.05), False, "toy", "direct") is result
    assert not_the_best(result, known(10.0, None), Limits(), False, "toy", "direct").solution is SolutionStatus.FEASIBLE


def test_a_method_that_proves_nothing_takes_its_time_from_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both together keep the limit: the method is given a quarter of it, and here uses 2 s of 10 s."""
    clock, given = [0.0], []

    def direct(spec: Any, relax: bool, limits: Limits) -> Result:
        given.append(limits.time)
        clock[0] += 2.0
        return Result(Termination.COMPLETED)

    def solver(program: Any, row_name: Any, solver: Any, limits: Limits, *more: Any) -> Any:
        given.append(limits.time)
        raise KeyboardInterrupt

    monkeypatch.setattr("mrdsl.families.capacity.methods.direct.direct", direct)
    monkeypatch.setattr("mrdsl.solving.programs.solve_arrays", solver)
    fake = SimpleNamespace(perf_counter=lambda: clock[0], monotonic=lambda: clock[0])
    monkeypatch.setattr("mrdsl.planning.solve_spec.time", fake)
    with pytest.raises(KeyboardInterrupt):
        solve_spec.solve(spec(), limits=Limits(time=10.0))
    assert given == [2.5, 8.0]
