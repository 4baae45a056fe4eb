"""Commands beside `solve` name a warning in one line; errors are whole everywhere."""

from __future__ import annotations

import pytest

from mrdsl.cli.boundary import print_briefly
from mrdsl.core.diagnostics import Diagnostic, Severity, Span


def test_warnings_are_one_line_for_each_code(capsys: pytest.CaptureFixture[str]) -> None:
    found = [
        Diagnostic("late", Severity.WARNING, f"class {n} is late", Span("a.mrspec", n, 1, n, 2), "wait")
        for n in range(1, 6)
    ]
    broken = Diagnostic("bad", Severity.ERROR, "this is wrong", Span("a.mrspec", 9, 1, 9, 2), "mend it")
    print_briefly([*found, broken], {})
    lines = capsys.readouterr().err.splitlines()
    assert any("this is wrong" in line for line in lines)
    assert any("mend it" in line for line in lines)
    (late,) = (line for line in lines if "late" in line)
    assert "a.mrspec:1:1" in late
    assert "a.mrspec:5:1" not in late
