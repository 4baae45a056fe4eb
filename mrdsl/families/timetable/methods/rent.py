"""The ways to rent: a constant cluster, elastic machines, machines of its own for each run, or the cheapest of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from math import inf

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import Diagnostic, impossible
from mrdsl.core.result import Termination
from mrdsl.core.rounding import PROVEN, ROUNDING
from mrdsl.core.watching import is_late, is_stopped, of_the_goal, tell, until_late
from mrdsl.families.timetable.constant_program import constant_program
from mrdsl.families.timetable.elastic_bounds import fluid_bound, least_masters, relaxed
from mrdsl.families.timetable.exact import solve_exactly
from mrdsl.families.timetable.facts import TimetableFacts
from mrdsl.families.timetable.methods.constant import Found
from mrdsl.families.timetable.methods.one_type import Plans
from mrdsl.families.timetable.methods.per_job import per_job
from mrdsl.families.timetable.methods.percentile import by_simulation
from mrdsl.families.timetable.methods.rejection import has_optional
from mrdsl.families.timetable.methods.several_types import several
from mrdsl.families.timetable.night import SEARCHED
from mrdsl.families.timetable.rental_bounds import rental_bound
from mrdsl.families.timetable.rented import Rented, joined, plan_of, types_of, within_limits
from mrdsl.families.timetable.types import Market, market_in_parts, market_of, markets_of
from mrdsl.solving.processes import stopped_by_interrupt
from mrdsl.spec.spec import Spec


def rent(draft: Draft, repairs: int = 6, sizes: int = 8) -> Draft:
    """Plan a night as its spec rents machines, with a bound; stop early if the time limit ends.

    Args:
        draft: The draft.
        repairs: Tries of each order in which runs are inserted on a constant cluster.
        sizes: Sizes of a constant cluster above the fewest machines.
    """
    with stopped_by_interrupt():
        return _planned(draft, repairs, sizes)


def _planned(draft: Draft, repairs: int, sizes: int) -> Draft:
    facts: TimetableFacts = draft.spec.facts
    market = market_of(facts)
    if any(node.guarantee in SEARCHED for node in facts.classes):
        return by_simulation(
            draft, market, lambda other: _Ways(draft, other, repairs, sizes, False).found(facts.rent).best
        )
    found = _Ways(draft, market, repairs, sizes).found(facts.rent)
    parts, least = market_in_parts(facts), None
    for other in markets_of(facts)[1:]:
        another = _Ways(draft, other, repairs, sizes).found(facts.rent)
        if parts is not None and parts.machines == other.machines:
            least = another
        best = another.best
        if best is not None and not within_limits(other, best.leases, types_of(best)):  # unequal tasks take more VMs
            continue
        if best is not None and (found.best is None or best.value < found.best.value):
            found, market = another, other
    if parts is not None:
        least = least or _Ways(draft, parts, repairs, sizes).found(facts.rent)
        found = replace(found, bound=least.bound, impossible=least.impossible)
    none = found.impossible
    if none is None and found.best is None and found.bound == inf:
        none = _too_few_at_once(facts)
    if none is not None:
        return replace(draft, termination=Termination.INFEASIBLE, diagnostics=(*draft.diagnostics, none))
    if found.best is None:
        return replace(draft, bound=found.bound, termination=_ended())
    value = found.best.value
    bound = min(found.bound, value)
    proven = value - bound <= PROVEN * abs(value)
    ended = Termination.OPTIMAL if proven else _ended()
    return replace(
        draft,
        plan=plan_of(facts, market, found.best),
        value=value,
        bound=bound,
        termination=ended,
    )


def _ended() -> Termination:
    """Return how the search ended, without a proof."""
    late = Termination.INTERRUPTED if is_stopped() else Termination.TIME_LIMIT
    return late if is_late() else Termination.COMPLETED


def _too_few_at_once(facts: TimetableFacts) -> Diagnostic:
    limited = next((vm for vm in facts.vms if vm.available is not None), None)
    where, item = ("available", limited) if limited is not None else ("cores", next(iter(facts.quotas), facts.vms[0]))
    more = "a larger `available`" if where == "available" else "more `cores` in the quotas"
    return impossible(
        "impossible-deadline",
        f"no timetable with rent = {facts.rent} meets every deadline on the VMs that are available at once",
        item.span_of(where),
        f"write {more}, longer deadlines, or a `penalty` for runs that may be left out",
    )


def searched(spec: Spec, market: Market, repairs: int = 6, sizes: int = 8) -> Rented | None:
    """Return the best timetable that the search finds in a market, without bounds or exact solutions."""
    return _Ways(Draft(spec), market, repairs, sizes, False).found(spec.facts.rent).best


class _Ways:
    """The ways to rent, each planned at most once; only with bounds, small nights are solved exactly."""

    def __init__(self, draft: Draft, market: Market, repairs: int, sizes: int, bounded: bool = True) -> None:
        self.bounded = bounded
        self.draft, self.market = draft, market
        self.plans = Plans(draft, repairs, sizes)
        self.known: dict[str, Found] = {}
        self.fluid: float | None = None

    def found(self, way: str) -> Found:
        """Return the best plan and bound of a way that are known when it ends, or is late."""
        if way not in self.known:
            self.known[way] = Found(None, 0.0)
            for found in until_late(self._cheapest() if way == "cheapest" else self._way(way)):
                self.known[way] = found
                if found.best is not None:
                    with of_the_goal():
                        tell(value=found.best.value)
        return self.known[way]

    def _way(self, way: str) -> Iterator[Found]:
        """Yield the plan of one way, then one with a bound, and the exact solution of a small night."""
        market = self.market
        if way == "per_job":
            yield Found(*per_job(market, self.plans.alone, self.bounded))
            return
        if len(market.nights) > 1:
            found = Found(several(self.draft, market, self.plans, way), 0.0)
        else:
            found = self.plans.found(market.nights[0], way)
        yield found
        if found.impossible is not None or not self.bounded:
            return
        if way == "elastic" or not found.bound:
            found = replace(found, bound=max(until_late(self._elastic_bounds(found.best)), default=0.0))
            yield found
        if way == "constant" and (len(market.nights) == 2 or has_optional(market.nights[0])):
            found = self._assigned(found)
            yield found
        yield self._exact(found, way)

    def _assigned(self, found: Found) -> Found:
        """Return the better plan and bound of those that are known and of a program that assigns runs."""
        if not found.is_open or is_late():
            return found
        value = inf if found.best is None else found.best.value
        market = self.market
        masters = least_masters(market, "constant")[0]
        assigned = constant_program(self.relaxed, self.draft.seconds_left(), masters)
        found = replace(found, bound=max(found.bound, assigned.bound))
        if any(vm is None and market.penalties[market.runs[run].job] is None for run, vm in enumerate(assigned.types)):
            return found
        parts = []
        for vm in range(len(market.nights)):
            runs = [run for run, each in enumerate(assigned.types) if each == vm]
            if runs:
                _, night = market.part(vm, runs)
                best = self.plans.found(replace(night, penalties=(None,) * len(night.jobs)), "constant").best
                if best is None:
                    return found
                parts.append((vm, runs, best))
        planned = joined(market, "constant", parts) if assigned.types else None
        if planned is None or planned.value >= value or not within_limits(market, planned.leases, types_of(planned)):
            return found
        return replace(found, best=planned)

    def _elastic_bounds(self, known: Rented | None) -> Iterator[float]:
        """Yield two bounds on the cost of elastic machines; the second only if it is needed.

        Every constant cluster is an elastic timetable too.
        """
        if not any(self.market.part(vm)[0] for vm in range(len(self.market.nights))):
            yield float(sum(self.market.penalties[run.job] or 0.0 for run in self.market.runs))
            return
        masters = least_masters(self.market)[0]
        best = masters + rental_bound(self.relaxed, known)
        yield best
        if self.fluid is None and (known is None or known.value - best > PROVEN * known.value):
            self.fluid = fluid_bound(self.relaxed, self.draft.seconds_left(), masters)
        yield self.fluid or 0.0

    @cached_property
    def relaxed(self) -> Market:
        """Return the market for bounds."""
        market, alone = self.market, [inf] * len(self.market.jobs)
        if not any(machine.interruptions for machine in market.machines):
            return market
        for vm, night in enumerate(market.nights):
            if night.machine.interruptions:
                unmastered = replace(night, machine=replace(night.machine, masters=()))
                windows = {(run.job, run.due - run.ready): i for i, run in enumerate(night.runs) if market.fits(vm, i)}
                for job, window in windows:
                    alone[job] = min(alone[job], self.plans.alone.of(unmastered, job, window)[1])
        return relaxed(market, alone)

    def _cheapest(self) -> Iterator[Found]:
        self.found("per_job")  # the fastest way first: there is a plan, however little time there is
        ways = [self.found(way) for way in ("constant", "per_job", "elastic")]
        found = [way.best for way in ways if way.best is not None]
        best = min(found, key=lambda each: each.value, default=None)
        if best is not None:
            best = next(each for each in found if each.value <= best.value * (1.0 + ROUNDING))
        bound = min(way.bound if way.best is None else min(way.bound, way.best.value) for way in ways)
        yield ways[0] if ways[0].impossible is not None else Found(best, bound)

    def _constant_as_elastic(self) -> Rented | None:
        """Return the exact constant cluster on one VM type, whose program is smaller, as an elastic timetable."""
        if len(self.market.nights) > 1 or is_late():
            return None
        exact = solve_exactly(self.market, "constant", self.draft.seconds_left())
        return None if exact is None or exact.found is None else replace(exact.found, rent="elastic")

    def _exact(self, found: Found, way: str) -> Found:
        """Solve a small night exactly unless its gap is closed."""
        if not found.is_open or is_late():
            return found
        exact = solve_exactly(self.market, way, self.draft.seconds_left(), self.relaxed)
        if exact is None:
            return (
                replace(found, best=self._constant_as_elastic()) if found.best is None and way == "elastic" else found
            )
        best = found.best
        if exact.found is not None and (best is None or exact.found.value < best.value):
            best = exact.found
        return replace(found, best=best, bound=max(found.bound, exact.bound))
