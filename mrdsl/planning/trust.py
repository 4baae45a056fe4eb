"""What of a saved plan is worked out again, and what is taken on trust from whoever wrote the file."""

from __future__ import annotations

from dataclasses import dataclass

from mrdsl.contracts.family import Family
from mrdsl.core.diagnostics import MrdslError, has_errors
from mrdsl.core.result import Limits, Result, SolutionStatus
from mrdsl.planning.evidence import evidence_of
from mrdsl.planning.verification import violations
from mrdsl.solving.agreement import TOLERANCE, contradicts

SECONDS = 2.0
"""How long a method may look for a bound of its own."""


@dataclass(frozen=True)
class Trust:
    """What a file claims: ``taken`` are the claims that nothing here confirms, in words.

    ``method``: what found a bound anew, "" if nothing did; ``bound`` is that bound. ``better`` is the value of a plan
    that the claimed bound says cannot be, None without one.
    """

    taken: tuple[str, ...]
    method: str = ""
    bound: float | None = None
    better: float | None = None


def trust_in(result: Result, family: Family, again: bool = False) -> Trust:
    """Work out again what is cheap, and name the rest.

    Args:
        result: What a saved file says, its plan checked.
        family: The family of its spec.
        again: True if its runs were made once more, and showed the same.
    """
    found = _found_anew(result, family) if result.bound is not None and result.plan is not None else Trust(())
    confirmed = result.bound is None or (found.bound is not None and not _is_beyond(result.bound, found.bound, result))
    taken = [] if confirmed else ["the bound", "the gap"]
    if result.solution is SolutionStatus.OPTIMAL and not confirmed:
        taken.append("that the plan is the best")
    if result.plan is None:
        taken.append("that there is no plan")
    taken.append("how the solve ended")
    if evidence_of(result.plan) is not None and not again:
        taken.append("what runs showed")
    if result.plan is not None:
        taken += result.plan.on_trust
    return Trust(tuple(taken), found.method, found.bound, found.better)


def _found_anew(result: Result, family: Family) -> Trust:
    """Look for a plan and a bound by the family's own methods, of the same wholeness as the plan."""
    from mrdsl.planning.known_bounds import method_of

    for formulation in family.formulations:  # the first that knows a plan like this one
        if formulation.known is None:
            continue
        try:
            known = formulation.known(result.spec, result.relaxed, Limits(time=SECONDS))
        except MrdslError:  # a comparison that the method does not know
            continue
        if known is None or known.plan is None or _wholeness(known.plan) != _wholeness(result.plan):
            continue
        if has_errors(tuple(violations(result.spec, family, known.plan, result.relaxed))) or family.measure is None:
            continue
        value = family.measure(result.spec, known.plan)
        better = None
        if value is not None and contradicts(result.bound or 0.0, value, result.sense == "maximize", result.size):
            better = float(value)
        return Trust((), method_of(formulation), known.bound, better)
    return Trust(())


def _wholeness(plan: object) -> object:
    return getattr(plan, "wholeness", None)


def _is_beyond(claimed: float, proven: float, result: Result) -> bool:
    """Return True if a claimed bound is tighter than one that was proven."""
    slack = TOLERANCE * max(abs(claimed), abs(proven), result.size)
    return claimed < proven - slack if result.sense == "maximize" else claimed > proven + slack
