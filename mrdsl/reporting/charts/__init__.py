"""The charts of :mod:`mrdsl.core.charts` drawn: by Altair as Vega-Lite, by vl-convert as SVG and PNG (extra `report`).

Nothing is loaded before something is drawn.
"""

from mrdsl.reporting.charts.rendering import png, specification, svg

__all__ = ["png", "specification", "svg"]
