"""Checks of how classes run on VM types: names of types, slots and containers on each, and systems of VMs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from mrdsl.core.diagnostics import Diagnostic, Related, Span, did_you_mean, error, impossible, number_of, warning
from mrdsl.core.units import MINUTE, show
from mrdsl.formulas.platforms import system_part
from mrdsl.formulas.profiles import check_profiles
from mrdsl.formulas.stage_checks import at_path, check_stages, path_of, too_late
from mrdsl.spec.blocks import ONE, any_rows, shared_rows
from mrdsl.spec.columns import Columns, matching, names_of, parts_of
from mrdsl.spec.estimates import default_guarantee
from mrdsl.spec.rented import described_on

if TYPE_CHECKING:
    from mrdsl.formulas.pairs import Pairs, Typed

NAMED = 3
"""Most types for which missing items are named."""


def check_names(facts: Typed) -> Iterator[Diagnostic]:
    """Yield an error for each name of a type in a class that is empty, unknown or ambiguous."""
    names = list(names_of(facts.vms))
    yield from _no_types(facts)
    yield from _unknown_types(facts, names)
    yield from _named_one(facts, names)


def dear_contracts(vm: Any, terms: Iterable[Any], price: float | None = None) -> Iterator[Diagnostic]:
    """Yield a warning for each contract of a VM type that does not pay.

    Args:
        vm: The VM type.
        terms: Its contracts.
        price: The mean price on demand if it differs by period [money/s]; NaN if it is not known.
    """
    on_demand = vm.on_demand.price if price is None else price
    for term in terms:
        if term.prepaid == "no" and term.price >= on_demand:
            yield warning(
                "reserved-not-cheaper",
                f"reserved VMs of {vm.name} cost as much as those on demand, or more: they do not pay",
                term.span_of("price"),
                "a reserved VM normally costs less; check both prices and their units",
                Related("the price on demand", vm.on_demand.span_of("price")),
            )


def check_systems(facts: Typed) -> list[Diagnostic]:
    """List errors in what the systems of VM types take."""
    return list(_systems(facts.vms)) if _have_systems(facts.vms) else []


def check_hosting(facts: Typed, plainly: bool) -> Iterator[Diagnostic]:
    """Yield an error for each class of which a VM type does not say what it hosts.

    Args:
        facts: The facts of the spec.
        plainly: If classes have ``slots`` alone, which hold on all types.
    """
    if plainly:
        for index in matching(
            facts.classes, lambda c: c.lacks("slots.map") & c.lacks("slots.task") & c.lacks("slots.reduce")
        ):
            if facts.classes[index].slots is None:
                yield at_path(_no_slots(facts.classes[index]), f"classes[{index}].slots")
        return
    vms = tuple(facts.vms)
    lacking = {name: [vm for vm in vms if getattr(vm, name) is None] for name in ("cores", "memory")}
    for index, node in distinct_classes(facts):
        for found in _hosting(vms, lacking, node):
            yield at_path(found, f"classes[{index}]")


def _have_systems(vms: Sequence[Any]) -> bool:
    return any(
        any(path.startswith("system.") for path in part.values)
        if isinstance(part, Columns)
        else any(vm.system is not None for vm in part)
        for part in parts_of(vms)
    )


def check_rows(facts: Typed) -> Iterator[Diagnostic]:
    """Yield errors in the profiles and stages of classes in their blocks ``on TYPE``."""
    if not any_rows(facts.classes, "on"):
        return
    for _, node in distinct_classes(facts):
        for row in node.on:
            if row.described and row.coefficients is None:
                there = (described_on(node, row),)
                yield from check_profiles(there)
                yield from check_stages(there)


def distinct_classes(facts: Typed) -> Iterator[tuple[int, Any]]:
    """Yield every class, but of a table or generator, whose classes are alike in this, the first."""
    before = 0
    for part in parts_of(facts.classes):
        yield from enumerate(_first_of(part), before)
        before += len(part)


def _first_of(part: Sequence[Any]) -> Sequence[Any]:
    return part[:1] if isinstance(part, Columns) else part


def _unknown_types(facts: Typed, names: list[str]) -> Iterator[Diagnostic]:
    for field, word in (("on", "on"), ("types", "types")):
        if not any_rows(facts.classes, field):
            continue
        for index, row in enumerate(shared_rows(facts.classes, field)):
            said = [each.name if field == "on" else each for each in row]
            for place, name in enumerate(said):
                if name not in names and not (field == "types" and said == [ONE]):
                    node = facts.classes[index]
                    yield at_path(
                        error(
                            "unknown-name",
                            f"class {node.name} has `{word} {name}`, but there is no such vm",
                            row[place].span if field == "on" else node.span_of("types"),
                            did_you_mean(name, names, "VM types: "),
                        ),
                        f"classes[{index}].{field}",
                    )
            if isinstance(facts.classes, Columns) and not getattr(facts.classes.values.get(field), "ndim", 0):
                break


def _no_types(facts: Typed) -> Iterator[Diagnostic]:
    """Yield a list without a name would mean every type, as does no list."""
    generated = [isinstance(part, Columns) and "types" in part.values for part in parts_of(facts.classes)]
    said = (said for part, said in zip(parts_of(facts.classes), generated, strict=True) for _ in _first_of(part))
    for (index, node), as_column in zip(distinct_classes(facts), said, strict=True):
        if not node.types and ("types" in node.spans or as_column):
            yield at_path(
                error(
                    "missing-item",
                    f"the types of class {node.name} are an empty list",
                    node.span_of("types"),
                    f'name some, such as types = ["{facts.vms[0].name}"]; leave the line out for all types, '
                    "or write types = one to keep its jobs on one of them",
                ),
                f"classes[{index}].types",
            )


def _no_slots(node: Any) -> Diagnostic:
    if node.stages:
        hint = "add `slots { task = 4 }`, or container { task { cores = 1, memory = 2 GiB } }"
    else:
        hint = "add `slots { map = 2, reduce = 1 }`, or container { map { cores = 1, memory = 2 GiB }, reduce { ... } }"
    return error(
        "missing-block",
        f"`class {node.name}` lacks `slots {{ ... }}`",
        node.span,
        hint,
    )


def _hosting(vms: Sequence[Any], lacking: Mapping[str, Sequence[Any]], node: Any) -> Iterator[Diagnostic]:
    """What one class says of what a VM hosts; ``lacking`` are the types that do not say a resource."""
    if node.slots is not None and node.container is not None:
        yield error(
            "slots-and-container",
            f"class {node.name} has slots and a container, which both define the tasks on a VM",
            node.container.span or node.span,
            "keep one of them; `on TYPE { slots { ... } }` sets the slots of single types",
        )
        return
    yield from _of_executors(node)
    if node.slots is None and node.container is None:
        said = {row.name for row in node.on if row.slots is not None}
        if not all(vm.name in said for vm in vms if may_use(node, vm)):
            yield _no_slots(node)
    for kind, taken in _sizes(node):
        if taken is None or (taken.cores is None and taken.memory is None):
            yield error(
                "missing-item",
                f"class {node.name} has no cores or memory of {_one(kind)}",
                (taken or node.container or node).span or node.span,
                "write executor { cores = 1, memory = 2 GiB, tasks = 1 }"
                if kind == "executor"
                else f"add {kind} {{ cores = 1, memory = 2 GiB }}, or cores and memory of all tasks",
            )
            continue
        for resource in lacking:
            if getattr(taken, resource) is None:
                continue
            for vm in lacking[resource]:
                if may_use(node, vm) and (kind == "driver" or not _said_on(node, vm)):
                    example = "cores = 4" if resource == "cores" else "memory = 16 GiB"
                    yield error(
                        "missing-item",
                        f"vm {vm.name} has no `{resource}`, which containers of class {node.name} need",
                        vm.span,
                        f"add {example}",
                    )


def _of_executors(node: Any) -> Iterator[Diagnostic]:
    """Yield errors in what a class says of executors and drivers, which only jobs of stages have."""
    executor = None if node.container is None else node.container.executor
    for word, there in (("executor", executor), ("driver", node.driver)):
        if there is None:
            continue
        if not node.stages:
            yield error(
                "unknown-block",
                f"class {node.name} has `{word}` and no stages, and only jobs of stages have one",
                there.span or node.span,
                f"remove `{word}`, or describe the class by `stage` blocks",
            )
        for row in node.on:
            if row.coefficients is not None or (word == "executor" and row.slots is not None):
                what = "coefficients" if row.coefficients is not None else "slots"
                yield error(
                    "slots-and-container",
                    f"class {node.name} has `{word}`, and `on {row.name}` has {what}, which do not go together",
                    row.span or node.span,
                    f"remove `{what}` there, or `{word}` of the class",
                )
        parts = (there.overhead or 0.0) + (getattr(there, "off_heap", None) or 0.0)
        if parts and parts >= (there.memory or 0.0):
            yield error(
                "out-of-range",
                f"overhead and off-heap memory of the {word} of class {node.name} leave none of its memory to the heap",
                there.span_of("overhead" if there.overhead else "off_heap"),
                "raise its `memory`, which is heap, overhead and off-heap together",
            )
    if executor is not None and node.container is not None and node.container.of("task") is not None:
        yield error(
            "slots-and-container",
            f"class {node.name} has an executor and a task in its container, which both define the tasks on a VM",
            executor.span or node.span,
            "keep one of them",
        )


def _sizes(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield the kinds of containers of a class with their cores and memory, None if there are none."""
    container = node.container
    for kind in _kinds(node) if container is not None else ():
        executor = None if container is None else container.executor
        yield ("executor", executor) if kind == "task" and executor is not None else (kind, container.of(kind))
    if node.driver is not None and node.stages:
        yield "driver", node.driver


def left_of(vm: Any, resource: str) -> float:
    """Return the cores or memory of a type that its system leaves to containers."""
    there, system = float(getattr(vm, resource)), vm.system
    if system is None:
        return there
    if system.platform is None:
        return there - float(getattr(system, resource) or 0.0)
    return there - system_part(system.platform, vm.name, resource, there)


def _systems(vms: Sequence[Any]) -> Iterator[Diagnostic]:
    """Yield systems without the cores and memory that they are taken from, and those that leave nothing."""
    for number, vm in enumerate(vms):
        if vm.system is None:
            continue
        said = vm.system.cores is not None or vm.system.memory is not None
        found = []
        for resource, example in (("cores", "cores = 16"), ("memory", "memory = 64 GiB")):
            there, wanted = getattr(vm, resource), getattr(vm.system, resource)
            if there is None and (vm.system.platform is not None or wanted):
                what = f"vm {vm.name} has a system and no `{resource}`, from which it is taken"
                found.append(error("missing-item", what, vm.system.span or vm.span, f"add {example}, of the whole VM"))
            elif there is not None and left_of(vm, resource) <= 0.0:
                what = f"the system of vm {vm.name} leaves no {resource} to containers"
                found.append(error("out-of-range", what, vm.system.span or vm.span, f"write less in `{resource}`"))
        if said == (vm.system.platform is not None):
            what = "both a platform and cores or memory" if said else "neither a platform nor cores or memory"
            hint = "write system = emr, or system { cores = 1, memory = 2 GiB }"
            found.append(error("wrong-value", f"the system of vm {vm.name} has {what}", vm.system.span, hint))
        yield from (at_path(each, f"vms[{number}].system") for each in found)


def _one(kind: str) -> str:
    words = {"task": "a task", "executor": "an executor", "driver": "the driver"}
    return words.get(kind, f"a {kind} task")


def _kinds(node: Any) -> tuple[str, ...]:
    """Return the kinds of tasks that a class has."""
    if node.stages:
        return ("task",)
    if node.coefficients is not None:
        return ("map", "reduce") if node.coefficients.B > 0.0 else ("map",)
    return ("map", "reduce") if node.reduce is not None and node.reduce.tasks > 0 else ("map",)


def may_use(node: Any, vm: Any) -> bool:
    return not node.types or node.types == (ONE,) or vm.name in node.types


def _said_on(node: Any, vm: Any) -> bool:
    return any(row.name == vm.name and row.slots is not None for row in node.on)


def held_by_none(facts: Typed, node: Any) -> Diagnostic:
    """Return an error with the kind of task that fits on no type, and the scarce resource."""
    usable = [vm for vm in facts.vms if may_use(node, vm)]
    for kind, taken in _sizes(node):
        for resource in ("memory", "cores"):
            wanted = getattr(taken, resource, None)
            known = [(left_of(vm, resource), vm.name) for vm in usable if getattr(vm, resource) is not None]
            if wanted is not None and known and max(known)[0] < wanted:
                most, name = max(known)
                amount = [_amount(each, resource) for each in (wanted, most)]
                return impossible(
                    "no-vm-type",
                    f"no VM type holds {_one(kind)} of class {node.name}: it takes {amount[0]}, and the most that one "
                    f"has is {amount[1]} ({name})",
                    ((node.driver if kind == "driver" else node.container) or node).span or node.span,
                    f"lower {resource} in its container, or add a vm with more",
                )
    lacking = [short for vm in usable for short in _lacking(node, vm)[:1]]
    more = f", and {number_of(len(lacking) - NAMED, 'more type')}" if len(lacking) > NAMED else ""
    return impossible(
        "no-vm-type",
        f"no single VM type holds tasks of every kind of class {node.name}"
        + (f": {'; '.join(lacking[:NAMED])}{more}" if lacking else ""),
        node.span,
        "make its containers smaller, or add a vm with more cores and memory",
    )


def runs_nowhere(facts: Typed, pairs: Pairs, index: int, whole: bool, place: Span | None, written: str) -> Diagnostic:
    """Return why a class runs on no VM type: none holds its tasks, or all are too slow, or it may not be on spot.

    Args:
        facts: The facts of the spec.
        pairs: Every class on every type.
        index: The class.
        whole: If slots are whole.
        place: The line that limits its time.
        written: The opening words of that line.
    """
    from mrdsl.formulas.estimates import earliest
    from mrdsl.formulas.pairs import run_on

    node = facts.classes[index]
    if not pairs.allowed[:, index].any():
        return held_by_none(facts, node)
    if pairs.kept()[:, index].any():
        return impossible(
            "no-vm-type",
            f"class {node.name} can run only on spot VMs, but it cannot use any of them",
            node.span_of("spot"),
            "raise `spot` of the class, for example `spot = 100%`, or add an `on_demand` block to a VM type",
        )
    times = earliest(pairs.exact, pairs.limits.map_most, pairs.limits.reduce_most)[:, index]
    times[~pairs.allowed[:, index]] = float("inf")
    best, by = int(times.argmin()), node.guarantee or default_guarantee(facts, whole)
    limit, least = float(pairs.completion_limit[index]), float(times[best])
    how = "whatever slots it gets"
    if isfinite(pairs.limits.map_most[best, index]):
        how = "even with a slot for every task" + (" that can run at once" if node.stages else "")
    how += f", on {facts.vms[best].name}, where it is fastest" if len(times) > 1 else ""
    there = [run_on(node, vm.name) for vm, one in zip(facts.vms, pairs.allowed[:, index], strict=True) if one]
    path = min(path_of(each, by, speed) for each, speed in there)
    later = show(MINUTE * (least * 1.1 // MINUTE + 1.0), "time")
    hint = f"write a {written.split()[0]} above {show(least, 'time')}, such as `{written} {later}`"
    hint += "; the nearer it is, the more VMs it needs"
    return too_late(facts, node, by, (limit, least, path), how, place, hint)


def unused_spot(facts: Typed, node: Any) -> Iterator[Diagnostic]:
    """Yield a warning for a part on spot VMs if none are available; the plan then has none."""
    if node.spot is None or node.spot <= 0.0 or any(vm.spot is not None and may_use(node, vm) for vm in facts.vms):
        return
    where = "no vm that it may use has" if any(vm.spot is not None for vm in facts.vms) else "no vm has"
    yield warning(
        "unused",
        f"class {node.name} may be on spot VMs, and {where} a spot price",
        node.span_of("spot"),
        "leave `spot` out, or add spot { price = ..., interruptions = ... } to a vm",
    )


def _lacking(node: Any, vm: Any) -> list[str]:
    """Return the resources of which a type has too little for the tasks of a class."""
    found = []
    for kind, taken in _sizes(node):
        for resource in ("memory", "cores"):
            wanted = getattr(taken, resource, None)
            there = None if getattr(vm, resource) is None else left_of(vm, resource)
            if wanted is not None and there is not None and there < wanted:
                amounts = _amount(there, resource), _amount(wanted, resource)
                found.append(f"{vm.name} has {amounts[0]}, and {_one(kind)} takes {amounts[1]}")
    return found


def _amount(value: float, resource: str) -> str:
    if resource == "memory":
        return show(value, "data") + " of memory"
    return f"{value:g} core" + ("" if value == 1.0 else "s")


def _named_one(facts: Typed, names: list[str]) -> Iterator[Diagnostic]:
    """Yield an error for `types = one` if a vm has the name `one`, since it is ambiguous."""
    if ONE in names and any_rows(facts.classes, "types") and (ONE,) in shared_rows(facts.classes, "types"):
        place = names.index(ONE)
        yield at_path(
            error(
                "reserved-name",
                "`types = one` keeps the jobs of a class on one VM type, but a vm is also called `one`",
                facts.vms[place].span,
                "give the vm another name",
            ),
            f"vms[{place}]",
        )


def unused_rows(node: Any) -> Iterator[Diagnostic]:
    """Yield settings for a type that the class may not use, and blocks without effect."""
    for row in node.on:
        if node.types not in ((), (ONE,)) and row.name not in node.types:
            yield warning(
                "unused",
                f"class {node.name} has a block `on {row.name}`, which is not among its types",
                row.span or node.span,
                f"leave `on {row.name}` out, or add {row.name} to its types",
            )
        elif not row.described and row.slots is None and row.speed == 1.0 and "speed" not in row.spans:
            yield warning(
                "unused",
                f"`on {row.name}` of class {node.name} has no effect: the class runs there as on the others",
                row.span or node.span,
                "remove it, or write a difference, such as speed = 1.2 or slots { map = 4, reduce = 2 }",
            )
