"""Specs of the schedule family as an embedding program builds them; the reference one stands in models/schedule."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from mrdsl.families.schedule.facts import Arrivals, Billing, Policy, ScheduleFacts, Spot, Vm
from mrdsl.simulation.fleet import Job
from mrdsl.spec.blocks import MapReduceSlots, OnDemand
from mrdsl.spec.schema import Distribution, Source
from mrdsl.spec.spec import Spec

ROOT = Path(__file__).resolve().parents[3]
JOBS = ROOT / "models" / "schedule" / "jobs.tsv"
HOUR = 3600.0
MIXTURE = Distribution(
    "mixture", ((0.70, 0.25, 0.05), (0.012 / HOUR, 0.03 / HOUR, 0.40 / HOUR), (0.002 / HOUR, 0.01 / HOUR, 0.20 / HOUR))
)


def swim(path: Path = JOBS, **items: Any) -> Arrivals:
    given = {"block": 64e6, "map_speed": 4e6, "shuffle_speed": 6e6, "reduce_speed": 5e6, "reduce_input": 256e6} | items
    return Arrivals(source=Source("swim", str(path), path.name), **given)


def vm(
    map_slots: int = 1,
    reduce_slots: int = 1,
    spot: Spot | None = None,
    billing: float = HOUR,
    broken_period: str = "free",
    **items: Any,
) -> Vm:
    return Vm(
        name="m3.medium",
        slots=MapReduceSlots(map=map_slots, reduce=reduce_slots),
        billing=Billing(period=billing, broken_period=broken_period),
        on_demand=OnDemand(price=0.07 / HOUR),
        spot=spot or Spot(price=MIXTURE, every=300.0),
        **items,
    )


def spec(arrivals: Arrivals | None = None, machine: Vm | None = None, seed: int = 7, **policy: Any) -> Spec:
    chosen = Policy(**({"algorithm": "mdasa", "instances": "hybrid"} | policy))
    facts = ScheduleFacts(vms=(machine or vm(),), arrivals=arrivals or swim(), policy=chosen)
    return Spec(problem="schedule", facts=facts, seed=seed)


def with_policy(one: Spec, **items: Any) -> Spec:
    return replace(one, facts=replace(one.facts, policy=replace(one.facts.policy, **items)))


def work(jobs: list[Job]) -> float:
    return sum(job.work for job in jobs)
