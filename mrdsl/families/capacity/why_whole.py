"""What it costs that slots, or machines, are whole: the spec solved with each."""

from __future__ import annotations

from dataclasses import replace

from mrdsl.contracts.subject_to import add_comparisons
from mrdsl.core.result import Limits, Result, Table
from mrdsl.families.capacity.facts import MACHINES, NO, SLOTS
from mrdsl.families.capacity.methods.direct import direct
from mrdsl.families.capacity.packed_plans import with_packing
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.spec.spec import Spec

MOST_CLASSES = 200
"""Of more classes on all types together the costs are not worked out: a solver looks at each."""
LIMITS = Limits(gap=1e-4, nodes=5_000)


def costs_of_wholeness(spec: Spec, plan: CapacityPlan) -> Table | None:
    """The costs of plans in fractions, of whole slots, and of machines of each class's own; None where they are many.

    The plan's own cost is its own. Those of others are of ``direct``, within its bound, and of a solver to 1e-4 for
    machines and for comparisons that ``direct`` does not know; nothing stands where none was found.
    """
    if not plan.whole or len(spec.facts.classes) * len(spec.facts.vms) > MOST_CLASSES:
        return None
    rows: list[tuple[str, int | None, int | None, float | None]] = []
    for wholeness in (NO, SLOTS, MACHINES):
        mine = wholeness == plan.wholeness
        found = plan if mine else _plan(replace(spec, facts=replace(spec.facts, whole=wholeness)))
        named = f"{wholeness} (this plan)" if mine else wholeness
        if found is None:
            rows.append((named, None, None, None))
            continue
        vms = found.on_demand + found.reserved if found.mix is None else found.mix.total()
        rows.append((named, round(vms), int(found.admitted.sum()), found.total))
    return Table("What is whole, and what it costs", ("whole", "VMs", "jobs", f"cost [{spec.currency}]"), rows)


def _plan(spec: Spec) -> CapacityPlan | None:
    found = None if spec.facts.whole == MACHINES else direct(spec, False)
    if found is None:
        found = _solved(spec)
    return found.plan if isinstance(found.plan, CapacityPlan) else None


def _solved(spec: Spec) -> Result:
    """By the embedded solver."""
    from mrdsl.families.capacity.models.linear import build, decode
    from mrdsl.solving.checked_answer import solve_model

    def solve(model: object, limits: Limits | None = None) -> object:
        return solve_model(model, "highs", limits or LIMITS)

    model = build(spec, False)
    add_comparisons(spec, model)
    answer = solve_model(model, "highs", LIMITS)
    plan = None if answer.value is None else decode(spec, model, False)
    result = Result(answer.termination, answer.solution, plan, answer.value, answer.bound)
    return result if plan is None else with_packing(spec, result, LIMITS, solve)  # type: ignore[arg-type]
