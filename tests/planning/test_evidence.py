"""Runs that a saved plan tells of: they are made again, and verdicts that do not follow from their numbers are told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.resources import resource
from mrdsl.core.result import Outcome
from mrdsl.simulation.observed import Verdict
from mrdsl.simulation.verdicts import judge_mean, judge_share, verdict_doubt
from tests.command_lines import run_here
from tests.prepared_pages import _run_of_another_seed

MODELS = Path(str(resource("models")))
QUICK = str(MODELS / "capacity" / "quickstart.mrspec")
SIZED = """problem bounds "sized"
class report { map { tasks = 40, avg = 20 s, max = 30 s }, jobs = 4, deadline = 4 min, guarantee = upper }
minimize slots
"""


@pytest.mark.parametrize(
    "words",
    [
        ("solve", QUICK, "--validate", "--runs", "2"),
        ("simulate", QUICK, "--runs", "2", "--jobs", "3", "--seed", "9", "--stragglers", "5%:3", "--slowstart", "10%"),
        ("simulate", "sized.mrspec", "--runs", "3", "--jobs", "4"),
        ("simulate", str(MODELS / "deadline" / "reference.mrspec"), "--runs", "20", "--stragglers", "10%:2"),
        ("simulate", str(MODELS / "energy" / "reference.mrspec"), "--runs", "5", "--stragglers", "10%:2"),
    ],
    ids=["validate", "what-if", "bounds", "deadline", "energy"],
)
def test_the_same_runs_show_the_same(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "sized.mrspec").write_text(SIZED)
    made = run_here((*words, "-o", "run.json"), tmp_path)
    assert made.exit_code in (0, 6, 7), made.output
    ran = run_here(("verify", "run.json", "--rerun", "--json"), tmp_path)
    assert ran.exit_code == made.exit_code, ran.output
    document = json.loads(ran.output)
    assert document["again"] is True
    plan = mrdsl.load_plan(tmp_path / "run.json").plan
    assert plan is not None
    assert document["outcomes"] == {name: str(one) for name, one in plan.outcomes().items()} != {}
    shown = run_here(("verify", "run.json", "--rerun"), tmp_path).output
    assert "same results" in shown
    assert "from seed" in shown


def test_runs_of_another_seed_are_told(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(_run_of_another_seed())
    assert run_here(("verify", "run.json"), tmp_path).exit_code in (0, 7), "the file by itself is sound"
    ran = run_here(("verify", "run.json", "--rerun"), tmp_path)
    assert ran.exit_code == 2
    assert "error[other-runs]: repeating the same runs gives another `plan.classes.clicks" in ran.output
    assert not mrdsl.verify(tmp_path / "run.json", again=True).kept


def test_a_plan_that_was_not_run_cannot_be_seen_again(tmp_path: Path) -> None:
    assert run_here(("solve", QUICK, "-o", "plan.json"), tmp_path).exit_code == 0
    ran = run_here(("verify", "plan.json", "--rerun"), tmp_path)
    assert ran.exit_code == 2
    assert "`--rerun` requires a plan with simulation results" in ran.output
    with pytest.raises(MrdslError, match="requires a plan with simulation results"):
        mrdsl.verify(tmp_path / "plan.json", again=True)


@pytest.mark.parametrize("name", ["schedule/small", "hybrid/weights"])
def test_what_is_itself_a_simulation_is_not_told_to_be_simulated_first(name: str, tmp_path: Path) -> None:
    assert (
        run_here(("simulate", str(MODELS / f"{name}.mrspec"), "--runs", "1", "-o", "run.json"), tmp_path).exit_code == 0
    )
    ran = run_here(("verify", "run.json", "--rerun"), tmp_path)
    assert ran.exit_code == 2
    assert f"does not apply to a {name.split('/')[0]} problem: solving it already simulates its policy" in ran.output
    assert "hint: remove `--rerun`, or run `mrdsl simulate`" in ran.output


def test_a_verdict_that_somebody_wrote_is_held_against_its_numbers(tmp_path: Path) -> None:
    seen = mrdsl.simulate(mrdsl.load(QUICK), runs=2, jobs=2)
    plan: Any = seen.plan
    observed = plan.observed["clicks"]
    for change in ({"outcome": Outcome.BROKEN}, {"runs": 3}, {"confidence": 1.5}):
        forged = replace(observed, verdict=replace(observed.verdict, **change))
        text = replace(seen, plan=replace(plan, observed={**plan.observed, "clicks": forged})).to_json()
        (tmp_path / "run.json").write_text(text)
        verified = mrdsl.verify(tmp_path / "run.json")
        assert [d.code for d in verified.found] == ["edited-plan"]
        assert "state.observed.clicks.verdict" in verified.found[0].message


@pytest.mark.parametrize(
    "what_if", [{"stragglers": 3}, {"stragglers": {"share": "x"}}, {"slowstart": "x"}, {"lose": -1}]
)
def test_a_what_if_that_somebody_wrote_is_refused(what_if: dict[str, Any], tmp_path: Path) -> None:
    seen = mrdsl.simulate(mrdsl.load(QUICK), runs=2, jobs=2)
    plan: Any = seen.plan
    forged = replace(plan, simulated=replace(plan.simulated, what_if=what_if))
    (tmp_path / "run.json").write_text(replace(seen, plan=forged).to_json())
    ran = run_here(("verify", "run.json", "--rerun"), tmp_path)
    assert ran.exit_code == 2
    assert "internal" not in ran.output


RUNS = [[1.0] * 50 + [3.0] * 2] * 12
SOUND = [
    judge_mean(RUNS, 2.0),
    judge_mean(RUNS, 1.0),
    judge_mean([[1.0], [3.0]], 4.0),
    judge_mean([[1.0, float("inf")]], 2.0),
    judge_mean([[1.0]], 2.0),
    judge_share(RUNS, 2.0, 0.9),
    judge_share(RUNS, 2.0, 0.99),
    judge_share(RUNS, 2.0, 1.0),
    judge_share(RUNS, 0.5, 0.0),
]


@pytest.mark.parametrize("verdict", SOUND, ids=str)
def test_no_doubt_about_what_runs_say(verdict: Verdict) -> None:
    assert verdict_doubt(verdict) == ""
    other = Outcome.KEPT if verdict.outcome is not Outcome.KEPT else Outcome.BROKEN
    assert verdict_doubt(replace(verdict, outcome=other))


def test_bounds_closer_than_so_many_jobs_allow_are_doubted() -> None:
    sound = judge_share([[1.0] * 100] * 12, 2.0, 0.95)
    assert "closer" in verdict_doubt(replace(sound, low=0.999))
    assert "one side" in verdict_doubt(replace(sound, seen=0.5))
    assert "shares" in verdict_doubt(replace(sound, seen=5.0, low=4.0, high=6.0))
    assert "no runs" in verdict_doubt(replace(sound, jobs=3))
