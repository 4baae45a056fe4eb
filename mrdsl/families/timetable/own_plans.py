"""Plans from rentals and starts of tasks, for methods that are not part of mrdsl."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mrdsl.core.decisions import place_among, plan_builder, wrong
from mrdsl.core.diagnostics import MrdslError, described
from mrdsl.core.units import ticks_of
from mrdsl.families.timetable.facts import TimetableFacts
from mrdsl.families.timetable.plan import Rental, TimetablePlan
from mrdsl.families.timetable.rented import Lease, Piece, plan_of, rented_on
from mrdsl.families.timetable.slots import Placed
from mrdsl.families.timetable.types import Market, market_of
from mrdsl.spec.spec import Spec

TaskStart = tuple[str, int, str, int, float, int]
"""Tasks that start together: class, run from 1, stage, index of the rental, start [s], count."""


@plan_builder("timetable")
def plan_with(
    spec: Spec, rentals: Sequence[Rental], tasks: Iterable[TaskStart], *, rent: str | None = None
) -> TimetablePlan:
    """Return the plan that rents these VMs and starts the tasks at these times.

    Args:
        spec: The spec.
        rentals: The VMs from request to release. The plan computes the time that each is paid for.
        tasks: Tasks that start together: the class, the number of the run from 1, the stage (``map`` and ``reduce``
            without stages), the index of the rental, the start [s] and the count. Runs without tasks are rejected.
        rent: `constant`, `elastic` or `per_job`; by default that of the spec, `elastic` for `cheapest`.

    Returns:
        The plan. mrdsl checks it against the spec when a method returns it.

    Raises:
        MrdslError: `unknown-name` or `wrong-value`.
    """
    facts: TimetableFacts = spec.facts
    market = market_of(facts)
    leases = [_lease(market, each) for each in rentals]
    of_run = {(market.jobs[run.job].name, run.number + 1): index for index, run in enumerate(market.runs)}
    pieces = [_piece(market, of_run, leases, row) for row in tasks]
    placed = _placed(market, leases, pieces)
    how = rent or ("elastic" if facts.rent == "cheapest" else facts.rent)
    return plan_of(facts, market, rented_on(market, how, leases, pieces, placed))


def _lease(market: Market, rental: Rental) -> Lease:
    vm = place_among(rental.kind, [machine.name for machine in market.machines], "vm")
    if rental.count < 1 or rental.count != int(rental.count) or not rental.begin < rental.end:
        got = f"{rental.count} from {rental.begin:g} s to {rental.end:g} s"
        message = f"a rental of `{rental.kind}` must have whole VMs, at least 1, and an end after its start, got {got}"
        raise MrdslError([wrong(message)])
    return Lease(ticks_of(rental.begin), ticks_of(rental.end), rental.count, rental.master, vm, rental.reserved)


def _piece(market: Market, of_run: dict[tuple[str, int], int], leases: Sequence[Lease], row: TaskStart) -> Piece:
    if not isinstance(row, tuple | list) or len(row) != 6:
        raise MrdslError(
            [
                wrong(
                    f"tasks that start together must have 6 entries, got {described(row)}",
                    "(CLASS, RUN, STAGE, RENTAL, START, COUNT)",
                )
            ]
        )
    name, number, stage, lease, start, count = row
    job = market.jobs[place_among(name, [job.name for job in market.jobs], "class")]
    at = place_among(stage, [each.name for each in job.stages], f"stage of class `{name}`")
    run, where = of_run.get((name, number)), f"tasks of `{name}` {number}"
    if run is None:
        raise MrdslError([wrong(f"class `{name}` does not have a run {number}")])
    if not 0 <= lease < len(leases):
        raise MrdslError([wrong(f"{where} must be on a rental from 0 to {len(leases) - 1}, got {lease}")])
    if count < 1 or count != int(count) or start < 0.0:
        raise MrdslError(
            [
                wrong(
                    f"{where} must be a whole number, at least 1, and start at 0 s or later, got {count} at {start:g} s"
                )
            ]
        )
    return run, at, lease, ticks_of(start), count


def _placed(market: Market, leases: Sequence[Lease], pieces: Sequence[Piece]) -> list[Placed | None]:
    waves: dict[int, list[tuple[int, int, int]]] = {}
    ends: dict[int, int] = {}
    for run, stage, lease, start, count in pieces:
        job = market.nights[leases[lease].vm].jobs[market.runs[run].job]
        waves.setdefault(run, []).append((stage, start, count))
        ends[run] = max(ends.get(run, start), start + job.stages[stage].ticks)
    return [
        Placed(waves[run], min(start for _, start, _ in waves[run]), ends[run]) if run in waves else None
        for run in range(len(market.runs))
    ]
