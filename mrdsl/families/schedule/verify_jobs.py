"""Jobs of a schedule spec, and the spot prices that there were, from the facts and the seed; for verification alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import ceil

from mrdsl.core.rounding import ROUNDING
from mrdsl.exchange.job_traces import SwimJob
from mrdsl.exchange.registry import JOBS, SPOT_PRICES, named
from mrdsl.exchange.spot_history import price_steps
from mrdsl.families.schedule.facts import Arrivals, JobClass, ScheduleFacts, Vm
from mrdsl.simulation.sampling import series, stream
from mrdsl.spec.schema import Distribution

MOST_PRICES = 1_000_000
"""So many drawn prices are looked at."""


@dataclass(frozen=True)
class Written:
    """One job: when it comes and is due [s], tasks and seconds of a task of each phase."""

    submit: float
    due: float
    maps: int
    map_time: float
    reduces: int
    reduce_time: float

    @property
    def shortest_end(self) -> float:
        """The end of the job if every task runs at once, (4.4) [s]."""
        return self.submit + self.map_time + (self.reduce_time if self.reduces else 0.0)

    @property
    def is_late(self) -> bool:
        """True if no schedule ends the job in time."""
        return self.shortest_end > self.due + ROUNDING * (1.0 + self.due - self.submit)


def jobs_of(facts: ScheduleFacts, seed: int) -> Iterator[Written]:
    """Read and draw all jobs, class by class."""
    if facts.arrivals is not None:
        yield from _from_file(facts.arrivals, seed)
    for kind in facts.classes:
        yield from _from_class(kind, facts.horizon or 0.0, seed)


def spot_prices(vm: Vm, seed: int, until: float) -> tuple[float, float] | None:
    """Find the lowest and the highest spot price up to a moment, per second; None without a market."""
    spot = vm.spot
    if spot is None:
        return None
    if spot.history is not None:
        records = SPOT_PRICES[0].read(spot.history.path, [])
        by_name = any(record.instance_type == vm.name for record in records)
        steps = price_steps(records, spot.zone, spot.instance_type or (vm.name if by_name else None), spot.product)
        return None if isinstance(steps, str) else (min(steps.prices), max(steps.prices))
    if not isinstance(spot.price, Distribution):
        return (spot.price, spot.price) if spot.price is not None else None
    count = min(int(until / spot.every) + 2, MOST_PRICES)
    drawn = list(islice(series(spot.price, stream(seed, "spot price")), count))
    return min(drawn), max(drawn)


def _from_file(facts: Arrivals, seed: int) -> Iterator[Written]:
    assert facts.source is not None
    reader = named(JOBS, facts.source.reader)
    assert reader is not None
    factors = series(facts.deadline_factor, stream(seed, "deadline", "arrivals"), low=0.0)
    for line in reader.read(facts.source.path, []):
        if facts.end is not None and line.submit >= facts.end:
            return
        if line.submit < facts.begin:
            continue
        came = line.submit - facts.begin
        if isinstance(line, SwimJob):
            yield _of_bytes(line, facts, came, next(factors))
            continue
        reducing = line.shuffle_time + line.reduce_time
        deadline = line.deadline
        if deadline is None:
            deadline = next(factors) * (line.map_time + (reducing if line.reduce_tasks else 0.0))
        yield Written(came, came + deadline, line.map_tasks, line.map_time, line.reduce_tasks, reducing)


def _of_bytes(line: SwimJob, facts: Arrivals, came: float, factor: float) -> Written:
    """Turn bytes into tasks, as few as hold them in blocks, which share them equally."""
    maps = max(ceil(line.input_bytes / (facts.block or 1.0)), 1)
    reading = line.input_bytes / (maps * (facts.map_speed or 1.0)) if line.input_bytes else 1.0
    reduces = ceil(line.shuffle_bytes / (facts.reduce_input or 1.0))
    per_byte = 1.0 / (facts.shuffle_speed or 1.0) + 1.0 / (facts.reduce_speed or 1.0)
    reducing = line.shuffle_bytes / reduces * per_byte + facts.task_overhead if reduces else 0.0
    map_time = reading + facts.task_overhead
    return Written(came, came + factor * (map_time + reducing), maps, map_time, reduces, reducing)


def _from_class(kind: JobClass, horizon: float, seed: int) -> Iterator[Written]:
    gaps = series(Distribution("exponential", (1.0 / kind.rate,)), stream(seed, "gaps", kind.name))
    factors = series(kind.deadline_factor, stream(seed, "deadline", kind.name), low=0.0)
    reduces = kind.reduce.tasks if kind.reduce is not None else 0
    shuffling = kind.shuffle.avg if kind.shuffle is not None else 0.0
    reducing = shuffling + kind.reduce.avg if kind.reduce is not None and reduces else 0.0
    came = next(gaps)
    while came < horizon:
        deadline = kind.deadline if kind.deadline is not None else next(factors) * (kind.map.avg + reducing)
        yield Written(came, came + deadline, kind.map.tasks, kind.map.avg, reduces, reducing)
        came += next(gaps)
