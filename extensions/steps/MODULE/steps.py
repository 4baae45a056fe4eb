"""The step of NAME: it takes a draft and the parameters of its file, and hands a draft on."""

from __future__ import annotations

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.watching import INFO, log


def improve(draft: Draft, rounds: int = 1) -> Draft:
    """Change the draft of the steps before this one: here, only look at it.

    ``draft.state`` is the working state of the family, and ``draft.plan`` the plan so far, if there is one. Return
    ``dataclasses.replace(draft, ...)``; mrdsl verifies the last plan.
    """
    for _ in range(rounds):
        if draft.is_late():
            break
        log("pipeline", INFO, "state %s, plan %s", type(draft.state).__name__, type(draft.plan).__name__)
    return draft
