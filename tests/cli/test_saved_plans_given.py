"""Saved plans where commands take specs: the same answers, without solving again."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import mrdsl
import mrdsl.explaining
import mrdsl.planning
from mrdsl.core.resources import resource
from tests.command_lines import Ran, run_here

MODELS = Path(str(resource("models")))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with specs and the plans that were saved of them."""
    for kind in ("joint", "capacity", "schedule"):
        name = "small" if kind == "schedule" else "reference"
        for path in (MODELS / kind).glob(f"{name}.*"):
            (tmp_path / path.name.replace(name, kind)).write_bytes(path.read_bytes())
    spec = tmp_path / "schedule.mrspec"
    spec.write_text(spec.read_text().replace("small.csv", "schedule.csv"))
    for kind in ("joint", "capacity", "schedule"):
        done = run_here(("solve", f"{kind}.mrspec", "-o", f"{kind}.json"), tmp_path)
        assert done.exit_code == 0, done.output
    return tmp_path


@pytest.fixture
def _nothing_is_solved(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(*_: object, **__: object) -> None:
        raise AssertionError("the plan is there already")

    for package in (mrdsl.explaining, mrdsl.planning):  # what imports `solve` while it is forbidden would keep it so
        for module in iter_modules(package.__path__):
            import_module(f"{package.__name__}.{module.name}")
    monkeypatch.setattr("mrdsl.planning.simulate_spec.solve", solve)
    monkeypatch.setattr("mrdsl.planning.solve_spec.solve", solve)


def run(place: Path, line: str) -> Ran:
    return run_here(tuple(line.split()), place)


@pytest.mark.usefixtures("_nothing_is_solved")
@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("why joint.json --no-sensitivity", "checkout"),
        ("why capacity.json --no-sensitivity", "sort"),
        (
            "simulate capacity.json --runs 2 --jobs 3 --seed 7  # exit 7: coefficients do not run",
            "Simulated",
        ),
        ("export joint.json yarn -o queues", "capacity-scheduler.xml"),
        ("compare joint.json joint.json", "are equal in both plans"),
        ("verify schedule.json", "meets its constraints"),
        ("check joint.json capacity.json", "2 files checked: no problems"),
        ("show capacity.json", "CapacityFacts"),
    ],
)
def test_a_plan_stands_for_its_spec(place: Path, line: str, shown: str) -> None:
    ran = run(place, line.partition("  #")[0])
    assert ran.exit_code == (7 if "exit 7" in line else 0), ran.output
    assert shown in ran.output, ran.output


def test_a_run_of_a_plan_is_that_of_its_spec(place: Path) -> None:
    of_plan = mrdsl.simulate(mrdsl.load_plan(place / "capacity.json"), runs=2, jobs=3, seed=5)
    of_spec = mrdsl.simulate(mrdsl.load(place / "capacity.mrspec"), runs=2, jobs=3, seed=5)
    assert of_plan == replace(of_spec, seconds=of_plan.seconds, diagnostics=of_plan.diagnostics)
    assert mrdsl.load(place / "capacity.json") == mrdsl.load(place / "capacity.mrspec")
    assert mrdsl.check(place / "capacity.json") == mrdsl.check(place / "capacity.mrspec")


@pytest.mark.parametrize("command", ["why", "simulate", "check", "verify", "show", "solve", "compare joint.json"])
def test_a_plan_that_was_edited_is_refused_everywhere(place: Path, command: str) -> None:
    document = json.loads((place / "capacity.json").read_text())
    document["plan"]["cost"]["total"] += 1.0
    (place / "edited.json").write_text(json.dumps(document))
    ran = run(place, f"{command} edited.json")
    assert ran.exit_code == 2, ran.output
    assert "[edited-plan]" in ran.output


def test_the_spec_of_a_plan_is_settled(place: Path) -> None:
    for option in ("-D x=1", "--seed 0", "--data params.toml"):
        ran = run(place, f"why capacity.json {option}")
        assert ran.exit_code == 2
        assert "whose spec is fixed" in ran.output


def test_options_of_specs_reach_the_spec_beside_a_plan(place: Path) -> None:
    """Last night's plan against today's load."""
    assert run(place, "diff joint.json joint.mrspec").exit_code == 0
    ran = run(place, "diff joint.json joint.mrspec -D peak=0.9")
    assert ran.exit_code == 5, ran.output
    assert run(place, "diff joint.json joint.json -D peak=0.9").exit_code == 2


def test_what_needs_a_spec_says_so_in_one_line(place: Path) -> None:
    ran = run(place, "sweep capacity.json --seeds 1..2 -o table.csv")
    assert ran.exit_code == 2
    assert "but a spec is required" in ran.output
    assert len(ran.output.splitlines()) < 4


def test_several_plans_and_specs_stand_side_by_side(place: Path) -> None:
    assert run(place, "compare joint.json joint.mrspec joint.json -o three.json").exit_code == 0
    document = json.loads((place / "three.json").read_text())
    assert [side["name"] for side in document["plans"]] == ["joint.json", "joint.mrspec", "joint.json #2"]
    cost = mrdsl.load_plan(place / "joint.json").value
    assert document["objective"]["values"] == pytest.approx([cost] * 3)


def test_variants_of_one_spec(place: Path) -> None:
    values = [mrdsl.solve(mrdsl.load(place / "joint.mrspec", {"peak": peak})).value for peak in (0.9, 1.0, 1.1)]
    found = mrdsl.compare(*(mrdsl.load(place / "joint.mrspec", {"peak": peak}) for peak in (0.9, 1.0, 1.1)))
    assert found.goal.values == pytest.approx(values)
    ran = run(place, "compare joint.mrspec --variant peak=0.9 --variant peak=1.0 --variant peak=1.1")
    heads = next(line.split() for line in ran.output.splitlines() if line.startswith("  quantity "))
    assert heads[1:4] == ["peak=0.9", "peak=1.0", "peak=1.1"]
    line = next(line.split() for line in ran.output.splitlines() if line.startswith("  cost [USD]"))
    assert [float(cell) for cell in line[2:5]] == pytest.approx(values, rel=1e-5)
    alone = run(place, "compare joint.mrspec --variant peak=0.9").output
    heads = next(line.split() for line in alone.splitlines() if line.startswith("  quantity "))
    assert heads[1:3] == ["joint", "peak=0.9"]


@pytest.mark.parametrize("line", ["compare joint.json", "compare joint.mrspec capacity.mrspec --variant peak=1"])
def test_what_cannot_be_compared(place: Path, line: str) -> None:
    ran = run(place, line)
    assert ran.exit_code == 2
    assert "[wrong-option]" in ran.output


def test_comparisons_of_different_goals_are_told_from_python() -> None:
    specs = [mrdsl.load(MODELS / kind / "reference.mrspec") for kind in ("joint", "capacity")]
    with pytest.raises(mrdsl.MrdslError, match="different-problems"):
        mrdsl.compare(*specs)


def test_a_saved_result_without_a_plan(place: Path) -> None:
    """It says so, is explained, and leads nowhere; what leads away from it is everything."""
    text = (MODELS / "capacity" / "quickstart.mrspec").read_text()
    (place / "never.mrspec").write_text(text + "subject to { vms <= 5 }\n")
    assert run(place, "solve never.mrspec -o never.json").exit_code == 1
    verified = run(place, "verify never.json")
    assert verified.exit_code == 1
    assert "infeasible" in verified.output
    assert json.loads(run(place, "verify never.json --json").output)["kept"] is None
    why = run(place, "why never.json")
    assert why.exit_code == 1
    assert "vms <= 5" in why.output
    assert run(place, "simulate never.json --runs 2").exit_code == 1
    told = run(place, "diff capacity.json never.json --json")
    assert told.exit_code == 1
    assert json.loads(told.output)["diagnostics"][0]["code"] == "no-plan"
    assert run(place, "diff never.json capacity.json").exit_code == 5
    assert mrdsl.load_plan(place / "never.json").termination == "infeasible"


def test_what_may_be_believed_from_python(place: Path) -> None:
    found = mrdsl.verify(place / "joint.json")
    assert found.kept
    assert found.result == mrdsl.load_plan(place / "joint.json")
    assert [state for _, state in found.files] == ["same"]
