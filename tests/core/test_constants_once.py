"""The seconds of a minute, an hour and a day stand in one place, and so do the steps of a pipeline."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

import mrdsl
from mrdsl.core.units import DAY, HOUR, MINUTE, UNITS

PACKAGE = Path(mrdsl.__file__).parent
SECONDS = {"3600", "3600.0", "86400", "86400.0", "604800.0"}
OTHER = {"core/units.py": "where they are said", "solving/worker.py": "a longest wait that is no unit"}


def numbers_in(text: str) -> set[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {token.string for token in tokens if token.type == tokenize.NUMBER}


def test_factors_of_time_are_those_of_the_units() -> None:
    assert (MINUTE, HOUR, DAY) == (60.0, 3600.0, 86400.0)
    assert UNITS["week"].factor == 7 * DAY
    assert numbers_in("x = y / 3600.0  # 86400\n") == {"3600.0"}
    found = {
        path.relative_to(PACKAGE).as_posix(): twice
        for path in PACKAGE.rglob("*.py")
        if (twice := numbers_in(path.read_text(encoding="utf-8")) & SECONDS)
    }
    assert set(found) == set(OTHER), found


def test_the_steps_of_a_solver_file_are_resolved_in_one_place() -> None:
    readers = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if '["call"]' in path.read_text(encoding="utf-8")
    }
    assert "solving/references.py" in readers
    assert all(one.startswith("solving/") for one in readers), readers
