"""Timetables for ``guarantee = p95`` and ``mean``: the cheapest one found whose executions have enough runs on time.

Tasks of the classes with a percentile are planned with a multiple of their average time, so that reserved slots leave
room for late tasks, and their runs are due early. Both are searched with executions from one seed. The plan is
confirmed with executions from seeds that the search did not use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import ceil, inf

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import Diagnostic, warning
from mrdsl.core.result import Outcome
from mrdsl.core.watching import is_late
from mrdsl.families.timetable.arrivals import filled
from mrdsl.families.timetable.night import SEARCHED
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.families.timetable.rented import Rented, plan_of
from mrdsl.families.timetable.simulate import evidence, judged
from mrdsl.families.timetable.types import Market, stretched, without_spot
from mrdsl.simulation.observed import Verdict
from mrdsl.simulation.settings import Settings
from mrdsl.simulation.verdicts import CONFIDENCE, confidence_of_each

FACTORS = (1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.7, 2.0, 2.5, 3.0, 4.0)
"""Planned times of tasks, as multiples of their average."""
EARLY = (0.0, 0.1, 0.25, 0.5)
"""How much earlier runs are due for the plan, in parts of the time that they do not need."""
LOOKS = 5
"""Plans that are confirmed at most."""
LATE = 100
"""Late runs that a confirmation would see if exactly as many as allowed were late."""
FEWEST, TASKS = 20, 20_000_000
"""Executions at least, and simulated tasks of one confirmation, at most unless they are fewer than these executions."""
FIRST = 3
"""Executions that may settle whether the search accepts a plan."""
SEARCH, CONFIRM = 7_000_001, 8_000_002
"""Distances of the seeds of the search and of the confirmations from the seed of the solve."""
Plan = Callable[[Market], Rented | None]


@dataclass(frozen=True)
class _Candidate:
    spot: bool
    early: float
    index: int
    plan: TimetablePlan

    @property
    def value(self) -> float:
        return self.plan.value


def by_simulation(draft: Draft, market: Market, rented_in: Plan) -> Draft:
    """Return the cheapest plan that fresh executions confirm, without a bound; no plan if none is confirmed."""
    return _Search(draft, market, rented_in).found()


class _Search:
    def __init__(self, draft: Draft, market: Market, rented_in: Plan) -> None:
        self.draft, self.rented_in, self.market = draft, rented_in, market
        self.spec = draft.spec
        self.nodes = filled(draft.spec.facts).classes
        self.levels = [SEARCHED.get(node.guarantee or "", 0.0) for node in self.nodes]
        together = LOOKS * sum(level > 0.0 for level in self.levels)
        self.confidence = confidence_of_each(CONFIDENCE, together)
        self.runs = self._executions()
        self.known: dict[tuple[bool, float, int], _Candidate | None] = {}
        self.least = inf

    def _executions(self) -> int:
        """Return how many executions confirm a plan."""
        counts = [0] * len(self.nodes)
        for run in self.market.runs:
            counts[run.job] += 1
        wanted = max(
            ceil(LATE / (1.0 - level % 1.0) / count) for level, count in zip(self.levels, counts, strict=True) if level
        )
        tasks = sum(stage.tasks for run in self.market.runs for stage in self.market.jobs[run.job].stages)
        return max(FEWEST, min(wanted, TASKS // tasks))

    def found(self) -> Draft:
        ways = (True, False) if any(machine.spot for machine in self.market.machines) else (False,)
        found = (self._cheapest(spot, early) for spot in ways for early in EARLY)
        candidates = sorted(filter(None, found), key=lambda each: each.value)
        looks = 0
        while candidates and looks < LOOKS and not is_late():
            best = candidates.pop(0)
            seed = self.draft.seed + CONFIRM + looks
            looks += 1
            verdicts = judged(self.spec, best.plan, Settings(self.runs, seed), self.confidence)
            if _all_kept(verdicts):
                shown = tuple(evidence(name, seed, verdict) for name, verdict in verdicts.items())
                return replace(self.draft, plan=replace(best.plan, shown=shown), value=best.value)
            more = next(self._longer(best), None)
            candidates = sorted([*candidates, *([more] if more else [])], key=lambda each: each.value)
        return replace(self.draft, diagnostics=(*self.draft.diagnostics, self._none()))

    def _longer(self, before: _Candidate) -> Iterator[_Candidate]:
        """Yield plans with longer times of tasks than one that was not confirmed."""
        for index in range(before.index + 1, len(FACTORS)):
            found = self._candidate(before.spot, before.early, index)
            if found is not None and found.value > before.value:
                yield found

    def _cheapest(self, spot: bool, early: float) -> _Candidate | None:
        """Return the plan with the shortest times of tasks that the executions of the search accept."""
        low, high = -1, len(FACTORS)
        best: _Candidate | None = None
        while high - low > 1 and not is_late():
            middle = (low + high) // 2 if best or low >= 0 else min((low + high) // 2, 3)
            found = self._candidate(spot, early, middle)
            if found is None or found.value >= self.least:  # longer times need more than there is, or than is known
                high = middle
            elif self._is_kept(found):
                high, best = middle, found
                self.least = found.value
            else:
                low = middle
        return best

    def _is_kept(self, candidate: _Candidate) -> bool:
        """Return True if executions accept a plan; a few are enough if they are clear, since others confirm it."""
        verdicts: dict[str, Verdict] = {}
        for runs in (FIRST, max(FEWEST // 2, self.runs // 2)):
            settings = Settings(runs, self.draft.seed + SEARCH)
            verdicts = judged(self.spec, candidate.plan, settings, CONFIDENCE)
            if _all_kept(verdicts) or any(verdict.outcome is Outcome.BROKEN for verdict in verdicts.values()):
                break
        return _all_kept(verdicts)

    def _candidate(self, spot: bool, early: float, index: int) -> _Candidate | None:
        key = spot, early, index
        if key not in self.known:
            self.known[key] = self._planned(*key)
        return self.known[key]

    def _planned(self, spot: bool, early: float, index: int) -> _Candidate | None:
        """Return a plan, with or without spot VMs, with times of tasks as long as the window of each run allows."""
        market = self.market if spot else without_spot(self.market)
        paths = [
            min(market.nights[vm].jobs[job].path() for vm in market.types_of(job)) for job in range(len(market.jobs))
        ]
        room = [inf] * len(paths)
        for run in market.runs:
            room[run.job] = min(room[run.job], (run.due - run.ready) / paths[run.job])
        if any(each < 1.0 and market.penalties[job] is None for job, each in enumerate(room)):
            return None  # no machines are enough for tasks of their average time
        factors = [
            max(1.0, min(FACTORS[index], int(1000 * each) / 1000)) if level else 1.0
            for level, each in zip(self.levels, room, strict=True)
        ]
        longer, whole = stretched(market, factors), stretched(self.market, factors)
        earlier = []
        for run in market.runs:
            spare = run.due - run.ready - factors[run.job] * paths[run.job]
            by = early * max(0.0, spare) if self.levels[run.job] else 0.0
            earlier.append(int(by))
        nights = tuple(
            replace(
                night,
                runs=tuple(replace(run, due=run.due - by) for run, by in zip(night.runs, earlier, strict=True)),
            )
            for night in longer.nights
        )
        found = self.rented_in(replace(longer, nights=nights))
        if found is None:
            return None
        by_class = {node.name: by for node, by, level in zip(self.nodes, factors, self.levels, strict=True) if level}
        return _Candidate(spot, early, index, replace(plan_of(self.spec.facts, whole, found), factors=by_class))

    def _none(self) -> Diagnostic:
        node = next(node for node in self.nodes if node.guarantee in SEARCHED)
        level = SEARCHED[node.guarantee or ""]
        what = "each run on time on average" if level == 1.0 else f"{level:.0%} of the runs on time".replace("%", " %")
        return warning(
            "promise-undecided",
            f"no timetable of class {node.name} was found that executions confirm to have {what}",
            node.span_of("guarantee"),
            "write a longer deadline or a lower percentile, or plan with `guarantee = upper`",
        )


def _all_kept(verdicts: dict[str, Verdict]) -> bool:
    return all(verdict.outcome is Outcome.KEPT for verdict in verdicts.values())
