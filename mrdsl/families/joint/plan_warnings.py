"""What is told beside a joint plan: fractions, whole slots beyond its VMs, deadlines met on average alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from mrdsl.contracts.hosting import hosting_vms, told_of_hosting
from mrdsl.contracts.soft_deadlines import told_of_soft_deadlines
from mrdsl.contracts.wholeness import OF_A_MODEL, RELAXED, where_fractions_are_meant
from mrdsl.core.diagnostics import Diagnostic
from mrdsl.families.joint.facts import NO
from mrdsl.families.joint.plan import JointPlan
from mrdsl.families.joint.soft_deadlines import price, upper_times
from mrdsl.families.joint.verify import verify as broken
from mrdsl.families.joint.whole_slots import WHOLENESS, as_planned
from mrdsl.formulas.estimates import slots_per_vm
from mrdsl.spec.columns import names_of
from mrdsl.spec.spec import Spec


def verify(spec: Spec, plan: JointPlan, relax: bool) -> Iterator[Diagnostic]:
    """Yield what a plan breaks, as verification finds it, then warnings of what the plan implies."""
    found = tuple(broken(spec, plan, relax))
    yield from found
    yield from warnings_of(spec, plan, relax, not found)


def warnings_of(spec: Spec, plan: JointPlan, relax: bool, right: bool) -> Iterator[Diagnostic]:
    """Warn of what a plan implies; of one that is not ``right`` only of what follows from the spec."""
    facts = spec.facts
    why, hint = RELAXED if relax else OF_A_MODEL, where_fractions_are_meant("P2 and greedy")
    yield from WHOLENESS.implied(facts, plan.whole, facts.cluster.span, why, hint)
    if not right:
        return
    spec = as_planned(spec, plan.whole)
    if not relax and plan.whole == NO:
        got = plan.classes
        needed = hosting_vms(got.map_slots, got.reduce_slots, *slots_per_vm(facts.classes))
        yield from told_of_hosting(names_of(facts.classes), needed, got.vms, facts.cluster.span)
    yield from told_of_soft_deadlines(spec, upper_times(spec, plan), partial(price, spec, plan, relax))
