"""A timetable that is stopped, at any moment: it ends at once, with a plan that is one and a bound that holds."""

from __future__ import annotations

import signal
from math import inf

import pytest

import mrdsl
from mrdsl.core import watching
from mrdsl.core.result import Limits, SolutionStatus, Termination
from mrdsl.explaining.report import report
from mrdsl.explaining.sensitivity import How
from mrdsl.families.timetable import slots
from mrdsl.planning.solve_spec import solve
from mrdsl.solving.processes import kept
from tests.shared_data import shared

TYPES = "vm a { on_demand { price = 0.6 USD/h }, boot = 1 min }"
TWO_TYPES = f"{TYPES}\nvm b {{ on_demand {{ price = 1 USD/h }}, boot = 2 min, available = 3 }}"
CLASSES = """
class x { stage s { tasks = 4, avg = 1 min, max = 1 min }, slots { task = 2 }, runs = [0 s, 3 min, 5 min],
  deadline = 9 min }
class y { stage s { tasks = 3, avg = 2 min, max = 2 min }, stage t { tasks = 2, avg = 1 min, max = 1 min, after = [s] },
  slots { task = 2 }, runs = [1 min, 2 min], deadline = 12 min%s }
minimize cost
"""
NIGHTS = {
    "cheapest": ("rent = cheapest", TYPES, ""),
    "elastic": ("rent = elastic", TYPES, ""),
    "constant": ("rent = constant", TYPES, ", penalty = 0.01 USD"),
    "per_job": ("rent = per_job", TWO_TYPES, ""),
    "two types": ("rent = cheapest", TWO_TYPES, ", penalty = 5 USD"),
}
LOOKS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 3000, 10_000)
MOST = 40
"""Looks at the clock after the time has passed: one for each step that ends early."""


def night(name: str) -> mrdsl.Spec:
    rent, types, penalty = NIGHTS[name]
    return mrdsl.loads(f'problem timetable "n"\n{rent}\n{types}{CLASSES % penalty}')


class Clock:
    """Shared time that passes at a look."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: float) -> None:
        self.at, self.looks = at, 0
        monkeypatch.setattr(watching, "shared_time", self)

    def __call__(self, own: float | None = None) -> float | None:
        self.looks += 1
        return 0.0 if self.looks > self.at else own


@pytest.mark.parametrize("name", NIGHTS)
def test_a_night_ends_whenever_its_time_has_passed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = night(name)
    whole = solve(spec)
    assert whole.value is not None
    plans = 0
    for at in LOOKS:
        clock = Clock(monkeypatch, at)
        found = solve(spec)
        assert clock.looks <= at + MOST
        assert found.bound is None or found.bound <= whole.value * (1 + 1e-9)
        if found.plan is None:
            assert found.termination is Termination.TIME_LIMIT
            continue
        plans += 1
        assert found.value is not None
        assert found.value >= whole.value * (1 - 1e-9) or whole.solution is not SolutionStatus.OPTIMAL
        assert found.termination in (Termination.TIME_LIMIT, Termination.OPTIMAL, Termination.COMPLETED)
        monkeypatch.undo()
    assert plans >= len(LOOKS) // 2


def test_the_case_without_a_clock_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = mrdsl.load(shared("cases/timetable_without_clock.mrspec"))
    clock = Clock(monkeypatch, 2000)
    found = solve(spec)
    assert found.termination is Termination.TIME_LIMIT
    assert found.plan is not None
    assert clock.looks <= 2000 + MOST


@pytest.mark.parametrize("name", NIGHTS)
def test_a_ctrl_c_keeps_the_best_plan(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first Ctrl-C stops the search; the plan of that moment is the result."""
    spec, clock = night(name), Clock(monkeypatch, inf)

    def interrupting(own: float | None = None) -> float | None:
        clock.looks += 1
        if clock.looks == 150:
            signal.raise_signal(signal.SIGINT)
        return own

    monkeypatch.setattr(watching, "shared_time", interrupting)
    before = signal.getsignal(signal.SIGINT)
    with kept():
        found = solve(spec)
    assert clock.looks <= 150 + MOST
    assert found.plan is not None
    assert found.termination in (Termination.INTERRUPTED, Termination.OPTIMAL)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_ctrl_c_outside_of_the_command_is_an_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupting(own: float | None = None) -> float | None:
        signal.raise_signal(signal.SIGINT)
        return own

    monkeypatch.setattr(watching, "shared_time", interrupting)
    with pytest.raises(KeyboardInterrupt):
        solve(night("elastic"))


def test_a_report_without_time_plans_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = night("elastic")
    result = solve(spec)
    placed = []
    monkeypatch.setattr(slots.Slots, "insert", lambda *_: placed.append(1) or [(0, 1)])
    page, _ = report(spec, How(seconds=0.0), "mrdsl report", plan=result)
    assert not placed
    (why,) = [section for section in page.sections if section.title == "Why"]
    assert [getattr(part, "title", "") for part in why.parts] == ["Runs with the least slack"]


def test_a_limit_is_one_for_all_work_within(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching.time, "monotonic", lambda: 100.0)
    with watching.sharing(5.0):
        with watching.sharing(9.0):
            assert watching.shared_time() == 5.0
            assert watching.shared_time(2.0) == 2.0
        with watching.sharing(None):
            assert watching.shared_time() == 5.0
        with watching.sharing(0.0), pytest.raises(watching.LateError):
            watching.look()
        assert list(watching.until_late([1, 2])) == [1, 2]
    assert solve(night("elastic"), limits=Limits(time=1000.0)).plan is not None
