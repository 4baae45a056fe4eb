"""Every mistake of a deadline spec: its place, its code, its words. The expected lines end each spec as comments."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.expected_lines import differences

FOLDER = Path(__file__).parent / "bad"
SPECS = sorted(FOLDER.glob("*.mrspec"))


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_all_of_it_is_told_at_its_place(spec: Path) -> None:
    assert differences(spec) == set()
