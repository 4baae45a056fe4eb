"""Limits on the command line: long ones, ones out of range, and what the system refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import mrdsl
from mrdsl.cli import cli
from mrdsl.cli.boundary import run
from mrdsl.core.resources import resource

QUICK = str(resource("models") / "capacity" / "quickstart.mrspec")


def answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> tuple[int, dict[str, object]]:
    monkeypatch.setattr(sys, "argv", ["mrdsl", *arguments])
    code = run(cli)
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("limit", ["25 d", "1e9", "1000000 d"])
def test_a_limit_longer_than_the_system_can_wait_at_once(
    limit: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """25 days are more milliseconds than 31 bits hold."""
    code, document = answer(capsys, monkeypatch, "solve", QUICK, "--json", "--time-limit", limit)
    assert (code, document["solution"]) == (0, "optimal")


@pytest.mark.parametrize(("option", "field"), [("--time-limit", "time"), ("--gap", "gap")])
def test_a_limit_out_of_range_has_the_code_that_python_gives_it(
    option: str, field: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, document = answer(capsys, monkeypatch, "solve", QUICK, "--json", option, "-1")
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.solve(mrdsl.load(QUICK), "highs", limits=mrdsl.Limits(**{field: -1.0}))
    told = document["diagnostics"]
    assert isinstance(told, list)
    assert code == 2
    assert [each["code"] for each in told] == [each.code for each in refused.value.diagnostics] == ["out-of-range"]


@pytest.mark.parametrize("failure", [MemoryError(), RecursionError(), OSError(28, "No space left", "there.json")])
def test_what_the_system_refuses_has_a_place(
    failure: Exception, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refusing(*arguments: object, **more: object) -> None:
        raise failure

    monkeypatch.setattr(sys, "argv", ["mrdsl", "solve", QUICK])
    monkeypatch.setattr(cli, "main", refusing)
    assert run(cli) == 3
    told = capsys.readouterr()
    assert "error[system-refuses]" in told.err + told.out
    assert ("there.json" if isinstance(failure, OSError) else "mrdsl solve") in told.err + told.out
