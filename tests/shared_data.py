"""Shared input data of the tests: a folder beside the checkout, or the one that `MRDSL_SHARED` names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.sources import ROOT

SHARED = Path(os.environ.get("MRDSL_SHARED", ROOT.parent / "shared"))


def shared(path: str) -> Path:
    """Return the path of a shared file or folder, or skip the test that asks for it if it is absent."""
    found = SHARED / path
    if not found.exists():
        pytest.skip(f"no shared data: {path} is missing (set MRDSL_SHARED to their folder)")
    return found
