"""A solve that begins at an earlier plan ends with the same optimum, and never with less than that plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.core.answer import Reply
from mrdsl.core.linear_program import Array
from mrdsl.core.resources import resource
from mrdsl.core.result import Result, SolutionStatus, Termination
from mrdsl.families.capacity.models import arrays
from mrdsl.planning.claims import better, point_of
from mrdsl.spec import Spec
from mrdsl.spec.schema import Range
from tests.command_lines import run_here
from tests.families.capacity import type_specs

DEFINED = 0
"""The seed of a spec whose VMs all have a price: one without has no arrays."""
MODELS = Path(str(resource("models")))
HOURLY = """problem capacity "every hour"
param clicks_jobs = 8
param sort_jobs = 5
vm m5 { on_demand { price = 0.192 USD/h }, reserved { price = 0.121 USD/h, available = 40 } }
class clicks { coefficients { A = 11058 s, B = 3692 s, C = 118.5 s }, slots { map = 4, reduce = 2 },
  jobs = 1..clicks_jobs, deadline = 15 min, penalty = 6 USD }
class sort { coefficients { A = 5400 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 2 },
  jobs = 1..sort_jobs, deadline = 10 min, penalty = 5 USD }
minimize cost
"""


def hour(clicks: int = 8, sort: int = 5) -> Spec:
    return mrdsl.loads(HOURLY, {"clicks_jobs": clicks, "sort_jobs": sort})


def told(result: Result) -> list[str]:
    return [d.message for d in result.diagnostics if d.code == "start-unused"]


def demand_moved(spec: Spec) -> Spec:
    """The spec of the next hour: other demand, in turn more and less."""
    moved = tuple(
        replace(one, jobs=Range(min(one.jobs.low, one.jobs.high - 1.0), one.jobs.high + (2.0 if n % 2 else -1.0)))
        for n, one in enumerate(spec.facts.classes)
    )
    return replace(spec, facts=replace(spec.facts, classes=moved))


@pytest.mark.parametrize("seed", range(1, 5))
def test_the_optimum_is_the_one_without_and_by_trying(seed: int) -> None:
    before = replace(type_specs.random_types(seed, classes=2, types=2, jobs=4), constraints=())
    now = demand_moved(before)
    if any(one.jobs.high < 1.0 for one in now.facts.classes):
        pytest.skip("nothing is left of a class")
    best = type_specs.best_by_trying(now)
    for start in (mrdsl.solve(before, "highs"), mrdsl.solve(now, "direct")):
        warm = mrdsl.solve(now, "highs", start=start)
        assert (warm.plan is None) == (best == float("inf"))
        if warm.plan is not None:
            assert warm.termination is Termination.OPTIMAL
            assert warm.value == pytest.approx(best)


@pytest.mark.parametrize(
    ("solver", "clicks", "sort"), [("highs", 8, 5), ("highs", 12, 3), ("highs", 3, 9), ("scip", 12, 3), ("cbc", 3, 9)]
)
def test_of_one_type_too_by_other_solvers(clicks: int, sort: int, solver: str) -> None:
    if solver == "scip":
        pytest.importorskip("pyscipopt")
    start, now = mrdsl.solve(hour()), hour(clicks, sort)
    warm = mrdsl.solve(now, solver, start=start)
    assert warm.value == pytest.approx(mrdsl.solve(now, "direct").value, rel=1e-6)
    assert not told(warm)


@pytest.mark.parametrize("spec", [hour(), type_specs.random_types(DEFINED, classes=3, types=3)])
def test_a_search_that_is_cut_short_has_nothing_worse_than_its_start(
    spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, asked = mrdsl.solve(spec, "highs"), []

    def ended(*_: object, start: Array | None = None) -> Reply:
        asked.append(start)
        return Reply(Termination.TIME_LIMIT)

    monkeypatch.setattr("mrdsl.solving.programs.solve_program", ended)
    for solver, begins in (("highs", True), ("cbc", True), ("glpk", False)):
        warm = mrdsl.solve(spec, solver, start=start)
        assert (asked[-1] is not None) == begins
        assert (warm.termination, warm.solution) == (Termination.TIME_LIMIT, SolutionStatus.FEASIBLE)
        assert warm.value == pytest.approx(start.value)
        assert warm.bound is None
    assert mrdsl.solve(spec, "cbc").plan is None


def test_the_better_of_two_starts_counts() -> None:
    spec = hour()
    good = mrdsl.solve(spec, "highs")
    poor = mrdsl.solve(hour(1, 1))
    form = arrays.plain_arrays(spec, False)
    assert form is not None
    points = [point_of(spec, form, each)[0] for each in (good, poor)]
    assert better(form.program, *points) is points[0]
    assert better(form.program, *points[::-1]) is points[0]
    assert better(form.program, None, points[1]) is points[1]


def test_less_demand_leaves_jobs_out_and_vms_with_them() -> None:
    start, now = mrdsl.solve(hour(12, 9)), hour(3, 5)
    form = arrays.plain_arrays(now, False)
    assert form is not None
    point, why = point_of(now, form, start)
    assert (why, point is not None) == ("", True)
    assert form.decode(point).admitted.tolist() == [3.0, 5.0]
    assert form.program.objective(point) == pytest.approx(mrdsl.solve(now, "direct").value)


def test_types_and_classes_go_by_name() -> None:
    spec = type_specs.random_types(DEFINED, classes=3, types=3)
    start = mrdsl.solve(spec, "direct")
    facts = replace(spec.facts, vms=spec.facts.vms[::-1], classes=spec.facts.classes[::-1])
    turned = replace(spec, facts=facts)
    form = arrays.mixed_arrays(turned, False)
    assert form is not None
    assert start.value is not None
    point, why = point_of(turned, form, start)
    assert why == ""
    assert form.program.objective(point) <= start.value + 1e-9


def other_classes() -> Result:
    return mrdsl.solve(mrdsl.loads(HOURLY.replace("class clicks", "class a").replace("class sort", "class b")))


def one_class() -> Result:
    return mrdsl.solve(mrdsl.loads(HOURLY.replace("class sort", "class b")))


def no_plan() -> Result:
    return replace(mrdsl.solve(hour()), plan=None)


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (other_classes, "none of its classes or VMs are in this spec"),
        (one_class, "it violates a bound of this spec"),
        (no_plan, "it has no plan"),
    ],
)
def test_a_start_that_does_not_fit_is_told_and_changes_nothing(start: Any, words: str) -> None:
    cold, warm = mrdsl.solve(hour(), "highs"), mrdsl.solve(hour(), "highs", start=start())
    assert told(warm) == [f"the starting plan was not used: {words}"]
    assert (warm.value, warm.termination, warm.bound) == (cold.value, cold.termination, cold.bound)


def test_a_plan_of_another_family_is_told() -> None:
    start = replace(mrdsl.solve(hour()), problem="joint")
    assert told(mrdsl.solve(hour(), start=start)) == ["the starting plan was not used: it is a joint plan"]


@pytest.mark.parametrize("how", [{"solver": "direct"}, {"relax": True, "solver": "highs"}])
def test_what_begins_at_no_plan_says_so(how: dict[str, Any]) -> None:
    start = mrdsl.solve(hour(9, 5))
    assert len(told(mrdsl.solve(hour(), start=start, **how))) == 1
    assert not told(mrdsl.solve(hour(), **how))


def test_the_note_leaves_the_warning_of_a_short_search(monkeypatch: pytest.MonkeyPatch) -> None:
    start = other_classes()
    monkeypatch.setattr("mrdsl.solving.programs.solve_program", lambda *_, **__: Reply(Termination.TIME_LIMIT))
    found = mrdsl.solve(hour(), "cbc", start=start)
    assert found.plan is None
    assert [d.code for d in found.diagnostics] == ["stopped-early", "start-unused"]


def test_the_command_begins_at_a_saved_plan(tmp_path: Path) -> None:
    (tmp_path / "hourly.mrspec").write_text(HOURLY)
    assert run_here(("solve", "hourly.mrspec", "-o", "plan.json"), tmp_path).exit_code == 0
    line = ("solve", "hourly.mrspec", "--start", "plan.json", "-D", "sort_jobs=7", "-o", "plan.json", "--force")
    ran = run_here(line, tmp_path)
    assert (ran.exit_code, "start-unused" in ran.output) == (0, False)
    assert mrdsl.load_plan(tmp_path / "plan.json").value == pytest.approx(mrdsl.solve(hour(8, 7)).value)
    ran = run_here(("solve", "hourly.mrspec", "--start", "hourly.mrspec"), tmp_path)
    assert ran.exit_code == 2
    assert "hourly.mrspec" in ran.output
    assert run_here(("solve", "hourly.mrspec", "--start", "nowhere.json"), tmp_path).exit_code == 2
