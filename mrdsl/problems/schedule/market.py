"""The recorded spot prices that a spec names, or what is wrong with them."""

from __future__ import annotations

from mrdsl.diagnostics import Diagnostic, error, has_errors
from mrdsl.problems.schedule.facts import Vm
from mrdsl.reading.spot_history import PriceSteps, gaps, price_steps, read_spot_history


def recorded_prices(vm: Vm, mistakes: list[Diagnostic], until: float = 0.0) -> PriceSteps | None:
    """The step function of the vm's zone, instance type and product; ``until`` is when the last job arrives.

    The vm's name is the instance type where the file has prices of that type and the spec names none.
    """
    spot = vm.spot
    assert spot is not None
    assert spot.history is not None
    try:
        records = read_spot_history(spot.history.path, mistakes)
    except OSError as cause:
        mistakes.append(error("missing-file", f"{spot.history.written} cannot be read: {cause.strerror}",
                              spot.span_of("history"), "check the name; it is relative to the spec"))
        return None
    if has_errors(mistakes):
        return None
    instance_type = spot.instance_type
    if instance_type is None and any(record.instance_type == vm.name for record in records):
        instance_type = vm.name
    steps = price_steps(records, spot.zone, instance_type, spot.product)
    if isinstance(steps, str):
        mistakes.append(error("broken-history", f"{spot.history.written}: {steps}", spot.span_of("history"),
                              "filters are `zone`, `instance_type`, `product`"))
        return None
    mistakes.extend(gaps(steps, until, spot.history.path))
    return steps
