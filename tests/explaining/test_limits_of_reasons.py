"""A limit of `why` holds for the solve and the reasons together; every command that solves takes one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import mrdsl
from mrdsl.cli import cli
from mrdsl.core import watching
from mrdsl.core.result import Limits, Termination
from mrdsl.explaining import sensitivity, why
from mrdsl.planning import solve_spec
from mrdsl.solving import checked_answer, programs
from mrdsl.solving.programs import LEAST_TIME

QUICK = "models/capacity/quickstart.mrspec"


class Clock:
    """A clock that every look at it moves by a second."""

    now = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


def test_reasons_have_what_the_solve_leaves_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(why, "time", Clock())
    monkeypatch.setattr(why, "_explained", lambda result, method, left, worth: asked.append(left))
    for limit in (5.0, 0.5, None):
        why.why(mrdsl.load(QUICK), "auto", None, False, Limits(time=limit), True)
    assert asked == [4.0, 0.0, why.PATIENCE]


def test_steps_end_with_the_shared_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock takes a second, and there is one for each step."""
    result = mrdsl.solve(mrdsl.load(QUICK))
    monkeypatch.setattr(watching, "time", Clock())
    monkeypatch.setattr(sensitivity, "solve", lambda *_: mrdsl.Result(Termination.TIME_LIMIT))
    with watching.sharing(3.5):
        steps = list(sensitivity.steps(result.spec, result))
    assert [step.effect for step in steps] == [None] * 3


def test_a_solve_has_what_is_left_of_the_shared_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float | None] = []
    real = solve_spec.choose

    def choose(spec: Any, family: Any, solver: Any, formulation: Any, relax: bool, limits: Limits) -> Any:
        asked.append(limits.time)
        return real(spec, family, solver, formulation, relax, limits)

    monkeypatch.setattr(solve_spec, "choose", choose)
    spec = mrdsl.load(QUICK)
    with watching.sharing(1000.0):
        for own in (None, 50.0, 5000.0):
            solve_spec.solve(spec, limits=Limits(time=own))
    assert asked[0] is not None
    assert 900.0 < asked[0] <= 1000.0
    assert asked[1] == 50.0
    assert asked[2] is not None
    assert asked[2] <= 1000.0


@pytest.mark.parametrize("measured", [0, 1, None])
def test_constraints_without_a_measured_step_are_named(measured: int | None) -> None:
    result = mrdsl.solve(mrdsl.load(QUICK))
    steps = tuple(sensitivity.steps(result.spec, result))[:measured]
    every = {step.line.label for step in sensitivity.steps(result.spec, result)}
    known = every if measured is None else set()
    said = [part for part in sensitivity.effects(result.spec, result, steps, "--more") if isinstance(part, str)]
    assert bool([one for one in said if one.startswith("Time ran out")]) is (known != every)
    assert all(any(name in one for one in said) for name in every - known)
    assert not any("No constraint affects" in one for one in said) or known == every


@pytest.mark.parametrize("termination", [Termination.COMPLETED, Termination.TIME_LIMIT])
def test_a_step_without_an_answer_is_not_said_to_lack_time(
    termination: Termination, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = mrdsl.solve(mrdsl.load(QUICK))
    monkeypatch.setattr(sensitivity, "solve", lambda *_: mrdsl.Result(termination))
    steps = tuple(sensitivity.steps(result.spec, result))
    (said,) = (one for one in sensitivity.effects(result.spec, result, steps, "--more") if isinstance(one, str))
    assert said.endswith("Raise `--more`.") is (termination is Termination.TIME_LIMIT)
    assert all(step.line.label in said for step in steps if step.possible)


@pytest.mark.parametrize(
    ("spec", "most"), [("energy/reference", 4), ("capacity/stages", 3), ("capacity/quickstart", 3)]
)
@pytest.mark.parametrize("limit", [6.0, 2.0, None])
def test_what_a_family_solves_for_its_reasons_shares_the_limit(
    spec: str, most: int, limit: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every look at the clock takes a second; a solve before that had 20 s of its own, or no limit."""
    asked: list[float | None] = []
    real = checked_answer._solve_linear

    def solved(solver: Any, program: Any, names: Any, limits: Limits, *more: Any) -> Any:
        asked.append(limits.time)
        return real(solver, program, names, Limits(gap=limits.gap, nodes=limits.nodes), *more)

    result = mrdsl.solve(mrdsl.load(f"models/{spec}.mrspec"))
    monkeypatch.setattr(checked_answer, "_solve_linear", solved)
    monkeypatch.setattr(watching, "time", Clock())
    why.why(result, "auto", None, False, Limits(time=limit), False)
    if limit is None:
        assert asked
        assert all(each is not None and each <= why.PATIENCE for each in asked)
    else:
        assert all(each is not None and LEAST_TIME <= each < limit for each in asked)
        assert len(asked) <= min(most, limit)


def test_a_solve_takes_the_less_of_its_own_time_and_the_shared_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "time", Clock())
    with watching.sharing(3.0), watching.sharing(None):
        taken = [programs.of_one_solve(Limits(time=own)).time for own in (1.5, None, 7.0, None)]
    assert taken == [1.5, 1.0, LEAST_TIME, LEAST_TIME]
    assert programs.of_one_solve(Limits()).time is None


@pytest.mark.parametrize(
    "command",
    [
        ["export", QUICK, "spark", "-o", "{folder}"],
        ["simulate", QUICK, "--runs", "1", "--jobs", "2"],
        ["compare", QUICK, "models/capacity/reference.mrspec"],
        ["diff", QUICK, QUICK],
        ["report", QUICK, "--analysis-time", "0", "-o", "{folder}/report.md"],
        ["why", QUICK],
        ["solve", QUICK],
    ],
    ids=lambda command: command[0],
)
def test_every_command_that_solves_does_so_within_its_limit(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float | None] = []
    real = solve_spec.require_options

    def required(known: Any, given: Any, prefix: str) -> None:
        asked.append(given["time"])
        real(known, given, prefix)

    monkeypatch.setattr(solve_spec, "require_options", required)
    words = [word.format(folder=tmp_path) for word in command]
    CliRunner().invoke(cli, [*words, "--time-limit", "2 min"])
    assert asked[:1] == [120.0]
    if command[0] in ("compare", "diff"):
        assert asked == [120.0, 120.0]
