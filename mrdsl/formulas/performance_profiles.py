"""Performance profiles: E. D. Dolan and J. J. Moré, Benchmarking optimization software with performance profiles,
Mathematical Programming 91 (2002), 201-213, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

Measures = Mapping[str, Sequence[float | None]]
"""By method, its measure on every instance, the less the better; None where it did not solve it."""


def performance_ratios(measures: Measures) -> dict[str, tuple[float, ...]]:
    """``r_ps = t_ps / min over s of t_ps``, by method; infinite where a method did not solve an instance.

    The paper's bound ``r_M`` on all ratios, which unsolved instances have there, is infinity here. Measures are at
    least 0; where the best is 0, that is ratio 1, and everything else infinitely far from it. Raises ValueError for a
    measure below 0, of which there are no ratios, and where methods have different numbers of instances.
    """
    columns = list(zip(*measures.values(), strict=True))
    best = [min((value for value in column if value is not None), default=None) for column in columns]
    if any(value is not None and not value >= 0.0 for column in columns for value in column):
        raise ValueError("a measure is below 0, or no number")
    return {
        method: tuple(_ratio(value, least) for value, least in zip(values, best, strict=True))
        for method, values in measures.items()
    }


def _ratio(value: float | None, best: float | None) -> float:
    if value is None or best is None:
        return inf
    if value == best:
        return 1.0
    return value / best if best > 0.0 else inf


def share_within(ratios: Sequence[float], factor: float) -> float:
    """``rho_s(tau)``: the part of all instances on which a method's ratio is at most ``factor``; 0 of no instances."""
    return sum(ratio <= factor for ratio in ratios) / len(ratios) if ratios else 0.0


def steps(ratios: Sequence[float]) -> list[tuple[float, float]]:
    """The profile as its steps: each factor from 1 on at which the share grows, with the share from there on."""
    found = sorted({1.0, *(ratio for ratio in ratios if ratio < inf)})
    return [(factor, share_within(ratios, factor)) for factor in found]
