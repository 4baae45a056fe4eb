"""The ways to rent: a constant cluster, elastic machines, machines of its own for each run, or the cheapest of them."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Termination
from mrdsl.core.rounding import PROVEN, ROUNDING
from mrdsl.families.timetable.bounds import fewest_machines
from mrdsl.families.timetable.elastic_bounds import fluid_bound, least_masters
from mrdsl.families.timetable.exact import solve_exactly
from mrdsl.families.timetable.facts import TimetableFacts
from mrdsl.families.timetable.methods.constant import Found, constant, is_late, too_few
from mrdsl.families.timetable.methods.elastic import elastic
from mrdsl.families.timetable.methods.per_job import per_job
from mrdsl.families.timetable.methods.rejection import admitting, has_optional, mandatory
from mrdsl.families.timetable.night import Night, night_of
from mrdsl.families.timetable.rental_bounds import rental_bound
from mrdsl.families.timetable.rented import Rented, plan_of


def rent(draft: Draft, repairs: int = 6, sizes: int = 8) -> Draft:
    """Plan a night as its spec rents machines, with a bound; stop early if the time limit ends.

    Args:
        draft: The draft.
        repairs: Tries of each order in which runs are inserted on a constant cluster.
        sizes: Sizes of a constant cluster above the fewest machines.
    """
    facts: TimetableFacts = draft.spec.facts
    night = night_of(facts)
    ways = _Ways(draft, night, repairs, sizes)
    found = ways.found(facts.rent)
    if found.impossible is not None:
        return replace(draft, termination=Termination.INFEASIBLE, diagnostics=(*draft.diagnostics, found.impossible))
    if found.best is None:
        return replace(draft, bound=found.bound)
    value = found.best.value
    bound = min(found.bound, value)
    proven = value - bound <= PROVEN * abs(value)
    ended = Termination.TIME_LIMIT if is_late(draft) and not proven else Termination.COMPLETED
    return replace(
        draft,
        plan=plan_of(facts, night, found.best),
        value=value,
        bound=bound,
        termination=Termination.OPTIMAL if proven else ended,
    )


class _Ways:
    """The ways to rent, each planned at most once."""

    def __init__(self, draft: Draft, night: Night, repairs: int, sizes: int) -> None:
        self.draft, self.night, self.repairs, self.sizes = draft, night, repairs, sizes
        self.known: dict[str, Found] = {}
        self.fluid: float | None = None

    def found(self, way: str) -> Found:
        if way not in self.known:
            self.known[way] = getattr(self, f"_{way}")()
        return self.known[way]

    def _constant(self) -> Found:
        if has_optional(self.night):
            return self._admitted()
        found = constant(self.draft, self.night, self.repairs, self.sizes)
        return found if found.impossible else self._exact(found, "constant")

    def _admitted(self) -> Found:
        """Return the best constant cluster that may leave out runs; every one of them is an elastic timetable too."""
        must, available = mandatory(self.night), self.night.machine.available
        if available is not None and must.runs and (fewest := fewest_machines(must)) > available:
            return Found(None, inf, too_few(self.draft.spec.facts, self.night, fewest))
        found = list(admitting(self.night))
        best = min(found, key=lambda each: each.value, default=None)
        return self._exact(
            Found(best, self._elastic_bound(best), None, tuple(each.placed for each in found)), "constant"
        )

    def _elastic_bound(self, known: Rented | None) -> float:
        """Return the better one of two bounds on the cost of elastic machines; the second only if it is needed."""
        night = self.night
        masters = least_masters(night)
        best = masters + rental_bound(night, known)
        if self.fluid is None and (known is None or known.value - best > PROVEN * known.value):
            self.fluid = masters + fluid_bound(night, self.draft.seconds_left())
        return max(best, self.fluid or 0.0)

    def _per_job(self) -> Found:
        best, bound = per_job(self.night)
        return Found(best, bound)

    def _elastic(self) -> Found:
        night = self.night
        first = self.found("constant")
        if first.impossible is not None:
            return first
        alone = self.found("per_job")
        others = [*([alone.best.placed] if alone.best else []), *first.others]
        best = elastic(night, others)
        for way in (first, alone):
            is_one = way is first or not night.machine.masters  # per job, masters are there only while jobs run
            if way.best is not None and is_one and (best is None or way.best.value < best.value):
                best = replace(way.best, rent="elastic")
        return self._exact(Found(best, self._elastic_bound(best)), "elastic")

    def _cheapest(self) -> Found:
        ways = [self.found(way) for way in ("constant", "per_job", "elastic")]
        if ways[0].impossible is not None:
            return ways[0]
        found = [way.best for way in ways if way.best is not None]
        best = min(found, key=lambda each: each.value, default=None)
        if best is not None:
            best = next(each for each in found if each.value <= best.value * (1.0 + ROUNDING))
        return Found(best, min(way.bound for way in ways))

    def _exact(self, found: Found, way: str) -> Found:
        """Solve a small night exactly unless its gap is closed."""
        most = inf if found.best is None else found.best.value
        if most - found.bound <= PROVEN * abs(most) or is_late(self.draft):
            return found
        exact = solve_exactly(self.night, way, self.draft.seconds_left())
        if exact is None:
            return found
        best = found.best
        if exact.found is not None and (best is None or exact.found.value < best.value):
            best = exact.found
        return replace(found, best=best, bound=max(found.bound, exact.bound))
