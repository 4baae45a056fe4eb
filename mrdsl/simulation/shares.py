"""Fair shares of slots: by weight, never more than what one can use, at least its minimum.

Preemption kills tasks of those above their share for those below it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class Claim:
    """What one party asks: its weight, its guaranteed slots, and how many it could use."""

    weight: float
    minimum: float
    demand: float


def fair_shares(claims: Mapping[int, Claim], slots: float) -> dict[int, float]:
    """Weighted max-min shares within demands; minima first where they fit."""
    shares = {key: min(claim.minimum, claim.demand) for key, claim in claims.items()}
    if sum(shares.values()) > slots:
        return shares
    open_keys = [key for key, claim in claims.items() if claim.demand > 0.0]
    settled: dict[int, float] = {}
    left = float(slots)
    while open_keys:
        level = left / sum(claims[key].weight for key in open_keys)
        fixed = {}
        for key in open_keys:
            wanted = level * claims[key].weight
            if claims[key].demand <= wanted:
                fixed[key] = float(claims[key].demand)
            elif shares[key] > wanted:
                fixed[key] = shares[key]
        if not fixed:
            settled |= {key: level * claims[key].weight for key in open_keys}
            break
        settled |= fixed
        left -= sum(fixed.values())
        open_keys = [key for key in open_keys if key not in fixed]
        left = max(left, 0.0)
    return {key: settled.get(key, 0.0) for key in claims}
