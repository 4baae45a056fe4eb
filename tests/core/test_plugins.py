"""Whose fault a failure is: a named folder's own files, not what is installed below it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import mrdsl
from mrdsl.core.plugins import fault_of_a_plugin, own_file

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
