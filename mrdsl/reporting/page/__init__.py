"""A report as one HTML page that needs no network."""

from mrdsl.reporting.page.page import page

__all__ = ["page"]
