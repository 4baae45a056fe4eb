"""No plan with a NaN or an infinity is returned, whoever made it; where NaN means "none", the plan's field says so."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, nan
from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.core.finiteness import finite, unfinite
from mrdsl.core.result import Plan, Result, SolutionStatus, Termination, lacking
from tests.spec.test_validation import RIGHT


@dataclass(frozen=True)
class Inner:
    cost: float = 1.0


@dataclass(frozen=True, eq=False)
class Planned(Plan):
    cost: float = 1.0
    times: Any = field(default_factory=lambda: np.ones(3))
    inner: Inner = field(default_factory=Inner)
    by_name: Any = field(default_factory=dict)
    deadline: Any = field(default=1.0, metadata=lacking("there is none"))


@pytest.mark.parametrize(
    ("plan", "path"),
    [
        (Planned(), ""),
        (Planned(cost=nan), "cost"),
        (Planned(cost=-inf), "cost"),
        (Planned(times=np.array([1.0, inf])), "times[1]"),
        (Planned(times=np.array([[1.0, nan]])), "times[0, 1]"),
        (Planned(inner=Inner(nan)), "inner.cost"),
        (Planned(times=["a", 1, True]), ""),
        (Planned(times=["a", 1, nan]), "times[2]"),
        (Planned(by_name={"a": (1.0, nan)}), "by_name['a'][1]"),
        (Planned(deadline=nan), ""),
        (Planned(deadline=np.array([nan, 1.0])), ""),
        (Planned(deadline=np.array([inf, 1.0])), "deadline[0]"),
    ],
)
def test_what_is_no_number_is_found(plan: Plan, path: str) -> None:
    assert unfinite(plan) == path


def test_an_outcome_without_numbers_is_an_error() -> None:
    told = finite(Result(Termination.OPTIMAL, SolutionStatus.OPTIMAL, Planned(cost=nan), 1.0, 1.0))
    assert (told.termination, told.plan, told.value) == (Termination.ERROR, None, None)
    assert [d.code for d in told.diagnostics] == ["broken-plan"]
    assert finite(Result(Termination.OPTIMAL, SolutionStatus.OPTIMAL, Planned(), nan)).plan is None
    assert finite(Result(Termination.OPTIMAL, SolutionStatus.OPTIMAL, Planned(), 1.0, -inf)).bound is None


def test_a_solver_that_answers_nan_gives_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    from mrdsl.planning import solve_spec as run

    broken = Result(Termination.OPTIMAL, SolutionStatus.OPTIMAL, Planned(times=np.array([nan])), 1.0, 1.0)
    monkeypatch.setattr(run._Run, "_in_arrays", lambda *_: broken)  # P2 goes to HiGHS without Pyomo
    result = mrdsl.solve(RIGHT, "highs")
    assert (result.plan, result.termination) == (None, Termination.ERROR)
