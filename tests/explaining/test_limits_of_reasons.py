"""A limit of `why` holds for the solve and the reasons together; `export` takes one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import mrdsl
from mrdsl.cli import cli
from mrdsl.core.result import Limits, Termination
from mrdsl.explaining import sensitivity, why
from mrdsl.planning import solve_spec

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


def test_each_step_has_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    result = mrdsl.solve(mrdsl.load(QUICK))
    asked: list[float] = []

    def solved(spec: Any, solver: str, formulation: str | None, relax: bool, limits: Limits) -> Any:
        asked.append(limits.time or 0.0)
        return mrdsl.Result(Termination.TIME_LIMIT)

    monkeypatch.setattr(sensitivity, "time", Clock())
    monkeypatch.setattr(sensitivity, "solve", solved)
    steps = list(sensitivity.steps(result.spec, result, seconds=3.5))
    assert asked == [2.5, 1.5, 0.5]
    assert [step.effect for step in steps] == [None] * 3


def test_export_solves_within_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    real = solve_spec.solve

    def solved(spec: Any, solver: str, **more: Any) -> Any:
        asked.append(more)
        return real(spec, solver, **more)

    monkeypatch.setattr(solve_spec, "solve", solved)
    CliRunner().invoke(cli, ["export", QUICK, "spark", "--time-limit", "2 min", "-o", str(tmp_path)])
    assert asked == [{"limits": Limits(time=120.0)}]
