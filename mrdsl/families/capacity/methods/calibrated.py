"""``calibrated`` for capacity: the cheapest plan found that meets its service levels in simulation.

It has five steps:

- ``start`` takes the plan of a formula, the safe plan.
- ``fit`` fits A, B and C of every class with a service level to simulated times and solves P2 with them. It repeats
  this until the plan is the simulated one.
- ``probe`` moves the plan's slots if fewer VMs meet the service levels.
- ``settle`` simulates the neighbours of that plan until the runs decide which one is the cheapest.
- ``confirm`` simulates the plan with seeds that no earlier step used, at most five times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import MrdslError, has_errors, never_admitted, number_of, warning
from mrdsl.core.result import Outcome, Termination
from mrdsl.core.rounding import ROUNDING
from mrdsl.families.capacity.constraints import by_estimate, promises_of, without_promises
from mrdsl.families.capacity.forms import in_fractions, refuse_types
from mrdsl.families.capacity.instance import instance_of
from mrdsl.families.capacity.methods.calibration import Cell, Fit, Placement, Times, choosing, planned, quantile
from mrdsl.families.capacity.methods.probing import (
    GROWTH,
    Probe,
    Refused,
    broken_when_full,
    fit,
    never_kept,
    too_few_runs,
)
from mrdsl.families.capacity.methods.search import (
    OutOfTimeError,
    Search,
    Wanted,
    may_be_rejected,
    most_runs_of,
    runs_of,
    safest,
    sized,
    wanted_of,
    with_guarantees,
    without_jobs,
)
from mrdsl.families.capacity.methods.settling import Settling
from mrdsl.families.capacity.packed_plans import as_packed
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.plan_parts import Calibration, Evidence, FittedWork
from mrdsl.simulation.observed import Verdict
from mrdsl.simulation.verdicts import judge_share
from mrdsl.spec.blocks import GUARANTEES

ONE_TYPE = (
    "fits a class's slots to runs on one VM type, bought on demand and under one contract: on several, or on spot, the "
    "jobs of a class in each place have slots, times and a fit of their own, and how many lie where is no part of a fit"
)
ALONE = "promise `guarantee = average`, see which type each class takes, and promise the percentile on that vm alone"
UNSHOWN = (
    ": this one keeps them by the upper estimate, which bounds jobs whose tasks take no longer than the profile says"
)
KEEPS_MORE = 4
"""One of this many looks is saved for the plan of an estimate, in case the search finds none."""
MORE = 4
"""As many times the runs of a look that left a plan open the next look at it takes."""


def start(draft: Draft, confidence: float = 0.95, looks: int = 5, runs: int = 0) -> Draft:
    """Return the plan of the upper estimate, or of the next estimate that has one: the start of the search."""
    spec = in_fractions(draft.spec, "calibrated finds whole slots of classes, which their jobs share")
    refuse_types(spec, "calibrated", ONE_TYPE, ALONE)
    search = Search(spec, draft.seed, confidence, looks)
    if draft.limits.time is not None:
        search.until = draft.started + draft.limits.time
    search.wanted = wanted_of(spec, search.instance)
    if search.wanted:
        each = search.confidence_each
        too_few = list(too_few_runs(search.wanted, runs, each))
        if too_few:
            raise MrdslError(too_few)
        search.runs = runs or runs_of(search.wanted, each)
        search.most_runs = runs or most_runs_of(search.wanted, search.runs)
        search.wanted = tuple(sized(want, search.runs, each) for want in search.wanted)
    words = {want.index: safest(search, want) for want in search.wanted if not want.beside}
    search.formula = min((word for word in words.values() if word), key=GUARANTEES.index, default=None)
    full = {
        want.index: choosing(want.full(want.expected), want.per_vm, want.limit, 0.0)
        for want in search.wanted
        if words.get(want.index, "upper") is None
    }
    if full:
        search.formula = None
        search.fits |= full
    known = {index: word for index, word in words.items() if word}
    for word in (None, *reversed(GUARANTEES)):  # an estimate that a constraint leaves no room for gives way to the next
        estimates = known if word is None else dict.fromkeys(known, word)
        search.safe = planned(with_guarantees(spec, estimates), full, {}, False, draft.limits)
        if search.safe is not None:
            search.formula = search.formula if word is None else word
            break
    if search.safe is None:
        return draft
    value = search.safe.total
    if not search.wanted:
        return replace(draft, state=search, plan=search.safe, value=value)
    search.trials = search.new_trials(search.safe, "search")
    if search.until is not None and not _is_safe(search):
        _look_at_safe(search)
    refused = tuple(never_kept(search))
    if refused and all(may_be_rejected(search, want.index) for want, _ in refused):
        return start(_rejecting(draft, refused), confidence, looks, runs)
    hopeless = tuple(each for _, each in refused)
    if has_errors(hopeless):
        raise MrdslError(hopeless)
    if hopeless:
        return replace(draft, diagnostics=(*draft.diagnostics, *hopeless))
    for want in search.wanted:
        work = search.instance.estimates["average"].at(slice(want.index, want.index + 1))
        search.priors[want.index] = Fit(*(float(part[0]) for part in (work.map_work, work.reduce_work, work.constant)))
    return replace(draft, state=search)


def _rejecting(draft: Draft, refused: Sequence[Refused]) -> Draft:
    """Return the draft of a search that rejects all jobs of classes that no simulated cluster serves on time."""
    told = (never_admitted(each, "jobs", f"class {want.name}") for want, each in refused)
    spec = without_jobs(draft.spec, {want.index for want, _ in refused})
    return replace(draft, spec=spec, state=None, diagnostics=(*draft.diagnostics, *told))


def probe(draft: Draft, tries: int = 8, probings: int = 2) -> Draft:
    """Return the fewest VMs of every class with a service level, around the fitted plan.

    It then solves P2 again, which can admit other jobs.
    """
    if not isinstance(draft.state, tuple):
        return draft
    search, placement = draft.state
    for _ in range(0 if search.stopped else probings):
        try:
            placement = _probed_all(search, placement, tries)
        except OutOfTimeError:
            break
        plan = planned(search.spec, search.fits, {}, False, draft.limits)
        if plan is None:
            break
        after = search.placement(plan)
        if [cell.jobs for cell in after] == [cell.jobs for cell in placement]:
            break
        placement = after
    return replace(draft, state=(search, placement))


def _probed_all(search: Search, placement: Placement, tries: int) -> Placement:
    for want in search.wanted:
        if placement[want.index].jobs and want.index in search.fits:
            placement = _probed(search, placement, want, tries)
    return placement


def _probed(search: Search, placement: Placement, want: Wanted, tries: int) -> Placement:
    assert search.trials is not None
    runs = max(2, search.runs // 5)
    probing = Probe(search, want, placement, search.trials, runs)
    cell = probing.balanced(probing.fewest(placement[want.index], tries), tries)
    cell = Probe(search, want, placement, search.trials, 2 * runs).fewest(cell, tries)
    return _placed(search, placement, want, cell)


def _placed(search: Search, placement: Placement, want: Wanted, cell: Cell) -> Placement:
    """Return the placement with a class on other slots, which its coefficients follow."""
    before = search.fits.get(want.index, search.priors[want.index])
    search.fits[want.index] = choosing(cell, want.per_vm, want.limit, before.c)
    return (*placement[: want.index], cell, *placement[want.index + 1 :])


def settle(draft: Draft, evaluations: int = 24, tasks: int = 50_000_000) -> Draft:
    """Return the cheapest neighbour of the plan that the runs accept, and use its paid slots.

    The step spends at most the runs of N full ``evaluations``, the given number of ``tasks``, and half of the remaining
    time.
    """
    if not isinstance(draft.state, tuple):
        return draft
    search, placement = draft.state
    budget = evaluations * search.runs * len(search.wanted)
    budget = min(budget, *(tasks // (want.jobs * want.tasks) for want in search.wanted))
    settling = Settling(search, lambda cells: _candidate(draft, search, _chosen(search, cells, placement)), budget)
    with search.half_of_the_time():
        settled = _chosen(search, settling.settled(placement), placement)
    return replace(draft, state=(search, settled, settling))


def _chosen(search: Search, placement: Placement, before: Placement) -> Placement:
    """Return the placement with new coefficients of classes that are fitted or were moved from ``before``."""
    for want in search.wanted:
        cell = placement[want.index]
        if cell.jobs and (not before or want.index in search.fits or cell != before[want.index]):
            placement = _placed(search, placement, want, cell)
    return placement


def confirm(draft: Draft) -> Draft:
    """Run the plan with fresh seeds and enlarge it until its service levels are shown.

    If they are not shown at last, return the safe plan. One of the looks is for the safe plan alone: its estimates may
    bound less than runs can show.
    """
    if not isinstance(draft.state, tuple):
        return draft
    search, placement, *rest = draft.state
    settling: Settling | None = rest[0] if rest else None
    for look in range(1, search.looks + 1 - _keeps_one(search) - (search.looks >= KEEPS_MORE)):
        plan = _candidate(draft, search, placement)
        if plan is None:
            break
        if _is_dear(search, plan):
            _look_at_safe(search)
            if search.shown:
                return _finished(draft, search, search.safe, search.shown)
        placement = search.placement(plan)
        try:
            evidence, seen = _looked(search, plan, placement, look)
        except OutOfTimeError:
            break
        if not seen:
            return _finished(_with_undecided(draft, plan, settling), search, plan, evidence)
        before = placement
        if settling is not None and _longer(search, placement, seen):
            continue
        other = None if settling is None else settling.after(placement)
        placement = _grown(search, placement, seen) if other is None else other
        if placement == before:
            break
    if not search.stopped:
        _look_at_safe(search)
        if not search.shown and settling is not None:
            found = _by_a_formula(draft, search, settling)
            if found is not None:
                return found
    return _undecided(draft, search)


def _by_a_formula(draft: Draft, search: Search, settling: Settling) -> Draft | None:
    """Return the cheapest plan of an estimate that meets the service levels in a full evaluation, if one is left."""
    plans = [_plan_by(draft, search, word) for word in GUARANTEES]
    with suppress(OutOfTimeError):
        for plan in sorted(filter(None, plans), key=lambda each: each.total):
            placement = search.placement(plan)
            if search.looked >= search.looks or settling.decide(placement) is not Outcome.KEPT:
                continue
            evidence, seen = _looked(search, plan, placement, search.looks + search.looked)
            if not seen:
                _chosen(search, placement, ())
                return _finished(draft, search, plan, evidence)
    return None


def _plan_by(draft: Draft, search: Search, word: str) -> CapacityPlan | None:
    """Return the plan in which one estimate meets the deadlines with service levels; None if there is none."""
    words = {want.index: word for want in search.wanted if not want.beside}
    return planned(with_guarantees(search.spec, words), {}, {}, False, draft.limits)


def _longer(search: Search, placement: Placement, seen: Mapping[int, Times]) -> bool:
    """Plan more runs for classes that a look left open; False if it shows one broken, or took as many as it may."""
    for want in search.wanted:
        times = seen.get(want.index)
        if times is None:
            continue
        runs = min(search.most_runs, MORE * len(times))
        if runs <= len(times) or _is_broken(search, want, times):
            return False
        search.look_runs[want.index, placement[want.index]] = runs
    return True


def _with_undecided(draft: Draft, plan: CapacityPlan, settling: Settling | None) -> Draft:
    told = None if settling is None else settling.left_open(plan.rented)
    return draft if told is None else replace(draft, diagnostics=(*draft.diagnostics, told))


def _keeps_one(search: Search) -> bool:
    """Return True if one of several looks is reserved for the initial plan, which is by the upper estimate."""
    return search.formula == "upper" and search.looks > 1


def _is_dear(search: Search, plan: CapacityPlan) -> bool:
    """Return True if a plan costs no less than the initial plan by the upper estimate."""
    assert search.safe is not None
    return search.formula == "upper" and plan.total >= search.safe.total * (1.0 - ROUNDING)


def _look_at_safe(search: Search) -> None:
    """Run the initial plan if a look is reserved for it and it has not run yet."""
    if not _keeps_one(search) or search.shown is not None:
        return
    assert search.safe is not None
    with suppress(OutOfTimeError):
        evidence, seen = _looked(search, search.safe, search.placement(search.safe), search.looks)
        search.shown = () if seen else evidence
        search.refuted = any(_is_broken(search, want, seen[want.index]) for want in search.wanted if want.index in seen)


def _is_broken(search: Search, want: Wanted, times: Times) -> bool:
    verdicts = (judge_share(times, p.limit, p.level, search.confidence_each) for p in want.promises)
    return any(verdict.outcome is Outcome.BROKEN for verdict in verdicts)


def _candidate(draft: Draft, search: Search, placement: Placement) -> CapacityPlan | None:
    pinned = {index: cell.jobs for index, cell in enumerate(placement)}
    bare = None if search.stopped else planned(search.spec, search.fits, pinned, False, draft.limits)
    return None if bare is None else as_packed(search.spec, search.rebuilt(bare, placement))


def _is_safe(search: Search) -> bool:
    """Return True if bounds show that the initial plan meets its service levels, and no run contradicts them."""
    assert search.safe is not None
    safe = search.safe
    kept = (by_estimate(search.spec, safe, p) for p in promises_of(search.spec) if safe.admitted[p.index] > 0.0)
    return search.formula == "upper" and not search.refuted and all(kept)


def _looked(
    search: Search, plan: CapacityPlan, placement: Placement, look: int
) -> tuple[tuple[Evidence, ...], dict[int, Times]]:
    """Return evidence on every service level from the look's seed, and the times of classes that need more."""
    trials = search.new_trials(plan, "look", look)
    trials.as_packed = plan.packing is not None
    evidence, short = [], {}
    for want in search.wanted:
        if not placement[want.index].jobs:
            continue
        search.go_on()
        runs = search.look_runs.get((want.index, placement[want.index]), search.runs)
        times = trials.times(placement, want.index, runs)
        for promise in want.promises:
            verdict = judge_share(times, promise.limit, promise.level, search.confidence_each)
            evidence.append(_evidence(promise.name, promise.level, promise.limit, trials.seed, verdict))
            if verdict.outcome is not Outcome.KEPT:
                short[want.index] = times
    search.made += trials.made
    search.looked += 1
    return tuple(evidence), short


def _evidence(name: str, level: float, limit: float, seed: int, verdict: Verdict) -> Evidence:
    assert verdict.seen is not None
    assert verdict.low is not None
    return Evidence(name, level, limit, seed, verdict.runs, verdict.jobs, verdict.seen, verdict.low, verdict.confidence)


def _grown(search: Search, placement: Placement, seen: Mapping[int, Times]) -> Placement:
    """Return more slots for classes whose service levels were not shown, by the delay of their target shares."""
    for want in search.wanted:
        if want.index not in seen:
            continue
        cell = placement[want.index]
        late = max(
            quantile(seen[want.index], level) / promise.limit
            for promise, level in zip(want.promises, want.levels, strict=True)
        )
        factor = min(max(late, 1.01), GROWTH)
        grown = Cell(cell.jobs, int(cell.map * factor) + 1, int(cell.reduce * factor) + 1 if cell.reduce else 0)
        placement = _placed(search, placement, want, want.within(grown))
    return placement


def _finished(draft: Draft, search: Search, plan: CapacityPlan, evidence: tuple[Evidence, ...]) -> Draft:
    assert search.safe is not None
    assert search.trials is not None
    relaxed = planned(search.spec, search.fits, {}, True, draft.limits)
    names = instance_of(without_promises(search.spec)).names
    calibration = Calibration(
        formula=search.formula,
        formula_cost=None if search.formula is None else search.safe.total,
        formula_vms=None if search.formula is None else search.safe.rented,
        lp_bound=None if relaxed is None else relaxed.total,
        coefficients={names[index]: FittedWork(each.a, each.b, each.c) for index, each in search.fits.items()},
        promises=evidence,
        looks=search.looked,
        most_looks=search.looks,
        confidence=search.confidence,
        runs=search.made + search.trials.made,
    )
    plan = replace(plan, calibration=calibration)
    return replace(draft, plan=plan, value=plan.total, termination=Termination.COMPLETED)


def _undecided(draft: Draft, search: Search) -> Draft:
    """Return the safe plan, if there is one, and the reason why the search found no other."""
    safe = search.safe if search.shown or _is_safe(search) else None
    made = f"{number_of(search.looked, 'full evaluation')} of {search.looks}"
    why = "the time was over" if search.stopped else f"the search was over, after {made},"
    end = Termination.TIME_LIMIT if search.stopped else Termination.COMPLETED
    kept = ": this one, planned by the upper estimate, keeps them in runs" if search.shown else UNSHOWN if safe else ""
    told = warning(
        "undecided-in-simulation",
        f"{why} before a cheaper plan was shown to keep its promises in simulation{kept}",
        draft.spec.span,
        "give it more time, more looks (solve with calibrated { looks = 6 }), or another seed",
    )
    if safe is None and not search.stopped:
        refused = tuple(broken_when_full(search))
        if refused and all(may_be_rejected(search, want.index) for want, _ in refused):
            return _again(_rejecting(draft, refused), search)
        hopeless = (each for _, each in refused)
        return replace(draft, diagnostics=(*draft.diagnostics, *hopeless, told), termination=end)
    found = replace(draft, diagnostics=(*draft.diagnostics, told), termination=end)
    if safe is None:
        return found
    if search.shown:
        return replace(_finished(found, search, safe, search.shown), termination=end)
    return replace(found, plan=safe, value=safe.total)


def _again(draft: Draft, search: Search) -> Draft:
    """Search once more, for a plan that rejects classes; ends since these are fewer each time."""
    draft = start(draft, search.confidence, search.looks)
    for step in (fit, probe, settle, confirm):
        draft = step(draft)
    return draft
