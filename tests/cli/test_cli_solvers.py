"""``mrdsl solvers``, ``compile`` and ``read`` from the command line, in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mrdsl.core.resources import resource

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = resource("models") / "capacity" / "reference.mrspec"


def mrdsl(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mrdsl", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        timeout=60,
        check=False,
    )


def test_solvers_lists_what_is_installed_and_how_to_install_the_rest(tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text(
        'kind = "solver"\nname = "toy"\nsummary = "a toy"\nsolves = ["LP"]\ninstall = "pip install toy"\n'
        '[command]\nprogram = "no-such-program"\narguments = []\nreads = "a:b"\n',
        encoding="utf-8",
    )
    done = mrdsl("solvers", "--json", MRDSL_SOLVERS=str(tmp_path))
    found = {entry["name"]: entry for entry in json.loads(done.stdout)["solvers"]}
    assert done.returncode == 0
    assert found["highs"]["installed"]
    assert found["highs"]["version"]
    assert (found["toy"]["installed"], found["toy"]["install"]) == (False, "pip install toy")
    assert found["toy"]["origin"] == "MRDSL_SOLVERS"
    done = mrdsl("solve", REFERENCE, "--solver", "toy", MRDSL_SOLVERS=str(tmp_path))
    assert done.returncode == 3
    assert "install it with: pip install toy" in done.stderr


def test_solvers_check_tries_one_out() -> None:
    """All of them are tried where the page on solvers is run."""
    done = mrdsl("solvers", "--check", "scip")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passes: LP, MILP, NLP, MINLP" in done.stdout
    assert "fails" not in done.stdout


def test_a_bad_solver_file_is_told_beside_the_list(tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text("kind = 3\n", encoding="utf-8")
    done = mrdsl("solvers", MRDSL_SOLVERS=str(tmp_path))
    assert done.returncode == 2
    assert "toy.toml:1:1: error[bad-solver-file]" in done.stderr
    assert "highs" in done.stdout


@pytest.mark.parametrize("ending", ["lp", "mps"])
def test_compile_solve_elsewhere_read_back(ending: str, tmp_path: Path) -> None:
    import highspy

    model = tmp_path / f"x.{ending}"
    done = mrdsl("compile", REFERENCE, "-o", model)
    assert (done.returncode, done.stdout.split()) == (0, [str(model), str(tmp_path / f"{model.name}.names.json")])
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.readModel(str(model))
    solver.run()
    solver.writeSolution(str(tmp_path / "x.sol"), 0)
    done = mrdsl("read", REFERENCE, "--solution", tmp_path / "x.sol", "--json")
    assert done.returncode == 0, done.stderr
    own = json.loads(mrdsl("solve", REFERENCE, "--solver", "highs", "--json").stdout)
    back = json.loads(done.stdout)
    assert back["plan"] == own["plan"]
    assert back["objective"]["value"] == pytest.approx(own["objective"]["value"])


def test_no_text_of_a_spec_runs_a_program(tmp_path: Path) -> None:
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
            assert (done.returncode, "unknown-solver" in done.stderr + done.stdout) == (2, True)
            assert "is not a valid solver name" in done.stderr + done.stdout
        assert mrdsl("solve", REFERENCE, "--solver", name).returncode == 2
    assert not (tmp_path / "ran").exists()
    done = mrdsl("solve", REFERENCE, "--solver", "evil", "--solvers", evil.parent)
    assert (tmp_path / "ran").exists()
    assert f"declared in {evil}" in done.stdout
    assert mrdsl("solve", REFERENCE, "--solvers", tmp_path / "nowhere").returncode == 2


WRONG = {
    "no such solver": (["solve", REFERENCE, "--solver", "higsh"], 2, "did you mean highs?"),
    "of another family": (["solve", REFERENCE, "--solver", "johnson"], 2, "these can: "),
    "no such formulation": (["compile", REFERENCE, "-o", "x.lp", "--formulation", "P9"], 2, "known formulations: P2"),
    "no such format": (["compile", REFERENCE, "-o", "x.xls"], 2, "ends in .lp, .mps"),
    "no solution there": (["read", REFERENCE, "--solution", "nowhere.sol"], 2, "there is no such file"),
    "a folder as solution": (["read", REFERENCE, "--solution", str(ROOT)], 2, "unreadable-solution"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_in_one_message(case: str) -> None:
    arguments, code, words = WRONG[case]
    done = mrdsl(*arguments)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_names_lead_to_the_lines_of_the_spec(tmp_path: Path) -> None:
    mrdsl("compile", REFERENCE, "-o", tmp_path / "x.lp")
    names = json.loads((tmp_path / "x.lp.names.json").read_text(encoding="utf-8"))
    lines = REFERENCE.read_text(encoding="utf-8").splitlines()
    for name, entry in names["columns"].items():
        if name.startswith("admitted."):
            block = name.partition(".")[2]
            before = [line for line in lines[: entry["spec"]["line"]] if line.startswith("class ")]
            assert before[-1] == f"class {block} {{"
