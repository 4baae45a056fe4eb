"""Charts as plain values, independent of how they are drawn, and the cluster of the logs next to that of a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from mrdsl.core.result import MONEY, Table
from mrdsl.core.units import HOUR, clock_text


@dataclass(frozen=True)
class Series:
    """One line: ``y`` over ``x``, with an optional band from ``low`` to ``high``; all have the same length."""

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


@dataclass(frozen=True)
class LineChart:
    """One line per series.

    ``y_zero`` lets the value axis start at 0, and ``steps`` holds each value up to the next x. A ``slider`` at a start
    value shows the values of the nearest x. With ``clock``, x is seconds after midnight, shown as clock times.
    """

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    y_zero: bool = False
    steps: bool = False
    slider: float | None = None
    clock: bool = False

    def table(self) -> Table:
        """Return the numbers of the lines."""
        rows = [
            (one.name, clock_text(x) if self.clock else x, y)
            for one in self.series
            for x, y in zip(one.x, one.y, strict=True)
        ]
        return Table("", ("line", self.x_label, self.y_label), rows)


@dataclass(frozen=True)
class BarChart:
    """A bar of each series per group, next to each other or ``stacked``; ``horizontal`` if the names of groups are
    long.
    """

    title: str
    groups: tuple[str, ...]
    series: Mapping[str, Sequence[float | None]]
    x_label: str = ""
    y_label: str = ""
    stacked: bool = False
    horizontal: bool = False

    def table(self) -> Table:
        """Return the numbers of the bars."""
        several = len(self.series) > 1
        heads = tuple(f"{name} {self.y_label}".strip() if several else self.y_label or name for name in self.series)
        return Table("", (self.x_label or "", *heads), list(zip(self.groups, *self.series.values(), strict=True)))


def parts_chart(title: str, parts: Mapping[str, float], label: str) -> BarChart:
    """Return a chart of the parts of a sum, one bar per part."""
    return BarChart(title, tuple(parts), {label: list(parts.values())}, y_label=label, horizontal=True)


@dataclass(frozen=True)
class Interval:
    """Several values of one item on one axis, and their limit; None for unknown values."""

    name: str
    values: Mapping[str, float | None]
    limit: float | None = None


@dataclass(frozen=True)
class IntervalChart:
    """Estimates and their limits, one row per item: completion times and deadlines."""

    title: str
    label: str
    rows: tuple[Interval, ...]
    limit: str = "deadline"

    def table(self) -> Table:
        """Return the numbers of the marks."""
        kinds = list(dict.fromkeys(kind for row in self.rows for kind in row.values))
        rows = [(row.name, *(row.values.get(kind) for kind in kinds), row.limit) for row in self.rows]
        return Table(self.label, ("", *kinds, self.limit), rows)


def riskiest_first(chart: IntervalChart) -> IntervalChart:
    """Return the chart with its rows by the largest value relative to the limit; rows without a limit are last."""

    def share(row: Interval) -> float:
        known = [value for value in row.values.values() if value is not None and value == value]
        if row.limit is None or row.limit != row.limit or not known:
            return inf
        return -max(known) / row.limit if row.limit > 0.0 else -inf

    return replace(chart, rows=tuple(sorted(chart.rows, key=share)))


@dataclass(frozen=True)
class Bar:
    """One bar of a Gantt chart: a lane, a label, start and end in seconds, and the kind that gives its colour."""

    lane: str
    label: str
    start: float
    end: float
    kind: str = ""


@dataclass(frozen=True)
class GanttChart:
    """Bars in time, a lane per machine, slot or task, a colour per kind; with ``clock``, in seconds after midnight."""

    title: str
    bars: tuple[Bar, ...]
    clock: bool = False

    def table(self) -> Table:
        """Return the bars as rows."""
        heads = ("start", "end") if self.clock else ("start [s]", "end [s]")
        times = [[clock_text(time) if self.clock else time for time in (bar.start, bar.end)] for bar in self.bars]
        rows = [(bar.lane, bar.label, *each, bar.kind) for bar, each in zip(self.bars, times, strict=True)]
        return Table("", ("lane", "label", *heads, "kind"), rows)


@dataclass(frozen=True)
class GraphNode:
    """A box of a graph.

    ``key`` is the name that edges use, ``lines`` the text below ``name``, ``share`` (0 to 1) the filled part of the
    box, ``kind`` its color. ``marked`` draws a strong border, for example for a critical path.
    """

    key: str
    name: str
    lines: tuple[str, ...] = ()
    kind: str = ""
    share: float | None = None
    marked: bool = False


@dataclass(frozen=True)
class Graph:
    """Boxes and arrows without a cycle, from left to right; each edge is the keys of its tail and its head."""

    title: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[str, str], ...] = field(default=())

    def table(self) -> Table:
        """Return the boxes, each with those before it."""
        names = {node.key: node.name for node in self.nodes}
        before: dict[str, list[str]] = {key: [] for key in names}
        for tail, head in dict.fromkeys(self.edges):
            before[head].append(names[tail])
        rows = [(node.name, ", ".join(node.lines), ", ".join(before[node.key])) for node in self.nodes]
        return Table("", ("name", "numbers", "after"), rows)


Chart = LineChart | BarChart | IntervalChart | GanttChart | Graph


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
