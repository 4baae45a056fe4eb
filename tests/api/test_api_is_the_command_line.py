"""What the command line does, a program does by the same name, and gets the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import mrdsl
from mrdsl.cli import COMMANDS
from mrdsl.core.resources import resource
from tests.command_lines import run_here

MODELS = Path(str(resource("models")))
OF_A_TERMINAL = {"new", "lsp", "show", "schema", "solvers", "completion", "experiment", "study"}
"""Commands that print what the package holds, serve an editor or a shell, or say where something moved."""
TOO_TIGHT = """problem capacity "too tight"
vm m5 { on_demand { price = 0.2 USD/h } }
class a { coefficients { A = 100 s, B = 50 s, C = 5 s }, slots { map = 2, reduce = 1 }, jobs = 2, deadline = 1 min,
  penalty = 5 USD }
subject to { vms <= 1 }
"""


def test_every_command_is_a_function() -> None:
    assert {
        name for name in COMMANDS if name not in OF_A_TERMINAL and not hasattr(mrdsl, name.replace("-", "_"))
    } == set()


@pytest.mark.parametrize("text", [(MODELS / "capacity/quickstart.mrspec").read_text(), TOO_TIGHT])
def test_why_says_what_the_command_says(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spec.mrspec").write_text(text)
    monkeypatch.chdir(tmp_path)
    explained = mrdsl.why(mrdsl.load("spec.mrspec"), worth=False)
    assert explained.tables or explained.parts
    assert str(explained) in run_here(("why", "spec.mrspec", "--no-sensitivity"), tmp_path).output


def test_why_of_a_result_solves_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    result = mrdsl.solve(mrdsl.load(MODELS / "capacity/quickstart.mrspec"))
    again = str(mrdsl.why(result.spec, worth=False))

    def solve(*_: object) -> None:
        raise AssertionError("the plan is there already")

    monkeypatch.setattr("mrdsl.planning.solve_spec.solve", solve)
    assert str(mrdsl.why(result, worth=False)) == again


def test_a_sweep_gives_the_rows_that_the_command_writes(tmp_path: Path) -> None:
    text = (MODELS / "capacity/quickstart.mrspec").read_text().replace("deadline = 15 min", "deadline = limit")
    path = tmp_path / "spec.mrspec"
    path.write_text("param limit = 15 min\n" + text)
    line = ("sweep", "spec.mrspec", "--over", "limit=15 min,20 min", "-o", "rows.csv", "-j", "1", "--solver", "direct")
    assert run_here(line, tmp_path).exit_code == 0
    done = mrdsl.sweep(path, {"limit": ["15 min", "20 min"]}, solver="direct", processes=1)
    assert (done.rows, done.interrupted) == (2, False)
    again = mrdsl.sweep(path, {"limit": "15 min:20 min:5 min"}, tmp_path / "again.csv", "direct", processes=1)
    written, read = ((tmp_path / name).read_text().splitlines() for name in ("rows.csv", "again.csv"))
    place = written[0].split(",").index("value")
    values = [float(line.split(",")[place]) for line in written[1:]]
    assert values == [row["value"] for row in done.table] == [row["value"] for row in again.table]
    assert values[0] > values[1]
    assert written[0] == read[0]


@pytest.mark.parametrize(
    ("over", "seeds"),
    [({"limit": []}, ()), ({"no name": [1]}, ()), ({"nothing": [1.0]}, ()), ({}, [-1]), ({}, "1..x")],
)
def test_a_sweep_that_is_wrong_is_told(over: dict[str, list[float]], seeds: object) -> None:
    with pytest.raises(mrdsl.MrdslError) as told:
        mrdsl.sweep(MODELS / "capacity/quickstart.mrspec", over, seeds=seeds)  # type: ignore[arg-type]
    assert told.value.diagnostics[0].code in ("wrong-option", "unknown-param")


def test_a_solution_file_is_read(tmp_path: Path) -> None:
    import highspy

    file = MODELS / "capacity/quickstart.mrspec"
    spec = mrdsl.load(file)
    result = mrdsl.solve(spec, "highs")
    assert run_here(("compile", str(file), "-o", "model.lp"), tmp_path).exit_code == 0

    highs = highspy.Highs()
    highs.silent()
    highs.readModel(str(tmp_path / "model.lp"))
    highs.run()
    highs.writeSolution(str(tmp_path / "solution.sol"), 0)
    read = mrdsl.read(spec, tmp_path / "solution.sol")
    assert read.value == pytest.approx(result.value)
    assert read.bound is None


def test_a_code_is_explained() -> None:
    assert "soft-deadline" in mrdsl.explain("soft-deadline")
    with pytest.raises(mrdsl.MrdslError, match="there is no diagnostic"):
        mrdsl.explain("soft-deadlin")


def test_a_text_is_formatted() -> None:
    assert mrdsl.fmt('problem   capacity "a"\n') == 'problem capacity "a"\n'


@pytest.mark.parametrize("read", [mrdsl.load, mrdsl.load_plan, mrdsl.verify], ids=lambda read: read.__name__)
def test_a_folder_is_no_file_to_read(read: Callable[[Path], object], tmp_path: Path) -> None:
    with pytest.raises(mrdsl.MrdslError, match="cannot be read: it is a folder") as caught:
        read(tmp_path)
    (told,) = caught.value.diagnostics
    assert told.code == "unreadable-file"
    assert str(tmp_path) in told.message
    assert [each.code for each in mrdsl.check(tmp_path)] == ["unreadable-file"]


@pytest.mark.parametrize("given", ["a.mrspec", Path("a.mrspec"), None, 7])
@pytest.mark.parametrize(
    "ask",
    [
        mrdsl.solve,
        mrdsl.why,
        mrdsl.compare,
        mrdsl.simulate,
        mrdsl.report,
        mrdsl.compile,
        lambda given: mrdsl.diff(given, given),
        lambda given: mrdsl.export(given, "emr"),
    ],
)
def test_what_is_no_spec_is_told(ask: Callable[[object], object], given: object) -> None:
    """A path in a spec's place is what a beginner gives first."""
    with pytest.raises(mrdsl.MrdslError, match="must be a Spec") as told:
        ask(given)
    assert {(d.code, "mrdsl.load(PATH)" in d.hint) for d in told.value.diagnostics} == {("wrong-value", True)}
