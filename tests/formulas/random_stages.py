"""Random DAGs of stages, and what they come to by brute force."""

from __future__ import annotations

from itertools import combinations
from math import inf

import numpy as np

from mrdsl.spec.stages import Stage


def random_stages(rng: np.random.Generator, most: int = 8) -> tuple[Stage, ...]:
    """A DAG: each stage comes after some of those before it."""
    count = int(rng.integers(1, most + 1))
    density = rng.uniform(0.0, 0.8)
    stages = []
    for number in range(count):
        avg = float(rng.uniform(1.0, 30.0))
        after = tuple(f"s{other}" for other in range(number) if rng.uniform() < density)
        stages.append(
            Stage(
                name=f"s{number}",
                tasks=int(rng.integers(1, 40)),
                avg=avg,
                max=avg * float(rng.uniform(1.0, 3.0)),
                after=after,
            )
        )
    return tuple(stages)


def before(stages: tuple[Stage, ...]) -> list[set[int]]:
    """For each stage all that must have ended before it, by brute force."""
    numbers = {stage.name: number for number, stage in enumerate(stages)}
    found: list[set[int]] = []
    for stage in stages:
        own = {numbers[name] for name in stage.after}
        found.append(own.union(*(found[other] for other in own)))
    return found


def numbers(stages: tuple[Stage, ...]) -> tuple[float, float, float, int]:
    """Work, longest path of averages and of longest tasks, and width of a DAG, by enumeration of its subsets."""
    ancestors = before(stages)
    subsets = [chosen for size in range(1, len(stages) + 1) for chosen in combinations(range(len(stages)), size)]
    pairs = {(i, j): i in ancestors[j] or j in ancestors[i] for i, j in combinations(range(len(stages)), 2)}
    chains = [chosen for chosen in subsets if all(pairs[pair] for pair in combinations(chosen, 2))]
    apart = [chosen for chosen in subsets if not any(pairs[pair] for pair in combinations(chosen, 2))]
    return (
        sum(stage.tasks * stage.avg for stage in stages),
        max(sum(stages[i].avg for i in chain) for chain in chains),
        max(sum(stages[i].max for i in chain) for chain in chains),
        max(sum(stages[i].tasks for i in chosen) for chosen in apart),
    )


def estimate(stages: tuple[Stage, ...], guarantee: str) -> tuple[float, float]:
    """A and C of A / k + C, from the numbers by enumeration: W; W - 2 P and 2 P, or W where W <= 2 P; halfway."""
    work, _, path, _ = numbers(stages)
    high = (work - 2.0 * path if work > 2.0 * path else work), 2.0 * path
    return {"lower": (work, 0.0), "upper": high, "average": ((work + high[0]) / 2.0, path)}[guarantee]


def least_slots(stages: tuple[Stage, ...], guarantee: str, deadline: float) -> float:
    """The least slots of one job, at least one and at most its width, that keep a deadline; infinite where none do."""
    _, path_avg, _, width = numbers(stages)
    work, constant = estimate(stages, guarantee)
    if (guarantee == "lower" and path_avg > deadline * (1 + 1e-9)) or constant >= deadline:
        return inf
    slots = max(1.0, work / (deadline - constant))
    return slots if slots <= width * (1 + 1e-9) else inf
