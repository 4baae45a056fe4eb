"""Promises about runs: the share of a class's jobs that end in time, which no formula says and a simulation shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mrdsl.core.diagnostics import Diagnostic, MrdslError, error
from mrdsl.core.kept_values import kept
from mrdsl.core.source import Span
from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.families.capacity.class_bounds import class_bounds_of
from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.spec.columns import names_of
from mrdsl.spec.comparisons import Bound, bounds_in
from mrdsl.spec.expression import quantities_in
from mrdsl.spec.matching import matching
from mrdsl.spec.schema import PERCENTILES
from mrdsl.spec.spec import Constraint, Spec

if TYPE_CHECKING:
    from mrdsl.families.capacity.plan import CapacityPlan
    from mrdsl.spec.simulated_plan import Simulation

KEPT = "kept"


@dataclass(frozen=True)
class Promise:
    """Of the jobs of a class (``index`` in the spec's order), the share ``level`` ends within ``limit`` seconds.

    ``beside``: the class promises its deadline by an estimate too.
    """

    index: int
    name: str
    level: float
    limit: float
    beside: bool
    span: Span | None


def promises_of(spec: Spec) -> tuple[Promise, ...]:
    """What a spec that has passed its checks promises about runs, in the order of classes.

    ``guarantee = p95`` speaks of the deadline, or of ``completion(c) <= t`` where that is tighter; ``kept(c) >= 99 %``
    of the deadline, and stands in the place of an estimate where the class says neither ``guarantee`` nor
    ``completion(c) <= t``, which limits the average.
    """
    facts: CapacityFacts = spec.facts
    percents = _percentiles(facts)
    levels = _levels(spec)
    if not percents and not levels:
        return ()
    names = list(names_of(facts.classes))
    found = []
    for index in percents:
        node = facts.classes[index]
        limits = [
            bound.value
            for bound in class_bounds_of(spec).bounds
            if (bound.quantity, bound.name) == ("completion", node.name)
        ]
        limit = min([node.deadline, *limits])
        percent = PERCENTILES[str(node.guarantee)]
        found.append(Promise(index, node.name, percent / 100.0, limit, False, node.span_of("guarantee")))
    limited = {bound.name for bound in class_bounds_of(spec).bounds if bound.quantity == "completion"}
    for name, level, span in levels:
        index = names.index(name)
        node = facts.classes[index]
        beside = node.guarantee not in PERCENTILES if node.guarantee is not None else name in limited
        found.append(Promise(index, name, level, node.deadline, beside, span))
    return tuple(sorted(found, key=lambda promise: promise.index))


def users_submit(spec: Spec, index: int) -> bool:
    """Whether users submit a class's jobs, each after its one before: then no more are there at once than are admitted.

    Jobs that arrive at random or at recorded moments are there however many others are.
    """
    node = spec.facts.classes[index]
    return node.arrivals is None and node.submissions is None


def by_estimate(spec: Spec, plan: CapacityPlan, promise: Promise) -> bool:
    """Return True if the upper estimate keeps a promise and is a bound.

    No more jobs are there at once than it knows of, and nothing that it does not know goes wrong.
    """
    kept = bool(plan.completion_upper[promise.index] <= promise.limit * (1.0 + FEASIBILITY))
    if not kept or not users_submit(spec, promise.index):
        return False
    return plan.upper_is_bound(promise.index) and not _disturbed(spec.facts.simulation)


def _disturbed(rules: Simulation | None) -> bool:
    """Return True if tasks may take longer, run twice or wait for those of other classes."""
    if rules is None:
        return False
    return rules.lending == "yes" or any((rules.stragglers, rules.failures, rules.speculation, rules.losses))


def is_about_runs(spec: Spec) -> bool:
    """Whether a spec promises anything about runs."""
    return any(map(mentions_kept, spec.constraints)) or bool(_percentiles(spec.facts))


def _percentiles(facts: CapacityFacts) -> tuple[int, ...]:
    """The classes whose guarantee is a percentile: of all its words these alone begin with a p."""
    return kept(facts, "percentiles", lambda: tuple(matching(facts.classes, lambda c: _with_a_p(c.word("guarantee")))))


def _with_a_p(word: Any) -> Any:
    return (word >= "p") & (word < "q")


def mentions_kept(constraint: Constraint) -> bool:
    """Whether a comparison is about the share of jobs in time."""
    sides = constraint.left, constraint.right
    return any(quantity.name == KEPT for side in sides for quantity in quantities_in(side))


def without_promises(spec: Spec) -> Spec:
    """The spec without comparisons of ``kept``: what a formula can plan for."""
    return replace(spec, constraints=tuple(each for each in spec.constraints if not mentions_kept(each)))


def refuse_promises(spec: Spec, what: str) -> None:
    """Refuses a spec that promises anything about runs. Raises MrdslError."""
    if not is_about_runs(spec):
        return
    first = promises_of(spec)[0]
    raise MrdslError(
        [
            error(
                "needs-simulation",
                f"{what} has no constraint for the share of class {first.name}'s jobs that end in time: only a run "
                "shows it",
                first.span,
                "leave the method to `mrdsl solve`, which takes `calibrated`; or promise guarantee = upper, a formula",
            )
        ]
    )


def check_promises(spec: Spec) -> Iterator[Diagnostic]:
    """Comparisons of ``kept`` that say no share to reach, and promises about classes that never run."""
    wrong = [each for each in spec.constraints if mentions_kept(each) and _level(each) is None]
    for constraint in wrong:
        yield error(
            "wrong-statement",
            "`kept` is compared in one way: with a share that it reaches at least",
            constraint.span,
            "write kept(CLASS) >= 99.9 %",
        )
    for constraint in spec.constraints:
        found = _level(constraint) if mentions_kept(constraint) else None
        if found is not None and not 0.0 < found[1] < 1.0:
            yield error(
                "out-of-range",
                f"a share of {100.0 * found[1]:g} % of the jobs cannot be shown by runs",
                constraint.span,
                "write a share above 0 and below 100 %, such as kept(CLASS) >= 99.9 %; all jobs: guarantee = upper",
            )
    if not wrong:
        yield from _never_run(spec)


def _never_run(spec: Spec) -> Iterator[Diagnostic]:
    facts: CapacityFacts = spec.facts
    for promise in {each.index: each for each in promises_of(spec)}.values():
        node = facts.classes[promise.index]
        if node.coefficients is not None and node.guarantee is None:
            yield error(
                "not-simulated",
                f"class {node.name} is given by coefficients, which do not say what tasks its jobs have: how many of "
                "them end in time cannot be seen",
                promise.span,
                "write its profile (map, shuffle, reduce) or its stages",
            )


def _levels(spec: Spec) -> list[tuple[str, float, Span | None]]:
    found = [(constraint, _level(constraint)) for constraint in spec.constraints if mentions_kept(constraint)]
    return [(*level, constraint.span) for constraint, level in found if level is not None]


def _level(constraint: Constraint) -> tuple[str, float] | None:
    """The class and the share of ``kept(c) >= share``, None for any other comparison."""
    match bounds_in(constraint):
        case [Bound("kept", name, ">=", level)]:
            return name, level
    return None
