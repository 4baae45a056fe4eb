"""Forms of a capacity spec: purchase options, descriptions of VM types, and the integrality of a plan."""

from __future__ import annotations

from collections.abc import Sequence

from mrdsl.contracts.wholeness import Wholeness
from mrdsl.core.diagnostics import one_error
from mrdsl.core.lazy import kept
from mrdsl.families.capacity.facts import MACHINES, NO, SLOTS, CapacityFacts, JobClass
from mrdsl.spec.blocks import any_rows
from mrdsl.spec.columns import Columns, parts_of
from mrdsl.spec.spec import Spec


def is_plain(facts: CapacityFacts) -> bool:
    """Return True if VMs and slots are as in the paper.

    VMs are then of one type, on demand and under one contract, without a quota. A slot takes the same part of every
    resource of a VM, and all classes may run at the same time.
    """
    if not is_bought_plainly(facts) or has_executors_or_drivers(facts) or len(facts.never_together):
        return False
    if not has_containers(facts):
        return True
    from mrdsl.formulas.pairs import has_vectors

    return not has_vectors(facts)


def has_closed_form(facts: CapacityFacts) -> bool:
    """Return True if the relaxed P2 is a fractional knapsack: VMs are as in the paper, and classes share them."""
    return is_plain(facts) and wholeness_of(facts) != MACHINES


def is_bought_plainly(facts: CapacityFacts) -> bool:
    """Return True if VMs are bought as in the paper: one type, on demand, one contract, no quota."""
    if len(facts.vms) != 1 or len(facts.quotas) or facts.hdfs is not None:
        return False
    vm = facts.vms[0]
    return vm.spot is None and vm.available is None and not vm.terms and not vm.masters and facts.master is None


def has_slots_for_all(facts: CapacityFacts) -> bool:
    """Return True if classes have ``slots`` alone: no containers or drivers, nothing of single types."""
    if any_rows(facts.classes, "on") or any_rows(facts.classes, "types"):
        return False
    return not has_containers(facts) and not has_executors_or_drivers(facts)


def has_containers(facts: CapacityFacts) -> bool:
    """Return True if some class has a ``container``."""
    return kept(facts, "has_containers", lambda: any(map(_have_containers, parts_of(facts.classes))))


def _have_containers(part: Sequence[JobClass]) -> bool:
    if isinstance(part, Columns):
        return any(path.startswith("container.") for path in part.values)
    return any(node.container is not None for node in part)


def moves_data(facts: CapacityFacts) -> bool:
    """Return True if some class has a block `transfer`."""
    return kept(facts, "moves_data", lambda: any(map(_move_data, parts_of(facts.classes))))


def _move_data(part: Sequence[JobClass]) -> bool:
    if isinstance(part, Columns):
        return any(path.startswith("transfer.") for path in part.values)
    return any(node.transfer is not None for node in part)


def has_executors_or_drivers(facts: CapacityFacts) -> bool:
    """Return True if a job of some class has executors or a driver."""
    return kept(facts, "has_executors_or_drivers", lambda: any(map(_have_some, parts_of(facts.classes))))


def _have_some(part: Sequence[JobClass]) -> bool:
    if isinstance(part, Columns):
        return any(path.startswith(("driver.", "container.executor.")) for path in part.values)
    return any(each.driver is not None or (each.container and each.container.executor) for each in part)


FIXED = "takes the VM type as fixed: one type, on demand and under one contract, as many as wanted"
WITHOUT_GROUPS = "solve with formulation P2, or remove `never_together`"
WITH_P2 = "solve with formulation P2, or keep one vm without spot, quotas, masters and named contracts"


def refuse_types(spec: Spec, what: str, why: str = FIXED, instead: str = WITH_P2) -> None:
    """Refuse a spec whose VMs are of several types, or bought in more ways than one type allows for.

    ``what`` refuses it, with the reason and what to write instead. Raises MrdslError.
    """
    if spec.facts.demand is not None:
        place = spec.facts.demand.span
        raise one_error("several-periods", f"{what} requires a spec of one period", place, instead)
    if is_plain(spec.facts):
        return
    if len(spec.facts.never_together):
        why, instead = "adds up the VMs of all classes, also of those that never run together", WITHOUT_GROUPS
    elif is_bought_plainly(spec.facts):
        why = "takes slots that a VM hosts, and not containers of which cores and memory have to fit"
        instead = "solve with formulation P2, or write slots in place of the containers"
    vm = spec.facts.vms[min(1, len(spec.facts.vms) - 1)]
    groups = spec.facts.never_together
    raise one_error("needs-one-type", f"{what} {why}", groups[0].span if len(groups) else vm.span, instead)


WHOLENESS = Wholeness(default=lambda facts: SLOTS, fractions=NO)
wholeness_of, as_solved = WHOLENESS.of, WHOLENESS.as_solved
in_fractions, as_planned = WHOLENESS.in_fractions, WHOLENESS.as_planned


def shared(spec: Spec) -> Spec:
    """Return the spec with whole slots on VMs that classes share."""
    return WHOLENESS.meant(spec, SLOTS)
