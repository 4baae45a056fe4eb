"""A policy of one's own: it decides where a spec says `solve with` it, in simulations too, and its runs are audited."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import mrdsl
from mrdsl.extending.checking import named
from mrdsl.extending.kits import kit, write
from mrdsl.extending.pipelines import audited

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


def test_one_that_lacks_a_decision_is_told(folder: Path) -> None:
    path = folder / "patient" / "policy.py"
    text = path.read_text(encoding="utf-8").replace("def lost(", "def gone(")
    path.write_text(text, encoding="utf-8")
    with named(folder), pytest.raises(mrdsl.PluginError, match="Patient is no policy: it lacks `lost`") as told:
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
