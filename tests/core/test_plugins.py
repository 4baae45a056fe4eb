"""Whose fault a failure is: a named folder's own files, not what is installed below it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import mrdsl
from mrdsl.core.plugins import Plugin, fault_of_a_plugin, own_file
from tests.command_lines import run_python

LIBRARY = ".venv/lib/python3.11/site-packages/library/inside.py"


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("steps.py", True),
        ("mine/deep/steps.py", True),
        (LIBRARY, False),
        (".venv/lib/python3/dist-packages/library.py", False),
        ("../beside.py", False),
    ],
)
def test_what_is_installed_below_a_folder_is_not_its_own(file: str, own: bool, tmp_path: Path) -> None:
    assert own_file(str(tmp_path / "here" / file), tmp_path / "here") is own


def test_an_installed_plug_in_has_its_own_files(tmp_path: Path) -> None:
    """Where a package's own folder is the place, it does not matter that it lies among what is installed."""
    assert own_file(str(tmp_path / LIBRARY), (tmp_path / LIBRARY).parent)
    assert own_file(str(tmp_path / LIBRARY), tmp_path / LIBRARY)


@pytest.mark.parametrize("module", [mrdsl, json])
def test_mrdsl_and_python_below_a_folder_are_not_its_own(module: object) -> None:
    file = Path(str(module.__file__))  # type: ignore[attr-defined]
    assert not own_file(str(file), file.parents[2])


def _failed(*files: Path) -> BaseException:
    """What is raised through a function in each of the files, the first calling the second and so on."""

    def innermost() -> None:
        raise KeyError(1)

    call = innermost
    for file in reversed(files):
        names = {"inner": call}
        exec(compile("def function():\n    inner()", str(file), "exec"), names)
        call = names["function"]
    try:
        call()
    except KeyError as cause:
        return cause
    raise AssertionError


def test_a_failure_is_told_at_the_folders_own_line_or_not_as_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    own, library = tmp_path / "steps.py", tmp_path / LIBRARY
    told = fault_of_a_plugin(_failed(own, library), ())
    assert told is not None
    assert told.span is not None
    assert told.span.file == str(own)
    assert fault_of_a_plugin(_failed(library), ()) is None
    assert fault_of_a_plugin(_failed(Path(sys.modules["mrdsl"].__file__ or "")), ()) is None


LATE = """
import os, sys
from mrdsl.solving.processes import begin_as_child, end_later, ended_itself

end_later(1e6)
child = os.fork()
if child == 0:
    begin_as_child(os.getppid())
    end_later(0.01)
    while True:
        pass
assert ended_itself(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_a_child_prints_where_it_is_when_its_time_is_over(tmp_path: Path) -> None:
    """Its parent waits for a time of its own; the innermost line of the plug-in's file is told."""
    printed = run_python(LATE).stderr
    assert 'File "<string>", line ' in printed
    own = tmp_path / "steps.py"
    dump = f'  File "{tmp_path.parent}/x.py", line 3 in f\n  File "{own}", line 7 in g\n  File "{own}", line 9 in h\n'
    told = Plugin("a step", (str(tmp_path),)).place_in(dump)
    assert told is not None
    assert (told.file, told.line) == (str(own), 7)
