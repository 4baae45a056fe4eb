"""Temporary files: none is made to try a place, and those of a package in a zip file go with the process too."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from mrdsl.core.resources import resource

ROOT = Path(__file__).resolve().parents[2]
QUICK = resource("models") / "capacity" / "quickstart.mrspec"
PROBED = """
import secrets, tempfile, traceback
from pathlib import Path
def probing():
    Path(MARKS, secrets.token_hex(8)).write_text("".join(traceback.format_stack()))
    return MARKS
tempfile._get_default_tempdir = probing
"""
pytestmark = pytest.mark.skipif(os.name != "posix", reason="tempfile itself chooses the place elsewhere")


@pytest.mark.parametrize(
    "arguments", [["--solver", solver, "-o", "out.json"] for solver in ("highs", "cbc", "glpk", "direct")], ids=str
)
def test_no_file_is_written_to_try_a_place(arguments: list[str], tmp_path: Path) -> None:
    """``tempfile`` would write one when it is asked for the first time; an output with two names needs a file aside."""
    marks, site = tmp_path / "marks", tmp_path / "site"
    marks.mkdir()
    site.mkdir()
    (site / "sitecustomize.py").write_text(f"MARKS = {str(marks)!r}\n{PROBED}", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{ROOT}"}
    said = subprocess.run(
        [sys.executable, "-c", "import tempfile; print(tempfile.gettempdir())"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.strip() == str(marks)
    for mark in marks.iterdir():
        mark.unlink()
    (tmp_path / "out.json").write_text("{}", encoding="utf-8")
    (tmp_path / "second name").hardlink_to(tmp_path / "out.json")
    command = [sys.executable, "-m", "mrdsl", "solve", str(QUICK), *arguments, "--force"]
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)
    assert (tmp_path / "second name").stat().st_size > 2
    assert [mark.read_text(encoding="utf-8") for mark in marks.iterdir()] == []


def test_nothing_stays_of_a_killed_process_whose_package_is_a_zip_file(tmp_path: Path) -> None:
    archive, place = tmp_path / "mrdsl.zip", tmp_path / "temporary"
    place.mkdir()
    with zipfile.ZipFile(archive, "w") as made:
        for path in sorted((ROOT / "mrdsl").rglob("*.py")):
            made.write(path, path.relative_to(ROOT))
        for folder in ("grammar", "solvers", "models"):
            for path in sorted(resource(folder).rglob("*")):
                if path.is_file() and path.stat().st_size < 100_000 and "node_modules" not in path.parts:
                    made.write(path, Path("mrdsl", "data", folder, path.relative_to(resource(folder))))
    program = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from mrdsl.core.resources import resource, resource_text\n"
        "assert 'problem' in resource_text('grammar/mrspec.lark')\n"
        "print(resource('solvers')); sys.stdout.flush(); os.kill(os.getpid(), 9)"
    )
    environment = {"TMPDIR": str(place), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-S", "-c", program, str(archive)], env=environment, capture_output=True, text=True
    )
    assert done.stdout.startswith(str(place)), done.stderr
    for _ in range(200):
        if not any(place.iterdir()):
            return
        time.sleep(0.05)
    pytest.fail(f"left: {list(place.iterdir())}")
