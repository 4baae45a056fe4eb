"""docs/validation/security-tests.md names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent
PAGE = (TESTS.parent / "docs" / "validation" / "security-tests.md").read_text(encoding="utf-8")


def test_every_line_names_tests_that_are_there() -> None:
    """A file is named once, the tests behind it alone; `mrdsl/...` is code."""
    missing, file = [], ""
    for match in re.finditer(r"`([\w./-]+\.py)?(?:::(\w+))?`", PAGE):
        if match[0] == "``" or (match[1] or "").startswith("mrdsl/"):
            continue
        file = (match[1] or file).removeprefix("tests/")
        if not (TESTS / file).is_file():
            missing.append(file)
        elif match[2] and not re.search(rf"^def {match[2]}\b", (TESTS / file).read_text(encoding="utf-8"), re.M):
            missing.append(f"{file}::{match[2]}")
    assert missing == []
