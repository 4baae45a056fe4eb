"""What `mrdsl new KIND NAME` writes runs as it is, passes the contract, and overwrites nothing."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import mrdsl
from mrdsl.extending.kits import kit, write
from mrdsl.families import KITS, SHIPPED
from tests.command_lines import run_here

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("kind", KITS)
def test_what_is_written_passes_the_contract_and_its_own_test(kind: str, tmp_path: Path) -> None:
    """In a process of its own, as a user would."""
    done = run_here(("new", kind, "first-try" if kind != "family" else "first_try"), tmp_path)
    assert done.exit_code == 0, done.output
    folder = next(path for path in tmp_path.iterdir() if path.is_dir())
    checked = subprocess.run(
        [sys.executable, "-m", "mrdsl", "check-plugin", folder.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout.count("passes: ") > 2
    assert "fails" not in checked.stdout
    (test,) = (folder / "tests").glob("test_*.py")
    assert "mrdsl.check_plugin(" in test.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", KITS)
@pytest.mark.skipif(shutil.which("ruff") is None, reason="ruff is not installed")
def test_what_is_written_is_tidy(kind: str, tmp_path: Path) -> None:
    assert run_here(("new", kind, "tidy"), tmp_path).exit_code == 0
    line = ("--isolated", "--config", "line-length = 120")
    for words in (
        ("check", "--extend-select", "I,UP,B,SIM", "--ignore", "RUF009", *line),
        ("format", "--check", *line),
    ):
        done = subprocess.run(["ruff", *words], cwd=tmp_path / "tidy", capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("family", SHIPPED)
def test_a_pipeline_of_a_family_has_its_shipped_steps_and_one_more(family: str) -> None:
    files = kit("pipeline", family)
    (name,) = (name for name in files if name.startswith("own_") and name.endswith(".toml"))
    declared = tomllib.loads(files[name])["pipelines"][family]
    base = re.search(r"the steps of `([\w-]+)`", files["README.md"])
    assert base is not None
    shipped = tomllib.loads((ROOT / "solvers" / f"{base[1]}.toml").read_text())["pipelines"][family]
    own = [step for step in declared["steps"] if step["call"].startswith(f"own_{family}.")]
    assert [step for step in declared["steps"] if step not in own] == shipped["steps"]
    assert len(own) == 1
    assert {**declared, "steps": []} == {**shipped, "steps": []}


@pytest.mark.parametrize("family", SHIPPED)
def test_a_pipeline_of_a_family_finds_the_plan_of_the_shipped_one(family: str, tmp_path: Path) -> None:
    assert run_here(("new", "pipeline", family), tmp_path).exit_code == 0
    readme = (tmp_path / f"own-{family}" / "README.md").read_text(encoding="utf-8")
    (base,) = re.findall(r"the steps of `([\w-]+)`", readme)
    folder = ROOT / "models" / family
    spec = str(folder / ("small.mrspec" if family == "schedule" else "reference.mrspec"))
    own = run_here(("solve", spec, "--solver", f"own-{family}", "--solvers", f"own-{family}", "--json"), tmp_path)
    shipped = run_here(("solve", spec, "--solver", base, "--json"), tmp_path)
    found = json.loads(own.output)
    assert found["plan"]
    assert found["plan"] == json.loads(shipped.output)["plan"]
    assert found["objective"] == json.loads(shipped.output)["objective"]


def test_formulations_are_for_capacity_alone(tmp_path: Path) -> None:
    refused = run_here(("new", "formulation", "energy"), tmp_path)
    assert "families: capacity" in refused.output


def test_names_that_are_none_or_taken_are_refused() -> None:
    for kind, name, reason in (
        ("pipeline", "greedy", "already has that name"),
        ("pipeline", "json", "Python has a module"),
        ("pipeline", "class", "write letters"),
        ("pipeline", "1st", "write letters"),
        ("pipeline", "../x", "write letters"),
        ("pipeline", "solver", "is what a solver is called"),
    ):
        with pytest.raises(mrdsl.MrdslError, match=reason):
            kit(kind, name)


def test_a_folder_that_is_there_is_kept(tmp_path: Path) -> None:
    assert run_here(("new", "pipeline", "mine"), tmp_path).exit_code == 0
    steps = tmp_path / "mine" / "mine" / "steps.py"
    steps.write_text("changed", encoding="utf-8")
    again = run_here(("new", "pipeline", "mine"), tmp_path)
    assert (again.exit_code, "file-exists" in again.output) == (2, True)
    assert steps.read_text(encoding="utf-8") == "changed"
    assert run_here(("new", "pipeline", "mine", "--force"), tmp_path).exit_code == 0
    assert steps.read_text(encoding="utf-8") != "changed"


def test_a_checked_folder_is_forgotten(tmp_path: Path) -> None:
    """Neither its solvers nor its modules are known after the check, and nothing has been written."""
    write(kit("pipeline", "passing-by"), tmp_path / "here")
    before, path = sorted(tmp_path.rglob("*")), list(sys.path)
    report = mrdsl.check_plugin(tmp_path / "here")
    assert report.passes, report.complaints
    assert [one.what for one in report.checked][-1] == "the pipeline `passing-by` on makespan two-jobs"
    assert sorted(tmp_path.rglob("*")) == before
    assert sys.path == path
    assert not [name for name in sys.modules if name.startswith("passing_by")]
    with pytest.raises(mrdsl.MrdslError, match="no solver `passing-by`"):
        mrdsl.solve(mrdsl.load(ROOT / "models" / "makespan" / "two-jobs.mrspec"), "passing-by")


def installed_below(folder: Path, module: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lays a module into a folder's own virtual environment, which Python runs in."""
    site = folder / ".venv" / "lib" / "python3.11" / "site-packages"
    (site / module).parent.mkdir(parents=True, exist_ok=True)
    (site / module).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))


def test_a_check_brings_no_module_of_the_folder_into_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check imports the folder's code, and what is installed there, in a process of its own."""
    write(kit("pipeline", "by-work"), tmp_path)
    installed_below(tmp_path, "some_library.py", "class Kept: pass\n", monkeypatch)
    steps = tmp_path / "by_work" / "steps.py"
    steps.write_text(steps.read_text(encoding="utf-8") + "\n\nimport some_library\n", encoding="utf-8")
    report = mrdsl.check_plugin(tmp_path)
    assert report.passes, report.complaints
    assert "some_library" not in sys.modules
    assert not [name for name in sys.modules if name.startswith("by_work")]


@pytest.mark.parametrize("kind", ["pipeline", "family"])
def test_a_copy_that_is_installed_is_not_checked_in_its_place(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is installed is imported first, in the folder's own virtual environment too."""
    files = kit(kind, "twice")
    write(files, tmp_path)
    for name in files:
        if name.startswith("twice/"):
            installed_below(tmp_path, name, files[name], monkeypatch)
    report = mrdsl.check_plugin(tmp_path)
    assert ".venv" in report.complaints[0].message
    assert "uninstall that one" in report.complaints[0].message
    for name in [name for name in sys.modules if name.partition(".")[0] == "twice"]:
        del sys.modules[name]


def test_kinds_and_families_are_told_apart(tmp_path: Path) -> None:
    assert run_here(("new", "capacity"), tmp_path).output.startswith("# ")
    for words, told in (
        (("new", "pipeline"), "needs a name"),
        (("new", "capacity", "mine"), "unknown kind of plug-in"),
        (("new", "pipelin"), "did you mean `pipeline`"),
        (("new", "pipeline", "mine", "-o", "-"), "a plug-in is a folder"),
        (("check-plugin", "."), "declares no solver"),
        (("check-plugin", "nowhere"), "is not a folder"),
    ):
        done = run_here(words, tmp_path)
        assert done.exit_code == 2
        assert told in done.output, done.output
    assert list(tmp_path.iterdir()) == []
    for kind in KITS:
        assert f"{kind} NAME: " in run_here(("new",), tmp_path).output
