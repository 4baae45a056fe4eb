"""What classes say of VM types without any effect: a part on spot where nothing is sold so, an empty ``on TYPE``."""

from __future__ import annotations

from collections.abc import Iterator

from mrdsl.core.diagnostics import Diagnostic, warning
from mrdsl.families.capacity.facts import CapacityFacts, JobClass
from mrdsl.families.capacity.type_checks import distinct_classes, may_use
from mrdsl.formulas.stage_checks import at_path
from mrdsl.spec.machines import ONE, any_rows


def check_unused(facts: CapacityFacts) -> Iterator[Diagnostic]:
    """One warning for each setting that nothing reads, of tables and generators one for all their classes."""
    spot = any(vm.spot is not None for vm in facts.vms)
    rows = any_rows(facts.classes, "on")
    for index, node in distinct_classes(facts):
        found = [*_spot(facts, node, spot), *(_of_types(node) if rows else ())]
        yield from (at_path(each, f"classes[{index}]") for each in found)


def _spot(facts: CapacityFacts, node: JobClass, sold: bool) -> Iterator[Diagnostic]:
    """A part on spot VMs that there are not; none at all is what is there then."""
    if node.spot is None or node.spot <= 0.0:
        return
    if sold and any(vm.spot is not None and may_use(node, vm) for vm in facts.vms):
        return
    where = "no vm that it may use has" if sold else "no vm has"
    yield warning(
        "unused",
        f"class {node.name} may be on spot VMs, and {where} a spot price",
        node.span_of("spot"),
        "leave `spot` out, or add spot { price = ..., interruptions = ... } to a vm",
    )


def _of_types(node: JobClass) -> Iterator[Diagnostic]:
    """What is said of a type that the class may not use, and blocks that say nothing."""
    for row in node.on:
        if node.types not in ((), (ONE,)) and row.name not in node.types:
            yield warning(
                "unused",
                f"class {node.name} says how it runs on {row.name}, which is not among its types",
                row.span or node.span,
                f"leave `on {row.name}` out, or add {row.name} to its types",
            )
        elif not row.described and row.slots is None and row.speed == 1.0 and "speed" not in row.spans:
            yield warning(
                "unused",
                f"`on {row.name}` of class {node.name} says nothing: the class runs there as on the others",
                row.span or node.span,
                "leave it out, or write what differs, such as speed = 1.2 or slots { map = 4, reduce = 2 }",
            )
