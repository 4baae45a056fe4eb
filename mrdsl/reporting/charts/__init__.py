"""Drawings of :mod:`mrdsl.core.charts`: by Altair as Vega-Lite, by vl-convert as SVG and PNG (extra `report`).

The libraries are loaded at the first drawing.
"""

from mrdsl.reporting.charts.rendering import png, specification, svg

__all__ = ["png", "specification", "svg"]
