"""Commands beside `solve` name a warning in one line; errors are whole everywhere."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from mrdsl.cli import cli
from mrdsl.cli.boundary import print_briefly
from mrdsl.core.diagnostics import Diagnostic, Severity, Span

QUICKSTART = Path(__file__).parents[2] / "models" / "capacity" / "quickstart.mrspec"


def test_warnings_are_one_line_for_each_code(capsys: pytest.CaptureFixture[str]) -> None:
    found = [
        Diagnostic("late", Severity.WARNING, f"class {n} is late", Span("a.mrspec", n, 1, n, 2), "wait")
        for n in range(1, 6)
    ]
    broken = Diagnostic("bad", Severity.ERROR, "this is wrong", Span("a.mrspec", 9, 1, 9, 2), "mend it")
    print_briefly([*found, broken], {}, "mrdsl solve a.mrspec")
    lines = capsys.readouterr().err.splitlines()
    assert any("this is wrong" in line for line in lines)
    assert any("mend it" in line for line in lines)
    (late,) = (line for line in lines if "[late]" in line)
    assert "`mrdsl solve a.mrspec`" in late
    assert "a.mrspec:1:1" in late
    assert "a.mrspec:5:1" not in late


def test_the_named_command_prints_the_warning_of_a_variant(tmp_path: Path) -> None:
    spec = tmp_path / "night.mrspec"
    spec.write_text(QUICKSTART.read_text().replace("deadline = 15 min", "deadline = due") + "param due = 15 min\n")
    done = CliRunner().invoke(cli, ["compare", str(spec), "--variant", "due=20 min"], standalone_mode=False)
    named = [line.split("`")[1] for line in done.stderr.splitlines() if "[soft-deadline]" in line]
    assert [shlex.split(one) for one in named] == [
        ["mrdsl", "solve", str(spec)],
        ["mrdsl", "solve", str(spec), "-D", "due=20 min"],
    ]
    told = CliRunner().invoke(cli, shlex.split(named[1])[1:], standalone_mode=False).stderr
    assert "[soft-deadline]" in told
    assert "hint: " in told
