"""Arrivals of jobs, and spot prices: drawn, or read from files."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from typing import TYPE_CHECKING

from mrdsl.core.diagnostics import Diagnostic, MrdslError, error, has_errors
from mrdsl.exchange.job_traces import SwimJob, tasks_of_trace_job
from mrdsl.exchange.registry import JOBS, SPOT_PRICES, named
from mrdsl.exchange.spot_history import PriceSteps, gaps, price_steps
from mrdsl.exchange.text import FormatError
from mrdsl.families.schedule.facts import Arrivals, JobClass, ScheduleFacts, Vm
from mrdsl.simulation.fleet import Job, MachineType
from mrdsl.spec.schema import Distribution, Source

if TYPE_CHECKING:
    from mrdsl.exchange.job_traces import TableJob
    from mrdsl.simulation.sampling import PriceProcess


def jobs(facts: ScheduleFacts, seed: int) -> Iterator[Job]:
    """Yield all jobs by submit time, deadlines drawn from the seed; the same sequence on every machine."""
    streams = [_from_class(each, facts.horizon or 0.0, seed) for each in facts.classes]
    if facts.arrivals is not None:
        streams.append(_from_file(facts.arrivals, seed))
    return streams[0] if len(streams) == 1 else merge(*streams, key=lambda job: job.submit)


def shortest(map_time: float, shuffle_time: float, reduce_time: float) -> float:
    """T_min (4.4): one map wave and one reduce wave."""
    return map_time + shuffle_time + reduce_time


def lines(source: Source, mistakes: list[Diagnostic]) -> Iterator[SwimJob] | Iterator[TableJob]:
    """Yield the jobs of a file in its order; add errors of broken lines to ``mistakes``. Raises FormatError."""
    reader = named(JOBS, source.reader)
    assert reader is not None, source.reader
    return reader.read(source.path, mistakes)


def _from_file(facts: Arrivals, seed: int) -> Iterator[Job]:
    assert facts.source is not None
    factors = _factors(facts.deadline_factor, seed, "arrivals")
    for line in lines(facts.source, []):
        if facts.end is not None and line.submit >= facts.end:
            return
        if line.submit >= facts.begin:
            if isinstance(line, SwimJob):
                yield _trace_job(line, facts, factors)
            else:
                yield _table_job(line, facts, factors)


def _trace_job(line: SwimJob, facts: Arrivals, factors: Iterator[float]) -> Job:
    maps, map_time, reduces, shuffle, reduce = tasks_of_trace_job(line, facts)
    submit = line.submit - facts.begin
    due = submit + next(factors) * shortest(map_time, shuffle, reduce)
    return Job(line.name, submit, due, maps, map_time, reduces, shuffle, reduce)


def _table_job(row: TableJob, facts: Arrivals, factors: Iterator[float]) -> Job:
    submit = row.submit - facts.begin
    least = shortest(row.map_time, row.shuffle_time, row.reduce_time) if row.reduce_tasks else row.map_time
    deadline = row.deadline if row.deadline is not None else next(factors) * least
    return Job(
        row.name,
        submit,
        submit + deadline,
        row.map_tasks,
        row.map_time,
        row.reduce_tasks,
        row.shuffle_time,
        row.reduce_time,
    )


def class_times(facts: JobClass) -> tuple[int, float, int, float, float]:
    """As :func:`tasks_of_trace_job`, of a job of a class: average times."""
    reduces = facts.reduce.tasks if facts.reduce else 0
    if facts.reduce is None or reduces == 0:
        return facts.map.tasks, facts.map.avg, 0, 0.0, 0.0
    shuffle = facts.shuffle.avg if facts.shuffle else 0.0
    return facts.map.tasks, facts.map.avg, reduces, shuffle, facts.reduce.avg


def _from_class(facts: JobClass, horizon: float, seed: int) -> Iterator[Job]:
    from mrdsl.simulation.sampling import series, stream

    gaps = series(Distribution("exponential", (1.0 / facts.rate,)), stream(seed, "gaps", facts.name))
    factors = _factors(facts.deadline_factor, seed, facts.name)
    maps, map_time, reduces, shuffle, reduce = class_times(facts)
    submit, number = next(gaps), 1
    while submit < horizon:
        deadline = facts.deadline or next(factors) * shortest(map_time, shuffle, reduce)
        yield Job(f"{facts.name}{number}", submit, submit + deadline, maps, map_time, reduces, shuffle, reduce)
        submit, number = submit + next(gaps), number + 1


def _factors(factor: float | Distribution, seed: int, place: str) -> Iterator[float]:
    from mrdsl.simulation.sampling import series, stream

    return series(factor, stream(seed, "deadline", place), low=0.0)


def recorded_prices(vm: Vm, mistakes: list[Diagnostic], until: float = 0.0) -> PriceSteps | None:
    """Return the price steps of the vm's zone, instance type and product, until the last job arrives (``until``).

    The vm's name is the instance type if the file has prices of that type and the spec names none.
    """
    spot = vm.spot
    assert spot is not None
    assert spot.history is not None
    try:
        records = SPOT_PRICES[0].read(spot.history.path, mistakes)
    except FormatError as cause:
        mistakes.append(
            error(
                "missing-file",
                f"{spot.history.written} cannot be read: {cause}",
                spot.span_of("history"),
                "check the name; it is relative to the spec",
            )
        )
        return None
    if has_errors(mistakes):
        return None
    instance_type = spot.instance_type
    if instance_type is None and any(record.instance_type == vm.name for record in records):
        instance_type = vm.name
    steps = price_steps(records, spot.zone, instance_type, spot.product)
    if isinstance(steps, str):
        mistakes.append(
            error(
                "broken-history",
                f"{spot.history.written}: {steps}",
                spot.span_of("history"),
                "filters are `zone`, `instance_type`, `product`",
            )
        )
        return None
    mistakes.extend(gaps(steps, until, spot.history.path))
    return steps


def machine_type(vm: Vm) -> MachineType:
    """Return the VM type as the simulation takes it."""
    return MachineType(
        vm.slots.map,
        vm.slots.reduce,
        vm.on_demand.price,
        vm.paid_by.period,
        vm.boot,
        vm.paid_by.broken_period == "free",
    )


def price_process(vm: Vm, seed: int) -> PriceProcess | None:
    """Return the spot market of a run; None without one."""
    from mrdsl.simulation.sampling import ConstantPrice, DrawnPrice, RecordedPrice, stream

    spot = vm.spot
    if spot is None:
        return None
    if spot.history is not None:
        mistakes: list[Diagnostic] = []
        steps = recorded_prices(vm, mistakes)
        if steps is None:
            raise MrdslError(mistakes)
        return RecordedPrice(steps.times, steps.prices)
    if isinstance(spot.price, Distribution):
        return DrawnPrice(spot.price, spot.every, stream(seed, "spot price"))
    assert spot.price is not None
    return ConstantPrice(spot.price)
