"""Long runs of a hybrid cloud end at the time limit and at a stop, without a plan: part of a run is not one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from threading import Event

import pytest

import mrdsl
from mrdsl.contracts.pipeline import PIECES, Draft, last_draft
from mrdsl.core.result import Limits, Termination
from mrdsl.core.watching import stopped_by
from mrdsl.families.hybrid.methods.bookings import always_outsource, never_outsource, threshold
from mrdsl.families.hybrid.methods.calendar import calendar
from mrdsl.families.hybrid.methods.controller import control

TEXT = """problem hybrid "Long"
seed = 11
horizon = {slots} slots
vm small {{ available = 40, preemption_cost = 0.4 USD }}
vm large {{ available = 13, preemption_cost = 1.0 USD }}
queue a {{
  vm = small, size = 1 slots, delay = 12 slots, arrivals = poisson(22), arrivals_max = 44, outsourcing = 3 USD
}}
queue b {{
  vm = large, size = 3 slots, delay = 30 slots, arrivals = poisson(5), arrivals_max = 18, outsourcing = 14 USD
}}
control {{ V = 2, preemption_weight = 1.0, acceptance = 95%, outsource_limit = 40 }}
minimize cost
"""
METHODS = [control, calendar, always_outsource, never_outsource, threshold]


def ran(method: Callable[[Draft], Draft], slots: int, seconds: float | None) -> tuple[Draft, int]:
    """The last draft of a method whose clock goes on by a second a look, and how often it was looked at."""
    looks = count()
    spec = mrdsl.loads(TEXT.format(slots=slots))
    draft = Draft(spec, seed=11, limits=Limits(time=seconds), clock=lambda: float(next(looks)))
    return last_draft([(method, {})], draft), next(looks)


@pytest.mark.parametrize("method", METHODS)
def test_a_run_ends_at_the_time_limit_without_a_plan(method: Callable[[Draft], Draft]) -> None:
    draft, looks = ran(method, 10 * PIECES, 2.0)
    assert (draft.termination, draft.plan) == (Termination.TIME_LIMIT, None)
    assert looks <= 5


@pytest.mark.parametrize("method", METHODS)
def test_a_limit_that_is_not_reached_changes_nothing(method: Callable[[Draft], Draft]) -> None:
    limited, free = ran(method, 3 * PIECES, 1e9)[0], ran(method, 3 * PIECES, None)[0]
    assert limited.termination is free.termination is Termination.COMPLETED
    assert limited.plan == free.plan is not None
    assert (limited.value, limited.bound) == (free.value, free.bound)


class After(Event):
    """An event that is set once it was looked at so many times."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks = looks

    def is_set(self) -> bool:
        self.looks -= 1
        return self.looks < 0


@pytest.mark.parametrize("method", METHODS)
def test_a_stop_ends_a_run(method: Callable[[Draft], Draft]) -> None:
    with stopped_by(After(2)), pytest.raises(KeyboardInterrupt):
        ran(method, 10 * PIECES, None)
