"""The pipeline of the bounds family: one step, the formulas."""

from __future__ import annotations

from dataclasses import replace

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Termination
from mrdsl.families.bounds.checks import find_impossible
from mrdsl.families.bounds.formulas import plan_of


def formulas(draft: Draft) -> Draft:
    """Completion times, or least slots, in closed form; the least slots solve a convex problem, and are proven so.

    Completion times are estimates with no objective: value and bound stay None.
    """
    hopeless = tuple(find_impossible(draft.spec))
    if hopeless:
        return replace(draft, termination=Termination.INFEASIBLE, diagnostics=draft.diagnostics + hopeless)
    plan = plan_of(draft.spec)
    if not plan.sizes:
        return replace(draft, plan=plan, termination=Termination.COMPLETED)
    return replace(draft, plan=plan, value=plan.slots, bound=plan.slots, termination=Termination.OPTIMAL)
