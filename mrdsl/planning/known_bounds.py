"""A solver's claims against what is known of the spec without it: a family's own plan and bound, by closed forms."""

from __future__ import annotations

from dataclasses import replace

from mrdsl.core.answer import Answer
from mrdsl.core.result import Limits, Result, Termination
from mrdsl.solving.agreement import contradicts, drawn_back
from mrdsl.solving.claims import graded


def compared(answer: Answer, known: Result, limits: Limits, maximize: bool, method: str) -> Answer:
    """The answer without what ``known`` contradicts: a verified plan and a proven bound, found by ``method``.

    A bound beyond the value of a plan that exists is withdrawn for the known one; a point beyond the known bound, and
    "infeasible" of a spec that has a plan, are errors of the solver.
    """
    if answer.termination is Termination.INFEASIBLE and known.plan is not None:
        message = f"it claims that there is no plan, but {method} has one worth {known.value:g}"
        return replace(answer, termination=Termination.ERROR, message=message, bound=None)
    if answer.bound is None or known.plan is None or known.value is None:
        return answer
    size = max(answer.size, abs(answer.value or 0.0))
    if not contradicts(answer.bound, known.value, maximize, size):
        return answer
    side = "above" if maximize else "below"
    doubt = (
        f"it claims that no plan is {side} {answer.bound:g}, but {method} has one worth {known.value:g}: "
        "its proof is withdrawn"
    )
    bound = known.bound
    if bound is not None and answer.value is not None:
        bound = drawn_back(bound, answer.value, maximize)
    changed = replace(answer, bound=bound, doubts=(*answer.doubts, doubt))
    return graded(changed, limits)
