"""A warning for jobs that hold their VMs longer than the period that these are paid for."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import numpy as np

from mrdsl.core.diagnostics import Diagnostic, warning
from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.core.units import HOUR, MINUTE, show
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.quantities import promised_times
from mrdsl.spec.spec import Spec


def beyond_period_warnings(spec: Spec, plan: CapacityPlan) -> Iterator[Diagnostic]:
    """One warning where admitted classes take longer than the period, with the period that the longest needs."""
    period, times = spec.facts.period, promised_times(spec, plan)
    beyond = np.isfinite(times) & (times > period * (1.0 + FEASIBILITY))
    if not beyond.any():
        return
    index = int(np.where(beyond, times, -np.inf).argmax())
    longest, others = float(times[index]), int(beyond.sum()) - 1
    node = spec.facts.classes[index]
    more = f" (and {others} more {'class' if others == 1 else 'classes'} beyond it)" if others else ""
    yield warning(
        "beyond-period",
        f"jobs of class {node.name} take {_shown(longest)}{more}, and the cost is that of "
        f"{show(period, 'time')}: the rest of their time is not paid for",
        spec.facts.span_of("period") or node.span_of("deadline"),
        f"write `period = {show(enough(longest), 'time')}` or more, which then is the time that the cost is for",
    )


def _shown(longest: float) -> str:
    return f"{longest / HOUR:.3g} h" if longest > HOUR else show(longest, "time")


def enough(longest: float) -> float:
    """The time, rounded up to a number that people write [s]: to minutes from an hour on, to seconds below."""
    step = MINUTE if longest > HOUR else 1.0
    return step * ceil(longest / step * (1.0 - FEASIBILITY))
