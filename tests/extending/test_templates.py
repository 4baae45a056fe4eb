"""The templates in `extensions/` run as they are and pass `mrdsl check-plugin`, which leaves nothing behind."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mrdsl
from tests.command_lines import run_here
from tests.extending.plugins import NAMES, TEMPLATES, kit, write

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("kind", NAMES)
def test_a_template_passes_the_check_and_has_it_as_its_test(kind: str, tmp_path: Path) -> None:
    """In a process of its own, as a user would, from a copy."""
    folder = tmp_path / "copy"
    write(kit(kind, NAMES[kind]), folder)
    checked = subprocess.run(
        [sys.executable, "-m", "mrdsl", "check-plugin", "copy"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "passes: " in checked.stdout
    assert "fails" not in checked.stdout
    (test,) = (folder / "tests").glob("test_*.py")
    assert "mrdsl.check_plugin(" in test.read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("ruff") is None, reason="ruff is not installed")
def test_the_templates_are_tidy() -> None:
    line = ("--isolated", "--config", "line-length = 120")
    for words in (
        ("check", "--extend-select", "UP,B,SIM", "--ignore", "RUF009", *line),
        ("format", "--check", *line),
    ):
        done = subprocess.run(["ruff", *words], cwd=TEMPLATES, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


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


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("new", "pipeline"), "unknown problem kind `pipeline`"),
        (("new", "capacit"), "did you mean `capacity`"),
        (("check-plugin", "."), "declares no solver"),
        (("check-plugin", "nowhere"), "is not a folder"),
    ],
)
def test_what_is_no_family_and_no_plugin_is_refused(words: tuple[str, ...], told: str, tmp_path: Path) -> None:
    done = run_here(words, tmp_path)
    assert done.exit_code == 2
    assert told in done.output, done.output
    assert list(tmp_path.iterdir()) == []
