"""MSPAN ends with its best plan when its time is over, whatever sets of VMs are left to try."""

from __future__ import annotations

import pytest

import mrdsl
from mrdsl.families.energy.cluster import jobs_of, machines_of
from mrdsl.families.energy.methods import exact


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
