"""Mistakes in a schedule spec that its schema does not show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, Span, error, impossible, warning
from mrdsl.core.rounding import floor
from mrdsl.exchange.job_traces import check_job_file, rows_of
from mrdsl.families.schedule.facts import Arrivals, ScheduleFacts, Vm
from mrdsl.families.schedule.trace import class_times, jobs, recorded_prices, shortest
from mrdsl.formulas.profiles import check_profiles
from mrdsl.spec.schema import Distribution
from mrdsl.spec.spec import Spec


def check(spec: Spec) -> Iterable[Diagnostic]:
    """Everything that is wrong beyond single items; opens the trace, the table and the price history."""
    facts: ScheduleFacts = spec.facts
    yield from _check_vms(facts, spec)
    yield from _check_jobs(facts, spec)


def never_in_time(spec: Spec) -> Iterable[Diagnostic]:
    """Yield deadlines that are shorter than one wave of map and one of reduce tasks: no cluster meets them.

    No plan is feasible if more jobs are too early than may be late. If they are fewer, the diagnostic is a warning.
    """
    facts: ScheduleFacts = spec.facts
    impossibles = list(_too_early(facts))
    if not impossibles:
        return
    late, count = _late_whatever_is_rented(facts, spec.seed or 0)
    share = facts.policy.tardy_share
    if late > floor(share * count):
        told = f": {late} of {count} jobs are late whatever is rented, {100 * share:.3g} % may be" if share else ""
        yield from (impossible("impossible-deadline", said + told, span, hint) for said, span, hint in impossibles)
    elif late:
        told = f": {late} of {count} jobs are late whatever is rented; as many may be"
        yield from (warning("short-deadline", said + told, span, hint) for said, span, hint in impossibles)


def _too_early(facts: ScheduleFacts) -> Iterator[tuple[str, Span | None, str]]:
    """Yield the reasons why all jobs are due too early: a text, its location, and a hint."""
    factor = facts.arrivals.deadline_factor if facts.arrivals else None
    if isinstance(factor, float | int) and factor < 1.0 and facts.arrivals is not None:
        yield (
            f"every job is due after {factor:g} times its shortest completion",
            facts.arrivals.span_of("deadline_factor"),
            "write a factor of 1 or more",
        )
    for each in facts.classes:
        _, map_time, _, shuffle, reduce = class_times(each)
        least = shortest(map_time, shuffle, reduce)
        deadline = each.deadline if each.deadline is not None else _largest(each.deadline_factor) * least
        if deadline < least:
            yield (
                f"class {each.name} is due {deadline:g} s after its arrival, and "
                f"one map wave and one reduce wave take {least:g} s",
                each.span_of("deadline" if each.deadline is not None else "deadline_factor"),
                f"write {least:g} s or more",
            )


def _late_whatever_is_rented(facts: ScheduleFacts, seed: int) -> tuple[int, int]:
    """Return the number of jobs that are due before one wave of each phase can end, and the number of all jobs.

    If no job may be late, the first decides.
    """
    late = count = 0
    for job in jobs(facts, seed):
        count += 1
        late += job.submit + sum(d for d, n in zip(job.durations, job.tasks, strict=True) if n) > job.punctual_until
        if late and not facts.policy.tardy_share:
            break
    return late, count


def _check_vms(facts: ScheduleFacts, spec: Spec) -> Iterator[Diagnostic]:
    if not facts.vms:
        yield error(
            "missing-block",
            "no vm block: there is no VM type to rent",
            spec.span,
            'add `vm "m3.medium" { slots { map = 1, reduce = 1 }, on_demand { price = '
            f"0.07 {spec.currency}/h }} }}`",
        )
        return
    for extra in facts.vms[1:]:
        yield error(
            "one-vm-type",
            f"a schedule rents one VM type, but vm {extra.name} is another",
            extra.span,
            "keep one vm block",
        )
    vm, kind = facts.vms[0], facts.policy.instances
    for phase in ("map", "reduce"):
        count = getattr(vm.slots, phase)
        if count > budgets.SLOTS_OF_A_VM:
            yield error(
                "out-of-range",
                f"vm {vm.name} has {count:g} {phase} slots; up to {budgets.SLOTS_OF_A_VM} are simulated",
                vm.slots.span_of(phase),
                "write the slots of one VM, not of the whole cluster",
            )
    if vm.spot is None:
        if kind != "on_demand":
            yield error(
                "missing-block",
                f"instances = {kind} needs a spot market, and vm {vm.name} has none",
                facts.policy.span_of("instances"),
                f"add `spot {{ price = ... }}` to vm {vm.name}, or write instances = on_demand",
            )
        return
    yield from _check_spot(vm, facts, spec.currency)


def _check_spot(vm: Vm, facts: ScheduleFacts, currency: str) -> Iterator[Diagnostic]:
    spot = vm.spot
    assert spot is not None
    if spot.price is None and spot.history is None:
        yield error(
            "missing-item",
            f"the spot market of vm {vm.name} has no price",
            spot.span,
            f'add `price = 0.02 {currency}/h`, a mixture, or `history = "prices.json"`',
        )
    elif spot.price is not None and spot.history is not None:
        yield error(
            "price-and-history",
            f"the spot market of vm {vm.name} has both a price and a recorded history",
            spot.span_of("history"),
            "keep one of them",
        )
    elif spot.history is not None:
        mistakes: list[Diagnostic] = []
        recorded_prices(vm, mistakes, _last_arrival(facts))
        yield from mistakes
    elif isinstance(spot.price, Distribution) and spot.price.name == "mixture":
        yield from _check_mixture(spot.price, spot.span_of("price"))


def _check_mixture(price: Distribution, span: Span | None) -> Iterator[Diagnostic]:
    weights, means, deviations = price.parameters
    if not len(weights) == len(means) == len(deviations):
        yield error(
            "out-of-range",
            f"a mixture of {len(weights)} weights, {len(means)} means and {len(deviations)} standard deviations",
            span,
            "give every part a weight, a mean and a standard deviation",
        )
    elif min(weights) < 0.0 or sum(weights) <= 0.0 or min(deviations) < 0.0:
        yield error(
            "out-of-range",
            "a mixture needs weights and standard deviations of 0 or more",
            span,
            "write positive weights",
        )
    elif min(means) <= 0.0:
        yield error("out-of-range", "a spot price of 0 or less cannot be bid for", span, "write positive means")


def _check_jobs(facts: ScheduleFacts, spec: Spec) -> Iterator[Diagnostic]:
    if facts.arrivals is None and not facts.classes:
        yield error(
            "missing-block",
            "no jobs arrive: there is neither `arrivals` nor a `class`",
            spec.span,
            'add `arrivals from swim("jobs.tsv") { ... }`',
        )
    if facts.classes and facts.horizon is None:
        yield error(
            "missing-item",
            "the spec has no `horizon`, so the classes' jobs never stop arriving",
            facts.classes[0].span,
            "add `horizon = 24 h` at the top level",
        )
    yield from check_profiles(facts.classes)
    if facts.arrivals is not None:
        yield from _check_arrivals(facts.arrivals)


def _check_arrivals(arrivals: Arrivals) -> Iterator[Diagnostic]:
    yield from check_job_file(arrivals)
    factor = arrivals.deadline_factor
    if isinstance(factor, Distribution) and _least(factor) < 1.0:
        yield warning(
            "short-deadline",
            "some jobs are due before one wave of their tasks can end: they are late whatever is rented",
            arrivals.span_of("deadline_factor"),
            "write uniform(1, 3)",
        )


def _last_arrival(facts: ScheduleFacts) -> float:
    """Return the arrival of the last job, in seconds after the run's start; 0 if it is unknown."""
    arrivals, last = facts.arrivals, facts.horizon or 0.0
    if arrivals is None or arrivals.source is None:
        return last
    submits = (float(row.submit) for row in rows_of(arrivals, []))
    inside = [time for time in submits if arrivals.end is None or time < arrivals.end]
    return max([last, *(time - arrivals.begin for time in inside)])


def _least(factor: Distribution) -> float:
    """Return the least value of a distribution that has one, otherwise -infinity."""
    match factor.name:
        case "uniform" | "uniform_int":
            return float(factor.parameters[0])
        case "choice":
            return float(min(factor.parameters[0]))
    return float("-inf")


def _largest(factor: float | Distribution) -> float:
    if not isinstance(factor, Distribution):
        return float(factor)
    match factor.name:
        case "uniform" | "uniform_int":
            return float(factor.parameters[1])
        case "choice":
            return float(max(factor.parameters[0]))
    return float("inf")
