"""What a plan of several VM types means: where each class runs, and what else it could."""

from __future__ import annotations

from collections.abc import Iterator

from mrdsl.core.result import Table
from mrdsl.families.capacity.market import SPOT
from mrdsl.families.capacity.mix import Mix, mix_of
from mrdsl.families.capacity.mixture import Mixture
from mrdsl.families.capacity.plan import SHOWN, CapacityPlan
from mrdsl.spec.spec import Spec


def why_mix(spec: Spec, plan: CapacityPlan, mixture: Mixture) -> Iterator[Table | str]:
    """What a job of each class costs in every lane that it can run in, on VMs that are bought one by one."""
    mix = mix_of(spec)
    yield Table(
        f"What one job costs by where it runs [{spec.currency}]",
        ("class", *(_lane(mix, lane) for lane in range(len(mix.market.lanes))), "penalty"),
        [
            (name, *(_cost(mix, lane, index) for lane in range(len(mix.market.lanes))), float(mix.penalty[index]))
            for index, name in enumerate(mix.names[:SHOWN])
        ],
    )


def _lane(mix: Mix, lane: int) -> str:
    name = mix.market.names[mix.market.lanes[lane].vm]
    return f"{name} {SPOT}" if mix.market.lanes[lane].spot else name


def _cost(mix: Mix, lane: int, index: int) -> float | None:
    price = next(offer.price for offer in mix.market.offers if offer.lane == lane)
    return float(price * mix.gamma[lane, index]) if mix.possible[lane, index] else None
