"""Limits on the command line: long ones, ones out of range, and what the system refused it."""

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


WHOLE = {
    ("solve", "--nodes"): ("nodes", -1),
    ("solve", "--threads"): ("threads", 0),
    ("solve", "--threads "): ("threads", 5000),
    ("solve", "--nodes "): ("nodes", 2**53 + 1),
}


@pytest.mark.parametrize(("command", "option"), WHOLE)
def test_a_whole_limit_out_of_range_is_said_as_python_says_it(
    command: str, option: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    field, value = WHOLE[command, option]
    code, document = answer(capsys, monkeypatch, command, QUICK, "--json", option.strip(), str(value))
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.solve(mrdsl.load(QUICK), "highs", limits=mrdsl.Limits(**{field: value}))
    (told,) = document["diagnostics"]  # type: ignore[misc]
    (said,) = refused.value.diagnostics
    assert code == 2
    assert (told["code"], told["hint"]) == (said.code, said.hint)
    assert told["message"].replace(option.strip(), "") == said.message.replace(field, "")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["solve", QUICK, "--seed", "-1"], "out-of-range", "at least 0"),
        (["simulate", QUICK, "--runs", "0"], "out-of-range", "at least 1"),
        (["simulate", QUICK, "--jobs", "1"], "out-of-range", "at least 2"),
        (["profile", ".", "--seed", "4294967296"], "out-of-range", "at most 4294967295"),
        (["sweep", QUICK, "-o", "x.csv", "-j", "0"], "out-of-range", "at least 1"),
        (["solve", QUICK, "--threads", "many"], "wrong-option", "`many` is not a whole number"),
        (["solve", QUICK, "--threads", "1.5"], "wrong-option", "`1.5` is not a whole number"),
        (["solve", QUICK, "--nodes", "9" * 5000], "wrong-option", "(5000 characters)"),
        (["solve", QUICK, "--time-limit", "x"], "wrong-option", "`--time-limit`: write `10` (seconds)"),
        (["solve", QUICK, "--bogus"], "wrong-option", "unknown option `--bogus`"),
        (["solve"], "wrong-option", "`solve` requires `FILE`"),
        (["no-such-command"], "wrong-option", "no-such-command"),
    ],
)
def test_the_command_lines_mistakes_are_told_as_all_others(
    arguments: list[str], code: str, words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["mrdsl", *arguments])
    assert run(cli) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"error[{code}]: ") or f"error[{code}]: " in told.split("\n")[0]
    assert words in told
    assert "Usage:" not in told
    assert len(told) < 800


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
