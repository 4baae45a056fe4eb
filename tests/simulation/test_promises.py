"""Promises after runs: what each guarantee is held to, exit codes, what-if from Python, and bounds that hold."""

from __future__ import annotations

import json
import re
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError, Span
from mrdsl.core.result import Outcome
from mrdsl.families.capacity.simulate import held_of
from mrdsl.simulation.observed import Verdict, outcomes_of
from mrdsl.simulation.settings import WhatIf
from mrdsl.simulation.verdicts import HARDLY_ANY, Promised, observed_of, promised, verdict_warnings
from tests.command_lines import run_here


def text_at(text: str, span: Span | None) -> str:
    """The line that a diagnostic shows."""
    assert span is not None
    return text.splitlines()[span.line - 1]


ROOT = Path(__file__).resolve().parents[2]
CAPACITY = """problem capacity "one class"
vm m5 {{ on_demand {{ price = 1 USD/h }} }}
class report {{
  map {{ tasks = 40, avg = 20 s, max = 30 s }}
  slots {{ map = 4, reduce = 4 }}
  jobs = 4, deadline = 4 min, penalty = 10 USD, guarantee = {guarantee}
}}
simulation {{ {simulation} }}
minimize cost
"""
BOUNDS = """problem bounds "one class"
class report {
  map { tasks = 40, avg = 20 s, max = 30 s }
  jobs = 4, deadline = 4 min, guarantee = upper
}
minimize slots
"""


@pytest.mark.parametrize(
    ("guarantee", "level"),
    [(None, None), ("average", None), ("waves", None), ("upper", None), ("lower", HARDLY_ANY)],
)
def test_what_each_guarantee_is_held_to(guarantee: str | None, level: float | None) -> None:
    promise = promised(900.0, guarantee)
    assert promise is not None
    assert (promise.limit, promise.level) == (900.0, level)
    assert promised(None, guarantee) is None


def test_the_same_times_keep_one_promise_and_break_another() -> None:
    # Nine jobs of ten take 600 s, the tenth 1,500 s: 690 s on average.
    runs = [[600.0] * 9 + [1500.0] for _ in range(60)]
    for limit, wanted in ((900.0, ("kept", "kept")), (650.0, ("broken", "kept")), (599.0, ("broken", "broken"))):
        for guarantee, outcome in zip(("average", "lower"), wanted, strict=True):
            seen = observed_of(runs, limit, 0.5, promised(limit, guarantee))
            assert seen is not None
            assert seen.verdict is not None
            assert seen.verdict.outcome == outcome
    given_up = observed_of([[600.0, inf]] * 60, 900.0, 0.5, promised(900.0, "average"))
    assert given_up is not None
    assert given_up.verdict is not None
    assert given_up.verdict.outcome is Outcome.BROKEN


def test_who_promises_and_did_not_run_is_undecided() -> None:
    assert outcomes_of({}, ["a"]) == {"a": Outcome.UNDECIDED}
    assert outcomes_of({}, []) == {}


CASES = {
    "kept": ("upper", "", (), 0),
    "broken": ("average", "stragglers { share = 20%, factor = 10 }", (), 6),
    "undecided": ("average", "jobs_per_user = 2, stragglers { share = 10%, factor = 3 }", ("--runs", "1"), 7),
    "shared": ("upper", "", ("--runs", "3", "--jobs", "5", "--processes", "2"), 0),
}


@pytest.mark.parametrize("case", CASES)
def test_solve_validate_and_simulate_say_the_same(case: str, tmp_path: Path) -> None:
    guarantee, simulation, more, code = CASES[case]
    (tmp_path / "s.mrspec").write_text(CAPACITY.format(guarantee=guarantee, simulation=simulation))
    solved = run_here(("solve", "s.mrspec", "--validate", "--json", *more), tmp_path)
    simulated = run_here(("simulate", "s.mrspec", "--json", *more), tmp_path)
    assert solved.exit_code == simulated.exit_code == code
    plans = [json.loads(ran.output)["plan"] for ran in (solved, simulated)]
    assert plans[0] == plans[1]
    verdict = plans[0]["classes"]["report"]["verdict"]
    assert verdict["outcome"] == {"shared": "kept"}.get(case, case)
    assert verdict["confidence"] == 0.95
    assert verdict["runs"] == plans[0]["simulation"]["runs"]


def test_a_plan_of_bounds_is_validated(tmp_path: Path) -> None:
    (tmp_path / "b.mrspec").write_text(BOUNDS)
    ran = run_here(("solve", "b.mrspec", "--validate", "--json"), tmp_path)
    assert ran.exit_code == 0
    assert json.loads(ran.output)["plan"]["classes"]["report"]["verdict"]["outcome"] == "kept"


@pytest.mark.parametrize(
    "text", [CAPACITY.format(guarantee="upper", simulation=""), BOUNDS], ids=["capacity", "bounds"]
)
@pytest.mark.parametrize(
    ("limit", "wanted"),
    [
        ("completion(report) <= 150 s", 150.0),
        ("150 s >= completion(report)", 150.0),
        ("max(completion(report), completion(report)) <= 300 s / 2", 150.0),
        ("completion(report) <= 10 min", 240.0),
    ],
)
def test_a_completion_time_under_subject_to_is_what_runs_are_held_to(text: str, limit: str, wanted: float) -> None:
    plan = mrdsl.simulate(mrdsl.loads(text + f"subject to {{ {limit} }}"), runs=2, jobs=4).plan
    assert plan is not None
    verdict = plan.observed["report"].verdict  # type: ignore[attr-defined]
    assert (verdict.what, verdict.wanted) == ("mean", wanted)


@pytest.mark.parametrize(
    "text",
    [
        CAPACITY.format(guarantee="average", simulation=""),
        BOUNDS.replace("upper", "average") + "simulation { warm_up = 0% }\n",
    ],
    ids=["capacity", "bounds"],
)
def test_a_broken_promise_is_told_where_it_is_made(text: str) -> None:
    limits = {"completion(report) <= 10 min": "deadline = 4 min", "completion(report) <= 150 s": "completion"}
    for limit, said in limits.items():
        spec = mrdsl.loads(text + f"subject to {{ {limit} }}\n")
        told = mrdsl.simulate(spec, runs=4, what_if=WhatIf(stragglers=(0.2, 10.0))).diagnostics
        spans = [each.span for each in told if each.code == "promise-broken"]
        assert [text_at(spec.text, span) for span in spans] == [next(x for x in spec.text.splitlines() if said in x)]


@pytest.mark.parametrize(("limit", "place"), [("150 s", "completion"), ("10 min", "guarantee = p95")])
def test_a_percentile_is_told_where_its_limit_stands(limit: str, place: str) -> None:
    spec = mrdsl.loads(
        CAPACITY.format(guarantee="p95", simulation="") + f"subject to {{ completion(report) <= {limit} }}"
    )
    plan: Any = mrdsl.solve(mrdsl.loads(CAPACITY.format(guarantee="upper", simulation=""))).plan
    (held,) = held_of(spec, plan)
    assert held.said == Promised({"150 s": 150.0}.get(limit, 240.0), 0.95)
    assert place in text_at(spec.text, held.place)


def test_an_estimate_promises_nothing() -> None:
    spec = mrdsl.loads(
        BOUNDS.replace("minimize slots", "estimate completion").replace(
            "class report", "cluster { slots { map = 4, reduce = 4 } }\nclass report"
        )
    )
    result = mrdsl.simulate(spec, runs=2, jobs=4)
    assert result.plan is not None
    seen = result.plan.observed["report"]  # type: ignore[attr-defined]
    assert (seen.kept.share, seen.verdict) == (0.0, None)
    assert result.plan.outcomes() == {}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--validate",), "wrong-option"),
        (("--runs", "3"), "wrong-option"),
        (("--jobs", "3"), "wrong-option"),
        (("--processes", "2"), "wrong-option"),
    ],
    ids=["policy", "runs", "jobs", "processes"],
)
def test_validate_without_a_meaning_is_refused(words: tuple[str, ...], code: str, tmp_path: Path) -> None:
    ran = run_here(("solve", str(ROOT / "models" / "schedule" / "reference.mrspec"), *words), tmp_path)
    assert ran.exit_code == 2
    assert f"[{code}]" in ran.output
    assert "Traceback" not in ran.output


def test_what_if_is_said_in_python_as_on_the_command_line(tmp_path: Path) -> None:
    text = CAPACITY.format(guarantee="average", simulation="")
    plan = mrdsl.solve(mrdsl.loads(text))
    said = mrdsl.simulate(plan, runs=2, jobs=4, stragglers=(0.1, 4.0), slowstart=0.05, lose=1)
    for what_if, more in (
        (WhatIf(0.05, (0.1, 4.0), 1), {}),
        (WhatIf(0.9, None, 1), {"slowstart": 0.05, "stragglers": (0.1, 4.0)}),
    ):
        assert mrdsl.simulate(plan, runs=2, jobs=4, what_if=what_if, **more).plan == said.plan  # type: ignore[arg-type]
    (tmp_path / "s.mrspec").write_text(text)
    assert run_here(("solve", "s.mrspec", "-o", "plan.json"), tmp_path).exit_code == 0
    options = "--runs 2 --jobs 4 --stragglers 10%:4 --slowstart 5% --fail-machines 1 --json"
    ran = run_here(("simulate", "plan.json", *options.split()), tmp_path)
    assert said.plan is not None
    assert json.loads(ran.output)["plan"]["classes"] == said.plan.document()["classes"]
    with pytest.raises(MrdslError, match="must be a pair"):
        mrdsl.simulate(plan, stragglers=0.1)  # type: ignore[arg-type]


def test_an_upper_bound_is_not_broken_where_its_premises_hold() -> None:
    """Random classes with at least two slots a job: that is what ``upper_is_bound`` says."""
    random = np.random.RandomState(5)
    bounded = 0
    for number in range(20):
        tasks, avg = int(random.randint(10, 150)), float(random.uniform(5.0, 40.0))
        longest, jobs = avg * float(random.uniform(1.0, 2.5)), int(random.randint(1, 5))
        wanted = longest * 2.0 + tasks * avg / float(random.uniform(3.0, 12.0))
        text = f"""problem capacity "random {number}"
vm m5 {{ on_demand {{ price = 1 USD/h }} }}
class c {{
  map {{ tasks = {tasks}, avg = {avg} s, max = {longest} s }}
  slots {{ map = 4, reduce = 4 }}
  jobs = {jobs}, deadline = {wanted} s, penalty = 1000 USD, guarantee = upper
}}
minimize cost
"""
        result = mrdsl.simulate(mrdsl.loads(text), runs=4, jobs=10, seed=number)
        assert result.plan is not None
        if result.plan.of_class(0).upper_is_bound:  # type: ignore[attr-defined]
            bounded += 1
            assert Outcome.BROKEN not in result.plan.outcomes().values(), text
    assert bounded >= 12


@pytest.mark.parametrize(
    ("seen", "low", "high", "wanted", "unit"),
    [
        (5400.0, 5300.12, 5500.0, 3600.0, "s"),
        (7200.0, 7200.0, 7200.0, 3600.0, "h"),
        (3021.0, 2700.0, None, 3600.0, "min"),
        (0.0, 0.0, 0.0, 0.0, "s"),
    ],
)
def test_the_times_of_a_verdict_have_one_unit(
    seen: float, low: float, high: float | None, wanted: float, unit: str
) -> None:
    verdict = Verdict(Outcome.BROKEN, "mean", wanted, seen, low, high, 0.95, 10, 100)
    (told,) = verdict_warnings(verdict, "class a", None)
    assert set(re.findall(r"[0-9.]+ (d|h|min|s|ms)\b", told.message)) == {unit}
