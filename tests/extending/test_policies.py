"""A policy of one's own: it decides where a spec says `solve with` it, in simulations too."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import mrdsl
from mrdsl.extending import named
from mrdsl.simulation.scheduling import Observed, Simulation
from studies.schedule_runs import watch
from tests.extending.plugins import kit, write
from tests.families.schedule.audit_of_runs import audited

MODELS = Path(__file__).resolve().parents[2] / "models" / "schedule"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(kit("policy", "patient"), tmp_path / "patient")
    return tmp_path / "patient"


def small(more: str = "") -> mrdsl.Spec:
    return mrdsl.loads((MODELS / "small.mrspec").read_text(encoding="utf-8") + more, folder=MODELS)


def test_it_decides_in_simulations_too(folder: Path) -> None:
    """One run from the spec's own seed is what `solve` shows; `jobs` are not told to a method."""
    with named(folder):
        spec = small("solve with patient { margin = 3 }\n")
        solved = mrdsl.solve(spec)
        seen = mrdsl.simulate(spec, runs=1, seed=spec.seed)
        assert solved.solver is not None
        assert solved.solver["name"] == "patient"
        assert seen.value == pytest.approx(solved.value)
        impatient = mrdsl.simulate(small("solve with patient\n"), runs=1, seed=spec.seed)
        assert impatient.value != seen.value
        assert impatient.value != mrdsl.simulate(small(), runs=1, seed=spec.seed).value
        with pytest.raises(mrdsl.MrdslError, match="runs all jobs of the spec"):
            mrdsl.simulate(spec, runs=1, jobs=2)


def test_a_run_under_a_time_limit_keeps_its_log(folder: Path) -> None:
    """It was made in another process."""
    with named(folder):
        free = mrdsl.solve(small(), "patient").of(mrdsl.SchedulePlan).plan
        limited = mrdsl.solve(small(), "patient", limits=mrdsl.Limits(time=60.0)).of(mrdsl.SchedulePlan).plan
        assert free is not None
        assert free.log is not None
        assert limited is not None
        assert limited.log is not None
        assert list(limited.log()) == list(free.log())


def with_options(folder: Path) -> None:
    """The kit's policy with an option that is yes or no, and a whole number."""
    toml = folder / "patient" / "patient.toml"
    text = toml.read_text(encoding="utf-8")
    toml.write_text(text.replace("margin = 1.5", "margin = 1.5, eager = false, least = 1"), encoding="utf-8")
    path = folder / "patient" / "policy.py"
    text = path.read_text(encoding="utf-8")
    text = text.replace("margin: float = 1.5)", "margin: float = 1.5, eager: bool = False, least: int = 1)")
    path.write_text(text.replace("margin=margin)", "margin=9.0 if eager else margin * least)"), encoding="utf-8")


@pytest.mark.parametrize(
    "options", [{"eager": "yes"}, {"eager": True}, {"eager": "no"}, {"margin": 3}, {"least": 2}, {"time_limit": None}]
)
def test_a_simulation_reads_the_options_as_solve_does(options: dict[str, object], folder: Path) -> None:
    with_options(folder)
    with named(folder):
        spec = replace(small(), method=mrdsl.Method("patient", options))
        seen = mrdsl.simulate(spec, runs=1, seed=spec.seed)
        assert seen.value == pytest.approx(mrdsl.solve(spec).value)
        changed = options.get("eager") in (True, "yes") or "margin" in options or "least" in options
        assert (seen.value != mrdsl.solve(small(), "patient").value) is changed


REFUSED: dict[str, tuple[str, dict[str, object], str]] = {
    "a misspelt one": ("patient", {"margn": 3}, "unknown-option"),
    "a misspelt one of the spec's own policy": ("policy", {"margn": 3}, "unknown-option"),
    "a misspelt one of nobody's": ("auto", {"margn": 3}, "unknown-option"),
    "a misspelt one of a solver's": ("highs", {"margn": 3}, "unknown-option"),
    "a word for a number": ("patient", {"margin": "much"}, "unknown-name"),
    "a part of a whole number": ("patient", {"least": 1.5}, "not-whole"),
    "a word for yes": ("patient", {"eager": "perhaps"}, "unknown-choice"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_simulation_refuses_the_options_that_solve_does(case: str, folder: Path, tmp_path: Path) -> None:
    with_options(folder)
    name, options, code = REFUSED[case]
    with named(folder):
        spec = replace(small(), method=mrdsl.Method(name, options))
        for run in (mrdsl.solve, partial(mrdsl.simulate, runs=1), partial(watch, seed=1, folder=tmp_path / "run")):
            with pytest.raises(mrdsl.MrdslError) as told:
                run(spec)
            assert [each.code for each in told.value.diagnostics] == [code], run
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("method", ["patient", "policy", "auto"])
def test_a_run_that_reaches_its_time_limit_shows_nothing(
    method: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one moment of it is left when the run begins, and each look at the clock is at the first event."""
    monkeypatch.setattr(Simulation, "run", lambda self, stop=lambda: False: replace(Observed(), complete=not stop()))
    with named(folder):
        spec = replace(small(), method=mrdsl.Method(method, {"time_limit": 1e-9}))
        with pytest.raises(mrdsl.MrdslError, match="the time limit was reached") as told:
            mrdsl.simulate(spec, runs=1, jobs=None if method == "patient" else 2)
    assert told.value.diagnostics[-1].code == "no-simulation"


def test_a_method_that_asks_for_a_model_leaves_simulations_to_the_policy() -> None:
    spec = small("solve with auto { formulation = offline }\n")
    assert mrdsl.simulate(spec, runs=1, seed=1).value == mrdsl.simulate(small(), runs=1, seed=1).value


def test_the_run_that_is_watched_is_the_methods(folder: Path, tmp_path: Path) -> None:
    """Its log is that of the plan; a method that is the spec's own policy leaves the very files of that."""
    (tmp_path / "same.toml").write_text(
        'summary = "the same"\n[pipelines.schedule]\n'
        'steps = [{ call = "mrdsl.families.schedule.methods.policy:run_policy" }]\n',
        encoding="utf-8",
    )
    with named(folder):
        spec = small("solve with patient { margin = 3 }\n")
        files = watch(spec, 7, tmp_path / "patient run")
        plan = mrdsl.solve(replace(spec, seed=7)).of(mrdsl.SchedulePlan).plan
    with named(tmp_path):
        watch(small("solve with same\n"), 7, tmp_path / "same run")
    watch(small(), 7, tmp_path / "own run")
    assert plan is not None
    assert plan.log is not None
    told = [json.loads(line) for line in files[0].read_text(encoding="utf-8").splitlines()]
    assert [(each["what"], each["time"]) for each in told if each["what"] != "price"] == [
        (each.what, round(each.time, 9)) for each in plan.log() if each.what != "price"
    ]
    own = {file.name: file.read_bytes() for file in (tmp_path / "own run").iterdir()}
    assert {file.name: file.read_bytes() for file in (tmp_path / "same run").iterdir()} == own
    assert files[0].read_bytes() != own["decisions.jsonl"]


def test_a_method_without_a_log_is_not_watched(folder: Path, tmp_path: Path) -> None:
    path = folder / "patient" / "policy.py"
    text = path.read_text(encoding="utf-8").replace(
        "    return run_own(draft, partial(patient, margin=margin))",
        "    from dataclasses import replace\n\n    draft = run_own(draft, partial(patient, margin=margin))\n"
        "    return replace(draft, plan=replace(draft.plan, log=None))",
    )
    path.write_text(text, encoding="utf-8")
    with named(folder), pytest.raises(mrdsl.MrdslError, match="keeps no log"):
        watch(small("solve with patient\n"), 7, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_one_that_lacks_a_decision_is_told(folder: Path) -> None:
    path = folder / "patient" / "policy.py"
    text = path.read_text(encoding="utf-8").replace("def lost(", "def gone(")
    path.write_text(text, encoding="utf-8")
    with named(folder), pytest.raises(mrdsl.PluginError, match="Patient is not a policy: it has no `lost`") as told:
        mrdsl.solve(small(), "patient")
    (found,) = told.value.diagnostics
    assert found.span is not None
    assert text.splitlines()[found.span.line - 1].strip().startswith("return run_own(")


def test_a_run_that_breaks_a_rule_is_found() -> None:
    """A bill that the log does not bear out, of a run of a shipped policy."""
    spec = small()
    result = mrdsl.solve(spec).of(mrdsl.SchedulePlan)
    assert result.plan is not None
    assert list(audited(spec, result.plan)) == []
    dearer = replace(result.plan, cost=replace(result.plan.cost, total=result.plan.cost.total + 1.0))
    (told,) = audited(spec, dearer)
    assert "payments come to" in told
