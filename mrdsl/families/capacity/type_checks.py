"""Checks of VM types, of how classes run on them, and of settings without effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrdsl.core import budgets
from mrdsl.core.diagnostics import (
    Diagnostic,
    chained,
    error,
    impossible,
    never_admitted,
)
from mrdsl.core.rounding import ROUNDING
from mrdsl.families.capacity.constraints import limit_of_time, promises_of
from mrdsl.families.capacity.facts import NO, CapacityFacts, VmType
from mrdsl.families.capacity.forms import has_slots_for_all
from mrdsl.families.capacity.rent_checks import check_rented, quotas_too_small, unused_disks
from mrdsl.formulas.quotas import unused_quotas
from mrdsl.formulas.stage_checks import at_path
from mrdsl.formulas.type_checks import (
    check_hosting,
    check_names,
    check_systems,
    distinct_classes,
    runs_nowhere,
    unused_rows,
    unused_spot,
)
from mrdsl.spec.blocks import any_rows
from mrdsl.spec.columns import names_of
from mrdsl.spec.spec import Spec


def check_types(facts: CapacityFacts) -> Iterator[Diagnostic]:
    """Yield names of unknown types, classes without slots per VM, and resources that are not known."""
    names = list(names_of(facts.vms))
    beyond = list(_too_many(facts))
    if beyond:
        yield from beyond
        return
    yield from check_names(facts)
    yield from check_rented(facts, names)
    systems = check_systems(facts)
    yield from systems or check_hosting(facts, has_slots_for_all(facts))


def _too_many(facts: CapacityFacts) -> Iterator[Diagnostic]:
    """Yield an error if classes times types exceed a budget, at the type that exceeds it."""
    classes, ways = len(facts.classes), [1 if vm.spot is None else 2 for vm in facts.vms]
    if sum(ways) < 2 or sum(ways) * classes <= budgets.CLASSES_ON_TYPES:
        return
    most = budgets.CLASSES_ON_TYPES // classes
    first = next(place for place in range(len(ways)) if sum(ways[: place + 1]) > most)
    fewer = f"keep {most} kinds of VMs or fewer" if most else "plan for fewer classes"
    yield at_path(
        error(
            "too-many-pairs",
            f"{classes} classes on {sum(ways)} kinds of VMs ({len(ways)} types, {sum(ways) - len(ways)} of them on "
            f"spot too) are {classes * sum(ways)} pairs, more than the {budgets.CLASSES_ON_TYPES} that a plan may have",
            facts.vms[first].span,
            f"{fewer}, or write classes that are alike as one with all their jobs",
        ),
        f"vms[{first}]",
    )


def find_impossible_types(spec: Spec) -> Iterator[Diagnostic]:
    """Yield classes that no type holds or serves on time, and quotas that are too small for the fewest jobs."""
    from mrdsl.families.capacity.instance import mix_of

    mix = mix_of(spec)
    facts: CapacityFacts = spec.facts
    about_runs = {promise.index for promise in promises_of(spec) if not promise.beside}
    lost = False
    for index in _without_lane(mix):
        node = facts.classes[index]
        lost |= bool(mix.low[index] > 0.0)
        if index in about_runs and mix.pairs.allowed[:, index].any():
            continue
        place, written = limit_of_time(spec, node, float(mix.pairs.completion_limit[index]))
        found = runs_nowhere(facts, mix.pairs, index, mix.wholeness != NO, place, written)
        yield found if mix.low[index] > 0.0 else never_admitted(found, "jobs", f"class {node.name}")
    if not lost:
        yield from _too_few(facts, mix)


def _without_lane(mix: Any) -> list[int]:
    """Return the numbers of the classes that can run nowhere."""
    found: list[int] = (~mix.possible.any(axis=0)).nonzero()[0].tolist()
    return found


def _too_few(facts: CapacityFacts, mix: Any) -> Iterator[Diagnostic]:
    """Yield quotas that are too small for the fewest jobs.

    With any weights of the types, these jobs take at least the sum of each one's fewest weighted VMs. The weights here
    make every quota 1, and types without a quota free. Each resource of the VMs is weighed alone.
    """
    import numpy as np

    from mrdsl.families.capacity.groups import total

    market = mix.market
    limited = np.isfinite(market.available)
    over = np.flatnonzero(market.masters > market.available).tolist()
    if over:
        masters, there = market.masters[over[0]], market.available[over[0]]
        change = "raise available, or lower masters"
        yield _quota(facts.vms[over[0]], f"{masters:g} masters", f"{there:g}", change)
        return
    yield from quotas_too_small(facts, mix)
    if not limited.any():
        return
    weight = np.where(limited, 1.0 / np.maximum(market.available, ROUNDING), 0.0)
    weighted = np.where(mix.possible, mix.fewest, 0.0) * weight[market.vm_of_lane][:, None]
    taken = np.where(mix.possible, weighted, np.inf).min(axis=1)
    there = float((weight[limited] * (market.available - market.masters)[limited]).sum())
    needed = float(total(np.where(mix.low > 0.0, taken, 0.0) * mix.low, mix.groups).max())
    if needed > there * (1.0 + ROUNDING) + ROUNDING:
        vms = [facts.vms[int(vm)] for vm in limited.nonzero()[0]]
        every = float((market.available - market.masters)[limited].sum())
        change = "raise available, lower the least jobs of classes, or add a vm type"
        yield _quota(vms[0], "the least jobs of all classes", f"{every:g}", change, [vm.name for vm in vms])


def _quota(vm: VmType, what: str, there: str, change: str, names: list[str] | None = None) -> Diagnostic:
    of = chained(names or [vm.name], ", ")
    return impossible(
        "impossible-quota",
        f"{what} take more VMs of {of} than the {there} that are available",
        vm.span_of("available"),
        change,
    )


def check_unused(facts: CapacityFacts) -> Iterator[Diagnostic]:
    """Yield one warning for each unused setting; a table or generator has one for all its classes."""
    yield from unused_disks(facts)
    yield from unused_quotas(facts)
    rows = any_rows(facts.classes, "on")
    for index, node in distinct_classes(facts):
        found = [*unused_spot(facts, node), *(unused_rows(node) if rows else ())]
        yield from (at_path(each, f"classes[{index}]") for each in found)
