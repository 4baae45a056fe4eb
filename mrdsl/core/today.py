"""The cluster of the logs next to the one of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mrdsl.core.charts import BarChart, LineChart, Series
from mrdsl.core.result import MONEY, Table
from mrdsl.core.units import HOUR


@dataclass(frozen=True)
class Use:
    """A cluster: its VMs at most, VM time [s], cost, the used part of its slot time, and the part of late jobs.

    ``late`` includes rejected jobs. ``slots`` and ``busy`` are numbers of slots, and of running tasks, over the time
    since the first task [s]; each value holds up to the next time. None if unknown.
    """

    vms: float
    time: float
    cost: float
    used: float | None = None
    late: float | None = None
    slots: Series | None = None
    busy: Series | None = None


@dataclass(frozen=True)
class Today:
    """The cluster of the logs, and that of a plan, each from its first request to its last end."""

    today: Use
    plan: Use

    def table(self) -> Table:
        """Return both in a table."""
        rows = [
            (name, each.vms, each.time / HOUR, each.cost, _percent(each.used), _percent(each.late))
            for name, each in self._both()
        ]
        columns = ("", "VMs", "VM time [h]", f"cost {MONEY}", "slots at work [%]", "late or rejected [%]")
        return Table("Today and the plan", columns, rows)

    def charts(self, currency: str) -> tuple[BarChart | LineChart, ...]:
        """Return the cost of both, and their slots over time."""
        names = tuple(name for name, _ in self._both())
        costs = [each.cost for _, each in self._both()]
        bars = BarChart("Cost today and with the plan", names, {"cost": costs}, y_label=f"cost [{currency}]")
        series = tuple(
            Series(f"{name}: {what}", line.x, line.y)
            for name, each in self._both()
            for what, line in (("slots", each.slots), ("at work", each.busy))
            if line is not None
        )
        lines = LineChart(
            "Slots today and with the plan", "time since the first task [s]", "slots", series, y_zero=True, steps=True
        )
        return (bars, lines) if series else (bars,)

    def _both(self) -> Sequence[tuple[str, Use]]:
        return ("today", self.today), ("plan", self.plan)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share
