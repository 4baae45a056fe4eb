"""Checks of the VM types of a timetable, and of how classes run on them."""

from __future__ import annotations

from collections.abc import Iterator

from mrdsl.core.diagnostics import Diagnostic, Span, error, number_of
from mrdsl.families.timetable.facts import JobClass, TimetableFacts, VmType
from mrdsl.families.timetable.night import slots_by_kind, tasks_in_executor
from mrdsl.families.timetable.types import node_on
from mrdsl.formulas.quotas import check_quotas, unused_quotas
from mrdsl.formulas.type_checks import check_names, check_rows, check_systems, dear_contracts, may_use, unused_rows
from mrdsl.model.market import contracts_of

NAMES = {"map": "map task", "reduce": "reduce task", "task": "task"}
"""Names of tasks by their kind."""


def check_types(facts: TimetableFacts) -> Iterator[Diagnostic]:
    """Yield names of unknown types, quotas and blocks `on` that are wrong or have no effect."""
    yield from check_systems(facts)
    quotas = list(check_quotas(facts))
    yield from quotas or unused_quotas(facts)
    for vm in facts.vms:
        yield from dear_contracts(vm, contracts_of(vm))
    yield from check_names(facts)
    yield from check_rows(facts)
    for node in facts.classes:
        if node.spot not in (None, 0.0, 1.0):
            yield error(
                "out-of-range",
                f"class {node.name} has `spot = {100.0 * node.spot:g} %`, but a run is on spot VMs or is not",
                node.span_of("spot"),
                "write `spot = 0%` for VMs on demand only, or `spot = 100%`, the default, for either",
            )
        for row in node.on:
            if row.coefficients is not None:
                yield error(
                    "unknown-item",
                    f"`on {row.name}` of class {node.name} has coefficients, and a timetable plans single tasks",
                    row.coefficients.span or row.span or node.span,
                    "write the stages, or map and reduce, as measured on the type",
                )
        yield from unused_rows(node)


def has_slots_on_all(facts: TimetableFacts, node: JobClass) -> bool:
    """Return True if blocks `on` set the slots of a class on every type that it may use."""
    rows = {row.name for row in node.on if row.slots is not None}
    return all(vm.name in rows for vm in facts.vms if may_use(node, vm))


def check_hosting(facts: TimetableFacts) -> Iterator[Diagnostic]:
    """Yield classes that do not fit on a VM type, or take other parts of it than the first class there."""
    for vm in facts.vms:
        hosted = [
            (there, slots_by_kind(vm, there)) for there in (node_on(n, vm) for n in facts.classes if may_use(n, vm))
        ]
        for there, slots in hosted:
            if min(slots.values()) < 1:
                yield _hosts_none(facts, vm, there)
                return
        counts = {count for _, slots in hosted for count in slots.values()}
        packed = next((there for there, _ in hosted if there.container is not None), None)
        if len(counts) > 1 and packed is not None:
            yield _hosts_several(facts, vm, hosted, packed)
            return


def _hosts_several(
    facts: TimetableFacts, vm: VmType, hosted: list[tuple[JobClass, dict[str, int]]], node: JobClass
) -> Diagnostic:
    found = dict.fromkeys(
        f"{number_of(count, 'executor' if tasks_in_executor(each) > 1 else NAMES[kind])} of class {each.name}"
        for each, slots in hosted
        for kind, count in slots.items()
    )
    mine = next(slots for each, slots in hosted if each is node)
    wanted = ", ".join(f"{kind} = {count * tasks_in_executor(node)}" for kind, count in mine.items())
    others = ", and those of the other vms in blocks `on`" if len(facts.vms) > 1 else ""
    return error(
        "out-of-range",
        f"vm {vm.name} hosts {' and '.join(list(found)[:3])}, but with containers a timetable needs the same number",
        _place(node),
        f"write slots {{ {wanted} }} in place of `container` in class {node.name}{others}",
    )


def _hosts_none(facts: TimetableFacts, vm: VmType, node: JobClass) -> Diagnostic:
    hint = "write cores and memory of the vm and of a task, or `slots`"
    if len(facts.vms) > 1:
        others = [f'"{each.name}"' for each in facts.vms if each is not vm and _hosts(each, node)]
        hint += f"; or leave {vm.name} out of its types: types = [{', '.join(others)}]" if others else ""
    return error(
        "missing-item" if node.slots is not None else "out-of-range",
        f"vm {vm.name} hosts no task of class {node.name}",
        _place(node),
        hint,
    )


def _hosts(vm: VmType, node: JobClass) -> bool:
    return may_use(node, vm) and min(slots_by_kind(vm, node_on(node, vm)).values()) > 0


def _place(node: JobClass) -> Span | None:
    block = node.container if node.container is not None else node.slots
    if block is not None and block.span is not None:
        return block.span
    return node.span_of("container") if node.container is not None else node.span_of("slots")
