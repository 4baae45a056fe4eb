"""The machines of a spec and what they cost: VM type, spot market, recorded prices and what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mrdsl.core.diagnostics import Diagnostic, MrdslError, error, has_errors
from mrdsl.exchange.registry import SPOT_PRICES
from mrdsl.exchange.spot_history import PriceSteps, gaps, price_steps
from mrdsl.exchange.text import FormatError
from mrdsl.families.schedule.facts import Vm
from mrdsl.simulation.machines import MachineType
from mrdsl.spec.schema import Distribution

if TYPE_CHECKING:
    from mrdsl.simulation.prices import PriceProcess


def recorded_prices(vm: Vm, mistakes: list[Diagnostic], until: float = 0.0) -> PriceSteps | None:
    """The step function of the vm's zone, instance type and product; ``until`` is when the last job arrives.

    The vm's name is the instance type where the file has prices of that type and the spec names none.
    """
    spot = vm.spot
    assert spot is not None
    assert spot.history is not None
    try:
        records = SPOT_PRICES[0].read(spot.history.path, mistakes)
    except FormatError as cause:
        mistakes.append(
            error(
                "missing-file",
                f"{spot.history.written} cannot be read: {cause}",
                spot.span_of("history"),
                "check the name; it is relative to the spec",
            )
        )
        return None
    if has_errors(mistakes):
        return None
    instance_type = spot.instance_type
    if instance_type is None and any(record.instance_type == vm.name for record in records):
        instance_type = vm.name
    steps = price_steps(records, spot.zone, instance_type, spot.product)
    if isinstance(steps, str):
        mistakes.append(
            error(
                "broken-history",
                f"{spot.history.written}: {steps}",
                spot.span_of("history"),
                "filters are `zone`, `instance_type`, `product`",
            )
        )
        return None
    mistakes.extend(gaps(steps, until, spot.history.path))
    return steps


def machine_type(vm: Vm) -> MachineType:
    """The VM type as the simulation takes it."""
    return MachineType(
        vm.slots.map,
        vm.slots.reduce,
        vm.on_demand.price,
        vm.paid_by.period,
        vm.boot,
        vm.paid_by.broken_period == "free",
    )


def price_process(vm: Vm, seed: int) -> PriceProcess | None:
    """The spot market of a run; None without one."""
    from mrdsl.simulation.prices import ConstantPrice, DrawnPrice, RecordedPrice
    from mrdsl.simulation.sampling import stream

    spot = vm.spot
    if spot is None:
        return None
    if spot.history is not None:
        mistakes: list[Diagnostic] = []
        steps = recorded_prices(vm, mistakes)
        if steps is None:
            raise MrdslError(mistakes)
        return RecordedPrice(steps.times, steps.prices)
    if isinstance(spot.price, Distribution):
        return DrawnPrice(spot.price, spot.every, stream(seed, "spot price"))
    assert spot.price is not None
    return ConstantPrice(spot.price)
