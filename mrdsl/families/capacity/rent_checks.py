"""Checks of masters, of quotas of cores, and of shares that take idle VMs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import Any

from mrdsl.contracts.plan_expressions import SECOND
from mrdsl.core.diagnostics import Diagnostic, Related, did_you_mean, error, impossible, warning
from mrdsl.core.rounding import ROUNDING
from mrdsl.core.units import HOUR, show
from mrdsl.families.capacity.facts import LARGEST, CapacityFacts
from mrdsl.families.capacity.forms import moves_data
from mrdsl.formulas.profiles import units_per_dollar
from mrdsl.formulas.quotas import check_quotas
from mrdsl.formulas.stage_checks import at_path
from mrdsl.spec.blocks import ONE, any_rows, shared_rows
from mrdsl.spec.columns import column, matching
from mrdsl.spec.expression import quantities_in, terms_of
from mrdsl.spec.spec import Constraint, Spec, bounds_in, pieces, requested_places


def check_rented(facts: CapacityFacts, names: list[str]) -> Iterator[Diagnostic]:
    """Yield errors in the master and in the quotas."""
    yield from _master(facts, names)
    yield from _disks(facts)
    yield from _transfer(facts)
    yield from check_quotas(facts)


def _master(facts: CapacityFacts, names: list[str]) -> Iterator[Diagnostic]:
    """Yield an error if the type of the master is unknown, or if masters are defined in two ways."""
    if facts.master is None:
        return
    if facts.master.vm not in names:
        message = f"the master is of VM type `{facts.master.vm}`, but there is no such vm"
        hint = did_you_mean(facts.master.vm, names, "VM types: ")
        yield at_path(error("unknown-name", message, facts.master.span_of("vm"), hint), "master.vm")
    for index in matching(facts.vms, lambda vm: vm("masters", 0.0) > 0.0):
        vm = facts.vms[index]
        yield at_path(
            error(
                "duplicate",
                f"masters are defined by `master` and by `masters` of vm {vm.name}",
                vm.span_of("masters"),
                "keep one of them",
                Related("`master` is defined here", facts.master.span),
            ),
            f"vms[{index}].masters",
        )
        return


def _disks(facts: CapacityFacts) -> Iterator[Diagnostic]:
    """Yield an error if HDFS has no disks."""
    if facts.hdfs is not None and facts.hdfs.data and not any(vm.disk is not None for vm in facts.vms):
        message, hint = "the spec has `hdfs`, and no vm has a `disk`", "add disk = 100 GiB to a vm"
        yield at_path(error("missing-item", message, facts.hdfs.span, hint), "hdfs")


def _transfer(facts: CapacityFacts) -> Iterator[Diagnostic]:
    """Yield an error if classes move data without a price."""
    prices = facts.transfer
    for way in ("input", "output"):
        if prices is not None and getattr(prices, way) is not None:
            continue
        for index in _moving(facts, way):
            node = facts.classes[index]
            place = node.span if node.transfer is None else node.transfer.span_of(way)
            message = f"class {node.name} moves {way} data, but its price is missing"
            hint = f"add transfer {{ {way} = 0.09 USD/GiB }} at the top level, or {way} = 0 USD/GiB if it is free"
            related = (Related("other prices are here", prices.span),) if prices is not None else ()
            yield at_path(error("missing-item", message, place, hint, *related), f"classes[{index}].transfer")
            break


def _moving(facts: CapacityFacts, way: str) -> Iterable[int]:
    """Return the classes whose jobs move data in (``input``) or out (``output``)."""
    return matching(facts.classes, lambda c: c(f"transfer.{way}", 0.0) > 0.0) if moves_data(facts) else ()


def _unused_transfer(facts: CapacityFacts) -> Iterator[Diagnostic]:
    """Yield a warning if prices of data or amounts of data have no effect."""
    moved = {way: any(True for _ in _moving(facts, way)) for way in ("input", "output")}
    prices = facts.transfer
    if prices is not None:
        for way, some in moved.items():
            if getattr(prices, way) and not some:
                message = f"the price of {way} data has no effect: no class moves any"
                hint = f"add transfer {{ {way} = 20 GiB }} to a class, or remove the price"
                yield at_path(warning("unused", message, prices.span_of(way), hint), f"transfer.{way}")
        if any(moved.values()) and not any(getattr(prices, way) for way, some in moved.items() if some):
            message, hint = "the data that jobs move is free", "write its price, or leave `transfer` out"
            yield at_path(warning("unused", message, prices.span, hint), "transfer")


GIB, MONTH = 2.0**30, 730.0 * HOUR
DEAREST_DISK, DEAREST_DATA = 2.0 / (GIB * MONTH), 1.0 / GIB
"""Prices of stored and of moved data [USD], above those of all providers."""


def implausible_rents(spec: Spec) -> Iterator[Diagnostic]:
    """Yield warnings about prices of disks and data that are far too high, and of spot VMs that cost nothing."""
    facts: CapacityFacts = spec.facts
    dollar = units_per_dollar(spec.currency)
    for index in matching(facts.vms, lambda vm: vm("disk.price", 0.0) > DEAREST_DISK * dollar):
        vm = facts.vms[index]
        assert vm.disk is not None
        message = f"the disk of vm {vm.name} costs {show(vm.disk.price, 'storage_price', spec.currency)}, more than any"
        by_month = vm.disk.price * GIB * HOUR
        hint = f"if the price is per month, write `{by_month:.6g} {spec.currency}/GiB / 730 h`"
        found = warning("implausible-price", f"{message} on sale", vm.disk.span_of("price"), hint)
        yield at_path(found, f"vms[{index}].disk.price")
        break
    prices = facts.transfer
    for way in ("input", "output"):
        price = None if prices is None else getattr(prices, way)
        if prices is None or price is None or price <= DEAREST_DATA * dollar:
            continue
        message = f"data that moves {way[:-3]} costs {show(price, 'data_price', spec.currency)}, more than any on sale"
        hint = f"prices are usually per GiB, such as {way} = {0.09 * dollar:g} {spec.currency}/GiB"
        yield at_path(warning("implausible-price", message, prices.span_of(way), hint), f"transfer.{way}")
    for index in matching(facts.vms, lambda vm: (vm("spot.price") <= 0.0) & (vm("on_demand.price") > 0.0)):
        vm = facts.vms[index]
        assert vm.spot is not None
        message = f"spot VMs of {vm.name} cost nothing, and those on demand do"
        hint = "write the spot price, or leave `spot` out"
        found = warning("implausible-price", message, vm.spot.span_of("price"), hint)
        yield at_path(found, f"vms[{index}].spot.price")
        break


def unused_disks(facts: CapacityFacts) -> Iterator[Diagnostic]:
    yield from _unused_transfer(facts)
    if facts.hdfs is not None:
        return
    for index in matching(facts.vms, lambda vm: vm.has("disk.size") & (vm("disk.price", 0.0) <= 0.0)):
        vm = facts.vms[index]
        message = f"the disk of vm {vm.name} has no effect: it has no price, and the spec has no `hdfs`"
        hint = "write disk { size = 100 GiB, price = 0.0001 USD/GiB/h }, or hdfs { data = 2 TiB }"
        yield at_path(warning("unused", message, None if vm.disk is None else vm.disk.span, hint), f"vms[{index}].disk")
        return


def quotas_too_small(facts: CapacityFacts, mix: Any) -> Iterator[Diagnostic]:
    """Yield quotas that are too small for the masters, or for the fewest jobs.

    With any weights of the quotas, these jobs take at least the sum of each one's fewest weighted cores. One quota at a
    time is weighed, then all so that each limit counts as much; each resource of the VMs is weighed alone.
    """
    import numpy as np

    from mrdsl.families.capacity.groups import total

    market = mix.market
    if not market.quotas:
        return
    limits, cores = market.quota_limits, market.cores_of_quotas
    every = 1.0 / np.maximum(limits, ROUNDING)
    for weights in (*np.diag(every), every):
        counted = np.flatnonzero(weights)
        weighted = weights @ cores
        of_masters, there = float(weighted @ market.masters_of_lane), float(weights @ limits)
        with np.errstate(invalid="ignore"):
            taken = np.where(mix.possible, mix.fewest * weighted[:, None], np.inf).min(axis=1, initial=np.inf)
        needed = of_masters + float(total(np.where(mix.low > 0.0, taken, 0.0) * mix.low, mix.groups).max())
        if needed <= there * (1.0 + ROUNDING) + ROUNDING:
            continue
        what = "the masters" if of_masters > there else "the least jobs of all classes"
        named = [each for place, each in enumerate(facts.quotas) if place in counted]
        which = " and ".join(f"{each.name}, which has {each.cores:g}" for each in named[:2])
        yield impossible(
            "impossible-quota",
            f"{what} take more cores than quota {which}" + (f", and {len(named) - 2} more" if len(named) > 2 else ""),
            named[0].span_of("cores"),
            "raise its cores, lower the least jobs of classes, or add a vm type that it does not count",
        )
        return


OF_TYPES = ("share", "cores")
"""Quantities of VMs that are bought in one way, also of one type and of the largest."""


def check_largest(spec: Spec) -> Iterator[Diagnostic]:
    """Yield errors if the largest share or cores of a type are not bounded from above, or if a vm has that name.

    And if cores are compared that a vm does not have.
    """
    cores = False
    for path, span, quantity in requested_places(spec):
        cores |= quantity.name == "cores"
        if quantity.name in OF_TYPES and quantity.argument.endswith(f"{SECOND}{LARGEST}"):
            for place, vm in enumerate(spec.facts.vms):
                if vm.name == LARGEST:
                    message = f"`{quantity.name}(..., {LARGEST})` is of the largest type, but a vm is also called so"
                    yield at_path(error("reserved-name", message, vm.span, "give the vm another name"), f"vms[{place}]")
            if path.startswith("goal"):
                message = f"`{quantity.name}({quantity.argument})` cannot be part of an objective"
                yield at_path(error("wrong-statement", message, span, "compare it under `subject to`"), path)
    for index in matching(spec.facts.vms, lambda vm: vm.lacks("cores")) if cores else ():
        vm = spec.facts.vms[index]
        message = f"vm {vm.name} has no `cores`, which a comparison counts"
        yield at_path(error("missing-item", message, vm.span, "add cores = 4"), f"vms[{index}]")
        break
    for index, constraint in enumerate(spec.constraints):
        for bound in filter(None, bounds_in(constraint)):
            most = inf if bound.quantity == "cores" else 1.0
            too_low = bound.comparison != ">=" and bound.value < 0.0
            if bound.quantity in OF_TYPES and (too_low or (bound.comparison != "<=" and bound.value > most)):
                what, why = f"`{bound.quantity}({bound.name})`", "below 0" if too_low else "above 100 %"
                message = f"{what} cannot be {why}, as this comparison asks"
                hint = "write a number from 0" if bound.quantity == "cores" else "write a share from 0% to 100%"
                yield at_path(error("out-of-range", message, constraint.span, hint), f"constraints[{index}]")
        for name in sorted({name for name, argument in _pushed_up(constraint) if f"{SECOND}{LARGEST}" in argument}):
            message = f"`{name}(..., {LARGEST})` is compared in one way: with a number that it reaches at most"
            hint = f"write {name}(spot, {LARGEST}) <= 30% * {name}(spot)"
            yield at_path(error("wrong-statement", message, constraint.span, hint), f"constraints[{index}]")


def _pushed_up(constraint: Constraint) -> Iterator[tuple[str, str]]:
    """Yield the shares and cores that a comparison bounds from below, or that have no linear form."""
    try:
        left, right = terms_of(constraint.left).factors, terms_of(constraint.right).factors
    except ValueError:
        parts = [*pieces(constraint)]
        if all((constraint.left, constraint.right) == each[:2] for each in parts):
            sides = constraint.left, constraint.right
            mentioned = (each for side in sides for each in quantities_in(side))
            yield from ((each.name, each.argument) for each in mentioned if each.name in OF_TYPES)
            return
        for a, b, comparison in parts:
            yield from _pushed_up(Constraint(a, comparison, b))
        return
    signs = {"<=": (1.0,), ">=": (-1.0,)}.get(constraint.comparison, (1.0, -1.0))
    for name, argument in {**left, **right}:
        factor = left.get((name, argument), 0.0) - right.get((name, argument), 0.0)
        if name in OF_TYPES and any(sign * factor < 0.0 for sign in signs):
            yield name, argument


def shares_by_idle_vms(spec: Spec) -> Iterator[Diagnostic]:
    """Yield comparisons `share(spot) >= x` if no class may have as much of its VM time on spot.

    Without idle VMs the share of all VM time is at most the largest one of a class. A plan then rents VMs that no job
    uses, or uses VMs in part.
    """
    asked = [
        (constraint, bound.value)
        for constraint in spec.constraints
        for bound in bounds_in(constraint)
        if bound is not None and (bound.quantity, bound.name) == ("share", "spot") and bound.comparison in (">=", "=")
    ]
    if not asked:
        return
    most = _most_on_spot(spec.facts)
    for constraint, least in asked:
        if least > most * (1.0 + ROUNDING) and least <= 1.0:
            yield warning(
                "idle-vms",
                f"`{constraint.text or 'a share'}` asks for {100.0 * least:g} % of the VMs on spot, and no class may "
                f"have more than {100.0 * most:g} % of its VM time there: the plan has to rent idle VMs",
                constraint.span,
                "raise `spot` of the classes, add a spot price to the types that they use, or ask for less",
            )


def _most_on_spot(facts: CapacityFacts) -> float:
    """Return the largest part of its VM time that a class may have on spot."""
    import numpy as np

    sold = {vm.name for vm in facts.vms if vm.spot is not None}
    if not sold:
        return 0.0
    most = np.nan_to_num(column(facts.classes, "spot", missing=1.0), nan=1.0)
    if any_rows(facts.classes, "types"):
        rows = shared_rows(facts.classes, "types")
        most = np.where([not types or types == (ONE,) or bool(sold & set(types)) for types in rows], most, 0.0)
    return float(most.max(initial=0.0))
