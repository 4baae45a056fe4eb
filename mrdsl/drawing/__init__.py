"""Drawings as deterministic SVG text: Gantt charts, line and bar charts, layered graphs. No dependencies."""

from mrdsl.drawing.chart import Series, bar_chart, line_chart
from mrdsl.drawing.gantt import gantt
from mrdsl.drawing.graph import GraphNode, graph

__all__ = ["GraphNode", "Series", "bar_chart", "gantt", "graph", "line_chart"]
