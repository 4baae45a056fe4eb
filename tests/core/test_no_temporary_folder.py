"""A system where no folder takes temporary files: what needs none works, what needs one names TMPDIR."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.guarded import nameless_file, scratch_folder
from mrdsl.solving import worker


@pytest.fixture(autouse=True)
def no_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuses every folder, as a read-only root does; the test may run as a user whom permissions do not hold."""

    def refuse() -> Any:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode, **more: not mode & os.W_OK and access(path, mode, **more))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "gettempdir", refuse)
    worker.close_all()
    yield
    worker.close_all()


@pytest.mark.parametrize("solver", ["auto", "highs", "direct"])
@pytest.mark.parametrize("formulation", [None, "P2"])
def test_a_solver_that_needs_no_file_solves(solver: str, formulation: str | None) -> None:
    spec = mrdsl.load("models/capacity/quickstart.mrspec")
    if solver == "direct" and formulation:
        pytest.skip("a method has no formulation")
    assert mrdsl.solve(spec, solver, formulation=formulation).plan is not None


@pytest.mark.parametrize("solver", ["glpk", "cbc", "scip"])
def test_a_solver_that_needs_one_names_tmpdir(solver: str) -> None:
    spec = mrdsl.load("models/capacity/quickstart.mrspec")
    try:
        result = mrdsl.solve(spec, solver, formulation="P2")
        told = result.diagnostics
        assert result.plan is None
    except MrdslError as refused:
        told = refused.diagnostics
    shown = " ".join(f"{each.message} {each.hint}" for each in told)
    assert "TMPDIR" in shown
    assert "MrdslError" not in shown
    assert "error[" not in shown


def test_a_scratch_folder_is_refused_and_a_nameless_file_lies_in_memory() -> None:
    with pytest.raises(MrdslError, match="TMPDIR"), scratch_folder():
        pass
    with nameless_file() as file:
        file.write(b"kept")
        file.seek(0)
        assert file.read() == b"kept"
