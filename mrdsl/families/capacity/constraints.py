"""Constraints of a capacity spec: bounds on single classes, and shares of jobs that end on time in simulation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mrdsl.core.diagnostics import Diagnostic, MrdslError, Span, error, impossible, one_error
from mrdsl.core.lazy import kept
from mrdsl.core.rounding import FEASIBILITY
from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.families.capacity.forms import has_closed_form
from mrdsl.spec.columns import matching, names_of
from mrdsl.spec.expression import quantities_in
from mrdsl.spec.schema import PERCENTILES
from mrdsl.spec.spec import Aim, Bound, Constraint, Spec, bounds_in

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mrdsl.core.diagnostics import Span
    from mrdsl.families.capacity.facts import JobClass
    from mrdsl.families.capacity.plan import CapacityPlan
    from mrdsl.spec.blocks import Simulation


@dataclass(frozen=True)
class ClassBounds:
    """The comparisons of ``subject to``: ``bounds`` on single classes, and the ``others``."""

    bounds: tuple[Bound, ...]
    others: tuple[Constraint, ...]

    def tighten(
        self, names: Sequence[str], quantity: str, values: NDArray[np.float64], *, at_most: bool
    ) -> NDArray[np.float64]:
        """``values``, one per class, tightened by the bounds on ``quantity`` from above or from below."""
        comparisons = ("<=", "=") if at_most else (">=", "=")
        bounds = [b for b in self.bounds if b.quantity == quantity and b.comparison in comparisons]
        if not bounds:
            return values
        places = {name: index for index, name in enumerate(names)}
        tightened = values.copy()
        for bound in bounds:
            index = places[bound.name]
            tightened[index] = (min if at_most else max)(float(tightened[index]), bound.value)
        return tightened


def class_bounds_of(spec: Spec) -> ClassBounds:
    """Split ``subject to``: bounds on ``admitted(c)`` and upper bounds on ``completion(c)`` are of a class's own."""
    bounds: list[Bound] = []
    others: list[Constraint] = []
    for constraint in spec.constraints:
        parts = bounds_in(constraint)
        known = [bound for bound in parts if bound is not None and _is_own(bound)]
        if len(known) == len(parts) and not isinstance(constraint, Aim):
            bounds.extend(known)
        else:
            others.append(constraint)
    return ClassBounds(tuple(bounds), tuple(others))


def limit_of_time(spec: Spec, node: JobClass, limit: float) -> tuple[Span | None, str]:
    """Return the span and the opening words of the line that limits a class's time to ``limit``.

    That is the deadline or a tighter comparison.
    """
    if limit != node.deadline:
        for constraint in spec.constraints:
            for bound in class_bounds_of(replace(spec, constraints=(constraint,))).bounds:
                if (bound.quantity, bound.name, bound.value) == ("completion", node.name, limit):
                    return constraint.span, f"completion({node.name}) <="
    return node.span_of("deadline"), "deadline ="


def quotas_in(constraints: Sequence[Constraint]) -> tuple[dict[str, float], tuple[Constraint, ...]]:
    """Return the comparisons that bound the VMs of one type from above, as its quota; and the others."""
    quotas: dict[str, float] = {}
    others: list[Constraint] = []
    for constraint in constraints:
        found = bounds_in(constraint)
        known = [bound for bound in found if bound is not None and _is_quota(bound)]
        if len(known) < len(found) or isinstance(constraint, Aim):
            others.append(constraint)
            continue
        for bound in known:
            quotas[bound.name] = min(bound.value, quotas.get(bound.name, bound.value))
    return quotas, tuple(others)


def refuse_completion(spec: Spec, formulation: str) -> None:
    """Refuse comparisons that need completion times as variables; only P0 and P1 have those.

    Raises MrdslError with one diagnostic per comparison.
    """
    refusals = [
        error(
            "needs-formulation",
            f"{formulation} fixes completion times by Theorem 4.1 and cannot compare them freely",
            constraint.span,
            "write completion(CLASS) <= TIME, or solve with --formulation P0 --solver scip",
        )
        for constraint in _on_completion(spec)
    ]
    if refusals:
        raise MrdslError(refusals)


def compares_completion(spec: Spec) -> bool:
    """Return True if ``subject to`` asks more of completion times than a tighter deadline of one class."""
    return bool(_on_completion(spec))


def _on_completion(spec: Spec) -> list[Constraint]:
    return [
        constraint
        for constraint in class_bounds_of(spec).others
        if any(
            quantity.name == "completion"
            for quantity in (*quantities_in(constraint.left), *quantities_in(constraint.right))
        )
    ]


def _is_own(bound: Bound) -> bool:
    return bound.quantity == "admitted" or (bound.quantity == "completion" and bound.comparison == "<=")


def _is_quota(bound: Bound) -> bool:
    return bound.quantity == "vms" and bool(bound.name) and bound.comparison == "<="


ON_TIME = "on_time"


@dataclass(frozen=True)
class Promise:
    """A service level: the share ``level`` of a class's jobs ends within ``limit`` seconds.

    ``index`` is the class's place in the spec's order. ``beside``: an estimate also guarantees the class's deadline.
    """

    index: int
    name: str
    level: float
    limit: float
    beside: bool
    span: Span | None


def promises_of(spec: Spec) -> tuple[Promise, ...]:
    """Return the service levels that a checked spec requires of runs, in the order of classes.

    ``guarantee = p95`` limits the deadline, or ``completion(c) <= t`` if that is tighter. ``on_time(c) >= 99 %`` limits
    the deadline. It replaces the estimate of a class that has neither ``guarantee`` nor ``completion(c) <= t``, which
    limits the average.
    """
    facts: CapacityFacts = spec.facts
    percents = percentiles_of(facts)
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
    """Return True if users submit a class's jobs, each after the previous one.

    No more jobs are then concurrent than are admitted. Jobs with random or recorded arrivals do not wait for others.
    """
    node = spec.facts.classes[index]
    return node.arrivals is None and node.submissions is None


def by_estimate(spec: Spec, plan: CapacityPlan, promise: Promise) -> bool:
    """Return True if the upper estimate meets a service level and is a bound.

    It is a bound if no more jobs are concurrent than it assumes and no disturbance occurs that it leaves out.
    """
    kept = bool(plan.completion_upper[promise.index] <= promise.limit * (1.0 + FEASIBILITY))
    if not kept or not users_submit(spec, promise.index):
        return False
    return plan.upper_is_bound(promise.index) and not _disturbed(spec.facts.simulation)


def _disturbed(rules: Simulation | None) -> bool:
    """Return True if tasks may take longer, run twice or wait for those of other classes."""
    if rules is None:
        return False
    return rules.work_conserving == "yes" or any(
        (rules.stragglers, rules.task_failures, rules.speculation, rules.machine_failures)
    )


def is_about_runs(spec: Spec) -> bool:
    """Return True if a spec requires a service level of runs."""
    return any(map(mentions_on_time, spec.constraints)) or bool(percentiles_of(spec.facts))


def percentiles_of(facts: CapacityFacts) -> tuple[int, ...]:
    """Return the classes whose guarantee is a percentile: of all its words these alone begin with a p."""
    return kept(facts, "percentiles", lambda: tuple(matching(facts.classes, lambda c: _with_a_p(c.word("guarantee")))))


def _with_a_p(word: Any) -> Any:
    return (word >= "p") & (word < "q")


def mentions_on_time(constraint: Constraint) -> bool:
    """Return True if a comparison is about the share of jobs on time."""
    sides = constraint.left, constraint.right
    return any(quantity.name == ON_TIME for side in sides for quantity in quantities_in(side))


def without_promises(spec: Spec) -> Spec:
    """Return the spec without comparisons of ``on_time``, so that a formula can plan for it."""
    return replace(spec, constraints=tuple(each for each in spec.constraints if not mentions_on_time(each)))


def refuse_promises(spec: Spec, what: str) -> None:
    """Reject a spec that requires a service level of runs.

    Raises MrdslError.
    """
    if not is_about_runs(spec):
        return
    first = promises_of(spec)[0]
    raise one_error(
        "needs-simulation",
        f"{what} has no constraint for the share of class {first.name}'s jobs that end in time: only a run shows it",
        first.span,
        "leave the method to `mrdsl solve`, which takes `calibrated`; or promise guarantee = upper, a formula",
    )


def check_promises(spec: Spec) -> Iterator[Diagnostic]:
    """Yield comparisons of ``on_time`` that set no minimum share, and service levels of classes that never run."""
    wrong = [each for each in spec.constraints if mentions_on_time(each) and _level(each) is None]
    for constraint in wrong:
        yield error(
            "wrong-statement",
            "`on_time` is compared in one way: with a share that it reaches at least",
            constraint.span,
            "write on_time(CLASS) >= 99.9 %",
        )
    goal = spec.goal
    if (
        goal is not None
        and goal.expression is not None
        and any(one.name == ON_TIME for one in quantities_in(goal.expression))
    ):
        message = "`on_time` cannot be part of an objective: only a run shows it"
        yield error("wrong-statement", message, goal.span, "require it: subject to { on_time(CLASS) >= 95 % }")
    for constraint in spec.constraints:
        found = _level(constraint) if mentions_on_time(constraint) else None
        if found is not None and not 0.0 < found[1] < 1.0:
            yield error(
                "out-of-range",
                f"a share of {100.0 * found[1]:g} % of the jobs cannot be shown by runs",
                constraint.span,
                "write a share above 0 and below 100 %, such as on_time(CLASS) >= 99.9 %; all jobs: guarantee = upper",
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
                f"class {node.name} is given by coefficients, without tasks: the share of jobs on "
                "time cannot be simulated",
                promise.span,
                "write its profile (map, shuffle, reduce) or its stages",
            )


def _levels(spec: Spec) -> list[tuple[str, float, Span | None]]:
    found = [(constraint, _level(constraint)) for constraint in spec.constraints if mentions_on_time(constraint)]
    return [(*level, constraint.span) for constraint, level in found if level is not None]


def _level(constraint: Constraint) -> tuple[str, float] | None:
    """Return the class and the share of ``on_time(c) >= share``, None for any other comparison."""
    match bounds_in(constraint):
        case [Bound("on_time", name, ">=", level)]:
            return name, level
    return None


def serves(spec: Spec) -> bool:
    """Return True if ``direct`` knows every comparison of the spec, and it has no groups or HDFS."""
    if spec.facts.hdfs is not None or len(spec.facts.never_together):
        return False
    others = class_bounds_of(spec).others
    return not (others if has_closed_form(spec.facts) else quotas_in(others)[1])


def refuse_hdfs(facts: CapacityFacts, method: str) -> None:
    """Reject a spec with HDFS.

    Raises MrdslError.
    """
    if facts.hdfs is not None:
        message = f"{method} does not support `hdfs`: it rents VMs for jobs, and not for their disks"
        hint = "solve with --solver highs, the default here"
        raise one_error("unable-solver", message, facts.hdfs.span, hint)


def refuse(constraints: Iterable[Constraint], known: str) -> None:
    """Reject comparisons other than those that are ``known``.

    Raises MrdslError with one diagnostic each.
    """
    found = [
        error(
            "unable-solver",
            f"direct knows bounds on {known} only, not `{constraint.text or constraint.comparison}`: it prices VMs one "
            "by one, and this comparison weighs them against each other or asks for some that no job takes",
            constraint.span,
            "solve with --solver highs, the default here, and set the gap: --gap 0.1%",
        )
        for constraint in constraints
    ]
    if found:
        raise MrdslError(found)


def contradictions_of(spec: Spec, names: Sequence[str], flags: NDArray[np.bool_]) -> tuple[Diagnostic, ...]:
    """Return the comparisons that leave no number of jobs for the classes flagged."""
    concerned = {names[int(index)] for index in flags.nonzero()[0]}
    return tuple(
        impossible(
            "impossible-admission",
            f"{constraint.text or 'this comparison'} leaves no number of jobs for class {bound.name}",
            constraint.span,
            f"compare `admitted({bound.name})` with a number inside the class's range of jobs",
        )
        for constraint in spec.constraints
        for bound in class_bounds_of(replace(spec, constraints=(constraint,))).bounds
        if bound.quantity == "admitted" and bound.name in concerned
    )
