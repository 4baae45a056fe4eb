"""Shared input data of the tests: a folder beside the checkout, or the one that `MRDSL_SHARED` names."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.shared_data import shared_folder


def shared(path: str) -> Path:
    """Return the path of a shared file or folder, or skip the test that asks for it if it is absent."""
    found = shared_folder() / path
    if not found.exists():
        pytest.skip(f"no shared data: {path} is missing (set MRDSL_SHARED to their folder)")
    return found


def shared_files(pattern: str) -> list[Path]:
    """Return the shared files of a pattern, sorted: parameters of a test, which pytest skips if there are none."""
    return sorted(shared_folder().glob(pattern))
