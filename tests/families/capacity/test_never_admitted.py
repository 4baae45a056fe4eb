"""Classes that no plan can admit: each plan rejects them, if none of their jobs has to be admitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mrdsl
from mrdsl.core.diagnostics import Severity
from tests.families.capacity.oracle.comparing import faults, known, told
from tests.families.capacity.oracle.drawing import draw
from tests.families.capacity.oracle.structure import Drawn, text_of

TEXT = """problem capacity "hopeless", estimates = paper
whole = {whole}
vm m5 {{ cores = 4, memory = 16 GiB, on_demand {{ price = 0.2 USD/h }} {more} }}
class late {{ coefficients {{ A = 5400 s, B = 1250 s, C = 95 s }}, slots {{ map = 4, reduce = 2 }}
  jobs = {jobs}, deadline = 90 s, penalty = 20 USD }}
class large {{ stage s {{ tasks = 9, avg = 10 s, max = 12 s }}, container {{ task {{ cores = 8, memory = 1 GiB }} }}
  jobs = {jobs}, deadline = 600 s, penalty = 7 USD }}
class fits {{ coefficients {{ A = 4000 s, B = 0 s, C = 0 s }}, slots {{ map = 4, reduce = 2 }}
  jobs = 1..2, deadline = 1000 s, penalty = 30 USD }}
let when = completion(late)
minimize cost
subject to {{ completion(late) <= 80 s }}
"""


@pytest.mark.parametrize("more", ["", "spot { price = 0.3 USD/h, interruptions = 0.001/h }, available = 9"])
@pytest.mark.parametrize("whole", ["no", "slots", "machines"])
@pytest.mark.parametrize("solver", ["auto", "direct", "highs", "scip", "cbc", "glpk"])
def test_hopeless_classes_are_rejected_with_a_warning(solver: str, whole: str, more: str) -> None:
    """By hand: both jobs of `fits` take one VM each, 0.4 USD; 3 jobs at 20 USD and 3 at 7 USD are rejected."""
    result = mrdsl.solve(mrdsl.loads(TEXT.format(whole=whole, more=more, jobs="0..3")), solver)
    assert result.value == pytest.approx(0.4 + 3 * 20 + 3 * 7)
    assert result.plan.rejected.tolist() == [3.0, 3.0, 0.0]
    assert result.bound <= result.value + 1e-6
    warned = [each for each in result.diagnostics if each.severity is not Severity.NOTE]
    assert [(each.code, each.severity) for each in warned] == [("never-admitted", Severity.WARNING)] * 2
    assert result.quantities["when"].value is None


@pytest.mark.parametrize("more", ["", "available = 9"])
def test_a_job_that_has_to_be_admitted_has_no_plan(more: str) -> None:
    result = mrdsl.solve(mrdsl.loads(TEXT.format(whole="slots", more=more, jobs="1..3")))
    assert (result.plan, result.termination) == (None, "infeasible")
    assert {each.code for each in result.diagnostics if each.impossible} == {"impossible-deadline", "no-vm-type"}


@pytest.mark.parametrize(("formulation", "relax"), [("P0-cone", False), ("P0-cone", True), ("P2", True)])
def test_other_formulations_reject_them_too(formulation: str, relax: bool) -> None:
    text = "\n".join(TEXT.format(whole="no", more="", jobs="0..3").splitlines()[:-3]) + "\nminimize cost\n"
    result = mrdsl.solve(mrdsl.loads(text), "scip", formulation=formulation, relax=relax)
    assert result.value == pytest.approx(0.4 + 3 * 20 + 3 * 7, rel=1e-4)


def test_why_gives_the_reason() -> None:
    for more in ("", "available = 9"):
        result = mrdsl.solve(mrdsl.loads(TEXT.format(whole="slots", more=more, jobs="0..3")))
        assert mrdsl.why(result) is not None


def hopeless(seed: int) -> Drawn:
    """Draw a spec, one class of which no plan can admit: too early a deadline, or too large a container."""
    drawn, random = draw(seed), np.random.RandomState(seed)
    place = seed % len(drawn.classes)
    node = replace(drawn.classes[place], jobs=(0, drawn.classes[place].jobs[1]))
    if node.container and random.uniform() < 0.5:
        node = replace(node, container={kind: (99.0, size[1]) for kind, size in node.container.items()}, on={})
    else:
        node = replace(node, deadline=1.0)
    classes = (*drawn.classes[:place], node, *drawn.classes[place + 1 :])
    return replace(drawn, rows=(), classes=classes)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("solver", ["auto", "direct"])
@pytest.mark.parametrize("seed", [1, 3, 4, 8, 16, 23, 34, 38, 40, 41, 46, 50])
def test_drawn_specs_cost_what_the_second_program_finds(seed: int, solver: str) -> None:
    drawn = hopeless(seed)
    assert list(faults(known(drawn), told(drawn, solver))) == [], text_of(drawn)


RUNS = """problem capacity "in runs", estimates = paper
whole = no
vm m5 {{ on_demand {{ price = 0.192 USD/h }} }}
class late {{ map {{ tasks = 40, avg = 20 s, max = 30 s }}, reduce {{ tasks = 0 }}, slots {{ map = 4, reduce = 2 }}
  jobs = {jobs}, deadline = 15 s, penalty = 20 USD {late} }}
class fits {{ map {{ tasks = 40, avg = 20 s, max = 30 s }}, reduce {{ tasks = 0 }}, slots {{ map = 4, reduce = 2 }}
  jobs = 1..2, deadline = 300 s, penalty = 20 USD, guarantee = p95 }}
minimize cost
subject to {{ {rows} }}
seed = 3
"""


@pytest.mark.parametrize(
    ("late", "rows"),
    [(", guarantee = p95", "vms <= 90"), ("", "on_time(late) >= 90%"), (", arrivals = 900/h", "on_time(late) >= 90%")],
)
def test_promises_of_runs_that_no_slots_keep_reject_the_class(late: str, rows: str) -> None:
    """Of 40 tasks of 10 to 30 s nearly all jobs have one beyond the deadline of 15 s, whatever their slots."""
    result = mrdsl.solve(mrdsl.loads(RUNS.format(jobs="0..3", late=late, rows=rows)))
    plan = result.plan
    assert plan.admitted.tolist() == [0.0, 2.0]
    assert result.value == pytest.approx(3 * 20 + 0.192 * plan.rented)
    assert {promise.name for promise in plan.calibration.promises} == {"fits"}
    assert [each.code for each in result.diagnostics if each.code in {"never-admitted", "too-early-in-simulation"}] == [
        "never-admitted"
    ]


@pytest.mark.parametrize(("jobs", "rows"), [("1..3", "vms <= 90"), ("0..3", "admitted(late) >= 2")])
def test_promises_of_runs_that_have_to_be_kept_have_no_plan(jobs: str, rows: str) -> None:
    result = mrdsl.solve(mrdsl.loads(RUNS.format(jobs=jobs, late=", guarantee = p95", rows=rows)))
    assert result.plan is None
    assert "too-early-in-simulation" in {each.code for each in result.diagnostics}
