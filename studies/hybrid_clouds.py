"""Clouds of 20 VMs in many regimes: on a grid, and drawn anywhere between the ends of its axes.

A regime is a load, a number of queues, a mix of tasks, a delay, an acceptance and a kind of arrivals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, log, pi
from pathlib import Path

import numpy as np

from mrdsl.core.csv_text import exact_text
from mrdsl.core.writer import overwriting, write_text
from mrdsl.families.hybrid.facts import Bursts, Control, HybridFacts, Queue, Vm
from mrdsl.simulation.sampling import stream
from mrdsl.spec.schema import Distribution, Source
from mrdsl.spec.spec import Goal, Spec

VMS, DAY = 20, 200


@dataclass(frozen=True)
class Regime:
    """One point of the grid; the names of its fields are the axes."""

    load: float
    queues: int
    mix: str
    delay: str
    acceptance: float
    arrivals: str


AXES: dict[str, Sequence[object]] = {
    "load": (0.2, 0.6, 0.9, 1.1, 1.5, 2.0),
    "queues": (1, 2, 4),
    "mix": ("long dear", "long cheap", "rare dear"),
    "delay": ("l + 2", "4 l", "20 l"),
    "acceptance": (0.5, 0.8, 0.95, 1.0),
    "arrivals": ("smooth", "bursty", "daily"),
}
TASKS = {
    "long dear": ((6, 12.0, 1.0), (1, 1.0, 1.0)),
    "long cheap": ((6, 3.0, 1.0), (1, 4.0, 1.0)),
    "rare dear": ((6, 3.0, 1.0), (1, 10.0, 0.02)),
}
"""Size in slots, price outside, and part of the work: of long and of short tasks."""
BETWEEN: dict[str, Sequence[object]] = {
    "load": ("0.2 to 2",),
    "queues": (1, 2, 3, 4),
    "mix": ("1 to 8 slots", "0.3 to 10 outside for a slot of a task", "any shares of the work"),
    "delay": ("l + 2 to 20 l",),
    "acceptance": ("0.5 to 1", "in every fourth 1"),
    "arrivals": AXES["arrivals"],
}
"""What is drawn: numbers evenly, prices and delays evenly by their logarithm."""
ANY = "any"


def grid() -> tuple[Regime, ...]:
    """Every regime."""
    return tuple(Regime(*point) for point in product(*AXES.values()))  # type: ignore[arg-type]


def spec_of(regime: Regime, output: Path, horizon: int, seed: int) -> Spec:
    """A cloud in the regime; daily arrivals are drawn into a file in ``output``."""
    kinds = TASKS[regime.mix][: min(regime.queues, 2)]
    copies = max(1, regime.queues // 2)
    whole = copies * sum(part for _, _, part in kinds)
    queues = [
        _queue(f"q{size}_{copy}", size, price * (1.0 + 0.5 * copy), part / whole, _delay(regime, size), regime)
        for size, price, part in kinds
        for copy in range(copies)
    ]
    return _spec(queues, regime, output, horizon, seed)


def drawn_specs(count: int, output: Path, horizon: int, seed: int) -> Iterator[tuple[Regime, Spec]]:
    """Regimes anywhere between the ends of the axes, each queue with a size, price, share and delay of its own, and
    their specs; daily arrivals are drawn into one file in turn."""
    random = stream(seed, "drawn regimes")
    for number in range(count):
        regime = Regime(
            load=float(random.uniform(0.2, 2.0)),
            queues=int(random.randint(1, 5)),
            mix=ANY,
            delay=ANY,
            acceptance=float(random.uniform(0.5, 1.0)) if number % 4 else 1.0,
            arrivals=str(AXES["arrivals"][number % 3]),
        )
        queues = []
        for index, share in enumerate(random.dirichlet(np.ones(regime.queues)).tolist()):
            size = int(random.randint(1, 9))
            price, delay = size * _between(random, 0.3, 10.0), int(_between(random, size + 2, max(20 * size, size + 2)))
            queues.append(_queue(f"q{index}", size, price, share, delay, regime))
        yield regime, _spec(queues, regime, output, horizon, seed + number)


def _between(random: np.random.RandomState, low: float, high: float) -> float:
    return float(np.exp(random.uniform(log(low), log(high))))


def _delay(regime: Regime, size: int) -> int:
    return {"l + 2": size + 2, "4 l": max(4 * size, size + 2), "20 l": 20 * size}[regime.delay]


def _spec(queues: Sequence[Queue], regime: Regime, output: Path, horizon: int, seed: int) -> Spec:
    facts = HybridFacts(
        horizon=horizon,
        vms=(Vm(name="node", available=VMS, preemption_cost=0.1),),
        queues=tuple(queues),
        recorded=_daily(regime, queues, output, horizon, seed) if regime.arrivals == "daily" else None,
        control=Control(acceptance=regime.acceptance),
    )
    return Spec(problem="hybrid", facts=facts, goal=Goal("minimize", "cost"), seed=seed)


def _queue(name: str, size: int, price: float, share: float, delay: int, regime: Regime) -> Queue:
    mean = regime.load * VMS * share / size
    low, high = (0.4 * mean, 2.8 * mean) if regime.arrivals == "bursty" else (mean, mean)
    bursts = Bursts(on=10, off=30, arrivals=Distribution("poisson", (high,)))
    return Queue(
        name=name,
        vm="node",
        size=size,
        delay=delay,
        arrivals=Distribution("poisson", (low,)),
        arrivals_max=ceil(3 * high + 3),
        outsourcing=price,
        bursts=bursts if regime.arrivals == "bursty" else None,
    )


def _daily(regime: Regime, queues: Sequence[Queue], output: Path, horizon: int, seed: int) -> Source:
    slots = np.arange(horizon)
    columns = []
    for queue in queues:
        assert isinstance(queue.arrivals, Distribution)
        rates = queue.arrivals.parameters[0] * (1.0 + 0.9 * np.sin(2 * pi * slots / DAY))
        drawn = stream(seed, "daily", queue.name).poisson(rates)
        columns.append(np.minimum(drawn, queue.arrivals_max).tolist())
    path = output / "arrivals.csv"
    with overwriting(True):  # one table for all regimes in turn
        write_text(path, exact_text([queue.name for queue in queues], zip(*columns, strict=True)))
    return Source("table", str(path.resolve()), str(path))
