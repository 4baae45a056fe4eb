"""``mrdsl solvers``, ``compile`` and ``read`` from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mrdsl.core.resources import resource
from tests.command_lines import Ran, run_here

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., Ran]
REFERENCE = resource("models") / "capacity" / "reference.mrspec"


@pytest.fixture
def mrdsl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    def run(*arguments: object, **environment: str) -> Ran:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return run_here(tuple(map(str, arguments)), tmp_path)

    return run


def test_solvers_lists_what_is_installed_and_how_to_install_the_rest(tmp_path: Path, mrdsl: Run) -> None:
    (tmp_path / "toy.toml").write_text(
        'kind = "solver"\nname = "toy"\nsummary = "a toy"\nsolves = ["LP"]\ninstall = "pip install toy"\n'
        '[command]\nprogram = "no-such-program"\narguments = []\nreads = "a:b"\n',
        encoding="utf-8",
    )
    done = mrdsl("solvers", "--json", MRDSL_SOLVERS=str(tmp_path))
    found = {entry["name"]: entry for entry in json.loads(done.output)["solvers"]}
    assert done.exit_code == 0
    assert found["highs"]["installed"]
    assert found["highs"]["version"]
    assert (found["toy"]["installed"], found["toy"]["install"]) == (False, "pip install toy")
    assert found["toy"]["origin"] == "MRDSL_SOLVERS"
    done = mrdsl("solve", REFERENCE, "--solver", "toy", MRDSL_SOLVERS=str(tmp_path))
    assert done.exit_code == 3
    assert "install it with: pip install toy" in done.output


def test_solvers_check_tries_one_out(mrdsl: Run) -> None:
    """All of them are tried where the page on solvers is run."""
    done = mrdsl("solvers", "--check", "scip")
    assert done.exit_code == 0, done.output
    assert "passes: LP, MILP, NLP, MINLP" in done.output
    assert "fails" not in done.output


def test_a_bad_solver_file_is_told_beside_the_list(tmp_path: Path, mrdsl: Run) -> None:
    (tmp_path / "toy.toml").write_text("kind = 3\n", encoding="utf-8")
    done = mrdsl("solvers", MRDSL_SOLVERS=str(tmp_path))
    assert done.exit_code == 2
    assert "toy.toml:1:1: error[bad-solver-file]" in done.output
    assert "highs" in done.output


@pytest.mark.parametrize("ending", ["lp", "mps"])
def test_compile_solve_elsewhere_read_back(ending: str, tmp_path: Path, mrdsl: Run) -> None:
    import highspy

    model = tmp_path / f"x.{ending}"
    done = mrdsl("compile", REFERENCE, "-o", model)
    assert (done.exit_code, done.output.split()) == (0, [str(model), str(tmp_path / f"{model.name}.names.json")])
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.readModel(str(model))
    solver.run()
    solver.writeSolution(str(tmp_path / "x.sol"), 0)
    done = mrdsl("read", REFERENCE, "--solution", tmp_path / "x.sol", "--json")
    assert done.exit_code == 0, done.output
    own = json.loads(mrdsl("solve", REFERENCE, "--solver", "highs", "--json").output)
    back = json.loads(done.output)
    assert back["plan"] == own["plan"]
    assert back["objective"]["value"] == pytest.approx(own["objective"]["value"])


def test_no_text_of_a_spec_runs_a_program(tmp_path: Path, mrdsl: Run) -> None:
    """A name that is a path is refused by `check` already; a file is used only where the user names its folder."""
    evil = tmp_path / "elsewhere" / "evil.toml"
    evil.parent.mkdir()
    evil.write_text(
        'kind = "solver"\nname = "evil"\nsummary = "evil"\nsolves = ["LP", "MILP"]\ninstall = "none"\n'
        f'[command]\nprogram = "{tmp_path / "run"}"\narguments = []\nreads = "mrdsl.exchange.solutions.glpk:read"\n',
        encoding="utf-8",
    )
    (tmp_path / "run").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n", encoding="utf-8")
    (tmp_path / "run").chmod(0o755)
    text = REFERENCE.read_text(encoding="utf-8")
    spec = tmp_path / "a.mrspec"
    for name in ("elsewhere/evil", str(evil.with_suffix(""))):
        spec.write_text(text + f'solve with "{name}"\n', encoding="utf-8")
        for command in ("check", "solve"):
            done = mrdsl(command, spec)
            assert (done.exit_code, "unknown-solver" in done.output) == (2, True)
            assert "is not a valid solver name" in done.output
        assert mrdsl("solve", REFERENCE, "--solver", name).exit_code == 2
    assert not (tmp_path / "ran").exists()
    done = mrdsl("solve", REFERENCE, "--solver", "evil", "--solvers", evil.parent)
    assert (tmp_path / "ran").exists()
    assert f"declared in {evil}" in done.output
    assert mrdsl("solve", REFERENCE, "--solvers", tmp_path / "nowhere").exit_code == 2


WRONG = {
    "no such solver": (["solve", REFERENCE, "--solver", "higsh"], 2, "did you mean `highs`?"),
    "of another family": (["solve", REFERENCE, "--solver", "johnson"], 2, "these can: "),
    "no such formulation": (["compile", REFERENCE, "-o", "x.lp", "--formulation", "P9"], 2, "known formulations: P2"),
    "no such format": (["compile", REFERENCE, "-o", "x.xls"], 2, "ends in .lp, .mps"),
    "no solution there": (["read", REFERENCE, "--solution", "nowhere.sol"], 2, "there is no such file"),
    "a folder as solution": (["read", REFERENCE, "--solution", str(ROOT)], 2, "unreadable-solution"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_in_one_message(case: str, mrdsl: Run) -> None:
    arguments, code, words = WRONG[case]
    done = mrdsl(*arguments)
    assert done.exit_code == code
    assert words in done.output
    assert "Traceback" not in done.output


def test_names_lead_to_the_lines_of_the_spec(tmp_path: Path, mrdsl: Run) -> None:
    mrdsl("compile", REFERENCE, "-o", tmp_path / "x.lp")
    names = json.loads((tmp_path / "x.lp.names.json").read_text(encoding="utf-8"))
    lines = REFERENCE.read_text(encoding="utf-8").splitlines()
    for name, entry in names["columns"].items():
        if name.startswith("admitted."):
            block = name.partition(".")[2]
            before = [line for line in lines[: entry["spec"]["line"]] if line.startswith("class ")]
            assert before[-1] == f"class {block} {{"
