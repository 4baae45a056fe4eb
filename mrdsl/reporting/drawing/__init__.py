"""Drawings as deterministic SVG text: Gantt charts, line and bar charts, layered graphs. No dependencies."""

from mrdsl.reporting.drawing.chart import Series, bar_chart, line_chart
from mrdsl.reporting.drawing.gantt import gantt
from mrdsl.reporting.drawing.graph import GraphNode, graph

__all__ = ["GraphNode", "Series", "bar_chart", "gantt", "graph", "line_chart"]
