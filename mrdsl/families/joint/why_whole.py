"""What it costs that VMs and jobs at once are whole, and slots too: the spec solved with each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mrdsl.core.result import Limits, Table
from mrdsl.core.tolerances import ROUNDING
from mrdsl.families.joint.facts import NO, SLOTS
from mrdsl.families.joint.methods.greedy import greedy_draft, is_quick
from mrdsl.families.joint.plan import JointPlan
from mrdsl.families.joint.quantities import compares_responses
from mrdsl.spec.spec import Spec

LIMITS = Limits(gap=1e-4, nodes=5_000)
RELAXED = "nothing: VMs and jobs in fractions"


def costs_of_wholeness(spec: Spec, plan: JointPlan) -> Table | None:
    """The costs of plans in fractions of everything, of whole VMs and jobs at once, and of whole slots on them.

    A class's VMs are its own in each, so that there is no cost of machines beside these. None where the costs are
    many, where jobs at once are fractions by the spec, and where a model compares response times. The plan's own cost
    is its own; others are the greedy's, within its bound, and HiGHS's to 1e-4 where there is a ``subject to``.
    """
    one_by_one = spec.facts.cluster.concurrency == "fractional" or compares_responses(spec)
    if one_by_one or not is_quick(plan):
        return None
    own = RELAXED if _in_fractions(plan) else plan.whole
    rows = []
    for named, wholeness, relax in ((RELAXED, NO, True), (NO, NO, False), (SLOTS, SLOTS, False)):
        meant = replace(spec, facts=replace(spec.facts, whole=wholeness))
        found = plan if named == own else _plan(meant, relax)
        label = f"{named} (this plan)" if named == own else named
        rows.append((label, *((None,) * 3 if found is None else _figures(found))))
    unit = spec.currency
    head = ("whole", "VMs, at most", f"penalties [{unit}]", f"cost [{unit}]")
    return Table("What is whole, and what it costs", head, rows)


def _figures(plan: JointPlan) -> tuple[float, float, float]:
    return float(plan.vms.max(initial=0.0)), float(plan.penalties.sum()), plan.total


def _in_fractions(plan: JointPlan) -> bool:
    """Whether VMs or jobs at once are fractions, which only a relaxed plan has here."""
    held = (plan.classes.vms, plan.services.vms, plan.classes.at_once)
    return not all(np.allclose(each, np.rint(each), rtol=0.0, atol=ROUNDING) for each in held)


def _plan(spec: Spec, relax: bool) -> JointPlan | None:
    if spec.constraints:
        from mrdsl.families.joint.models.formulations import run_p2
        from mrdsl.solving.checked_answer import solve_model

        found = run_p2(spec, relax, LIMITS, lambda model, limits=None: solve_model(model, "highs", limits or LIMITS))
        return found.plan if isinstance(found.plan, JointPlan) else None
    drafted = greedy_draft(spec, relax)
    return drafted.plan if isinstance(drafted.plan, JointPlan) else None
