"""Methods end when their time is over, whatever sets of VMs, orders or shares of the deadline are left to try."""

from __future__ import annotations

from itertools import count

import pytest

import mrdsl
from mrdsl.contracts.pipeline import Draft, last_draft
from mrdsl.core.result import Limits, Termination
from mrdsl.families.energy.cluster import jobs_of, machines_of
from mrdsl.families.energy.methods import exact, moves, steps
from mrdsl.solving.pipelines import steps_of
from mrdsl.solving.registry import find


@pytest.mark.parametrize("name", ["adjlist-large", "reference"])
def test_no_plan_is_made_after_the_end_once_there_is_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = mrdsl.load(f"models/energy/{name}.mrspec").facts
    made = []
    real = exact._Plans._made
    monkeypatch.setattr(exact._Plans, "_made", lambda plans, vms: made.append(vms) or real(plans, vms))
    whole = exact.shortest_start(machines_of(facts), jobs_of(facts)[0])
    needed = len(made)
    made.clear()
    hurried = exact.shortest_start(machines_of(facts), jobs_of(facts)[0], until=0.0)
    assert whole is not None
    assert hurried is not None
    assert hurried.share is not None
    assert len(made) < needed
    # Both are plans, and the bound does not hang on the time.
    assert hurried.bound == whole.bound <= whole.uptime <= hurried.uptime


@pytest.mark.parametrize("limit", [0, 5, 20])
@pytest.mark.parametrize(
    ("method", "module", "loop", "each"), [("mvps", steps, "_fill", 1), ("dsps", moves, "_move", 10)]
)
def test_no_attempt_is_made_after_the_end(
    method: str, module: object, loop: str, each: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every look at the clock takes a second; one attempt of each job goes through all steps."""
    made: list[int] = []
    real = getattr(module, loop)
    monkeypatch.setattr(module, loop, lambda *values: made.append(1) or real(*values))
    ticks = count(1)
    spec = mrdsl.load("models/energy/invind-large.mrspec")
    hurried = Draft(spec, limits=Limits(time=limit), started=0.0, clock=lambda: float(next(ticks)))
    called = steps_of(find(method), "energy", {})
    draft = last_draft(called, hurried)
    tried = len(made)
    assert draft.termination is Termination.TIME_LIMIT
    assert draft.plan is not None
    assert 0 < tried <= each * (limit + 1)
    made.clear()
    whole = last_draft(called, Draft(spec))
    assert (whole.termination, tried < len(made)) == (Termination.COMPLETED, True)
    assert whole.value is not None
    assert draft.value is not None
    assert whole.value <= draft.value
