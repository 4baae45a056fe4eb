"""A linear program in arrays has an optimum, none proven, or an end that is neither."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from mrdsl.core.answer import Reply
from mrdsl.core.program_rows import ProgramRows
from mrdsl.core.result import Limits, Termination
from mrdsl.solving.backends import highs
from mrdsl.solving.declaration import Worker
from mrdsl.solving.programs import Optimum, UnsolvedError, in_worker, optima, optimum
from mrdsl.solving.request import Request


def small(at_least: float) -> ProgramRows:
    """``min 2 x + 3 y`` with ``x + y >= at_least``, ``x <= 4``, ``y <= 5``: x is the cheaper, up to 4."""
    rows = ProgramRows()
    x, y = rows.column(2.0, 4.0), rows.column(3.0, 5.0)
    rows.at_most({x: -1.0, y: -1.0}, -at_least)
    return rows


def test_the_optimum_by_hand() -> None:
    found = optimum(small(6.0).program(), Limits())
    assert found is not None
    assert found.value == pytest.approx(14.0)
    assert found.values == pytest.approx([4.0, 2.0])


def test_only_what_is_proven_is_infeasible() -> None:
    assert optimum(small(9.5).program(), Limits()) is None
    rows = ProgramRows()
    rows.column(-1.0)
    with pytest.raises(UnsolvedError, match="unbounded"):
        optimum(rows.program(), Limits())


@pytest.mark.parametrize(
    "reply",
    [
        Reply(Termination.ERROR, message="numerical trouble"),
        Reply(Termination.TIME_LIMIT),
        Reply(Termination.TIME_LIMIT, np.array([4.0, 5.0]), 23.0),
        Reply(Termination.OPTIMAL, np.array([0.0, 0.0]), 0.0),
    ],
)
def test_every_other_end_is_neither(reply: Reply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highs, "solve", lambda request, report: reply)
    with pytest.raises(UnsolvedError):
        optimum(small(6.0).program(), Limits())


def test_a_crash_of_the_solver_is_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(request: Any, report: Any) -> Reply:
        os.abort()

    monkeypatch.setattr(highs, "solve", crash)
    with pytest.raises(UnsolvedError, match="SIGABRT"):
        optimum(small(6.0).program(), Limits())


def test_programs_asked_together_end_as_each_by_itself() -> None:
    """One that is infeasible, one unbounded and one without columns among those with an optimum by hand."""
    unbounded = ProgramRows()
    unbounded.column(-1.0)
    asked = [small(6.0), small(9.5), unbounded, ProgramRows(), small(3.0)]
    first, infeasible, endless, empty, last = optima([rows.program() for rows in asked], Limits(threads=1))
    assert [one.value for one in (first, empty, last) if isinstance(one, Optimum)] == pytest.approx([14.0, 0.0, 6.0])
    assert infeasible is None
    assert isinstance(endless, UnsolvedError)
    assert optima([], Limits()) == []


def test_what_a_crash_leaves_unanswered_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mrdsl.solving.programs.in_worker", crash_beside)
    first, second = optima([small(6.0).program(), small(3.0).program()], Limits())
    assert [one.value for one in (first, second) if isinstance(one, Optimum)] == pytest.approx([14.0, 6.0])


def crash_beside(worker: Worker, request: Request, limits: Limits) -> Reply:
    return Reply(Termination.ERROR, message="gone") if request.beside else in_worker(worker, request, limits)
